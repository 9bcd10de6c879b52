"""Backups: what goes in comes out, and nothing else is ever unpacked or replaced."""

import asyncio
import json
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from orc_core.bootstrap import open_documents
from orc_core.errors import DataNotUsable, InvalidInput
from orc_core.infra.data_directory import in_use
from orc_core.infra.keys import KEY_FILES
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import SCHEMA_VERSION
from orc_core.models import Document, DocumentStatus
from orc_core.names import Owner
from orc_core.storage.backup import DATABASE, MANIFEST, back_up, restore

pytestmark = pytest.mark.slow

OWNER = Owner("acme", "ann", "c1")
NAMES = ("fees.txt", "Fees.txt", "a:b.txt")


@asynccontextmanager
async def writing(folder: Path) -> AsyncIterator[None]:
    """A data directory in use, with indexed documents whose names need other names on disk."""
    async with open_documents(
        CoreSettings(data_dir=folder / "data", page_analysis="extractive")
    ) as documents:
        for name in NAMES:
            source = folder / "source"
            source.write_text(f"The mooring fee is 410 euros, says {name}.")
            await documents.library.upload(OWNER, name, source)
        await documents.worker.drain()
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a directory after its process has ended."""
    folder = tmp_path_factory.mktemp("written")

    async def write() -> None:
        async with writing(folder):
            pass

    asyncio.run(write())
    return folder / "data"


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the directory, marked as in use."""
    with in_use(shutil.copytree(written, tmp_path / "data")):
        yield tmp_path / "data"


def left_over(folder: Path) -> list[Path]:
    return list(folder.rglob(".*.zip.*")) + list(folder.rglob(".*.restoring-*"))


async def documents_in(folder: Path) -> list[Document]:
    async with open_documents(CoreSettings(data_dir=folder)) as documents:
        return await documents.library.list_documents(OWNER)


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in (folder / "blobs").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def test_a_backup_of_a_directory_in_use_restores_all_of_it(tmp_path: Path) -> None:
    data, file, target = tmp_path / "data", tmp_path / "orc.zip", tmp_path / "elsewhere" / "data"
    async with writing(tmp_path):
        for key in KEY_FILES:
            (data / key).write_text(f"{key} of more than thirty-two characters")
        manifest = back_up(data, file)
    assert manifest.documents == len(NAMES)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert restore(file, target) == (manifest, None)
    assert content(target) == content(data)
    for key in KEY_FILES:
        assert (target / key).read_text() == (data / key).read_text()
    async with open_documents(CoreSettings(data_dir=target)) as documents:
        assert list((await documents.library.compared()).findings) == []
    restored = await documents_in(target)
    # The restored files have other ETags; the records say so, and nothing is read again.
    assert {document.blob_name: document.status for document in restored} == dict.fromkeys(
        NAMES, DocumentStatus.COMPLETED
    )
    assert left_over(tmp_path) == []


async def test_a_backup_replaces_no_file_and_needs_a_database(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "orc.zip"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match="a backup replaces no file"):
        back_up(data, file)
    assert file.read_text() == "mine"
    with pytest.raises(InvalidInput, match="There is no database"):
        back_up(tmp_path / "nowhere", tmp_path / "other.zip")


async def test_a_damaged_database_is_not_backed_up(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    damage(copy / DATABASE)
    with pytest.raises((DataNotUsable, sqlite3.DatabaseError)):
        back_up(copy, tmp_path / "orc.zip")
    assert not (tmp_path / "orc.zip").exists()


def damage(database: Path) -> None:
    """Overwrite a page in the middle."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(database.read_bytes())
    content[4096 * 3 : 4096 * 4] = b"\x5a" * 4096
    database.write_bytes(content)


async def test_a_directory_with_data_is_replaced_on_demand_only_and_moved_aside(
    data: Path, tmp_path: Path
) -> None:
    file, target = tmp_path / "orc.zip", tmp_path / "target"
    back_up(data, file)
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"):
        restore(file, target)
    assert [path.name for path in target.iterdir()] == ["mine.txt"]
    _, aside = restore(file, target, force=True)
    assert aside is not None
    assert (aside / "mine.txt").read_text() == "mine"
    assert content(target) == content(data)


async def test_a_directory_in_use_is_never_replaced(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "orc.zip"
    back_up(data, file)
    with pytest.raises(InvalidInput, match="is in use"):
        restore(file, data, force=True)
    assert len(await documents_in(data)) == len(NAMES)


def test_no_process_starts_on_a_directory_that_is_being_restored(tmp_path: Path) -> None:
    with (
        in_use(tmp_path, alone=True),
        pytest.raises(InvalidInput, match="is being restored"),
        in_use(tmp_path),
    ):
        pass


def rewrite(file: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> None:
    """Write the archive again with each file changed or left out."""
    with zipfile.ZipFile(file) as archive:
        before = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(file, "w") as archive:
        for entry in before:
            if (changed := change(*entry)) is not None:
                archive.writestr(*changed)


def flip(name: str, content: bytes) -> tuple[str, bytes]:
    return name, content[:-1] + b"!" if name.endswith("fees.txt") else content


def drop(name: str, content: bytes) -> tuple[str, bytes] | None:
    return None if name.endswith("fees.txt") else (name, content)


def climb(name: str, content: bytes) -> tuple[str, bytes]:
    climbing = content.replace(b"blobs/acme/ann/c1/fees.txt", b"blobs/../../../fees.txt")
    return name.replace("blobs/acme/ann/c1/fees.txt", "blobs/../../../fees.txt"), climbing


def misplace(name: str, content: bytes) -> tuple[str, bytes]:
    return name.replace("scope.key", "other.key"), content.replace(b"scope.key", b"other.key")


@pytest.mark.parametrize("change", [flip, drop, climb, misplace])
async def test_an_archive_that_was_changed_is_refused_and_leaves_nothing(
    data: Path, tmp_path: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    back_up(data, folder / "orc.zip")
    rewrite(folder / "orc.zip", change)
    with pytest.raises(InvalidInput, match="is no backup of Orc, or it is damaged"):
        restore(folder / "orc.zip", folder / "data")
    assert sorted(path.name for path in folder.rglob("*")) == ["data", "orc.zip"]


async def test_half_an_archive_is_refused(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "orc.zip"
    back_up(data, file)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(InvalidInput, match="or it is damaged"):
        restore(file, tmp_path / "restored")
    with pytest.raises(InvalidInput, match="There is no file"):
        restore(tmp_path / "none.zip", tmp_path / "restored")


async def test_a_backup_of_a_newer_version_is_refused(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "orc.zip"
    back_up(data, file)

    def newer(name: str, content: bytes) -> tuple[str, bytes]:
        if name != MANIFEST:
            return name, content
        return name, json.dumps({**json.loads(content), "schema_version": SCHEMA_VERSION + 1}).encode()

    rewrite(file, newer)
    with pytest.raises(DataNotUsable, match="made by a newer version"):
        restore(file, tmp_path / "restored")
