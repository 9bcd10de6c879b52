"""The child process that draws one page in colour: one line of JSON, and the bytes of a WebP file.

{"bytes": length}          followed by this many bytes; 0 for a page that cannot be drawn
{"error": ...}             a file that cannot be drawn, see protocol.py
"""

import io
import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.extraction import limits
from core.extraction.images import IMAGE_FORMATS, MAX_IMAGE_PIXELS
from core.extraction.pages import unreadable
from core.extraction.protocol import error_line
from core.infra.landlock import isolate

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 20_000_000
"""A page of A4 has 3.6 million at a width of 1,600; a page as narrow as a till roll is drawn smaller."""
MAX_SIDE = 16_000
"""A WebP file has at most 16,383 pixels a side."""
QUALITY, METHOD = 82, 1
"""A higher method takes several times as long and saves a few per cent of the bytes."""
_ROUNDING = 1e-6


def main() -> None:
    """Serve one request from standard input, then exit without unloading the libraries."""
    output = limits.reserve_output()
    _preload()
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)  # the parent has exited
    request = json.loads(line)
    limits.confine(request["memory_bytes"], request["seconds"])
    isolate(Path(request["path"]))
    limits.forbid_files()
    try:
        content = draw(request)
        output.write(json.dumps({"bytes": len(content)}).encode() + b"\n" + content)
    except Exception as error:
        output.write(error_line(error))
    output.flush()
    os._exit(0)


def _preload() -> None:
    """Import before a request comes: that takes longer than drawing most pages."""
    import pypdfium2  # noqa: F401
    from PIL import Image, ImageOps, WebPImagePlugin  # noqa: F401


def draw(request: dict[str, Any]) -> bytes:
    """The page as a WebP file; empty if it cannot be drawn."""
    source, number, width = Path(request["path"]), request["page"], request["width"]
    if request["media_type"] == "application/pdf":
        picture = draw_pdf_page(source, number, width)
    else:
        picture = draw_frame(source, IMAGE_FORMATS[request["media_type"]], number, width)
    if picture is None:
        return b""
    output = io.BytesIO()
    # Without what the file says of its camera and place.
    picture.save(output, "WEBP", quality=QUALITY, method=METHOD, exif=b"", icc_profile=b"")
    return output.getvalue()


def draw_pdf_page(source: Path, number: int, width: int) -> "Image.Image | None":
    """The visible part of the page, upright. It fills the picture, so fractions of both are the same."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        raise unreadable("corrupt") from error
    try:
        if document.get_formtype():
            document.init_forms()  # draws what is filled in
        page = document[number - 1]
        across, down = page.get_size()
        if not (across > 0 and down > 0):
            return None
        fitting = min(math.sqrt(MAX_PIXELS / (across * down)), MAX_SIDE / max(across, down))
        # PDFium rounds up: without this the product may be a pixel too wide.
        scale = min(max(width - _ROUNDING, 1) / across, fitting)
        drawn: Image.Image = page.render(scale=scale, rev_byteorder=True).to_pil()
        return drawn.convert("RGB")
    except (pypdfium2.PdfiumError, IndexError):
        return None


def draw_frame(source: Path, image_format: str, number: int, width: int) -> "Image.Image | None":
    """A frame of an image, upright, on white, and not larger than it is."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # our own limit is checked before any pixel is decoded
    try:
        with Image.open(source, formats=[image_format]) as opened:
            opened.seek(number - 1)
            if opened.width * opened.height > MAX_IMAGE_PIXELS:
                raise unreadable("too_much_memory")
            image = _in_colour(ImageOps.exif_transpose(opened))
    except (EOFError, OSError, SyntaxError, ValueError):
        return None
    scale = min(width / image.width, MAX_SIDE / max(image.size), 1.0)
    size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
    return image if size == image.size else image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)


def _in_colour(image: "Image.Image") -> "Image.Image":
    """In RGB; transparent parts count as white."""
    from PIL import Image

    if image.mode.startswith("I;16"):
        image = image.point(lambda value: value / 256).convert("L")
    elif image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image.convert("RGBA"))
    return image.convert("RGB")


if __name__ == "__main__":
    main()
