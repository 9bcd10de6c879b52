"""Documents and their extracted pages in Blob Storage.

A document's blob is named by its path. The pages of a document are one blob, of which any page can be read
alone:

    head    10 bytes: "ORCP", the version of the format (2 bytes), the length of the index (4 bytes)
    index   JSON, deflated: [number, label, tokens, bytes of text, bytes of boxes] for each page, by number
    texts   the text of each page, UTF-8, each deflated
    boxes   the word boxes of each page that has any, each deflated; see orc_core/extraction/word_boxes.py

The index comes first, so one read of a fixed length gets it, and often everything. Texts are adjacent, so one
read gets all of them without the boxes, which few readers need.
"""

import asyncio
import json
import struct
import tempfile
import zlib
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from orc_core.errors import UnsafeName
from orc_core.infra.exhaustion import TEMPORARY, naming_the_disk
from orc_core.infra.temporary_folders import temporary_folder
from orc_core.models import BlobProperties, Page, PresignedUpload
from orc_core.names import BlobPath, Owner, check_segment, missing_document
from orc_core.storage.blob.account import Storage
from orc_core.storage.blob.client import ATTEMPTS, Blobs, Changed, Found, Part, busy


class AzureBlobStore:
    """The blobs of one container, those too that others put there under a name that a document may have."""

    def __init__(self, storage: Storage, container: str) -> None:
        self._storage = storage
        self._container = container
        self._blobs = Blobs(storage.container(container), storage.blobs)

    async def put(self, path: BlobPath, source: Path) -> BlobProperties:
        file = await asyncio.to_thread(source.open, "rb")
        with file:
            return _properties(path, await self._blobs.put(str(path), file))

    async def head(self, path: BlobPath) -> BlobProperties | None:
        found = await self._blobs.head(str(path))
        return _properties(path, found) if found else None

    @asynccontextmanager
    async def local_copy(self, path: BlobPath) -> AsyncIterator[Path]:
        with naming_the_disk(*TEMPORARY), temporary_folder() as folder:
            copy = folder / "copy"
            with copy.open("wb") as file:
                if not await self._blobs.download(str(path), file):
                    raise missing_document(path.file)
            yield copy

    async def list_in(self, owner: Owner) -> list[BlobProperties]:
        listed = []
        for blob in sorted(await self._blobs.list_in(owner.prefix)):
            with suppress(UnsafeName):
                listed.append(_properties(BlobPath(owner, blob.name.removeprefix(owner.prefix)), blob))
        return listed

    async def list_all(self) -> list[BlobProperties]:
        listed = []
        for blob in await self._blobs.list_all():
            *owner, file = blob.name.split("/")
            if len(owner) == len(fields(Owner)):
                with suppress(UnsafeName):
                    listed.append(_properties(BlobPath(Owner(*owner), file), blob))
        return listed

    async def delete(self, path: BlobPath, etag: str | None = None) -> None:
        await self._blobs.delete(str(path), etag)

    async def presign_upload(self, path: BlobPath, seconds: int) -> PresignedUpload:
        expires_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
        url = await self._storage.upload_url(self._container, str(path), expires_at)
        return PresignedUpload(url=url, headers={"x-ms-blob-type": "BlockBlob"}, expires_at=expires_at)

    async def ping(self) -> None:
        await self._storage.ping([self._container])


def _properties(path: BlobPath, found: Found) -> BlobProperties:
    return BlobProperties(path=path, etag=found.etag, size=found.size)


MAGIC = b"ORCP"
VERSION = 1
HEAD = struct.Struct(">4sHI")


class Span(NamedTuple):
    """A position, in bytes from the start."""

    start: int
    end: int


class Entry(NamedTuple):
    """A page in the index, and where its text and its boxes are stored."""

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
    """The position of the index, from the first bytes. ValueError for anything that `pack` did not make."""
    if len(content) < HEAD.size:
        raise ValueError("the pages of a document are cut off")
    magic, version, length = HEAD.unpack_from(content)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("the pages of a document have an unknown form")
    return Span(HEAD.size, HEAD.size + length)


