"""Recognises the format of a file from its name and content; refuses what does not fit."""

import mmap
import re
import zipfile
from enum import Enum
from pathlib import Path

from core.errors import DocumentRejected, UnsupportedDocument
from core.extraction.pages import unreadable

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."


class Format(Enum):
    """The supported formats; the values are media types."""

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
"""Formats that are zip archives."""

IMAGES = frozenset({Format.PNG, Format.JPEG, Format.TIFF, Format.GIF, Format.BMP, Format.WEBP})
"""Image formats: pages without text."""

KNOWN = (
    "Supported formats: PDF, DOCX, PPTX, XLSX, XLS, ODT, ODP, ODS, RTF, EPUB, EML, MSG, HTML, Markdown, TXT, "
    "CSV, and images as PNG, JPEG, TIFF, GIF, BMP or WEBP."
)

_OTHER_SUFFIXES = (
    "docm:DOCX pptm:PPTX xlsm:XLSX htm:HTML md:MARKDOWN txt:TEXT tsv:CSV jpg:JPEG tif:TIFF".split()
)
_BY_SUFFIX = {f".{kind.name.lower()}": kind for kind in Format if kind is not Format.TEXT} | {
    f".{suffix}": Format[name] for suffix, name in (pair.split(":") for pair in _OTHER_SUFFIXES)
}
_LEGACY = {".doc": ".docx", ".dot": ".docx", ".ppt": ".pptx", ".pps": ".pptx"}


def named_format(file_name: str) -> Format:
    """The format for a file name. Raises UnsupportedDocument with advice for other extensions."""
    suffix = Path(file_name).suffix.lower()
    if suffix in _LEGACY:
        advice = f"Save the file as {_LEGACY[suffix]}."
        raise UnsupportedDocument(f"Files of type {suffix} cannot be read. {advice}")
    if suffix not in _BY_SUFFIX:
        what = f"Files of type {suffix}" if suffix else "Files without an extension"
        raise UnsupportedDocument(f"{what} cannot be read. {KNOWN}")
    return _BY_SUFFIX[suffix]


MAX_MEMBERS = 20_000
MAX_RATIO = 200
SMALL_BYTES = 10_000_000
_ENCRYPTED_FLAG = 0x1
_TYPE_MEMBER = "mimetype"
_LONGEST_TYPE = 200
_FOLDERS = (
    ("word/", Format.DOCX),
    ("ppt/", Format.PPTX),
    ("xl/", Format.XLSX),
    ("META-INF/container.xml", Format.EPUB),
)
_DECLARED = {package.value: package for package in PACKAGES}


