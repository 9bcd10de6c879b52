"""How a file is read: all outcomes of its children. What a child may do is in test_sandbox.py."""

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from orc_core.errors import OrcError, Unavailable, UnreadableDocument
from orc_core.extraction.extractor import Extractor
from orc_core.infra.sandbox import Limits, Sandbox
from tests.unit.orc_core.extraction.samples import pdf, raw_pdf

pytestmark = pytest.mark.slow

CHILDREN = "tests.unit.orc_core.extraction.file_children"
LIMITS = Limits(2**28)
MOMENTS = 60

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "upload"
    source.write_bytes(pdf("The notice period is three months."))
    return source


def extractor_of(box: Sandbox, function: str, limits: Limits = LIMITS) -> Extractor:
    return Extractor(box, limits=limits, function=f"{CHILDREN}:{function}")


async def test_progress_counts_the_pages(extractor: Extractor, source: Path) -> None:
    await asyncio.to_thread(source.write_bytes, pdf("one", "two", "three"))
    seen: list[tuple[int, int]] = []
    await extractor.extract(source, "contract.pdf", lambda done, total, _: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


async def test_a_slow_page_has_no_text_and_the_others_have_theirs(box: Sandbox, tmp_path: Path) -> None:
    extractor = extractor_of(box, "slow_second_page", Limits(2**28, step=0.5))
    extraction = await extractor.extract(tmp_path, "a.pdf")
    assert [(page.number, page.text) for page in extraction.pages] == [(1, "page 1"), (2, ""), (3, "page 3")]


@pytest.mark.parametrize(
    ("function", "limits", "code"),
    [
        ("slow_pages", Limits(2**28, step=0.3), "too_slow"),
        ("hang", Limits(2**28, idle=0.3), "too_slow"),
        ("endless_text", LIMITS, "too_large"),
    ],
)
async def test_a_file_beyond_a_limit_is_refused(
    box: Sandbox, tmp_path: Path, function: str, limits: Limits, code: str
) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await extractor_of(box, function, limits).extract(tmp_path, "a.pdf")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("how", "error", "code"),
    [
        ("SIGSEGV", UnreadableDocument, "corrupt"),
        ("SIGABRT", UnreadableDocument, "too_much_memory"),
        ("SIGKILL", UnreadableDocument, "too_much_memory"),
        ("SIGXCPU", UnreadableDocument, "too_slow"),
        ("SIGTERM", Unavailable, "unavailable"),
        ("exit", Unavailable, "unavailable"),
        ("invalid", UnreadableDocument, "corrupt"),
        ("refused", UnreadableDocument, "corrupt"),
        ("other", UnreadableDocument, "corrupt"),
    ],
)
async def test_each_end_of_a_child_has_its_error(
    box: Sandbox, tmp_path: Path, how: str, error: type[OrcError], code: str
) -> None:
    with pytest.raises(error) as caught:
        await extractor_of(box, "end").extract(tmp_path, how)
    assert caught.value.code == code


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
async def test_a_child_that_is_ended_from_outside_is_started_again(
    box: Sandbox, tmp_path: Path, signal: str
) -> None:
    def note(*_: object) -> None:
        (tmp_path / "again").touch()

    extraction = await extractor_of(box, "end").extract(tmp_path, signal, note)
    assert [page.text for page in extraction.pages] == ["a page"]


async def test_an_error_in_the_progress_callback_reaches_the_caller(box: Sandbox, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="the caller's own"):
        await extractor_of(box, "hang").extract(tmp_path, "a.pdf", fail)


async def test_closing_stops_running_children_and_refuses_new_ones(box: Sandbox, tmp_path: Path) -> None:
    extractor = Extractor(box, processes=1, function=f"{CHILDREN}:hang")
    started = asyncio.Event()
    running = asyncio.create_task(extractor.extract(tmp_path, "a.pdf", lambda *_: started.set()))
    waiting = asyncio.create_task(extractor.extract(tmp_path, "b.pdf"))
    await started.wait()
    await box.close()
    for task in (running, waiting):
        with pytest.raises(Unavailable):
            await task


async def test_the_number_of_children_is_limited(box: Sandbox, tmp_path: Path) -> None:
    extractor, running, most = extractor_of(box, "hang"), 0, 0

    async def extract() -> None:
        nonlocal running
        await extractor.extract(tmp_path, "a.pdf", lambda *_: note())

    def note() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)

    tasks = [asyncio.create_task(extract()) for _ in range(4)]
    while running < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    assert most == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@linux_only
@pytest.mark.parametrize(
    ("file_name", "make"),
    [
        ("bomb.pdf", lambda: raw_pdf(b" " * 60_000_000 + b"BT /F 9 Tf (after) Tj ET")),
        ("long.txt", lambda: b"lorem ipsum " * 5_000_000),
    ],
)
async def test_a_file_that_needs_too_much_memory_is_given_up(
    box: Sandbox, tmp_path: Path, file_name: str, make: Callable[[], bytes]
) -> None:
    source = tmp_path / "upload"
    source.write_bytes(make())
    with pytest.raises(UnreadableDocument) as caught:
        await Extractor(box, limits=Limits(24 * 2**20)).extract(source, file_name)
    assert caught.value.code == "too_much_memory"


async def test_an_extraction_can_be_given_up_at_any_moment(extractor: Extractor, tmp_path: Path) -> None:
    """A busy machine gives up uploads after a while, wherever their child is just then."""
    file = tmp_path / "a.txt"
    file.write_text("The fee of berth 1 is 401 euros.")
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    await extractor.extract(file, file.name)
    begin = time.monotonic()
    await extractor.extract(file, file.name)
    whole = time.monotonic() - begin
    for moment in range(MOMENTS):
        with suppress(TimeoutError):
            async with asyncio.timeout(whole * moment / MOMENTS):
                await extractor.extract(file, file.name)
    pages = (await extractor.extract(file, file.name)).pages
    assert [page.text for page in pages] == ["The fee of berth 1 is 401 euros."]
    assert failures == []