def read_index(deflated: bytes, end: int) -> Index:
    """The index, which ends at `end`."""
    rows = json.loads(zlib.decompress(deflated))
    lengths = [row[3] for row in rows] + [row[4] for row in rows]
    spans = [Span(*ends) for ends in pairwise(accumulate(lengths, initial=end))]
    texts, boxes = spans[: len(rows)], spans[len(rows) :]
    return {
        number: Entry(number, label, tokens, text, box)
        for (number, label, tokens, *_), text, box in zip(rows, texts, boxes, strict=True)
    }


def page_of(entry: Entry, deflated: bytes) -> Page:
    """A page by its entry and the bytes of its text."""
    text = zlib.decompress(deflated).decode()
    return Page(number=entry.number, label=entry.label, tokens=entry.tokens, text=text)


def joined(spans: Sequence[Span], gap: int) -> list[Span]:
    """Spans that cover these, in order; what is at most `gap` bytes apart is read at once."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start - found[-1].end <= gap:
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


FIRST_BYTES = 64 * 1024
"""Read at once: the index of some thousand pages, or all of a document of some thirty."""
GAP_BYTES = 64 * 1024
"""Reading this many unwanted bytes takes no longer than another request."""

Wanted = Callable[[Index], list[tuple[Entry, Span]]]


class BlobPageStore:
    """Pages under `pages/{document_id}` of one container."""

    def __init__(self, storage: Storage, container: str) -> None:
        self._blobs = Blobs(storage.container(container), storage.blobs)

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        content = await asyncio.to_thread(pack, pages)
        await self._blobs.put(_name(document_id), BytesIO(content))

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        def wanted(index: Index) -> list[tuple[Entry, Span]]:
            chosen = index if numbers is None else sorted(index.keys() & set(numbers))
            return [(index[number], index[number].text) for number in chosen]

        found = await self._read(_name(document_id), wanted)
        return await asyncio.to_thread(lambda: [page_of(entry, content) for entry, content in found])

    async def boxes(self, document_id: str, number: int) -> bytes:
        def wanted(index: Index) -> list[tuple[Entry, Span]]:
            entry = index.get(number)
            return [(entry, entry.boxes)] if entry and entry.boxes.start < entry.boxes.end else []

        found = await self._read(_name(document_id), wanted)
        return zlib.decompress(found[0][1]) if found else b""

    async def copy(self, source_id: str, target_id: str) -> None:
        source, target = _name(source_id), _name(target_id)
        if source == target:
            return
        with tempfile.TemporaryFile() as file:
            if await self._blobs.download(source, file):
                await self._blobs.put(target, file)
            else:
                await self._blobs.delete(target)

    async def delete(self, document_id: str) -> None:
        await self._blobs.delete(_name(document_id))

    async def _read(self, name: str, wanted: Wanted) -> list[tuple[Entry, bytes]]:
        """The wanted entries and bytes, all of one version; none if there are no pages."""
        for _ in range(ATTEMPTS):
            if (first := await self._blobs.read(name, FIRST_BYTES)) is None:
                return []
            span = index_span(first.content)
            try:
                index = read_index(await self._bytes(name, first, span), span.end)
                places = wanted(index)
                runs = joined([span for _, span in places], GAP_BYTES)
                contents = [await self._bytes(name, first, run) for run in runs]
            except Changed:
                continue
            return [(entry, _cut(span, runs, contents)) for entry, span in places]
        raise busy()

    async def _bytes(self, name: str, first: Part, span: Span) -> bytes:
        """The bytes of a span of the version of which the first bytes are known."""
        head = first.content
        if span.end <= len(head):
            return head[span.start : span.end]
        start = max(span.start, len(head))
        rest = [block async for block in self._blobs.read_from(name, first.etag, start, span.end)]
        return b"".join([head[span.start :], *rest])


def _name(document_id: str) -> str:
    check_segment(document_id)
    return f"pages/{document_id}"


def _cut(span: Span, runs: Sequence[Span], contents: Sequence[bytes]) -> bytes:
    """The bytes of a span out of the run that covers it."""
    place = bisect_right(runs, span.start, key=lambda run: run.start) - 1
    start = runs[place].start
    return contents[place][span.start - start : span.end - start]
