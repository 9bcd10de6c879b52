"""Reads one file, in a child process: its format first, which its content says, then each page."""

import mmap
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from orc_core.errors import DocumentRejected, UnsupportedDocument
from orc_core.extraction.formats import KNOWN, Format, Sign, hinted_format
from orc_core.extraction.looks import set_apart
from orc_core.extraction.pages import clean, unreadable
from orc_core.extraction.text import is_wide
from orc_core.infra.sandbox_child import ChildMessage

MAX_CHARACTERS = 20_000_000
MAX_LABEL = 200


def read_file(path: str, name: str, memory_bytes: int, first: int) -> Iterator[ChildMessage]:
    """A message with the media type and the number of pages (0 if unknown), then one for each page.

    The bytes of a page are its boxes, of which there are as many as its field says, and its text. A PDF is
    read from page `first`. A file without pages has one empty page.
    """
    source = Path(path)
    file_format = sniff(source, name, memory_bytes)
    stream = file_format.open(source, memory_bytes, first)
    properties = set_apart(clean(stream.properties))
    yield ChildMessage({"opened": file_format.media_type, "total": stream.total, "properties": properties})
    is_empty = first == 1
    for unit in stream.units:
        is_empty = False
        text = unit.text if unit.boxes else set_apart(clean(unit.text))
        if len(text) > MAX_CHARACTERS:
            raise unreadable("too_large")
        label = set_apart(clean(unit.label))[:MAX_LABEL] if unit.label else ""
        fields = {"label": label, "follows": unit.follows, "boxes": len(unit.boxes)}
        yield ChildMessage(fields, unit.boxes + text.encode())
    if is_empty:
        yield ChildMessage({})


_LEGACY = {".doc": ".docx", ".dot": ".docx", ".ppt": ".pptx", ".pps": ".pptx", ".xlsb": ".xlsx"}


MAX_MEMBERS = 20_000
MAX_RATIO = 200
SMALL_BYTES = 10_000_000
_ENCRYPTED_FLAG = 0x1
_TYPE_MEMBER = "mimetype"
_LONGEST_TYPE = 200
_BINARY_BOOK = "xl/workbook.bin"
_FOLDERS = (
    ("word/", Format.DOCX),
    ("ppt/", Format.PPTX),
    ("xl/", Format.XLSX),
    ("META-INF/container.xml", Format.EPUB),
)
_DECLARED = {kind.media_type: kind for kind in Format if kind.sign is Sign.ARCHIVE}


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
        names = [member.filename.replace("\\", "/").lstrip("/") for member in members]
        found = (kind for folder, kind in _FOLDERS if any(name.startswith(folder) for name in names))
        kind = next(found, None)
        if _BINARY_BOOK in names:
            raise _legacy(".xlsb")
    if kind is not None:
        if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
            raise unreadable("encrypted")
        unpacked = sum(member.file_size for member in members)
        packed = sum(member.compress_size for member in members)
        is_bomb = unpacked > SMALL_BYTES and unpacked > MAX_RATIO * packed
        if is_bomb or len(members) > MAX_MEMBERS or unpacked > memory_bytes:
            raise unreadable("too_much_memory")
    return kind


def _declared(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Format | None:
    """The format that OpenDocument and EPUB files declare in a separate member."""
    for member in members:
        if member.filename == _TYPE_MEMBER and not member.flag_bits & _ENCRYPTED_FLAG:
            if member.file_size > _LONGEST_TYPE:
                return None
            return _DECLARED.get(archive.read(member).decode("latin-1").strip())
    return None


HEAD_BYTES = 1024
_ZIP = "a zip archive"
_COMPOUND = "an older Office file"
_RTF = "an RTF file"
_IMAGE = "an image"
_PDF_MARK = b"%PDF-"
_PDF_LINE = re.compile(rb"%PDF-\d\.\d\s*[\r\n]")
"""The mark of a PDF in a file with another extension: other text may mention it."""
_MAGIC: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    ((b"PK\x03\x04", b"PK\x05\x06"), _ZIP),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _COMPOUND),
    ((b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"II+\0", b"MM\0*", b"MM\0+"), _IMAGE),
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
_STREAMS: dict[str, Format | str] = {
    "__properties_version1.0": Format.MSG,
    "WordDocument": ".doc",
    "PowerPoint Document": ".ppt",
    "Workbook": Format.XLS,
    "Book": Format.XLS,
}
"""Streams that identify the kinds of compound files: formats, or the endings of kinds that cannot be read."""

_LOCKED_STREAM = "EncryptedPackage"
_MAIL = re.compile(
    rb"(?:From [^\n]*\n)?(?:>?[!-9;-~]+[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*)*?"
    rb"(?:From|To|Cc|Subject|Date|Sender|Received|Return-Path|Delivered-To|Message-ID|MIME-Version|"
    rb"Content-Type|Reply-To|DKIM-Signature|ARC-[\w-]+|X-[\w-]+)[ \t]*:",
    re.IGNORECASE,
)


_SURE_MAIL = re.compile(
    rb"^(?:MIME-Version|Message-ID|Received|Return-Path)[ \t]*:", re.IGNORECASE | re.MULTILINE
)
"""Headers that a mail has, and a note with "To:" and "Subject:" does not."""
_OPENING = rb"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body%s)\b"
_HTML = re.compile(_OPENING % b"", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(_OPENING % b"|table|meta|style|div", re.IGNORECASE | re.DOTALL)
_OFFICE = frozenset({Format.DOCX, Format.PPTX, Format.XLSX, Format.XLS, Format.ODT, Format.ODP, Format.ODS})
_SHEETS = frozenset({Format.XLS, Format.XLSX, Format.ODS})
_CONTROL, _DELIMITER = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]"), re.compile(rb"[\t;,|]")
_XML = re.compile(rb"<(?:\?xml|!doctype|svg)\b", re.IGNORECASE)
_XML_SHEET = b'="urn:schemas-microsoft-com:office:spreadsheet"'
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\r\n\t "


