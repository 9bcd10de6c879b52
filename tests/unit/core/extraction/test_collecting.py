"""Two children read a half of a PDF each, and no page depends on the second one."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from core.extraction.collecting import Collector, SecondHalf
from core.extraction.sandbox import Extractor
from devkit.processes import children
from tests.unit.core.extraction.samples import drawn_pages

pytestmark = [pytest.mark.usefixtures("only_own_children"), pytest.mark.slow]

CHILD = """import json, os, pathlib, sys, time
first = json.loads(sys.stdin.readline())["first"]
folder = pathlib.Path(FOLDER)
(folder / f"{first}-{os.getpid()}").touch()
def write(**line):
    print(json.dumps(line), flush=True)
def pages(start, end):
    for number in range(start, end):
        write(text=f"page {number}")
        if number in (2, 30): write(text=f"rest of {number}", follows=True)
def all_from(start):
    pages(start, 41)
    write(done="application/pdf")
def until_started(start):
    while not (found := list(folder.glob(f"{start}-*"))): time.sleep(0.01)
    return found[0].name.split("-")[1]
def until_ended(start):
    process = until_started(start)
    while os.path.exists(f"/proc/{process}"): time.sleep(0.01)
def until_second_failed():
    while not (folder.parent / "second_failed").exists(): time.sleep(0.01)
