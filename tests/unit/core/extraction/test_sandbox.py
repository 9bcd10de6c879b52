"""The child process: all its outcomes, and that it has ended afterwards."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from core.errors import DocumentRejected, Unavailable, UnreadableDocument
from core.extraction import watch
from core.extraction.forked import ForkServer
from core.extraction.sandbox import EXTRACTION_TIMES, Extractor
from core.extraction.subprocesses import MODULE, Children
from core.extraction.watch import TimeLimits
from devkit.processes import children
from tests.unit.core.extraction.samples import pdf, raw_pdf

pytestmark = [pytest.mark.usefixtures("only_own_children"), pytest.mark.slow]

DONE = json.dumps({"done": "text/plain"})
PAGE = json.dumps({"text": "a page", "label": "", "total": 1})
OPENED_PDF = json.dumps({"opened": "application/pdf", "total": 3})
WORK = """import time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""
HANG = "import sys, time; print('{PAGE}', flush=True); time.sleep(600)".replace("{PAGE}", PAGE)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")


@pytest.fixture(autouse=True)
def forked_servers() -> None:
    """Start fork servers as the product does."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "upload"
    source.write_bytes(pdf("The notice period is three months."))
    return source


@pytest.fixture
def spare_children() -> None:
    """Allow spare children, which other unit tests go without."""


OPENED: list[Extractor] = []


@pytest.fixture(autouse=True)
async def close_extractors() -> AsyncIterator[None]:
    """Close the extractors of a test, with their spare children."""
    yield
    while OPENED:
        await OPENED.pop().close()


def extractor_with(code: str, times: TimeLimits = EXTRACTION_TIMES, *, processes: int = 2) -> Extractor:
    """An extractor whose child runs this code."""
    OPENED.append(Extractor(times=times, memory_bytes=2**28, processes=processes, worker=("-c", code)))
    return OPENED[-1]


async def test_extraction_returns_pages_and_media_type(extractor: Extractor, source: Path) -> None:
    extraction = await extractor.extract(source, "contract.pdf")
    assert [page.number for page in extraction.pages] == [1]
    assert extraction.pages[0].text == "The notice period is three months."
    assert extraction.media_type == "application/pdf"
    await extractor.close()
    assert children(recursive=True) == []


@pytest.fixture
def no_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each child by itself, as on macOS."""
    monkeypatch.setattr(ForkServer, "is_possible", lambda: False)


@pytest.mark.usefixtures("no_fork_server")
async def test_a_spare_child_waits_for_the_next_file_and_ends_with_the_extractor(
    extractor: Extractor, source: Path
) -> None:
    await extractor.extract(source, "contract.pdf")
    await asyncio.sleep(0.05)
    [spare] = children()
    spare.kill()
    await asyncio.sleep(0.1)
    extraction = await extractor.extract(source, "contract.pdf")
    assert extraction.pages[0].text == "The notice period is three months."
    await asyncio.sleep(0.05)
    assert len(children()) == 1
    await extractor.close()
    assert children() == []


@linux_only
async def test_a_dead_fork_server_is_replaced(extractor: Extractor, source: Path) -> None:
    await extractor.extract(source, "contract.pdf")
    [server] = children()
    await extractor.extract(source, "contract.pdf")
    assert children() == [server]
    server.kill()
    assert (await extractor.extract(source, "contract.pdf")).pages
    assert len(children()) == 1
    await extractor.close()
    assert children() == []


@linux_only
async def test_a_prepared_fork_server_reads_the_first_file(extractor: Extractor, source: Path) -> None:
    await extractor.prepare()
    [server] = children()
    assert (await extractor.extract(source, "contract.pdf")).pages
    assert children() == [server]
    await extractor.close()
    assert children() == []


async def test_the_same_file_always_gives_the_same_text(extractor: Extractor, source: Path) -> None:
    first, second = await asyncio.gather(
        extractor.extract(source, "contract.pdf"), extractor.extract(source, "contract.pdf")
    )
    assert first == second