def sniff(source: Path, file_name: str, memory_bytes: int) -> Format:
    """The file's format.

    A signature decides, whatever the name says; only an image must not be named as a document. Without one,
    the name decides between the formats of text, and the text itself if the name suggests no format, or if
    it is that of an Office file: programs export web pages and CSV under such names.

    Raises UnsupportedDocument for other formats, and for content without the signature of the format in its
    name. Raises UnreadableDocument for a file that is empty, encrypted or damaged beyond recognition.
    """
    hint, suffix = hinted_format(file_name), Path(file_name).suffix.lower()
    with source.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise unreadable("empty")
    if _is_pdf(head, hint):
        return Format.PDF
    found = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if found == _COMPOUND:
        return _compound(source, hint, suffix)
    if found == _RTF:
        return Format.RTF
    kind = inspect_archive(source, memory_bytes) if found == _ZIP else _image(head, hint, found)
    return kind or _without_signature(head, hint, suffix, found)


def _is_pdf(head: bytes, hint: Format | None) -> bool:
    """Some programs write other bytes before the mark."""
    if hint is None:
        return _PDF_LINE.search(head) is not None
    return head.startswith(_PDF_MARK) or (hint is Format.PDF and _PDF_MARK in head)


def _image(head: bytes, hint: Format | None, found: str | None) -> Format | None:
    image = next((image for pattern, image in _IMAGES if pattern.match(head)), None)
    is_expected = hint is None or hint.is_image
    if image and not is_expected:
        raise _unsupported(hint, _IMAGE)
    if found == _IMAGE and not image and is_expected:
        raise unreadable("corrupt")
    return image


def _compound(source: Path, hint: Format | None, suffix: str) -> Format:
    if _has_stream(source, _LOCKED_STREAM):
        raise unreadable("encrypted")
    kinds = [kind for stream, kind in _STREAMS.items() if _has_stream(source, stream)]
    # Files of one kind may contain files of another.
    kind = next((kind for kind in kinds if kind in (hint, suffix)), kinds[0] if kinds else None)
    if isinstance(kind, Format):
        return kind
    if kind is not None:
        raise _legacy(kind)
    raise unreadable("corrupt") if hint in _COMPOUNDS else _unsupported(hint, _COMPOUND)


def _without_signature(head: bytes, hint: Format | None, suffix: str, found: str | None) -> Format:
    if found is None and _XML_SHEET in head.replace(b"\0", b""):
        return Format.XLS
    if found is None and (hint in _OFFICE or suffix in _LEGACY) and (kind := _exported(head, hint)):
        return kind
    if found is None and suffix in _LEGACY:
        raise _legacy(suffix)
    if found is None and hint is None:
        # The format of text whose name suggests none. Markdown and CSV are read as they are written.
        if (text := _beginning(head)) is None:
            raise _unsupported(None, None)
        if _HTML.match(text):
            return Format.HTML
        if _XML.match(text):
            raise _unsupported(None, "XML")
        return Format.EML if _is_mail(text) else Format.TEXT
    is_text = found is None and hint is not None and hint.sign is Sign.NAME
    if hint and is_text and (hint is not Format.EML or _MAIL.match(head.lstrip(_BEFORE_TEXT))):
        return hint
    found = found or ("a web page or XML" if head.lstrip()[:1] == b"<" else None)
    raise unreadable("corrupt") if hint is Format.PDF and not found else _unsupported(hint, found)


def _exported(head: bytes, hint: Format | None) -> Format | None:
    """The format of an export that is named as an Office file: a web page, perhaps in a mail, or a table."""
    if (text := _beginning(head)) is None:
        return None
    if _MARKUP.match(text):
        return Format.HTML
    if _is_mail(text):
        return Format.EML
    is_table = _CONTROL.search(text) is None and text[:1] != b"<" and _DELIMITER.search(text)
    return Format.CSV if hint in _SHEETS and is_table else None


def _beginning(head: bytes) -> bytes | None:
    """The text without its marks; also of UTF-16, in which every other byte of markup is zero."""
    is_text = b"\0" not in head or is_wide(head)
    return head.replace(b"\0", b"").lstrip(_BEFORE_TEXT) if is_text else None


def _is_mail(text: bytes) -> bool:
    return _MAIL.match(text) is not None and _SURE_MAIL.search(text) is not None


def _has_stream(source: Path, stream: str) -> bool:
    """Whether a compound file has this stream; its directory has names in UTF-16."""
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(f"{stream}\0".encode("utf-16-le")) >= 0


def _legacy(suffix: str) -> DocumentRejected:
    return UnsupportedDocument(f"Files of type {suffix} cannot be read. Save the file as {_LEGACY[suffix]}.")


def _unsupported(hint: Format | None, found: str | None) -> DocumentRejected:
    what = f"holds {found}" if found else "is not one" if hint else "is in none of the supported formats"
    subject = f"The file's name says {hint.name}, but it" if hint else "The file"
    return UnsupportedDocument(f"{subject} {what}. {KNOWN}")