write(opened="application/pdf", total=40)
"""
"""Reads a PDF of 40 pages; FOLDER gets a file for each child that was started."""
WHOLE = [f"page {number}" for number in range(1, 41)] + ["rest of 2", "rest of 30"]
FAILURES = [
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), 11)",
    "sys.exit(3)",
    "print('garbage', flush=True)",
    "write(error='unreadable', code='corrupt', message='', cause='')",
    "pages(21, 30)",
    "pages(21, 41); [write(text='x' * 500_000, more=True) for _ in range(50)]",
]

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
WithChild = Callable[..., Extractor]


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """The folder in which each child leaves its first page and its number."""
    folder = tmp_path / "started"
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "a.pdf"
    source.touch()
    return source


@pytest.fixture
async def with_child(started: Path) -> AsyncIterator[WithChild]:
    """An extractor whose children run this code."""
    opened: list[Extractor] = []

    def open_extractor(code: str, processes: int = 2, *, is_busy: bool = False) -> Extractor:
        worker = ("-c", CHILD.replace("FOLDER", repr(str(started))) + code)
        opened.append(
            Extractor(memory_bytes=2**28, processes=processes, worker=worker, is_busy=lambda: is_busy)
        )
        return opened[-1]

    yield open_extractor
    for extractor in opened:
        await extractor.close()


@pytest.fixture
def _failure_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lets `until_second_failed` return once the extractor knows it: that is later than the child's end."""

    def note(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith("extraction.second_half_failed"):
            (tmp_path / "second_failed").touch()
        return True

    monkeypatch.setattr(logging.getLogger(Collector.__module__), "filters", [note])


def firsts(started: Path) -> list[int]:
    """The first page of each child that was started."""
    return sorted(int(path.name.split("-")[0]) for path in started.iterdir())


async def test_two_children_read_a_half_each(with_child: WithChild, source: Path, started: Path) -> None:
    seen: list[tuple[int, int]] = []
    code = "if first == 1: until_started(21); pages(1, 22); time.sleep(600)\nall_from(first)"
    extractor = with_child(code)
    extraction = await extractor.extract(source, "a.pdf", lambda *reported: seen.append(reported[:2]))
    assert [page.text for page in extraction.pages] == WHOLE
    assert [page.number for page in extraction.pages] == list(range(1, 43))
    assert [done for done, _ in seen[:40]] == list(range(1, 41))
    assert {total for _, total in seen} == {40}
    assert firsts(started) == [1, 21]
    assert children() == []


@pytest.mark.usefixtures("_failure_noted")
@pytest.mark.parametrize("failure", FAILURES)
async def test_if_the_second_half_fails_the_first_child_reads_on(
    with_child: WithChild, source: Path, started: Path, failure: str
) -> None:
    code = f"if first == 21: {failure}; sys.exit(1)\nuntil_second_failed(); all_from(1)"
    assert [page.text for page in (await with_child(code).extract(source, "a.pdf")).pages] == WHOLE
    assert firsts(started) == [1, 21]
    assert children() == []


@linux_only
@pytest.mark.parametrize("failure", FAILURES)
async def test_if_the_second_half_fails_later_one_child_reads_all(
    with_child: WithChild, source: Path, started: Path, failure: str
) -> None:
    code = (
        f"if first == 21: until_ended(1); {failure}; sys.exit(1)\n"
        "if len(list(folder.iterdir())) < 2: until_started(21); pages(1, 22); time.sleep(600)\n"
        "all_from(1)"
    )
    assert [page.text for page in (await with_child(code).extract(source, "a.pdf")).pages] == WHOLE
    assert firsts(started) == [1, 1, 21]
    assert children() == []


async def test_one_child_reads_all_if_no_other_is_free(
    with_child: WithChild, source: Path, started: Path
) -> None:
    extraction = await with_child("all_from(first)", 1).extract(source, "a.pdf")
    assert [page.text for page in extraction.pages] == WHOLE
    assert firsts(started) == [1]


async def test_one_child_reads_all_if_the_machine_is_busy(
    with_child: WithChild, source: Path, started: Path
) -> None:
    extraction = await with_child("all_from(first)", is_busy=True).extract(source, "a.pdf")
    assert [page.text for page in extraction.pages] == WHOLE
    assert firsts(started) == [1]


async def test_many_files_at_once_are_all_read(with_child: WithChild, source: Path) -> None:
    extractor = with_child("time.sleep(0.05); all_from(first)")
    for extraction in await asyncio.gather(*(extractor.extract(source, "a.pdf") for _ in range(5))):
        assert [page.text for page in extraction.pages] == WHOLE


async def test_a_second_half_that_has_no_process_yet_takes_nothing_over() -> None:
    slots, rest = asyncio.Semaphore(1), Collector(None)

    async def read(first: int) -> Collector:
        assert first == 21
        return rest

    second = SecondHalf(slots, lambda: False, read)
    second.begin(40)
    await slots.acquire()  # another file was faster
    await asyncio.sleep(0)
    assert not second.take_over(21)
    slots.release()
    with pytest.raises(asyncio.CancelledError):  # the first child is past its beginning
        await asyncio.wait_for(second.result(), 5)
    assert not second.take_over(21)
    await second.end()


@linux_only
async def test_another_file_does_not_wait_for_a_second_half(with_child: WithChild, source: Path) -> None:
    code = (
        "if first == 21: pages(21, 22); time.sleep(600)\n"
        "if len(list(folder.glob('1-*'))) == 1: time.sleep(600)\n"
        "all_from(first)"
    )
    extractor, is_half = with_child(code), asyncio.Event()
    long = asyncio.create_task(extractor.extract(source, "a.pdf", on_page=lambda _: is_half.set()))
    async with asyncio.timeout(20):
        await is_half.wait()
        other = await extractor.extract(source, "b.pdf")
    assert [page.text for page in other.pages] == WHOLE
    long.cancel()
    await asyncio.gather(long, return_exceptions=True)


async def test_a_second_half_takes_over_at_its_first_page() -> None:
    rest = Collector(None)

    async def read(_first: int) -> Collector:
        return rest

    second = SecondHalf(asyncio.Semaphore(1), lambda: False, read)
    second.begin(40)
    await asyncio.sleep(0)
    assert not second.take_over(20) and second.take_over(21) and not second.take_over(22)
    assert await second.result() is rest
    await second.end()


async def test_cancelling_ends_both_children(with_child: WithChild, source: Path) -> None:
    both_read = asyncio.Event()
    extractor = with_child("pages(first, first + 5); time.sleep(600)")

    def note(done: int, *_: object) -> None:
        if done == 10:
            both_read.set()

    task = asyncio.create_task(extractor.extract(source, "a.pdf", note))
    await both_read.wait()
    assert len(children()) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() == []


async def test_halves_have_the_text_of_the_whole(tmp_path: Path) -> None:
    """Which words keep the hyphen at a line end depends on all earlier pages."""
    line, two = b"BT /F 12 Tf 50 700 Td (%s) Tj ET", b"BT /F 12 Tf 50 700 Td (%s-) Tj 0 -15 Td (%s) Tj ET"
    known = [line % b"Co-insurance and examples.", two % (b"co", b"insurance")]
    last = [two % (b"The co", b"insurance"), two % (b"exam", b"ples")]
    source = tmp_path / "a.pdf"
    await asyncio.to_thread(source.write_bytes, drawn_pages(*known, *[line % b"Nothing of it."] * 60, *last))
    extractor = Extractor(memory_bytes=2**30, is_busy=lambda: False)
    in_halves = await extractor.extract(source, source.name)
    assert [page.text for page in in_halves.pages[-2:]] == ["The co-insurance", "examples"]
    alone = Extractor(memory_bytes=2**30, processes=1)
    assert await alone.extract(source, source.name) == in_halves
    await alone.close()
    await extractor.close()