async def test_progress_counts_the_pages(extractor: Extractor, source: Path) -> None:
    await asyncio.to_thread(source.write_bytes, pdf("one", "two", "three"))
    seen: list[tuple[int, int]] = []
    await extractor.extract(source, "contract.pdf", lambda done, total, _: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("times", [TimeLimits(idle=0.2), TimeLimits(wall=0.2)])
async def test_a_child_that_does_nothing_is_killed(source: Path, times: TimeLimits) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await extractor_with(HANG, times).extract(source, "contract.pdf")
    assert caught.value.code == "too_slow"
    assert children() == []


async def test_a_child_that_never_reads_its_request_is_killed(source: Path) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await extractor_with("while True: pass", TimeLimits(page=0.3)).extract(source, "contract.pdf")
    assert caught.value.code == "too_slow"
    assert children() == []


async def test_a_child_that_waits_for_the_processor_is_not_late(source: Path) -> None:
    code = f"import time; time.sleep(0.4); print('{PAGE}'); print('{DONE}')"
    extraction = await extractor_with(code, TimeLimits(page=0.2)).extract(source, "contract.pdf")
    assert [page.text for page in extraction.pages] == ["a page"]


async def test_a_file_that_takes_long_gives_way_to_others(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LONG_SECONDS", 0.02)
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.05)
    code = (
        "import json, os, time; before = os.getpriority(os.PRIO_PROCESS, 0)\n"
        "while os.getpriority(os.PRIO_PROCESS, 0) == before and time.process_time() < 30: pass\n"
        f"print(json.dumps({{'text': 'lower'}})); print('{DONE}')"
    )
    extraction = await extractor_with(code).extract(source, "contract.txt")
    assert extraction.pages[0].text == "lower"


async def test_many_pages_may_take_longer_than_one(source: Path) -> None:
    code = WORK + f"for _ in range(3): work(0.2); print('{PAGE}', flush=True)\nprint('{DONE}')"
    extraction = await extractor_with(code, TimeLimits(page=0.3, share=0.25)).extract(source, "contract.pdf")
    assert len(extraction.pages) == 3


async def test_pages_together_have_a_limit(source: Path) -> None:
    code = WORK + f"while True: work(0.02); print('{PAGE}', flush=True)"
    with pytest.raises(UnreadableDocument) as caught:
        await extractor_with(code, TimeLimits(page=0.2, share=0.001)).extract(source, "contract.pdf")
    assert caught.value.code == "too_slow"


async def test_a_slow_page_has_no_text_and_the_others_have_theirs(source: Path) -> None:
    code = WORK + (
        f"import json; first = json.loads(input())['first']\nprint('{OPENED_PDF}')\n"
        f"for number in range(first, 4):\n"
        f"  if number == 2: work(60)\n"
        f"  print(json.dumps(dict(text='page %d' % number)), flush=True)\n"
        f"print('{DONE}')"
    )
    extraction = await extractor_with(code, TimeLimits(page=0.2)).extract(source, "contract.pdf")
    assert [(page.number, page.text) for page in extraction.pages] == [(1, "page 1"), (2, ""), (3, "page 3")]


async def test_a_file_of_slow_pages_is_refused(source: Path) -> None:
    code = WORK + f"print('{OPENED_PDF}', flush=True)\nwork(60)"
    with pytest.raises(UnreadableDocument) as caught:
        await extractor_with(code, TimeLimits(page=0.1)).extract(source, "contract.pdf")
    assert caught.value.code == "too_slow"


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
async def test_a_child_that_is_ended_from_outside_is_started_again(
    source: Path, tmp_path: Path, signal: str
) -> None:
    code = (
        f"import os, pathlib, signal; again = pathlib.Path({str(tmp_path / 'again')!r})\n"
        f"print('{PAGE}', flush=True)\n"
        f"if not again.exists(): again.touch(); os.kill(os.getpid(), signal.{signal})\n"
        f"print('{DONE}')"
    )
    extraction = await extractor_with(code).extract(source, "contract.pdf")
    assert [page.text for page in extraction.pages] == ["a page"]


async def test_cancelling_kills_the_child(source: Path) -> None:
    started = asyncio.Event()
    task = asyncio.create_task(extractor_with(HANG).extract(source, "contract.pdf", lambda *_: started.set()))
    await started.wait()
    running = children()
    assert len(running) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not running[0].is_running()


async def test_an_error_in_the_progress_callback_reaches_the_caller(source: Path) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="the caller's own"):
        await extractor_with(HANG).extract(source, "contract.pdf", fail)
    assert children() == []


