"""What a person waits for in the page: pictures of pages, and a conversation of 1,000 turns that opens.

`python -m bench.pages` measures this part alone.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from pypdfium2 import PdfDocument
from rich.console import Console

from bench.client import LOOK_SECONDS, Advance
from bench.deployment import HANDBOOK, clean_surroundings
from bench.plan import FULL, Plan
from bench.report import as_table
from bench.statistics import Figure, percentile, summary
from devkit.reports import Target
from devkit.shared_data import SHARED
from devkit.store_pairs import items_here
from devkit.system import System, running, upload
from orc.conversations.models import NewTurn, TurnOutcome
from orc.conversations.turn_log import TurnLog
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER
from orc_core.infra.sqlite import Database
from orc_core.names import Owner

WIDTH = 1200
PAGES_OF_EACH = 10
"""Pages of a document that are drawn: the first, the last and some between them."""
OPENED = 60
UNCACHED_MS, CACHED_MS, OPENING_MS = Target(250), Target(15), Target(50)
CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
GROUP = "The page"


def measure_pages(system: System, plan: Plan, advance: Advance) -> list[Figure]:
    """Pictures from a running product that has none yet, then again; and the opening of a conversation."""
    with system.client() as http:
        paths = list(_pages(http, plan.drawn_documents))
        _wait_until_indexed(http)
        uncached = [_first_byte(http, path) for path in paths]
        advance()
        cached = [_first_byte(http, path) for path in paths]
        opening = _open(http, system.data_dir / "orc.db", plan.opened_turns)
        advance()
    return [
        summary(GROUP, f"page of {WIDTH} px, first byte, median", uncached),
        _tail(f"page of {WIDTH} px, first byte, p95", uncached, UNCACHED_MS),
        _tail("the same page again, first byte, p95", cached, CACHED_MS),
        summary(GROUP, f"conversation of {plan.opened_turns:,} turns opens", opening, target=OPENING_MS),
    ]


def _tail(name: str, times: list[float], target: Target) -> Figure:
    return Figure(GROUP, name, percentile(times, 95), "ms", len(times), target=target)


def _pages(http: httpx.Client, documents: int) -> Iterator[str]:
    """Addresses of pictures: of the open documents if they are there, else of the handbook."""
    found = sorted((SHARED / "data" / "open" / "docs").glob("*.pdf"))[:documents]
    for file in found or [HANDBOOK]:
        stored = upload(http, CONVERSATION, file).raise_for_status().json()["documents"][0]
        with PdfDocument(file) as document:
            last = len(document)
        for number in sorted({1 + (last - 1) * each // PAGES_OF_EACH for each in range(PAGES_OF_EACH + 1)}):
            page = f"/conversations/{CONVERSATION}/documents/{stored['document_id']}/pages/{number}/image"
            yield f"{page}?width={WIDTH}"


def _wait_until_indexed(http: httpx.Client) -> None:
    """Wait for the worker, which would take a processor from what is measured."""
    while True:
        listed = http.get(f"/conversations/{CONVERSATION}/documents").raise_for_status().json()["documents"]
        if all(each["status"] in ("completed", "failed") for each in listed):
            return
        time.sleep(LOOK_SECONDS)


def _first_byte(http: httpx.Client, path: str) -> float:
    """Milliseconds to the first byte of the body, which is then read to its end."""
    started = time.perf_counter()
    with http.stream("GET", path) as response:
        assert response.is_success, path
        chunks = response.iter_bytes()
        next(chunks)
        waited = 1000 * (time.perf_counter() - started)
        for _ in chunks:
            pass
    return waited


def _open(http: httpx.Client, database: Path, turns: int) -> list[float]:
    """Milliseconds of each opening of a conversation with so many turns that cite a document."""
    question = {"question": "What is the deductible?", "conversation_id": CONVERSATION}
    sample = http.post("/orc", json=question).raise_for_status().json()
    asyncio.run(_fill(database, sample, turns))
    times = []
    for _ in range(OPENED):
        started = time.perf_counter()
        body = http.get(f"/conversations/{CONVERSATION}").raise_for_status().json()
        times.append(1000 * (time.perf_counter() - started))
    assert body["turn_count"] == turns, body["turn_count"]
    return times


async def _fill(path: Path, sample: dict[str, object], turns: int) -> None:
    """Add turns with the answer of the first one."""
    owner, database = Owner(LOCAL_ORGANIZATION, LOCAL_USER, CONVERSATION), Database(path)
    log = TurnLog(items_here(database, "conversations"))
    try:
        [first] = await log.turns(owner, after_seq=0, limit=1)
        assert first.assistant is not None
        outcome = TurnOutcome(
            answer=first.assistant.content, result=sample, citations=first.assistant.citations
        )
        for number in range(2, turns + 1):
            new = NewTurn(key=f"k{number}", request_hash="h", question=f"What is word{number}?")
            begun = await log.begin(owner, new, lease_seconds=60)
            await log.commit(owner, begun.turn.turn_id, begun.turn.attempt, outcome)
    finally:
        await database.close()


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as name,
        clean_surroundings(Path(name)),
        running(Path(name) / "data", ORC_PAGE_ANALYSIS="off") as alone,
    ):
        Console(width=120).print(as_table(measure_pages(alone, FULL, lambda: None)))
