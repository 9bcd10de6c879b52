"""Which format a file has: its content decides, and its name must agree."""

import mmap
from enum import Enum
from pathlib import Path

from core.documents.extraction.archive import inspect
from core.documents.extraction.rejections import unreadable, unsupported
from core.errors import DocumentRejected

HEAD_BYTES = 1024
_OFFICE = "application/vnd.openxmlformats-officedocument."


class Format(Enum):
    """The formats that are read, by media type."""

    PDF = "application/pdf"
    DOCX = _OFFICE + "wordprocessingml.document"
    PPTX = _OFFICE + "presentationml.presentation"
    XLSX = _OFFICE + "spreadsheetml.sheet"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    TEXT = "text/plain"
    CSV = "text/csv"


_BY_SUFFIX = {
    ".pdf": Format.PDF,
    ".docx": Format.DOCX,
    ".docm": Format.DOCX,
    ".pptx": Format.PPTX,
    ".pptm": Format.PPTX,
    ".xlsx": Format.XLSX,
    ".xlsm": Format.XLSX,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".txt": Format.TEXT,
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
}
_OFFICE_FORMATS = {"docx": Format.DOCX, "pptx": Format.PPTX, "xlsx": Format.XLSX}
_LEGACY = {".doc": ".docx", ".dot": ".docx", ".ppt": ".pptx", ".pps": ".pptx", ".xls": ".xlsx"}
_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an older Office file"),
    (b"\x89PNG\r\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\x00", "an image"),
    (b"MM\x00*", "an image"),
    (b"RIFF", "an image or a recording"),
    (b"{\\rtf", "an RTF file"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b\x08", "a compressed archive"),
    (b"7z\xbc\xaf\x27\x1c", "a compressed archive"),
    (b"Rar!", "a compressed archive"),
)
_KNOWN = "Supported formats: PDF, DOCX, PPTX, XLSX, HTML, Markdown, TXT and CSV."


def sniff(source: Path, file_name: str, memory_bytes: int) -> Format:
    """The file's format.

    Raises UnsupportedDocument for other formats and for content that contradicts the name, and
    UnreadableDocument for a file that is empty, locked, or damaged beyond recognition.
    """
    named = _named_format(file_name)
    with source.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise unreadable("empty")
    found = _recognise(head)
    if named is Format.PDF:
        if b"%PDF-" not in head:
            raise _no_pdf(found, head)
    elif named in _OFFICE_FORMATS.values():
        _check_office(source, named, found, memory_bytes)
    elif found is not None:
        raise _contradiction(named, found)
    return named


def _named_format(file_name: str) -> Format:
    suffix = Path(file_name).suffix.lower()
    if suffix in _LEGACY:
        raise unsupported(f"Files of type {suffix} cannot be read. Save the file as {_LEGACY[suffix]}.")
    if suffix not in _BY_SUFFIX:
        what = f"Files of type {suffix}" if suffix else "Files without an extension"
        raise unsupported(f"{what} cannot be read. {_KNOWN}")
    return _BY_SUFFIX[suffix]


def _recognise(head: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def _no_pdf(found: str | None, head: bytes) -> DocumentRejected:
    if found is None and head.lstrip()[:1] == b"<":
        found = "a web page or XML"
    return _contradiction(Format.PDF, found) if found else unreadable("corrupt")


def _check_office(source: Path, named: Format, found: str | None, memory_bytes: int) -> None:
    if found == "an older Office file" and _is_locked(source):
        raise unreadable("encrypted")
    if found != "a zip archive":
        raise _contradiction(named, found)
    inside = inspect(source, memory_bytes)
    if inside is None:
        raise _contradiction(named, found)
    if _OFFICE_FORMATS[inside] is not named:
        raise _contradiction(named, f"a .{inside} file")


def _is_locked(source: Path) -> bool:
    """An Office file with a password is a compound file with a stream of this name."""
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find("EncryptedPackage".encode("utf-16-le")) >= 0


def _contradiction(named: Format, found: str | None) -> DocumentRejected:
    what = f"holds {found}" if found else "is none"
    return unsupported(f"The file's name says {named.name}, but it {what}. {_KNOWN}")
