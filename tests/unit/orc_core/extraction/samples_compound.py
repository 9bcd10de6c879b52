"""Compound files (OLE 2) with a few small streams, as Outlook and old Excel write them."""

import struct
from collections.abc import Mapping
from itertools import pairwise

SECTOR, SMALL = 512, 64
END, FREE, FAT_ITSELF, NO_ENTRY = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
STORAGE, STREAM, ROOT = 1, 2, 5


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A file with these streams, each of less than 4 KiB; `folder/name` is in a folder."""
    small, small_table, starts = _small_sectors(streams)
    parts = [_directory(streams, starts, len(small)), _table(small_table), _padded(small)]
    table, firsts = [FAT_ITSELF], []
    for part in parts:
        firsts.append(len(table) if part else END)
        table += _chain(len(table), len(part) // SECTOR)
    assert len(table) <= SECTOR // 4, "one sector of table is all that a test needs"
    head = struct.pack("<8s16x5H6x", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<2I", 0, 1) + struct.pack("<3I", firsts[0], 0, 4096)
    head += struct.pack("<4I", firsts[1], len(parts[1]) // SECTOR, END, 0) + struct.pack("<I", 0)
    return head.ljust(SECTOR, b"\xff") + _table(table) + b"".join(parts)


def _small_sectors(streams: Mapping[str, bytes]) -> tuple[bytes, list[int], dict[str, int]]:
    """The streams in sectors of 64 bytes, the sector table, and the first sector of each stream."""
    content = b""
    table: list[int] = []
    starts: dict[str, int] = {}
    for path, stream in streams.items():
        assert len(stream) < 4096
        starts[path] = len(table) if stream else END
        table += _chain(len(table), -(-len(stream) // SMALL))
        content += stream.ljust(-(-len(stream) // SMALL) * SMALL, b"\0")
    return content, table, starts


def _chain(start: int, length: int) -> list[int]:
    return [*range(start + 1, start + length), END] if length else []


def _table(numbers: list[int]) -> bytes:
    return _padded(struct.pack(f"<{len(numbers)}I", *numbers), b"\xff")


def _padded(content: bytes, filling: bytes = b"\0") -> bytes:
    return content.ljust(-(-len(content) // SECTOR) * SECTOR, filling)


def _directory(streams: Mapping[str, bytes], starts: Mapping[str, int], small_bytes: int) -> bytes:
    """Directory entries as a linked list; other programs write a balanced tree."""
    folders = list(dict.fromkeys(path.partition("/")[0] for path in streams if "/" in path))
    paths = ["", *folders, *streams]
    children = {
        folder: [n for n, path in enumerate(paths) if n and path.rpartition("/")[0] == folder]
        for folder in ["", *folders]
    }
    following = {left: right for group in children.values() for left, right in pairwise(group)}
    entries = []
    for number, path in enumerate(paths):
        kind = ROOT if not number else STREAM if path in streams else STORAGE
        name = ("Root Entry" if kind == ROOT else path.rpartition("/")[2]).encode("utf-16-le") + b"\0\0"
        first = children[path][0] if children.get(path) else NO_ENTRY
        links = struct.pack("<3I", NO_ENTRY, following.get(number, NO_ENTRY), first)
        start = 1 + _sectors_before(paths, small_bytes) if kind == ROOT else starts.get(path, 0)
        size = small_bytes if kind == ROOT else len(streams.get(path, b""))
        entries.append(struct.pack("<64sHBB12s36xIQ", name, len(name), kind, 1, links, start, size))
    return _padded(b"".join(entries))


def _sectors_before(paths: list[str], small_bytes: int) -> int:
    """The offset of the small sectors: after the directory and their table."""
    directory = -(-len(paths) * 128 // SECTOR)
    table = -(-(small_bytes // SMALL) * 4 // SECTOR)
    return directory + table
