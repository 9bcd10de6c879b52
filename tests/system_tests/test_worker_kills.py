"""Workers that are killed at any moment: every document is completed in the end, once, and as if undisturbed."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from core.bootstrap import Documents, open_documents
from core.documents.models import Document, DocumentStatus
from core.documents.names import BlobPath, Owner
from core.settings import CoreSettings
from tests.shared_data import HANDBOOK

DOCUMENTS = 20
KILLS = 50
START_SECONDS = 0.6
MOST_SECONDS = 120
OWNER = Owner("acme", "ann", "c1")
SUBJECTS = ("quay", "crane", "pilot", "tug", "beacon")


def write_documents(folder: Path) -> list[Path]:
    """Files that nobody has read yet: long texts that differ, some with the same bytes, and real PDFs."""
    files = []
    for number in range(DOCUMENTS):
        if number % 10 == 9:
            content = HANDBOOK.read_bytes() + b"%" * number
            file = folder / f"handbook-{number}.pdf"
        else:
            same = number - number % 5 if number % 5 == 4 else number
            lines = [
                f"{line}. The {SUBJECTS[line % 5]} of harbour {same} opens at {line % 24}:00."
                for line in range(3000)
            ]
            content = "\n".join(lines).encode()
            file = folder / f"log-{number}.txt"
        file.write_bytes(content)
        files.append(file)
    return files


@contextmanager
def worker(data_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process, killed without warning at the end."""
    environment = {
        **os.environ,
        "ORC_DATA_DIR": str(data_dir),
        "ORC_INGESTION_LEASE_SECONDS": "0.5",
        "ORC_PAGE_ANALYSIS": "off",
    }
    process = subprocess.Popen([sys.executable, "-m", "orc", "worker"], env=environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


async def put_all(documents: Documents, files: list[Path]) -> None:
    for file in files:
        await documents.stores.blobs.put(BlobPath(OWNER, file.name), file)
    await documents.library.list_documents(OWNER)


async def until_ended(documents: Documents) -> list[Document]:
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline:
        listed = await documents.library.list_documents(OWNER)
        if not await documents.stores.catalog.unfinished():
            return listed
        await asyncio.sleep(0.1)
    raise AssertionError("some documents are never completed")


def index_of(data_dir: Path) -> dict[str, list[Any]]:
    """Everything that the search reads, by document, without the numbers that SQLite gave out."""
    with closing(sqlite3.connect(data_dir / "orc.db")) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "document_key" in {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
        ]
        found = {}
        for key, document_id in connection.execute("SELECT document_key, document_id FROM search_documents"):
            rows = [
                (table, *(row[name] for name in row if name != "document_key"))
                for table in sorted(tables)
                for row in _rows(connection, table, key)
            ]
            found[document_id] = sorted(rows, key=repr)
        return found


def _rows(connection: sqlite3.Connection, table: str, key: int) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table} WHERE document_key = ?", (key,))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


async def test_killed_workers_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    files = write_documents(tmp_path)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    async with open_documents(CoreSettings(data_dir=undisturbed)) as documents:
        await put_all(documents, files)
        await documents.worker.drain()
        expected = await documents.library.list_documents(OWNER)

    random.seed(2)
    async with open_documents(CoreSettings(data_dir=killed)) as documents:
        await put_all(documents, files)
        kills = 0
        while kills < KILLS and await documents.stores.catalog.unfinished():
            with worker(killed):
                await asyncio.sleep(START_SECONDS + random.random() * 0.5)
            kills += 1
        with worker(killed):
            listed = await until_ended(documents)

    assert {document.status for document in listed} == {DocumentStatus.COMPLETED}
    assert [(d.blob_name, d.pages, d.tokens, d.sha256) for d in listed] == [
        (d.blob_name, d.pages, d.tokens, d.sha256) for d in expected
    ]
    assert index_of(killed) == index_of(undisturbed)
    assert len(index_of(killed)) == DOCUMENTS
