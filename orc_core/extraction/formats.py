"""The supported formats, each with its media type, its reader and the endings of its names.

Readers are imported on use: loading most libraries takes longer than reading a file.
"""

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path

from orc_core.extraction.pages import UnitStream

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."


class Sign(Enum):
    """How files of a format are recognised: by bytes, as a zip archive, or by their names, as text."""

    BYTES, ARCHIVE, NAME = range(3)


# Why the content decides, and which library reads what: docs/decisions/formats.md.
class Format(Enum):
    """A format: media type, sign, module and function of the reader, and endings of names."""

    PDF = "application/pdf", Sign.BYTES, "pdf.read", "pdf"
    DOCX = _OFFICE + "wordprocessingml.document", Sign.ARCHIVE, "docx.read", "docx docm"
    PPTX = _OFFICE + "presentationml.presentation", Sign.ARCHIVE, "pptx.read", "pptx pptm"
    XLSX = _OFFICE + "spreadsheetml.sheet", Sign.ARCHIVE, "spreadsheets.read", "xlsx xlsm"
    XLS = "application/vnd.ms-excel", Sign.BYTES, "xls.read", "xls"
    ODT = _OPEN + "text", Sign.ARCHIVE, "odf.read_odt", "odt"
    ODP = _OPEN + "presentation", Sign.ARCHIVE, "odf.read_odp", "odp"
    ODS = _OPEN + "spreadsheet", Sign.ARCHIVE, "odf.read_ods", "ods"
    RTF = "application/rtf", Sign.BYTES, "rtf.read", "rtf"
    EPUB = "application/epub+zip", Sign.ARCHIVE, "epub.read", "epub"
    EML = "message/rfc822", Sign.NAME, "email.read_eml", "eml"
    MSG = "application/vnd.ms-outlook", Sign.BYTES, "email.read_msg", "msg"
    HTML = "text/html", Sign.NAME, "html.read", "html htm"
    MARKDOWN = "text/markdown", Sign.NAME, "text.read_markdown", "md markdown"
    TEXT = "text/plain", Sign.NAME, "text.read_text", "txt"
    CSV = "text/csv", Sign.NAME, "text.read_csv", "csv tsv"
    PNG = "image/png", Sign.BYTES, "images.read", "png"
    JPEG = "image/jpeg", Sign.BYTES, "images.read", "jpeg jpg"
    TIFF = "image/tiff", Sign.BYTES, "images.read_tiff", "tiff tif"
    GIF = "image/gif", Sign.BYTES, "images.read", "gif"
    BMP = "image/bmp", Sign.BYTES, "images.read", "bmp"
    WEBP = "image/webp", Sign.BYTES, "images.read", "webp"

    def __init__(self, media_type: str, sign: Sign, reader: str, endings: str) -> None:
        self.media_type = media_type
        self.sign = sign
        self.reader = reader
        self.suffixes = [f".{ending}" for ending in endings.split()]

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")

    def open(self, source: Path, memory_bytes: int, first: int = 1) -> UnitStream:
        """Start reading a file of this format, a PDF from page `first`, see pdf.py.

        Exceptions of the reader are not translated.
        """
        module, function = self.reader.split(".")
        read: Callable[..., UnitStream] = getattr(import_module(f"orc_core.extraction.{module}"), function)
        if self is Format.PDF:
            return read(source, first)
        return read(source, memory_bytes) if self.sign is Sign.ARCHIVE else read(source)


BY_SUFFIX = {suffix: kind for kind in Format for suffix in kind.suffixes}
EXTENSIONS = tuple(sorted(BY_SUFFIX))
"""The endings of names that suggest a supported format."""
KNOWN = (
    f"Supported formats: {', '.join(kind.suffixes[0][1:].upper() for kind in Format if not kind.is_image)}, "
    f"and images as {', '.join(kind.name for kind in Format if kind.is_image)}."
)


def hinted_format(file_name: str) -> Format | None:
    """The format that the ending of a name suggests; None if it suggests none."""
    return BY_SUFFIX.get(Path(file_name).suffix.lower())
