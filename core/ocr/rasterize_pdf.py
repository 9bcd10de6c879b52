"""Pages of a PDF as grey pictures, drawn by PDFium."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2

from core.extraction.errors import unreadable

DPI = 300
MAX_PIXELS = 20_000_000
"""A page of A4 has 8.7 million at 300 dpi; a poster is drawn coarser."""

_POINTS_PER_INCH = 72


def pictures(source: Path, pages: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Each page (from 1) as a PGM file; no bytes for one that cannot be drawn."""
    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        raise unreadable("corrupt") from error
    for number in pages:
        yield number, _picture(document, number)


def _picture(document: pypdfium2.PdfDocument, number: int) -> bytes:
    try:
        page = document[number - 1]
    except (pypdfium2.PdfiumError, IndexError):
        return b""
    try:
        return _pgm(page.render(scale=_scale(*page.get_size()), grayscale=True))
    except pypdfium2.PdfiumError:
        return b""
    finally:
        page.close()


def _scale(width: float, height: float) -> float:
    """Pixels for each point."""
    return min(DPI / _POINTS_PER_INCH, math.sqrt(MAX_PIXELS / max(width * height, 1)))


def _pgm(bitmap: pypdfium2.PdfBitmap) -> bytes:
    """Rows without the bytes that pad them."""
    pixels = memoryview(bitmap.buffer)
    rows = (
        pixels[start : start + bitmap.width]
        for start in range(0, bitmap.stride * bitmap.height, bitmap.stride)
    )
    return b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + b"".join(rows)
