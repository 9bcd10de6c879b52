"""Each kind of damage is found in data that had none, and named with what to do."""

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from devkit.shared_data import HANDBOOK
from orc_core.bootstrap import open_documents
from orc_core.documents.consistency import Finding
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import SCHEMA_VERSION
from orc_core.names import Owner
from orc_core.storage.backup import DATABASE, back_up, restore
from orc_core.storage.inspection import inspect_database

pytestmark = pytest.mark.slow

FOLDER = "blobs/acme/ann/c1"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of two documents, and of one whose title and author are kept as a further page."""
    folder = tmp_path_factory.mktemp("written")

    async def write() -> None:
        async with open_documents(CoreSettings(data_dir=folder / "data", page_analysis="off")) as documents:
            for name in ("a.txt", "b.txt"):
                source = folder / "source"
                source.write_text(f"The mooring fee is 410 euros, says {name}. " * 200)
                await documents.library.upload(Owner("acme", "ann", "c1"), name, source)
            await documents.library.upload(Owner("acme", "ann", "c1"), HANDBOOK.name, HANDBOOK)
            await documents.worker.drain()

    asyncio.run(write())
    back_up(folder / "data", folder / "orc.zip")
    return folder / "orc.zip"


@pytest.fixture
def data(saved: Path, tmp_path: Path) -> Path:
    restore(saved, tmp_path / "data")
    return tmp_path / "data"


async def findings(data: Path) -> list[Finding]:
    found = inspect_database(data / DATABASE)
    if any(finding.blocks for finding in found):
        return found
    async with open_documents(CoreSettings(data_dir=data, page_analysis="off")) as documents:
        return list((await documents.library.compared()).findings)


def execute(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / DATABASE)) as database, database:
        database.execute(statement)


def damage_a_page(data: Path) -> None:
    content = bytearray((data / DATABASE).read_bytes())
    for page in range(4, len(content) // 4096, 2):
        content[4096 * page : 4096 * page + 64] = b"\x5a" * 64
    (data / DATABASE).write_bytes(content)


def cut_the_database(data: Path) -> None:
    content = (data / DATABASE).read_bytes()
    (data / DATABASE).write_bytes(content[: len(content) // 2])


def replace_the_database(data: Path) -> None:
    (data / DATABASE).write_text("no database " * 1000)


def remove_a_file(data: Path) -> None:
    (data / FOLDER / "a.txt").unlink()


def add_a_file(data: Path) -> None:
    shutil.copy(data / FOLDER / "a.txt", data / FOLDER / "new.txt")


def change_a_file(data: Path) -> None:
    (data / FOLDER / "a.txt").write_text("half of it")


def remove_a_page(data: Path) -> None:
    execute(data, "DELETE FROM pages WHERE rowid = (SELECT min(rowid) FROM pages)")


def damage_a_record(data: Path) -> None:
    record = json.dumps({"blob_name": "b.txt"})
    execute(data, f"UPDATE items_documents SET body = '{record}' WHERE body ->> 'blob_name' = 'b.txt'")


def make_newer(data: Path) -> None:
    execute(data, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


async def test_whole_data_has_no_findings(data: Path) -> None:
    assert await findings(data) == []


async def test_a_directory_without_a_database_has_no_findings(tmp_path: Path) -> None:
    assert inspect_database(tmp_path / DATABASE) == []
    assert not (tmp_path / DATABASE).exists()


@pytest.mark.parametrize(
    ("plant", "problem", "advice"),
    [
        (damage_a_page, "The database is damaged: ", "orc restore FILE"),
        (cut_the_database, "The database cannot be read: ", "orc restore FILE"),
        (replace_the_database, "The database cannot be read: ", "orc restore FILE"),
        (make_newer, "was written by a newer version", ""),
        (
            remove_a_file,
            "1 document (acme/ann/c1/a.txt) in the records, of which there is no file.",
            "Restore these files",
        ),
        (
            remove_a_page,
            "1 document (acme/ann/c1/a.txt) without some of the extracted pages.",
            "orc check --repair",
        ),
        (damage_a_record, "1 records of documents cannot be read.", "orc restore FILE"),
    ],
)
async def test_damage_is_found_and_named(
    data: Path, plant: Callable[[Path], None], problem: str, advice: str
) -> None:
    plant(data)
    [found] = [finding for finding in await findings(data) if finding.is_damage]
    assert problem in found.problem
    assert advice in found.advice


@pytest.mark.parametrize(
    ("plant", "problem"),
    [
        (add_a_file, "1 document (acme/ann/c1/new.txt) in the files but not in the records."),
        (change_a_file, "1 document (acme/ann/c1/a.txt) changed since they were read."),
    ],
)
async def test_what_orc_repairs_by_itself_is_no_damage(
    data: Path, plant: Callable[[Path], None], problem: str
) -> None:
    plant(data)
    [found] = await findings(data)
    assert (found.problem, found.is_damage, found.blocks) == (problem, False, False)
    assert found.advice.startswith("Nothing: ")


def test_a_database_on_a_read_only_disk_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (database := tmp_path / DATABASE).mkdir()  # SQLite cannot open it
    [damaged] = inspect_database(database)
    assert damaged.is_damage and damaged.advice
    state = os.statvfs(tmp_path)
    mounted = os.statvfs_result([*state[:8], state.f_flag | os.ST_RDONLY, *state[9:]])
    monkeypatch.setattr(os, "statvfs", lambda _folder: mounted)
    [found] = inspect_database(database)
    assert found.problem.startswith("The database may only be read.")
    assert (found.is_damage, found.blocks) == (False, True)
    assert found.advice == "Mount its file system for writing."
