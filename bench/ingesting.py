"""Pages per second of uploads and of the page analysis."""

import asyncio
import time
import uuid
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from bench.client import Advance, until_searchable, upload
from bench.connection import connected
from bench.deployment import HANDBOOK, ROOT, Stage
from bench.plan import Plan
from bench.statistics import Figure, summary
from devkit.reports import Target
from orc_core.bootstrap import Documents, open_documents
from orc_core.infra.settings import CoreSettings
from orc_core.names import Owner

REAL_DOCUMENTS = ROOT.parent / "shared" / "data" / "open" / "docs"
AT_ONCE = 4
PAGES_PER_SECOND = Target(150, ">=")
OWNER = Owner("bench", "bench", "analysed")

Files = Sequence[tuple[str, bytes]]


def files_to_ingest(count: int) -> tuple[str, Files]:
    """What they are, and the files: real PDFs of all sizes if there are any, else the shipped one.

    No two have the same bytes, in this call or another: those would be read only once.
    """
    real = sorted(REAL_DOCUMENTS.glob("*.pdf"))
    what = "real PDFs" if real else "copies of the handbook"
    return what, [
        (f"{number}-{file.name}", file.read_bytes() + f"\n%{uuid.uuid4()}\n".encode())
        for number, file in enumerate(islice(cycle(real or [HANDBOOK]), count))
    ]


async def measure_ingestion(stage: Stage, plan: Plan, advance: Advance) -> list[Figure]:
    """Uploads each file in a separate request, first one at a time, then several at once."""
    port, count = stage.system.api_port, plan.ingested_files
    one, several = [], []
    for _ in range(plan.ingestion_rounds):
        what, files = await asyncio.to_thread(files_to_ingest, count)
        one.append(await _pages_per_second(port, files, 1))
        advance()
        what, files = await asyncio.to_thread(files_to_ingest, count)
        several.append(await _pages_per_second(port, files, AT_ONCE))
        advance()
    name, group = f"{count} {what}", "Upload to searchable"
    return [
        summary(group, f"{name}, one at a time", one, "pages/s", target=PAGES_PER_SECOND),
        summary(group, f"{name}, {AT_ONCE} at a time", several, "pages/s", target=PAGES_PER_SECOND),
    ]


async def measure_analysis(folder: Path, plan: Plan, advance: Advance) -> Figure:
    """The page analysis of the same kind of files, without a model, by a worker in this process."""
    settings = CoreSettings(data_dir=folder / "analysed", page_analysis="extractive")
    _, files = await asyncio.to_thread(files_to_ingest, plan.ingested_files)
    async with open_documents(settings, analyser=True) as documents:
        pages = 0
        for name, content in files:
            pages += await _make_searchable(documents, folder / name, content)
        started = time.perf_counter()
        await documents.worker.drain()
        seconds = time.perf_counter() - started
    advance()
    return Figure("Page analysis", f"{len(files)} files, without a model", pages / seconds, "pages/s", 1)


async def _make_searchable(documents: Documents, source: Path, content: bytes) -> int:
    await asyncio.to_thread(source.write_bytes, content)
    document = await documents.library.upload(OWNER, source.name, source)
    await documents.worker.work_once()
    return document.pages


async def _pages_per_second(port: int, files: Files, at_once: int) -> float:
    waiting = iter(files)
    started = time.perf_counter()
    pages = await asyncio.gather(*(_upload_each(port, waiting) for _ in range(at_once)))
    return sum(pages) / (time.perf_counter() - started)


async def _upload_each(port: int, files: Iterator[tuple[str, bytes]]) -> int:
    pages = 0
    async with connected(port) as connection:
        for name, content in files:
            conversation_id = str(uuid.uuid4())
            pages += await upload(connection, conversation_id, name, content)
            await until_searchable(connection, conversation_id)
    return pages