def inspect_archive(source: Path, memory_bytes: int) -> Format | None:
    """The document format in a zip archive, or None for any other archive.

    Raises UnreadableDocument for a damaged or encrypted archive, and for one that is too large unpacked.
    It uses the declared sizes; zipfile reads no more than that of a member.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            kind = _declared(archive, members)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise unreadable("corrupt") from error
    if kind is None:
        names = [member.filename.lstrip("/") for member in members]
        found = (kind for folder, kind in _FOLDERS if any(name.startswith(folder) for name in names))
        kind = next(found, None)
    if kind is not None:
        _check_size(members, memory_bytes)
    return kind


def _declared(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Format | None:
    """The format that OpenDocument and EPUB files declare in a separate member."""
    for member in members:
        if member.filename == _TYPE_MEMBER and not member.flag_bits & _ENCRYPTED_FLAG:
            if member.file_size > _LONGEST_TYPE:
                return None
            return _DECLARED.get(archive.read(member).decode("latin-1").strip())
    return None


def _check_size(members: list[zipfile.ZipInfo], memory_bytes: int) -> None:
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
        raise unreadable("encrypted")
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    is_bomb = unpacked > SMALL_BYTES and unpacked > MAX_RATIO * packed
    if is_bomb or len(members) > MAX_MEMBERS or unpacked > memory_bytes:
        raise unreadable("too_much_memory")


HEAD_BYTES = 1024
_ZIP = "a zip archive"
_COMPOUND = "an older Office file"
_RTF = "an RTF file"
_MAGIC: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"%PDF-", "a PDF"),
    ((b"PK\x03\x04", b"PK\x05\x06"), _ZIP),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _COMPOUND),
    ((b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"II+\0", b"MM\0*", b"MM\0+"), "an image"),
    (b"RIFF", "an image or a recording"),
    (b"{\\rtf", _RTF),
    (b"\x7fELF", "a program"),
    ((b"\x1f\x8b\x08", b"7z\xbc\xaf\x27\x1c", b"Rar!"), "a compressed archive"),
)
_IMAGES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n.{4}IHDR", re.DOTALL), Format.PNG),
    (re.compile(rb"\xff\xd8\xff[\xc0-\xfe]"), Format.JPEG),
    (re.compile(rb"II[*+]\x00|MM\x00[*+]"), Format.TIFF),
    (re.compile(rb"GIF8[79]a"), Format.GIF),
    (re.compile(rb"BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00\x00\x00", re.DOTALL), Format.BMP),
    (re.compile(rb"RIFF.{4}WEBPVP8", re.DOTALL), Format.WEBP),
)
_COMPOUNDS = frozenset({Format.XLS, Format.MSG})
_STREAMS = {
    "WordDocument": "a .doc file",
    "PowerPoint Document": "a .ppt file",
    "__properties_version1.0": "a .msg file",
    "Workbook": "a .xls file",
    "Book": "a .xls file",
}
"""Streams that identify the kinds of compound files."""

_LOCKED_STREAM = "EncryptedPackage"
_MAIL = re.compile(
    rb"(?:From [^\n]*\n)?(?:>?[!-9;-~]+[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*)*?"
    rb"(?:From|To|Cc|Subject|Date|Sender|Received|Return-Path|Delivered-To|Message-ID|MIME-Version|"
    rb"Content-Type|Reply-To|DKIM-Signature|ARC-[\w-]+|X-[\w-]+)[ \t]*:",
    re.IGNORECASE,
)


def sniff(source: Path, file_name: str, memory_bytes: int) -> Format:
    """The file's format.

    Raises UnsupportedDocument for other formats and for content that contradicts the name, and
    UnreadableDocument for a file that is empty, encrypted or damaged beyond recognition. For images only the
    content counts: pictures from the web are often JPEGs named .png.
    """
    named = named_format(file_name)
    with source.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise unreadable("empty")
    found = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if named in IMAGES:
        return _image(named, head, found)
    _check_content(source, named, head, found, memory_bytes)
    return named


def _check_content(source: Path, named: Format, head: bytes, found: str | None, memory_bytes: int) -> None:
    if named is Format.PDF:
        if b"%PDF-" not in head:
            found = found or _as_markup(head)
            raise _contradiction(named, found) if found else unreadable("corrupt")
    elif named in PACKAGES:
        _check_package(source, named, found, memory_bytes)
    elif named in _COMPOUNDS:
        _check_compound(source, named, head, found, memory_bytes)
    elif named is Format.RTF:
        if found != _RTF:
            raise _contradiction(named, found or _as_markup(head))
    elif found is not None:
        raise _contradiction(named, found)
    elif named is Format.EML and not _MAIL.match(head.lstrip(b"\xef\xbb\xbf\r\n\t ")):
        raise _contradiction(named, _as_markup(head))


def _image(named: Format, head: bytes, found: str | None) -> Format:
    if image := next((image for pattern, image in _IMAGES if pattern.match(head)), None):
        return image
    if found == "an image":
        raise unreadable("corrupt")
    raise _contradiction(named, found or _as_markup(head))


def _as_markup(head: bytes) -> str | None:
    return "a web page or XML" if head.lstrip()[:1] == b"<" else None


def _check_package(source: Path, named: Format, found: str | None, memory_bytes: int) -> None:
    if found == _COMPOUND and _has_stream(source, _LOCKED_STREAM):
        raise unreadable("encrypted")
    inside = inspect_archive(source, memory_bytes) if found == _ZIP else None
    if inside is not named:
        raise _contradiction(named, _a_file(inside) if inside else found)


def _check_compound(source: Path, named: Format, head: bytes, found: str | None, memory_bytes: int) -> None:
    if found != _COMPOUND:
        inside = inspect_archive(source, memory_bytes) if found == _ZIP else None
        raise _contradiction(named, _a_file(inside) if inside else found or _as_markup(head))
    if _has_stream(source, _LOCKED_STREAM):
        raise unreadable("encrypted")
    kinds = [kind for stream, kind in _STREAMS.items() if _has_stream(source, stream)]
    if not kinds:
        raise unreadable("corrupt")
    if _a_file(named) not in kinds:
        raise _contradiction(named, kinds[0])


def _a_file(kind: Format) -> str:
    return f"a .{kind.name.lower()} file"


def _has_stream(source: Path, stream: str) -> bool:
    """Whether a compound file has this stream; its directory has names in UTF-16."""
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(f"{stream}\0".encode("utf-16-le")) >= 0


def _contradiction(named: Format, found: str | None) -> DocumentRejected:
    what = f"holds {found}" if found else "is not one"
    return UnsupportedDocument(f"The file's name says {named.name}, but it {what}. {KNOWN}")
