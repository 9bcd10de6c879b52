"""Zip containers: which document format is inside, and whether it is safe to unpack."""

import zipfile
from pathlib import Path

from core.documents.extraction.formats import PACKAGES, Format
from core.documents.extraction.rejections import unreadable

MAX_MEMBERS = 20_000
MAX_RATIO = 200
SMALL_BYTES = 10_000_000
_ENCRYPTED_FLAG = 0x1
_TYPE_MEMBER = "mimetype"
_LONGEST_TYPE = 200
_FOLDERS = {
    "word/": Format.DOCX,
    "ppt/": Format.PPTX,
    "xl/": Format.XLSX,
    "META-INF/container.xml": Format.EPUB,
}
_DECLARED = {package.value: package for package in PACKAGES}


def inspect(source: Path, memory_bytes: int) -> Format | None:
    """The document format inside, or None for another kind of archive.

    Raises UnreadableDocument for a damaged or locked archive and for one that unpacks to too much. The
    sizes are those that the archive declares; zipfile reads no more of a member than that.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            kind = _declared(archive, members)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise unreadable("corrupt") from error
    if kind is None:
        kind = next((_FOLDERS[folder] for folder in _FOLDERS if _holds(members, folder)), None)
    if kind is not None:
        _check(members, memory_bytes)
    return kind


def _declared(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Format | None:
    """What OpenDocument and EPUB files say of themselves in a member of their own."""
    for member in members:
        if member.filename == _TYPE_MEMBER and not member.flag_bits & _ENCRYPTED_FLAG:
            if member.file_size > _LONGEST_TYPE:
                return None
            return _DECLARED.get(archive.read(member).decode("latin-1").strip())
    return None


def _holds(members: list[zipfile.ZipInfo], folder: str) -> bool:
    return any(member.filename.lstrip("/").startswith(folder) for member in members)


def _check(members: list[zipfile.ZipInfo], memory_bytes: int) -> None:
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
        raise unreadable("encrypted")
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > memory_bytes:
        raise unreadable("too_much_memory")
    if unpacked > SMALL_BYTES and unpacked > MAX_RATIO * packed:
        raise unreadable("too_much_memory")
