"""The reader of each format, imported when it is needed: most cost more to load than a file takes to read."""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from core.extraction.pages import Reading
from core.extraction.sniffing import Format


class _Reader(NamedTuple):
    """A function of a module of this package; `measured` where it wants to know how much memory it has."""

    module: str
    function: str = "read"
    measured: bool = False


_IMAGE = _Reader("images")
_READERS = {
    Format.PDF: _Reader("pdf"),
    Format.DOCX: _Reader("docx", measured=True),
    Format.PPTX: _Reader("pptx", measured=True),
    Format.XLSX: _Reader("xlsx"),
    Format.XLS: _Reader("xls"),
    Format.ODT: _Reader("odt", measured=True),
    Format.ODP: _Reader("odp", measured=True),
    Format.ODS: _Reader("ods", measured=True),
    Format.RTF: _Reader("rtf"),
    Format.EPUB: _Reader("epub", measured=True),
    Format.EML: _Reader("email"),
    Format.MSG: _Reader("msg"),
    Format.HTML: _Reader("html"),
    Format.MARKDOWN: _Reader("text", "read_markdown"),
    Format.TEXT: _Reader("text", "read_text"),
    Format.CSV: _Reader("text", "read_csv"),
    Format.PNG: _IMAGE,
    Format.JPEG: _IMAGE,
    Format.TIFF: _Reader("images", "read_tiff"),
    Format.GIF: _IMAGE,
    Format.BMP: _IMAGE,
    Format.WEBP: _IMAGE,
}


def open_file(file_format: Format, source: Path, memory_bytes: int) -> Reading:
    """Begin to read a file of this format; whatever the reader raises comes through."""
    if file_format is Format.XLSX:
        # openpyxl would load numpy for nothing, and numpy ends the process where memory is short
        sys.modules["numpy"] = None  # type: ignore[assignment]
    reader = _READERS[file_format]
    function = getattr(import_module(f"core.extraction.{reader.module}"), reader.function)
    read: Callable[[Path], Reading] = (
        partial(function, memory_bytes=memory_bytes) if reader.measured else function
    )
    return read(source)
