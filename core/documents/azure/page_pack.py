"""The pages of a document as one run of bytes, of which any page can be read without the others.

In this order:

    head    10 bytes: "ORCP", the version of this form (2 bytes), the length of the index (4 bytes)
    index   JSON, deflated: [number, label, tokens, bytes of text, bytes of boxes] for each page, by number
    texts   the text of each page, UTF-8, deflated by itself
    boxes   the boxes of each page that has any, deflated by themselves; see boxes.py

The index comes first so that one read of a fixed length gets it, and often everything. Texts lie side by
side so that all of them are one read, without the boxes, which hardly anybody wants.
"""

import json
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from core.documents.models import Page

MAGIC = b"ORCP"
VERSION = 1
HEAD = struct.Struct(">4sHI")


class Span(NamedTuple):
    """Where something lies, in bytes from the start."""

    start: int
    end: int


class Entry(NamedTuple):
    """A page in the index, and where its text and its boxes lie."""

    number: int
    label: str
    tokens: int
    text: Span
    boxes: Span


Index = dict[int, Entry]
"""The pages by number, in order."""


def pack(pages: Sequence[Page]) -> bytes:
    """The pages as bytes."""
    ordered = sorted(pages, key=lambda page: page.number)
    texts = [zlib.compress(page.text.encode()) for page in ordered]
    boxes = [zlib.compress(page.boxes) if page.boxes else b"" for page in ordered]
    rows = [
        (page.number, page.label, page.tokens, len(text), len(box))
        for page, text, box in zip(ordered, texts, boxes, strict=True)
    ]
    index = zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode())
    return b"".join([HEAD.pack(MAGIC, VERSION, len(index)), index, *texts, *boxes])


def index_span(content: bytes) -> Span:
    """Where the index lies, by the first bytes. Raises ValueError for anything that `pack` did not make."""
    if len(content) < HEAD.size:
        raise ValueError("the pages of a document are cut off")
    magic, version, length = HEAD.unpack_from(content)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("the pages of a document have an unknown form")
    return Span(HEAD.size, HEAD.size + length)


def read_index(deflated: bytes, end: int) -> Index:
    """The index, which ends at `end`."""
    rows = json.loads(zlib.decompress(deflated))
    texts = _lay_out(end, [row[3] for row in rows])
    boxes = _lay_out(texts[-1].end if texts else end, [row[4] for row in rows])
    return {
        number: Entry(number, label, tokens, text, box)
        for (number, label, tokens, *_), text, box in zip(rows, texts, boxes, strict=True)
    }


def page_of(entry: Entry, deflated: bytes) -> Page:
    """A page by its entry and the bytes of its text."""
    text = zlib.decompress(deflated).decode()
    return Page(number=entry.number, label=entry.label, tokens=entry.tokens, text=text)


def boxes_of(deflated: bytes) -> bytes:
    """A page's boxes, by their bytes here."""
    return zlib.decompress(deflated)


def joined(spans: Sequence[Span], gap: int) -> list[Span]:
    """Spans that cover these, in order; what is at most `gap` bytes apart is read at once."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start - found[-1].end <= gap:
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


def _lay_out(start: int, lengths: Sequence[int]) -> list[Span]:
    """Spans of these lengths, one after the other."""
    places = [start]
    for length in lengths:
        places.append(places[-1] + length)
    return [Span(first, last) for first, last in pairwise(places)]
