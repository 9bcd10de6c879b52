"""Pages per second from the start of an upload to a searchable document."""

import asyncio
import time
import uuid
from collections.abc import Iterator, Sequence

from bench.asking import Advance, upload
from bench.connection import connected
from bench.figures import Figure, Target, summary
from bench.plan import Plan
from bench.stage import HANDBOOK, ROOT, Stage

REAL_DOCUMENTS = ROOT.parent / "shared" / "data" / "open" / "docs"
AT_ONCE = 4
PAGES_PER_SECOND = Target(100, ">=")

Files = Sequence[tuple[str, bytes]]


def files_to_ingest(count: int) -> tuple[str, Files]:
    """What they are, and the files: real PDFs where there are any, else copies of the shipped one."""
    if real := sorted(REAL_DOCUMENTS.glob("*.pdf"))[:count]:
        return "real PDFs", [(file.name, file.read_bytes()) for file in real]
    content = HANDBOOK.read_bytes()
    return "copies of the handbook", [(f"copy-{number}.pdf", content) for number in range(count)]


async def measure_ingestion(stage: Stage, plan: Plan, advance: Advance) -> list[Figure]:
    """Every file in a request of its own, one after another and several at once."""
    what, files = await asyncio.to_thread(files_to_ingest, plan.ingested_files)
    one, several = [], []
    for _ in range(plan.ingestion_rounds):
        one.append(await _pages_per_second(stage.system.api_port, files, 1))
        advance()
        several.append(await _pages_per_second(stage.system.api_port, files, AT_ONCE))
        advance()
    name, group = f"{len(files)} {what}", "Upload to searchable"
    return [
        summary(group, f"{name}, one at a time", one, "pages/s", target=PAGES_PER_SECOND),
        summary(group, f"{name}, {AT_ONCE} at a time", several, "pages/s"),
    ]


async def _pages_per_second(port: int, files: Files, at_once: int) -> float:
    waiting, conversation_id = iter(files), str(uuid.uuid4())
    started = time.perf_counter()
    pages = await asyncio.gather(*(_upload_each(port, conversation_id, waiting) for _ in range(at_once)))
    return sum(pages) / (time.perf_counter() - started)


async def _upload_each(port: int, conversation_id: str, files: Iterator[tuple[str, bytes]]) -> int:
    async with connected(port) as connection:
        return sum([await upload(connection, conversation_id, name, content) for name, content in files])
