"""Two children read a half of a PDF each, and no page depends on the second one."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from orc_core.extraction.extractor import Extractor
from orc_core.infra.sandbox import Limits, Run, Sandbox
from orc_core.models import Page
from tests.unit.orc_core.extraction.samples import drawn_pages

pytestmark = pytest.mark.slow

READ = "tests.unit.orc_core.extraction.file_children:read_forty"
WHOLE = [f"page {number}" for number in range(1, 41)] + ["rest of 2", "rest of 30"]
FAILURES = ["SIGKILL", "SIGSEGV", "exit", "invalid", "refused", "large", "other"]


class WatchedSandbox(Sandbox):
    """Keeps the first page of each child, and the ids of their processes."""

    def __init__(self) -> None:
        super().__init__()
        self.firsts: list[object] = []
        self.pids: list[int] = []

    @asynccontextmanager
    async def run(
        self, function: str, limits: Limits, reads: Sequence[Path] = (), **arguments: object
    ) -> AsyncIterator[Run]:
        self.firsts.append(arguments["first"])
        async with super().run(function, limits, reads, **arguments) as run:
            yield run
            self.pids.append(run._process.pid)

    @property
    def all_have_ended(self) -> bool:
        return not any(psutil.pid_exists(pid) for pid in self.pids)


Open = Callable[..., Extractor]


@pytest.fixture
async def watched() -> AsyncIterator[WatchedSandbox]:
    watched = WatchedSandbox()
    yield watched
    await watched.close()


def extractor_in(sandbox: Sandbox, processes: int = 2, *, is_busy: bool = False) -> Extractor:
    return Extractor(sandbox, processes=processes, function=READ, is_busy=lambda: is_busy)


@pytest.fixture
def _failure_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Notes for the first child that the extractor knows: that is later than the second one's end."""

    def note(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith("extraction.second_half_failed"):
            (tmp_path / "failed").touch()
        return True

    monkeypatch.setattr(logging.getLogger(Extractor.__module__), "filters", [note])


def texts(pages: Sequence[Page]) -> list[str]:
    return [page.text for page in pages]


async def test_two_children_read_a_half_each(watched: WatchedSandbox, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    extractor = extractor_in(watched)
    extraction = await extractor.extract(tmp_path, "halves", lambda *reported: seen.append(reported[:2]))
    assert texts(extraction.pages) == WHOLE
    assert [page.number for page in extraction.pages] == list(range(1, 43))
    assert [done for done, _ in seen[:40]] == list(range(1, 41))
    assert {total for _, total in seen} <= {0, 40}
    assert watched.firsts == [1, 21]
    assert watched.all_have_ended


@pytest.mark.usefixtures("_failure_noted")
@pytest.mark.parametrize("failure", FAILURES)
async def test_if_the_second_half_fails_the_first_child_reads_on(
    watched: WatchedSandbox, tmp_path: Path, failure: str
) -> None:
    extraction = await extractor_in(watched).extract(tmp_path, f"early {failure}")
    assert texts(extraction.pages) == WHOLE
    assert watched.firsts == [1, 21]
    assert watched.all_have_ended


@pytest.mark.parametrize("failure", FAILURES)
async def test_if_the_second_half_fails_later_one_child_reads_all(
    watched: WatchedSandbox, tmp_path: Path, failure: str
) -> None:
    def note(page: Page) -> None:
        if page.text == "page 21":
            (tmp_path / "taken over").touch()

    extraction = await extractor_in(watched).extract(tmp_path, f"late {failure}", on_page=note)
    assert texts(extraction.pages) == WHOLE
    assert watched.firsts == [1, 21, 1]
    assert watched.all_have_ended


@pytest.mark.parametrize(("processes", "is_busy"), [(1, False), (2, True)])
async def test_one_child_reads_all_if_no_other_is_free_or_the_machine_is_busy(
    watched: WatchedSandbox, tmp_path: Path, processes: int, *, is_busy: bool
) -> None:
    extraction = await extractor_in(watched, processes, is_busy=is_busy).extract(tmp_path, "whole")
    assert texts(extraction.pages) == WHOLE
    assert watched.firsts == [1]


async def test_many_files_at_once_are_all_read(watched: WatchedSandbox, tmp_path: Path) -> None:
    extractor = extractor_in(watched)
    for extraction in await asyncio.gather(*(extractor.extract(tmp_path, "whole") for _ in range(5))):
        assert texts(extraction.pages) == WHOLE


async def test_another_file_does_not_wait_for_a_second_half(watched: WatchedSandbox, tmp_path: Path) -> None:
    extractor, is_half = extractor_in(watched), asyncio.Event()
    stuck = asyncio.create_task(extractor.extract(tmp_path, "stuck", on_page=lambda _: is_half.set()))
    async with asyncio.timeout(20):
        await is_half.wait()
        other = await extractor.extract(tmp_path, "whole")
    assert texts(other.pages) == WHOLE
    assert watched.firsts.count(21) == 1
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)


async def test_cancelling_ends_both_children(watched: WatchedSandbox, tmp_path: Path) -> None:
    both_read = asyncio.Event()

    def note(done: int, *_: object) -> None:
        if done == 10:
            both_read.set()

    task = asyncio.create_task(extractor_in(watched).extract(tmp_path, "stuck", note))
    await both_read.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert watched.firsts == [1, 21]
    assert watched.all_have_ended


async def test_halves_have_the_text_of_the_whole(tmp_path: Path, box: Sandbox) -> None:
    """Which words keep the hyphen at a line end depends on all earlier pages."""
    line, two = b"BT /F 12 Tf 50 700 Td (%s) Tj ET", b"BT /F 12 Tf 50 700 Td (%s-) Tj 0 -15 Td (%s) Tj ET"
    known = [line % b"Co-insurance and examples.", two % (b"co", b"insurance")]
    last = [two % (b"The co", b"insurance"), two % (b"exam", b"ples")]
    source = tmp_path / "a.pdf"
    await asyncio.to_thread(source.write_bytes, drawn_pages(*known, *[line % b"Nothing of it."] * 60, *last))
    in_halves = await Extractor(box, is_busy=lambda: False).extract(source, source.name)
    assert [page.text for page in in_halves.pages[-2:]] == ["The co-insurance", "examples"]
    assert await Extractor(box, processes=1).extract(source, source.name) == in_halves
