"""The formats that are read, and the names that files of each may have."""

from enum import Enum
from pathlib import Path

from core.documents.extraction.rejections import unsupported

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."


class Format(Enum):
    """The formats that are read, by media type."""

    PDF = "application/pdf"
    DOCX = _OFFICE + "wordprocessingml.document"
    PPTX = _OFFICE + "presentationml.presentation"
    XLSX = _OFFICE + "spreadsheetml.sheet"
    XLS = "application/vnd.ms-excel"
    ODT = _OPEN + "text"
    ODP = _OPEN + "presentation"
    ODS = _OPEN + "spreadsheet"
    RTF = "application/rtf"
    EPUB = "application/epub+zip"
    EML = "message/rfc822"
    MSG = "application/vnd.ms-outlook"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    TEXT = "text/plain"
    CSV = "text/csv"
    PNG = "image/png"
    JPEG = "image/jpeg"
    TIFF = "image/tiff"
    GIF = "image/gif"
    BMP = "image/bmp"
    WEBP = "image/webp"


PACKAGES = frozenset({Format.DOCX, Format.PPTX, Format.XLSX, Format.ODT, Format.ODP, Format.ODS, Format.EPUB})
"""Those that are zip archives."""

IMAGES = frozenset({Format.PNG, Format.JPEG, Format.TIFF, Format.GIF, Format.BMP, Format.WEBP})
"""Those that are pictures: pages without text."""

KNOWN = (
    "Supported formats: PDF, DOCX, PPTX, XLSX, XLS, ODT, ODP, ODS, RTF, EPUB, EML, MSG, HTML, Markdown, TXT, "
    "CSV, and images as PNG, JPEG, TIFF, GIF, BMP or WEBP."
)

_BY_SUFFIX = {
    ".pdf": Format.PDF,
    ".docx": Format.DOCX,
    ".docm": Format.DOCX,
    ".pptx": Format.PPTX,
    ".pptm": Format.PPTX,
    ".xlsx": Format.XLSX,
    ".xlsm": Format.XLSX,
    ".xls": Format.XLS,
    ".odt": Format.ODT,
    ".odp": Format.ODP,
    ".ods": Format.ODS,
    ".rtf": Format.RTF,
    ".epub": Format.EPUB,
    ".eml": Format.EML,
    ".msg": Format.MSG,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".txt": Format.TEXT,
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".png": Format.PNG,
    ".jpg": Format.JPEG,
    ".jpeg": Format.JPEG,
    ".tif": Format.TIFF,
    ".tiff": Format.TIFF,
    ".gif": Format.GIF,
    ".bmp": Format.BMP,
    ".webp": Format.WEBP,
}
_LEGACY = {".doc": ".docx", ".dot": ".docx", ".ppt": ".pptx", ".pps": ".pptx"}


def named_format(file_name: str) -> Format:
    """The format that a file of this name should have. Raises UnsupportedDocument with what to do instead."""
    suffix = Path(file_name).suffix.lower()
    if suffix in _LEGACY:
        raise unsupported(f"Files of type {suffix} cannot be read. Save the file as {_LEGACY[suffix]}.")
    if suffix not in _BY_SUFFIX:
        what = f"Files of type {suffix}" if suffix else "Files without an extension"
        raise unsupported(f"{what} cannot be read. {KNOWN}")
    return _BY_SUFFIX[suffix]
