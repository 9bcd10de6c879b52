"""Workers killed during their work: every document is completed once, as without kills."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from devkit.shared_data import HANDBOOK
from orc_core.bootstrap import Documents, open_documents
from orc_core.infra.settings import CoreSettings
from orc_core.models import Document, DocumentStatus
from orc_core.names import BlobPath, Owner

KILLS, FULL_KILLS = 5, 50
LOT = 20
LINES = 1500
MOST_SECONDS = 150.0
LONGEST_WORK_SECONDS = 0.4
SHARE_AFTER_INDEXING = 0.7
LEASE_SECONDS = "0.6"
SUBJECTS = ("quay", "crane", "pilot", "tug", "beacon")
TABLES = ("search_terms", "search_passages")
FORKING = """
import asyncio, os, sys
from orc_core.infra.settings import CoreSettings
from orc.cli.worker import work
import orc_core.bootstrap, orc_core.extraction.extractor
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        asyncio.run(work(CoreSettings()))
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""
"""Workers that need not import anything any more: what is killed is work, not the start of Python."""


class Workers:
    """Starts worker processes and kills them, one at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = 0

    def start(self) -> None:
        self._say()
        self.pid = int(self._hear())

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert self._hear() == "gone\n"

    def _say(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def workers_on(data_dir: Path) -> Iterator[Workers]:
    environment = {
        **os.environ,
        "ORC_DATA_DIR": str(data_dir),
        "ORC_ADVANCED": f'{{"ingestion_lease_seconds": {LEASE_SECONDS}}}',
        "ORC_PAGE_ANALYSIS": "off",
    }
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True) as process:
        try:
            yield Workers(process)
        finally:
            process.kill()


def owner_of(lot: int) -> Owner:
    return Owner("acme", "ann", f"lot-{lot}")


async def put_lot(documents: Documents, folder: Path, lot: int) -> None:
    """Unprocessed documents: long texts, some of them identical, and real PDFs."""
    for number in range(LOT):
        if number % 10 == 9:
            name, content = f"handbook-{number}.pdf", HANDBOOK.read_bytes() + f"\n%{lot} {number}\n".encode()
        else:
            name, content = f"log-{number}.txt", log_of(lot, number - (number % 5 == 4))
        file = folder / name
        file.write_bytes(content)
        await documents.stores.blobs.put(BlobPath(owner_of(lot), name), file)
    await documents.library.list_documents(owner_of(lot))


def log_of(lot: int, number: int) -> bytes:
    lines = (
        f"{line}. The {SUBJECTS[line % 5]} of harbour {number} in year {lot} opens at {line % 24}:00."
        for line in range(LINES)
    )
    return "\n".join(lines).encode()


async def kill_in_the_midst(documents: Documents, workers: Workers, seen: set[str]) -> bool:
    """One life of a worker, which ends a moment after it has taken a job; False if there was none to take."""
    workers.start()
    deadline = time.monotonic() + MOST_SECONDS
    try:
        while not (new := await leases(documents) - seen):
            if not await documents.stores.catalog.unfinished():
                return False
            assert time.monotonic() < deadline, "a killed worker's jobs are never taken by another"
            await asyncio.sleep(0.005)
        await a_moment(documents)
        seen |= new | await leases(documents)
        return bool(await documents.stores.catalog.unfinished())
    finally:
        workers.kill()


async def a_moment(documents: Documents) -> None:
    """Some time, or else until something was indexed: few instructions then lie between it and its record."""
    deadline = time.monotonic() + random.random() * LONGEST_WORK_SECONDS
    stop_early = random.random() < SHARE_AFTER_INDEXING
    before = await indexed(documents)
    while time.monotonic() < deadline:
        await asyncio.sleep(0.001)
        if stop_early and await indexed(documents) != before:
            return


async def indexed(documents: Documents) -> int:
    query = "SELECT count(*) AS documents FROM search_documents"
    row = await documents.clients.file.read(lambda connection: connection.execute(query).fetchone())
    return int(row["documents"])


async def leases(documents: Documents) -> set[str]:
    """The leases of all jobs that were begun and not yet finished."""
    return {lease for lease in await jobs(documents) if lease}


async def jobs(documents: Documents) -> list[str]:
    """The lease of each job; empty if it has not begun."""
    query = "SELECT lease FROM jobs"
    rows = await documents.clients.file.read(lambda connection: connection.execute(query).fetchall())
    return [row["lease"] for row in rows]


async def until_completed(documents: Documents) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while (left := await documents.stores.catalog.unfinished()) or await jobs(documents):
        assert time.monotonic() < deadline, f"never completed: {[document.blob_name for document in left]}"
        await asyncio.sleep(0.05)


async def records(documents: Documents, lots: int) -> list[Document]:
    return [each for lot in range(lots) for each in await documents.library.list_documents(owner_of(lot))]


def index_of(data_dir: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that is stored of each document's text, less the numbers that SQLite gave out."""
    with closing(sqlite3.connect(data_dir / "orc.db")) as connection:
        found: dict[str, list[tuple[Any, ...]]] = {}
        for key, document_id, *columns in connection.execute("SELECT * FROM search_documents"):
            found.setdefault(document_id, []).append(("search_documents", *columns))
            for table in TABLES:
                rows = connection.execute(f"SELECT * FROM {table} WHERE document_key = ?", (key,))
                found[document_id] += sorted((table, *row[1:]) for row in rows)
            pages = connection.execute("SELECT * FROM pages WHERE document_id = ?", (document_id,))
            found[document_id] += sorted(("pages", *row) for row in pages)
        return found


def left_over(data_dir: Path) -> Counter[str]:
    """Rows that belong to no document of the index."""
    with closing(sqlite3.connect(data_dir / "orc.db")) as connection:
        known = "SELECT document_key FROM search_documents"
        counts = {
            table: f"SELECT count(*) FROM {table} WHERE document_key NOT IN ({known})" for table in TABLES
        }
        return +Counter({table: connection.execute(query).fetchone()[0] for table, query in counts.items()})


async def test_killed_workers_lose_nothing_and_do_nothing_twice(tmp_path: Path, full_size: bool) -> None:
    random.seed(2)
    wanted = FULL_KILLS if full_size else KILLS
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    kills = lots = 0
    seen: set[str] = set()
    async with open_documents(CoreSettings(data_dir=killed)) as documents:
        with workers_on(killed) as workers:
            while kills < wanted:
                if not await documents.stores.catalog.unfinished():
                    await put_lot(documents, tmp_path, lots)
                    lots += 1
                kills += await kill_in_the_midst(documents, workers, seen)
            workers.start()
            await until_completed(documents)
            workers.kill()
        ended = await records(documents, lots)
    async with open_documents(CoreSettings(data_dir=undisturbed)) as documents:
        for lot in range(lots):
            await put_lot(documents, tmp_path, lot)
        await documents.worker.drain()
        expected = await records(documents, lots)

    assert {document.status for document in ended} == {DocumentStatus.COMPLETED}
    changing = {"etag", "generation", "created_at", "updated_at"}
    by_name = [
        sorted(document.model_dump_json(exclude=changing) for document in run) for run in (ended, expected)
    ]
    assert by_name[0] == by_name[1]
    assert len(ended) == lots * LOT
    assert index_of(killed) == index_of(undisturbed)
    assert len(index_of(killed)) == lots * LOT
    assert left_over(killed) == Counter()
