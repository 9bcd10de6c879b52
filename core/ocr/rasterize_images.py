"""Images of every kind as grey pictures, decoded by Pillow."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image, ImageOps

from core.extraction.errors import unreadable

MAX_PIXELS = 100_000_000
"""More in an image are a bomb, or a map."""

LARGEST = 20_000_000
SMALLEST = 1_000_000
"""Pictures with fewer pixels are screen shots and cut-outs, whose letters are too small for engines."""

_KINDS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/tiff": "TIFF",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/webp": "WEBP",
}
_FORMS = {"pgm": "PPM", "png": "PNG"}


def pictures(source: Path, media_type: str, pages: Sequence[int], form: str) -> Iterator[tuple[int, bytes]]:
    """Each frame (from 1) as a file of this form, upright; no bytes for one that cannot be decoded."""
    Image.MAX_IMAGE_PIXELS = None  # the check below is ours, and it comes before any pixel is decoded
    with Image.open(source, formats=[_KINDS[media_type]]) as image:
        for number in pages:
            yield number, _picture(image, number, _FORMS[form])


def _picture(image: Image.Image, number: int, form: str) -> bytes:
    try:
        image.seek(number - 1)
        if image.width * image.height > MAX_PIXELS:
            raise unreadable("too_much_memory")
        grey = _fitted(_grey(ImageOps.exif_transpose(image)))
    except (EOFError, OSError, SyntaxError, ValueError):
        return b""
    output = io.BytesIO()
    grey.save(output, form)
    return output.getvalue()


def _grey(image: Image.Image) -> Image.Image:
    """Black on white, also where the white is only what shines through."""
    if image.mode.startswith("I;16"):
        return image.point(lambda value: value / 256).convert("L")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("L")
    return image.convert("L")


def _fitted(image: Image.Image) -> Image.Image:
    """At a size at which engines read well: large pictures made smaller, small ones twice as large."""
    pixels = image.width * image.height
    if pixels > LARGEST:
        factor = (LARGEST / pixels) ** 0.5
        return image.resize((max(int(image.width * factor), 1), max(int(image.height * factor), 1)))
    return ImageOps.scale(image, 2) if pixels < SMALLEST else image
