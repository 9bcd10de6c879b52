"""The reader of each format, imported when it is needed: most cost more to load than a file takes to read."""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from core.documents.extraction.formats import Format
from core.documents.extraction.units import Reading


class _Reader(NamedTuple):
    """A function of a module of this package; `measured` where it wants to know how much memory it has."""

    module: str
    function: str = "read"
    measured: bool = False


_IMAGE = _Reader("images")
_READERS = {
    Format.PDF: _Reader("pdf"),
    Format.DOCX: _Reader("word", measured=True),
    Format.PPTX: _Reader("slides", measured=True),
    Format.XLSX: _Reader("sheets"),
    Format.XLS: _Reader("old_sheets"),
    Format.ODT: _Reader("odf_text", measured=True),
    Format.ODP: _Reader("odf_slides", measured=True),
    Format.ODS: _Reader("odf_sheets", measured=True),
    Format.RTF: _Reader("rtf"),
    Format.EPUB: _Reader("epub", measured=True),
    Format.EML: _Reader("mail"),
    Format.MSG: _Reader("outlook"),
    Format.HTML: _Reader("web"),
    Format.MARKDOWN: _Reader("prose", "read_markdown"),
    Format.TEXT: _Reader("prose", "read_text"),
    Format.CSV: _Reader("delimited"),
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
    function = getattr(import_module(f"core.documents.extraction.{reader.module}"), reader.function)
    read: Callable[[Path], Reading] = (
        partial(function, memory_bytes=memory_bytes) if reader.measured else function
    )
    return read(source)