@pytest.mark.parametrize("loop_steps", range(0, 30, 3))
@pytest.mark.parametrize("forks", [False, True])
async def test_closing_ends_a_child_that_is_just_starting(
    monkeypatch: pytest.MonkeyPatch, loop_steps: int, forks: bool
) -> None:
    if not forks:
        monkeypatch.setattr(ForkServer, "is_possible", lambda: False)
    group = Children()

    async def use() -> None:
        async with group.fork(*MODULE, "core.extraction.child") as child:
            assert child.stdout is not None
            await child.stdout.read()

    using = asyncio.create_task(use())
    for _ in range(loop_steps):
        await asyncio.sleep(0)
    await group.close()
    assert children(recursive=True) == []
    await asyncio.gather(using, return_exceptions=True)


async def test_closing_stops_running_children_and_refuses_new_ones(source: Path) -> None:
    extractor = extractor_with(HANG, processes=1)
    started = asyncio.Event()
    running = asyncio.create_task(extractor.extract(source, "a.pdf", lambda *_: started.set()))
    waiting = asyncio.create_task(extractor.extract(source, "b.pdf"))
    await started.wait()
    await extractor.close()
    for task in (running, waiting):
        with pytest.raises(Unavailable):
            await task
    assert children() == []


@linux_only
@pytest.mark.parametrize(
    ("file_name", "make"),
    [
        ("bomb.pdf", lambda: raw_pdf(b" " * 60_000_000 + b"BT /F 9 Tf (after) Tj ET")),
        ("long.txt", lambda: b"lorem ipsum " * 5_000_000),
    ],
)
async def test_a_file_that_needs_too_much_memory_is_given_up(
    tmp_path: Path, file_name: str, make: Callable[[], bytes]
) -> None:
    source = tmp_path / "upload"
    source.write_bytes(make())
    extractor = Extractor(memory_bytes=24 * 2**20, processes=1)
    OPENED.append(extractor)
    with pytest.raises(UnreadableDocument) as caught:
        await extractor.extract(source, file_name)
    assert caught.value.code == "too_much_memory"


@pytest.mark.parametrize(
    "code",
    [
        "print('Segmentation fault')",
        "print('[1, 2]')",
        "print('{}')",
        "import sys; sys.stdout.buffer.write(bytes(range(256)) + b'\\n')",
        "print('x' * 5_000_000)",
        "print('[' * 100_000)",
        f"print('{DONE}'); print('{PAGE}')",
        'print(\'{"error": "no such kind"}\')',
        "",
    ],
)
async def test_invalid_output_of_the_child_means_a_damaged_file(source: Path, code: str) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await extractor_with(code).extract(source, "contract.pdf")
    assert caught.value.code == "corrupt"
    assert children() == []


