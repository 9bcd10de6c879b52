"""Pictures of pages: drawn once, and kept by version and width in a folder of limited size."""

import asyncio
import logging
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from orc_core.documents.ports import BlobStore
from orc_core.errors import Conflict, DocumentRejected, NotFound, Unavailable, UnsupportedDocument
from orc_core.extraction.extractor import PICTURED, PageDrawer
from orc_core.models import Document

MOST_BYTES = 256 * 1024 * 1024
"""Of all pictures of a folder together. Those that were not read for longest are removed first."""
KEPT_SHARE = 0.8
STORES_PER_SWEEP = 64
MOST_FAILURES = 1000

log = logging.getLogger(__name__)


class PictureKey(NamedTuple):
    """What a picture is of."""

    document_id: str
    version: str
    page: int
    width: int

    @property
    def name(self) -> str:
        """The file name; a version may have characters that no file name has."""
        plain = "".join(c if c.isalnum() else "_" for c in self.version)[:64]
        return f"{plain}-{self.page}-{self.width}.webp"


class PictureFolder:
    """Keeps pictures in a folder, those of one document in one folder below it.

    It is a cache that processes share: what cannot be read or written is missing, and is drawn again.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._stored = 0

    async def get(self, key: PictureKey) -> bytes | None:
        """The picture, if it is kept."""
        return await asyncio.to_thread(self._read, key)

    async def put(self, key: PictureKey, picture: bytes) -> None:
        """Keep a picture, and remove those of earlier versions of the document."""
        await asyncio.to_thread(self._write, key, picture)

    async def delete(self, document_id: str) -> None:
        """Remove all pictures of a document."""
        await asyncio.to_thread(self._delete, document_id)

    def _read(self, key: PictureKey) -> bytes | None:
        path = self._folder / key.document_id / key.name
        try:
            picture = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return picture

    def _write(self, key: PictureKey, picture: bytes) -> None:
        folder = self._folder / key.document_id
        version = key.name.partition("-")[0]
        partial = folder / f"{key.name}.{os.getpid()}.partial"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.iterdir():
                if not other.name.startswith(f"{version}-"):
                    other.unlink(missing_ok=True)
            partial.write_bytes(picture)
            partial.replace(folder / key.name)
        except OSError as exc:
            log.warning("picture.not_kept document_id=%s: %s", key.document_id, exc.strerror)
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        self._stored += 1
        if self._stored % STORES_PER_SWEEP == 1:
            self._sweep()

    def _delete(self, document_id: str) -> None:
        folder = self._folder / document_id
        with suppress(OSError):
            for file in list(folder.iterdir()):
                file.unlink(missing_ok=True)
            folder.rmdir()

    def _sweep(self) -> None:
        """Remove the pictures that were read longest ago if there are too many bytes."""
        files: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                about = path.stat()
                files.append((about.st_mtime, about.st_size, path))
        size = sum(each for _, each, _ in files)
        if size <= self._most_bytes:
            return
        for _, bytes_, path in sorted(files):
            with suppress(OSError):
                path.unlink()
            size -= bytes_
            if size <= self._most_bytes * KEPT_SHARE:
                break


def other_version() -> Conflict:
    """The error for a picture of a version that the document no longer has."""
    return Conflict("The document was replaced: it has other pages now.", code="other_version")


def no_picture(reason: str) -> UnsupportedDocument:
    """The error for a page that cannot be drawn."""
    return UnsupportedDocument(f"There is no picture of this page. {reason}", code="no_picture")


def has_pictures(document: Document) -> bool:
    """Whether pages of such a file can be drawn."""
    return document.media_type in PICTURED


def webp_size(picture: bytes) -> tuple[int, int]:
    """Width and height in the header of a lossy WebP file, as the drawing child writes it."""
    # RIFF size WEBP, "VP8 " size, three bytes of a frame tag, a start code, then 14 bits each.
    width, height = (int.from_bytes(picture[at : at + 2], "little") & 0x3FFF for at in (26, 28))
    return width, height


# Why a child draws them, and why by version: docs/decisions/pictures-and-ocr.md.
class PagePictures:
    """Pictures of the pages of documents whose scope was verified by the caller."""

    def __init__(self, blobs: BlobStore, drawer: PageDrawer, kept: PictureFolder) -> None:
        self._blobs = blobs
        self._drawer = drawer
        self._kept = kept
        self._drawing: WeakValueDictionary[PictureKey, asyncio.Lock] = WeakValueDictionary()
        self._failures: OrderedDict[PictureKey, str] = OrderedDict()

    async def get(self, document: Document, page: int, width: int) -> bytes:
        """A WebP file of the page, at most `width` pixels wide.

        Raises NotFound for a page or file that does not exist, UnsupportedDocument (no_picture) if it cannot
        be drawn, Conflict (other_version) if the file was replaced meanwhile, and Unavailable until the file
        is read: its format is not known before.
        """
        if not (document.media_type or document.status.is_final):
            raise Unavailable(f'"{document.blob_name}" is still being read. Try again in a moment.')
        if not has_pictures(document):
            raise no_picture("Only pages of PDFs and images are drawn.")
        if document.pages and page > document.pages + 1:
            raise NotFound("There is no such page in this document.")
        if document.pages and page > document.pages:
            raise no_picture("It has what the file says of itself.")
        key = PictureKey(document.document_id, document.version, page, width)
        if picture := await self._kept.get(key):
            return picture
        lock = self._drawing.setdefault(key, asyncio.Lock())
        async with lock:
            return await self._kept.get(key) or await self._draw(document, key)

    async def _draw(self, document: Document, key: PictureKey) -> bytes:
        if (known := self._failures.get(key)) is not None:
            raise no_picture(known)
        try:
            async with self._blobs.local_copy(document.path) as source:
                picture = await self._drawer.draw(source, document.media_type, key.page, key.width)
        except DocumentRejected as exc:
            raise self._failed(key, exc.message) from exc
        if not picture:
            raise self._failed(key, "The file has no page there that can be drawn.")
        await self._kept.put(key, picture)
        # Blobs change first: what was drawn before this has the bytes of the ETag.
        blob = await self._blobs.head(document.path)
        if blob is None or blob.etag != document.etag:
            await self._kept.delete(document.document_id)
            raise other_version()
        return picture

    def _failed(self, key: PictureKey, reason: str) -> UnsupportedDocument:
        """The error for a page that would fail again, which is not drawn again."""
        self._failures[key] = reason
        while len(self._failures) > MOST_FAILURES:
            self._failures.popitem(last=False)
        return no_picture(reason)
