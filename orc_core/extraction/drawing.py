"""Draws pages of PDFs and images, in child processes: in colour for people, in grey for OCR."""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orc_core.extraction.images import IMAGE_FORMATS, MAX_IMAGE_PIXELS
from orc_core.extraction.pages import unreadable
from orc_core.infra.sandbox_child import ChildMessage

if TYPE_CHECKING:
    from PIL import Image
    from pypdfium2 import PdfBitmap, PdfDocument

MAX_PIXELS = 20_000_000
"""A page of A4 has 3.6 million at a width of 1,600, and 8.7 million at 300 dpi; a poster is drawn smaller."""
MAX_SIDE = 16_000
"""A WebP file has at most 16,383 pixels a side."""
QUALITY, METHOD = 82, 1
"""A higher method takes several times as long and saves a few per cent of the bytes."""
DPI = 300
LARGEST, SMALLEST = 20_000_000, 1_000_000
"""Pixels for OCR: smaller images are screenshots and clippings, whose letters are too small for engines."""

_POINTS_PER_INCH = 72
_ROUNDING = 1e-6
_GREY_FORMATS = {"pgm": "PPM", "png": "PNG"}


def draw_in_colour(path: str, media_type: str, page: int, width: int) -> Iterator[ChildMessage]:
    """A page as a WebP file; empty if it cannot be drawn."""
    if media_type == "application/pdf":
        picture = draw_pdf_page(Path(path), page, width)
    else:
        picture = draw_frame(Path(path), IMAGE_FORMATS[media_type], page, width)
    output = io.BytesIO()
    if picture is not None:
        # Without what the file says of its camera and place.
        picture.save(output, "WEBP", quality=QUALITY, method=METHOD, exif=b"", icc_profile=b"")
    yield ChildMessage({}, output.getvalue())


def draw_in_grey(path: str, media_type: str, pages: Sequence[int], form: str) -> Iterator[ChildMessage]:
    """Each page (from 1) as an upright grey image; empty for one that cannot be drawn. PDFs as PGM files."""
    if media_type == "application/pdf":
        document = _open_pdf(Path(path))
        drawn = (_pgm(_render(document, number, _scale_for_ocr, grayscale=True)) for number in pages)
    else:
        frames = _frames(Path(path), IMAGE_FORMATS[media_type], pages, _grey_for_ocr)
        drawn = (_encoded(frame, _GREY_FORMATS[form]) for frame in frames)
    yield from (ChildMessage({"page": page}, content) for page, content in zip(pages, drawn, strict=True))


def draw_pdf_page(source: Path, number: int, width: int) -> "Image.Image | None":
    """The visible part of the page, upright. It fills the picture, so fractions of both are the same."""

    def scale(across: float, down: float) -> float:
        fitting = min(math.sqrt(MAX_PIXELS / (across * down)), MAX_SIDE / max(across, down))
        # PDFium rounds up: without this the product may be a pixel too wide.
        return min(max(width - _ROUNDING, 1) / across, fitting)

    document = _open_pdf(source)
    bitmap = _render(document, number, scale, rev_byteorder=True)
    return None if bitmap is None else bitmap.to_pil().convert("RGB")


def draw_frame(source: Path, image_format: str, number: int, width: int) -> "Image.Image | None":
    """A frame of an image, upright, on white, and not larger than it is."""
    from PIL import Image

    def shrink(image: Image.Image) -> Image.Image:
        image = _on_white(image, "RGB")
        scale = min(width / image.width, MAX_SIDE / max(image.size), 1.0)
        size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
        if size == image.size:
            return image
        return image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)

    try:
        [frame] = _frames(source, image_format, [number], shrink)
    except (OSError, SyntaxError, ValueError):
        return None
    return frame


def _open_pdf(source: Path) -> "PdfDocument":
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        raise unreadable("corrupt") from error
    if document.get_formtype():
        document.init_forms()  # draws what is filled in, on scans too
    return document


def _render(
    document: "PdfDocument", number: int, scale: Callable[[float, float], float], **options: bool
) -> "PdfBitmap | None":
    """A page at this scale for its width and height in points; None if it cannot be drawn."""
    from pypdfium2 import PdfiumError

    try:
        page = document[number - 1]
        across, down = page.get_size()
        if not (across > 0 and down > 0):
            return None
        bitmap = page.render(scale=scale(across, down), **options)
        page.close()
    except (PdfiumError, IndexError):
        return None
    return bitmap


def _scale_for_ocr(across: float, down: float) -> float:
    return min(DPI / _POINTS_PER_INCH, math.sqrt(MAX_PIXELS / (across * down)))


def _pgm(bitmap: "PdfBitmap | None") -> bytes:
    """The rows without their padding bytes."""
    if bitmap is None:
        return b""
    pixels = memoryview(bitmap.buffer)
    starts = range(0, bitmap.stride * bitmap.height, bitmap.stride)
    rows = b"".join(pixels[start : start + bitmap.width] for start in starts)
    return b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + rows


def _frames(
    source: Path, image_format: str, numbers: Sequence[int], finish: "Callable[[Image.Image], Image.Image]"
) -> "Iterator[Image.Image | None]":
    """These frames (from 1), upright; None for one that cannot be decoded."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # our own limit is checked before any pixel is decoded
    with Image.open(source, formats=[image_format]) as image:
        for number in numbers:
            frame = None
            with suppress(EOFError, OSError, SyntaxError, ValueError):
                image.seek(number - 1)
                if image.width * image.height > MAX_IMAGE_PIXELS:
                    raise unreadable("too_much_memory")
                frame = finish(ImageOps.exif_transpose(image))
            yield frame


def _on_white(image: "Image.Image", mode: str) -> "Image.Image":
    """In this mode; transparent parts count as white."""
    from PIL import Image

    if image.mode.startswith("I;16"):
        image = image.point(lambda value: value / 256).convert("L")
    elif image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image.convert("RGBA"))
    return image.convert(mode)


def _grey_for_ocr(image: "Image.Image") -> "Image.Image":
    """At a size that engines read well: large images smaller, small ones twice as large."""
    from PIL import ImageOps

    image = _on_white(image, "L")
    pixels = image.width * image.height
    if pixels > LARGEST:
        factor = (LARGEST / pixels) ** 0.5
        return image.resize((max(int(image.width * factor), 1), max(int(image.height * factor), 1)))
    return ImageOps.scale(image, 2) if pixels < SMALLEST else image


def _encoded(image: "Image.Image | None", form: str) -> bytes:
    output = io.BytesIO()
    if image is not None:
        image.save(output, form)
    return output.getvalue()
