"""Images: pages without text, counted by their headers. Their pixels are a matter of OCR."""

import struct
from itertools import repeat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from core.extraction.errors import unreadable
from core.extraction.pages import Reading, Unit

MAX_FRAMES = 10_000


class _Layout(NamedTuple):
    """How a TIFF writes its numbers: where the first directory is named, and how directories are."""

    first: int
    offset: struct.Struct
    entries: struct.Struct
    entry_bytes: int


def read(_: Path) -> Reading:
    """One page."""
    return Reading(iter([Unit("")]), 1)


def read_tiff(source: Path) -> Reading:
    """One page for each frame."""
    with source.open("rb") as file:
        frames = _count_frames(file)
    return Reading(repeat(Unit(""), frames), frames)


def _count_frames(file: BinaryIO) -> int:
    """The length of the chain of directories, as far as it leads anywhere new."""
    layout = _layout(file.read(8))
    seen: set[int] = set()
    where = _number(file, layout.first, layout.offset)
    while where and where not in seen and len(seen) < MAX_FRAMES:
        held = _number(file, where, layout.entries)
        if not held:
            break
        seen.add(where)
        where = _number(file, where + layout.entries.size + held * layout.entry_bytes, layout.offset)
    if not seen:
        raise unreadable("corrupt")
    return len(seen)


def _layout(head: bytes) -> _Layout:
    order = "<" if head.startswith(b"II") else ">"
    if b"+" in head[2:4]:
        return _Layout(8, struct.Struct(order + "Q"), struct.Struct(order + "Q"), 20)
    return _Layout(4, struct.Struct(order + "I"), struct.Struct(order + "H"), 12)


def _number(file: BinaryIO, where: int, form: struct.Struct) -> int:
    """The number at this place; 0 where the file has ended."""
    if where >= 2**63:
        return 0
    file.seek(where)
    content = file.read(form.size)
    return int(form.unpack(content)[0]) if len(content) == form.size else 0