@pytest.mark.parametrize(
    ("ending", "error", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", UnreadableDocument, "corrupt"),
        ("os.kill(os.getpid(), signal.SIGABRT)", UnreadableDocument, "too_much_memory"),
        ("os.kill(os.getpid(), signal.SIGKILL)", UnreadableDocument, "too_much_memory"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", UnreadableDocument, "too_slow"),
        ("os.kill(os.getpid(), signal.SIGTERM)", Unavailable, "unavailable"),
        ("raise ImportError('the reader is not installed')", Unavailable, "unavailable"),
    ],
)
async def test_each_exit_code_has_its_error(
    source: Path, ending: str, error: type[Exception], code: str
) -> None:
    half_a_line = f"import os, signal; os.write(1, b'{PAGE}' + bytes([10]) + b'{PAGE[:9]}')"
    with pytest.raises(error) as caught:
        await extractor_with(f"{half_a_line}; {ending}" if "os." in ending else ending).extract(
            source, "a.pdf"
        )
    assert getattr(caught.value, "code", None) == code


async def test_too_much_text_is_refused_while_it_arrives(source: Path) -> None:
    endless = "while True: print('{\"text\": \"' + 'x' * 100_000 + '\", \"more\": true}')"
    with pytest.raises(DocumentRejected) as caught:
        await extractor_with(endless).extract(source, "contract.pdf")
    assert caught.value.code == "too_large"
    assert children() == []


async def test_the_number_of_children_is_limited(source: Path, tmp_path: Path) -> None:
    """Each child reports how many run, including itself, while the others have time to start."""
    code = (
        "import os, pathlib, sys, time; sys.stdin.readline()\n"
        f"folder = pathlib.Path({str(tmp_path)!r}, 'running'); folder.mkdir(exist_ok=True)\n"
        "mark = folder / str(os.getpid()); mark.touch(); time.sleep(0.1)\n"
        "count = len(list(folder.iterdir())); time.sleep(0.1); mark.unlink()\n"
        f"print('{{\"text\": \"' + str(count) + '\"}}'); print('{DONE}')"
    )
    extractor = extractor_with(code, processes=2)
    extractions = await asyncio.gather(*(extractor.extract(source, "a.txt") for _ in range(6)))
    assert max(int(extraction.pages[0].text) for extraction in extractions) == 2


async def test_the_child_has_no_secrets_in_its_environment(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    code = f"import json, os; print(json.dumps({{'text': ' '.join(os.environ)}})); print('{DONE}')"
    extraction = await extractor_with(code).extract(source, "contract.txt")
    tuning = {"OPENBLAS_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}
    assert set(extraction.pages[0].text.split()) <= {"PYTHONPATH", "LC_CTYPE", *tuning}


@linux_only
async def test_ctrl_c_does_not_reach_the_child(source: Path) -> None:
    code = f"import json, os; print(json.dumps({{'text': str(os.getsid(0))}})); print('{DONE}')"
    extraction = await extractor_with(code).extract(source, "contract.txt")
    assert extraction.pages[0].text != str(os.getsid(0))


@linux_only
async def test_a_limited_child_cannot_write_files(source: Path, tmp_path: Path) -> None:
    code = (
        "from core.extraction import limits\n"
        "limits.confine(2**28, 5); limits.forbid_files()\n"
        f"try: open({str(tmp_path / 'written')!r}, 'w', buffering=1).write('text' + chr(10))\n"
        f"except OSError: print('{PAGE}'); print('{DONE}')"
    )
    extraction = await extractor_with(code).extract(source, "contract.txt")
    assert extraction.pages[0].text == "a page"


MOMENTS = 60


@pytest.mark.slow
async def test_an_extraction_can_be_given_up_at_any_moment(tmp_path: Path) -> None:
    """A busy machine gives up uploads after a while, wherever their child is just then."""
    file = tmp_path / "a.txt"
    file.write_text("The fee of berth 1 is 401 euros.")
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    extractor = Extractor()
    await extractor.extract(file, file.name)
    begin = time.monotonic()
    await extractor.extract(file, file.name)
    whole = time.monotonic() - begin
    for moment in range(MOMENTS):
        with suppress(TimeoutError):
            async with asyncio.timeout(whole * moment / MOMENTS):
                await extractor.extract(file, file.name)
    pages = (await extractor.extract(file, file.name)).pages
    await extractor.close()
    assert [page.text for page in pages] == ["The fee of berth 1 is 401 euros."]
    assert failures == []
