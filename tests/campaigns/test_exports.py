"""A long PDF export takes little processor time, all of it in its child, and delays no other request."""

import asyncio
import time
from collections.abc import AsyncIterator

import psutil
import pypdfium2
import pytest

from devkit.exported import heading_of, source_of
from orc.exports.service import MOST_SET_TURNS, Renderer
from orc.exports.tree import Entry
from orc_core.infra.sandbox import Sandbox

SMALL = 20
SECONDS = 10.0
LONGEST_PAUSE = 0.05
WORDS = "Every employee has twenty-eight working days of annual leave after the second year of work. ".split()
ANSWER = " ".join(WORDS * 5)
POLL_SECONDS = 0.005


def quote_of(number: int) -> str:
    return f"Clause {number}: {' '.join(WORDS * 2)}"


async def entries(count: int) -> AsyncIterator[Entry]:
    for turn in range(count):
        numbers = range(3 * turn + 1, 3 * turn + 4)
        sources = [source_of(n, f"file {n}.pdf", f"page {n}", quote_of(n), "same words") for n in numbers]
        answer = f"# Leave\n\n- {ANSWER} [{numbers[0]}]\n"
        yield Entry(turn + 1, "2026-11-23 09:12 UTC", "How long?", ["a.pdf"], answer, "", sources)


async def longest_pause(until: asyncio.Event) -> float:
    """The processor time that this process used at most between two turns of the event loop."""
    longest = 0.0
    while not until.is_set():
        before = time.process_time()
        await asyncio.sleep(POLL_SECONDS)
        longest = max(longest, time.process_time() - before)
    return longest


@pytest.mark.slow
async def test_a_long_export_takes_little_time_and_holds_every_citation(full_size: bool) -> None:
    turns = MOST_SET_TURNS if full_size else SMALL
    used, ended = _children_seconds(), asyncio.Event()
    watching = asyncio.create_task(longest_pause(ended))
    heading = heading_of("Leave", turns)
    sandbox = Sandbox()
    content = await Renderer(sandbox, "").pdf(heading, entries(turns))
    ended.set()
    await sandbox.close()
    assert _children_seconds() - used <= SECONDS
    assert await watching <= LONGEST_PAUSE
    with pypdfium2.PdfDocument(content) as document:
        text = " ".join(page.get_textpage().get_text_range() for page in document)
    words = " ".join(text.split())
    missing = [
        n
        for n in range(1, 3 * turns + 1)
        if f"[{n}] file {n}.pdf, page {n}: same words Clause {n}:" not in words
    ]
    assert missing == []


def _children_seconds() -> float:
    times = psutil.Process().cpu_times()
    return times.children_user + times.children_system
