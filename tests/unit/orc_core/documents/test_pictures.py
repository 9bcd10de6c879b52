"""Pictures of pages are drawn once for each version and width, and removed with the document."""

import asyncio
import os
from pathlib import Path

import pytest

from orc_core.documents.pictures import PagePictures, PictureFolder, PictureKey
from orc_core.errors import Conflict, NotFound, Unavailable, UnsupportedDocument
from orc_core.extraction.extractor import PageDrawer
from orc_core.extraction.pages import unreadable
from orc_core.models import BlobProperties, Document, DocumentStatus
from orc_core.names import BlobPath, Owner
from orc_core.storage.folder import FolderBlobStore

PATH = BlobPath(Owner("org", "ann", "c1"), "a.pdf")


class Pencil(PageDrawer):
    """Draws the number of the drawing, or fails."""

    def __init__(self) -> None:
        self.drawn: list[tuple[int, int]] = []
        self.fails = False
        self.is_busy = False

    async def draw(self, source: Path, media_type: str, page: int, width: int) -> bytes:
        self.drawn.append((page, width))
        if self.fails:
            raise unreadable("too_slow")
        if self.is_busy:
            raise Unavailable("Try again.")
        text = await asyncio.to_thread(source.read_text)
        return f"{text} {len(self.drawn)}".encode()


class Shelf:
    """A document in a folder, and its pictures."""

    def __init__(self, folder: Path) -> None:
        self.pencil = Pencil()
        self.blobs = FolderBlobStore(folder / "blobs")
        self.folder = folder / "pictures"
        self.kept = PictureFolder(self.folder)
        self.pictures = PagePictures(self.blobs, self.pencil, self.kept)
        self._upload = folder / "upload"

    async def put(self, text: str) -> Document:
        self._upload.write_text(text)
        blob: BlobProperties = await self.blobs.put(PATH, self._upload)
        update = {"media_type": "application/pdf", "pages": 3, "sha256": text * 20}
        return Document.first_seen(blob).model_copy(update=update)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*/*"))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


async def test_a_page_is_drawn_once_for_each_width(shelf: Shelf) -> None:
    document = await shelf.put("one")
    together = await asyncio.gather(*(shelf.pictures.get(document, 2, 800) for _ in range(5)))
    assert set(together) == {b"one 1"}
    assert await shelf.pictures.get(document, 2, 1200) == b"one 2"
    another = PagePictures(shelf.blobs, shelf.pencil, shelf.kept)
    assert await another.get(document, 2, 800) == b"one 1"
    assert shelf.pencil.drawn == [(2, 800), (2, 1200)]


async def test_a_new_version_is_drawn_again_and_leaves_nothing_of_the_old_one(shelf: Shelf) -> None:
    old = await shelf.put("one")
    await shelf.pictures.get(old, 1, 800)
    new = await shelf.put("two")
    assert await shelf.pictures.get(new, 1, 800) == b"two 2"
    assert len(shelf.files) == 1
    with pytest.raises(Conflict) as raised:
        await shelf.pictures.get(old, 1, 160)
    assert raised.value.code == "other_version"
    assert shelf.files == []
    await shelf.pictures.get(new, 1, 800)
    await shelf.kept.delete(new.document_id)
    assert list(shelf.folder.iterdir()) == []


async def test_what_cannot_be_drawn_is_tried_once(shelf: Shelf) -> None:
    document = await shelf.put("one")
    shelf.pencil.fails = True
    for _ in range(2):
        with pytest.raises(UnsupportedDocument) as raised:
            await shelf.pictures.get(document, 1, 800)
        assert raised.value.code == "no_picture"
    assert len(shelf.pencil.drawn) == 1
    with pytest.raises(NotFound):
        await shelf.pictures.get(document, 5, 800)
    with pytest.raises(UnsupportedDocument):
        await shelf.pictures.get(document.model_copy(update={"media_type": "text/plain"}), 1, 800)


async def test_a_page_is_drawn_as_soon_as_the_format_of_its_file_is_known(shelf: Shelf) -> None:
    """A file may be read again, after work on an earlier version; until then its record has no format."""
    document = await shelf.put("one")
    unread = document.model_copy(update={"media_type": "", "pages": 0})
    with pytest.raises(Unavailable, match="still being read"):
        await shelf.pictures.get(unread, 1, 800)
    assert await shelf.pictures.get(document, 1, 800) == b"one 1"
    refused = unread.model_copy(update={"status": DocumentStatus.FAILED})
    with pytest.raises(UnsupportedDocument):
        await shelf.pictures.get(refused, 1, 800)


async def test_a_page_that_a_busy_machine_did_not_draw_is_drawn_later(shelf: Shelf) -> None:
    document = await shelf.put("one")
    shelf.pencil.is_busy = True
    with pytest.raises(Unavailable):
        await shelf.pictures.get(document, 1, 800)
    shelf.pencil.is_busy = False
    assert await shelf.pictures.get(document, 1, 800) == b"one 2"


async def test_the_folder_keeps_to_its_size_and_what_was_read_last(tmp_path: Path) -> None:
    kept = PictureFolder(tmp_path, most_bytes=100)
    keys = [PictureKey(f"d{number}", "v", 1, 800) for number in range(6)]
    for age, key in enumerate(keys):
        await kept.put(key, b"x" * 30)
        os.utime(tmp_path / key.document_id / key.name, (age, age))
    assert await kept.get(keys[0]) is not None
    kept._sweep()
    left = [key.document_id for key in keys if await kept.get(key)]
    assert left == ["d0", "d5"]


async def test_a_folder_that_cannot_be_written_costs_only_time(shelf: Shelf) -> None:
    document = await shelf.put("one")
    shelf.folder.write_text("not a folder")
    assert await shelf.pictures.get(document, 1, 800) == b"one 1"
    assert await shelf.pictures.get(document, 1, 800) == b"one 2"
