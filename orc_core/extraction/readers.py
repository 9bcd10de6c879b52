"""The reader of each format, imported on use: loading most libraries takes longer than reading a file."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from orc_core.extraction.pages import UnitStream
from orc_core.extraction.sniffing import PACKAGES, Format

_READERS = {
    Format.PDF: "pdf.read",
    Format.DOCX: "docx.read",
    Format.PPTX: "pptx.read",
    Format.XLSX: "spreadsheets.read",
    Format.XLS: "xls.read",
    Format.ODT: "odf.read_odt",
    Format.ODP: "odf.read_odp",
    Format.ODS: "odf.read_ods",
    Format.RTF: "rtf.read",
    Format.EPUB: "epub.read",
    Format.EML: "email.read_eml",
    Format.MSG: "email.read_msg",
    Format.HTML: "html.read",
    Format.MARKDOWN: "text.read_markdown",
    Format.TEXT: "text.read_text",
    Format.CSV: "text.read_csv",
    Format.TIFF: "images.read_tiff",
}


def open_file(
    file_format: Format, source: Path, memory_bytes: int, first: int = 1, *, with_earlier_words: bool = False
) -> UnitStream:
    """Start reading a file of this format, a PDF from page `first`, see pdf.py.

    Exceptions of the reader are not translated.
    """
    module, function = _READERS.get(file_format, "images.read").split(".")
    read: Callable[..., UnitStream] = getattr(import_module(f"orc_core.extraction.{module}"), function)
    if file_format is Format.PDF:
        return read(source, first, with_earlier_words=with_earlier_words)
    return read(source, memory_bytes) if file_format in PACKAGES else read(source)
