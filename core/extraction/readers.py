"""The reader of each format, imported on use: loading most libraries takes longer than reading a file."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from core.extraction.pages import UnitStream
from core.extraction.sniffing import Format


class _Reader(NamedTuple):
    """A function in a module of this package; `takes_memory` if its argument is the memory limit too."""

    module: str
    function: str = "read"
    takes_memory: bool = False


_IMAGE = _Reader("images")
_READERS = {
    Format.PDF: _Reader("pdf"),
    Format.DOCX: _Reader("docx", takes_memory=True),
    Format.PPTX: _Reader("pptx", takes_memory=True),
    Format.XLSX: _Reader("spreadsheets", "read_xlsx"),
    Format.XLS: _Reader("spreadsheets", "read_xls"),
    Format.ODT: _Reader("odf", "read_odt", takes_memory=True),
    Format.ODP: _Reader("odf", "read_odp", takes_memory=True),
    Format.ODS: _Reader("odf", "read_ods", takes_memory=True),
    Format.RTF: _Reader("rtf"),
    Format.EPUB: _Reader("epub", takes_memory=True),
    Format.EML: _Reader("email", "read_eml"),
    Format.MSG: _Reader("email", "read_msg"),
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


def open_file(file_format: Format, source: Path, memory_bytes: int) -> UnitStream:
    """Start reading a file of this format. Exceptions of the reader are not translated."""
    reader = _READERS[file_format]
    function = getattr(import_module(f"core.extraction.{reader.module}"), reader.function)
    read: Callable[[Path], UnitStream] = (
        partial(function, memory_bytes=memory_bytes) if reader.takes_memory else function
    )
    return read(source)
