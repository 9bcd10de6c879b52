"""The child process that draws pages: one line of JSON and then the image's bytes for each page.

{"page": number, "bytes": length}         followed by so many bytes; none for a page that cannot be drawn
{"done": true}                            the end of a whole file
{"error": ..., "code": ..., "message": ..., "cause": ...}   a file that cannot be drawn, see protocol.py
"""

import io
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from core.extraction import limits
from core.extraction.images import IMAGE_FORMATS, MAX_IMAGE_PIXELS
from core.extraction.pages import unreadable
from core.extraction.protocol import error_line

# Only one of the two is needed, and importing it takes longer than drawing a page.
if TYPE_CHECKING:
    from PIL import Image
    from pypdfium2 import PdfBitmap, PdfDocument

DPI = 300
MAX_PDF_PIXELS = 20_000_000
"""A page of A4 has 8.7 million at 300 dpi; a poster is drawn at a lower resolution."""
LARGEST = 20_000_000
SMALLEST = 1_000_000
"""Images with fewer pixels are screenshots and clippings, whose letters are too small for OCR engines."""

_POINTS_PER_INCH = 72
_OUTPUT_FORMATS = {"pgm": "PPM", "png": "PNG"}


class Picture(NamedTuple):
    """A page as the bytes of an image file; empty if it cannot be drawn."""

    page: int
    content: bytes


def main() -> None:
    """Serve one request from standard input, then exit without unloading the libraries."""
    output = limits.reserve_output()
    request = json.loads(sys.stdin.buffer.readline())
    limits.confine(request["memory_bytes"], request["seconds"])
    try:
        _draw(output, request)
    except Exception as error:
        output.write(error_line(error))
    output.flush()
    os._exit(0)


def _draw(output: BinaryIO, request: dict[str, Any]) -> None:
    source, media_type, pages = Path(request["path"]), request["media_type"], request["pages"]
    if media_type == "application/pdf":
        pictures = draw_pdf(source, pages)
    else:
        pictures = draw_image(source, IMAGE_FORMATS[media_type], pages, _OUTPUT_FORMATS[request["form"]])
    limits.forbid_files()
    for picture in pictures:
        header = {"page": picture.page, "bytes": len(picture.content)}
        output.write(json.dumps(header).encode() + b"\n" + picture.content)
        output.flush()
    output.write(b'{"done": true}\n')


def draw_pdf(source: Path, pages: Sequence[int]) -> Iterator[Picture]:
    """Each page (from 1) as a PGM file; empty for one that cannot be drawn."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        raise unreadable("corrupt") from error
    if document.get_formtype():
        document.init_forms()  # scans can have typed values
    return (Picture(number, _draw_page(document, number)) for number in pages)


def _draw_page(document: "PdfDocument", number: int) -> bytes:
    from pypdfium2 import PdfiumError

    try:
        page = document[number - 1]
    except (PdfiumError, IndexError):
        return b""
    try:
        width, height = page.get_size()
        pixels_per_point = min(DPI / _POINTS_PER_INCH, math.sqrt(MAX_PDF_PIXELS / max(width * height, 1)))
        return _pgm(page.render(scale=pixels_per_point, grayscale=True))
    except PdfiumError:
        return b""
    finally:
        page.close()


def _pgm(bitmap: "PdfBitmap") -> bytes:
    """The rows without their padding bytes."""
    pixels = memoryview(bitmap.buffer)
    starts = range(0, bitmap.stride * bitmap.height, bitmap.stride)
    rows = b"".join(pixels[start : start + bitmap.width] for start in starts)
    return b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + rows


def draw_image(source: Path, image_format: str, pages: Sequence[int], form: str) -> Iterator[Picture]:
    """Each frame (from 1) as an upright grey image; empty for one that cannot be decoded."""
    from PIL import Image, ImageOps  # noqa: F401 (ImageOps: before files are forbidden)

    Image.MAX_IMAGE_PIXELS = None  # our own limit is checked before any pixel is decoded
    image = Image.open(source, formats=[image_format])
    return (Picture(number, _draw_frame(image, number, form)) for number in pages)


def _draw_frame(image: "Image.Image", number: int, form: str) -> bytes:
    from PIL import ImageOps

    try:
        image.seek(number - 1)
        if image.width * image.height > MAX_IMAGE_PIXELS:
            raise unreadable("too_much_memory")
        grey = _resize(_to_grey(ImageOps.exif_transpose(image)))
    except (EOFError, OSError, SyntaxError, ValueError):
        return b""
    output = io.BytesIO()
    grey.save(output, form)
    return output.getvalue()


def _to_grey(image: "Image.Image") -> "Image.Image":
    """Black on white; transparent parts count as white."""
    from PIL import Image

    if image.mode.startswith("I;16"):
        image = image.point(lambda value: value / 256)
    elif image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image.convert("RGBA"))
    return image.convert("L")


def _resize(image: "Image.Image") -> "Image.Image":
    """At a size that engines read well: large images smaller, small ones twice as large."""
    from PIL import ImageOps

    pixels = image.width * image.height
    if pixels > LARGEST:
        factor = (LARGEST / pixels) ** 0.5
        return image.resize((max(int(image.width * factor), 1), max(int(image.height * factor), 1)))
    return ImageOps.scale(image, 2) if pixels < SMALLEST else image


if __name__ == "__main__":
    main()
