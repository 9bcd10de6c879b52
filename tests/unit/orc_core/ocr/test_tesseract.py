"""Tesseract: the real engine reads scans; and all failures of the program."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from devkit.processes import children
from orc_core.errors import DeadlineExceeded, DependencyDown, Unavailable, UnreadableDocument
from orc_core.infra.sandbox import Sandbox
from orc_core.ocr import tesseract as adapter
from orc_core.ocr.ports import DAMAGED, OcrPage
from orc_core.ocr.service import add_ocr
from orc_core.ocr.tesseract import Tesseract
from tests.unit.orc_core.ocr.conftest import ROOMY, Extract
from tests.unit.orc_core.ocr.scans import LEASE, QUAY, image_file, scan

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_own_children")]

TABLE = "level\tpage_num\n5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t88\tread\n"


async def test_scanned_pages_are_read_and_typed_pages_kept(extract: Extract, tesseract: Tesseract) -> None:
    typed = "This page was typed and needs no recognition."
    extraction, source = await extract("a.pdf", scan(LEASE, "", QUAY, typed=typed))
    assert extraction.pages_without_text == 3
    outcome = await add_ocr(extraction, source, tesseract)
    assert [page.text for page in outcome.extraction.pages] == [LEASE, "", QUAY, typed]
    assert outcome.ocr_pages == [1, 3]
    assert outcome.reason == "1 page has no text: OCR found no text."


async def test_each_frame_of_a_tiff_is_read(extract: Extract, tesseract: Tesseract) -> None:
    extraction, source = await extract("a.tiff", image_file("TIFF", QUAY, LEASE))
    outcome = await add_ocr(extraction, source, tesseract)
    assert [page.text for page in outcome.extraction.pages] == [QUAY, LEASE]
    assert outcome.extraction.has_text


async def test_a_truncated_image_is_reported_as_damaged(extract: Extract, tesseract: Tesseract) -> None:
    whole = image_file("PNG", QUAY)
    extraction, source = await extract("a.png", whole[: len(whole) // 2])
    outcome = await add_ocr(extraction, source, tesseract)
    assert not outcome.extraction.has_text
    assert outcome.reason == f"1 page has no text: {DAMAGED}."


async def test_ping_succeeds_if_the_language_is_installed(
    program: Path, tesseract: Tesseract, box: Sandbox
) -> None:
    await tesseract.ping()
    other = Tesseract(program, box, languages="eng+xyz", seconds=10, memory_bytes=ROOMY, processes=1)
    with pytest.raises(DependencyDown, match="lacks the language xyz"):
        await other.ping()


Pretender = Callable[..., Tesseract]


@pytest.fixture
def pretender(tmp_path: Path, box: Sandbox) -> Pretender:
    """Makes an engine whose program is a shell script that `does` something with a picture."""

    def pretender(does: str, *, seconds: float = 20) -> Tesseract:
        write_program(tmp_path / "tesseract", does)
        return Tesseract(
            tmp_path / "tesseract", box, languages="eng", seconds=seconds, memory_bytes=2**30, processes=2
        )

    return pretender


def write_program(program: Path, does: str) -> None:
    languages = 'if [ "$1" = --list-langs ]; then printf "List:\\neng\\n"; exit; fi'
    program.write_text(f"#!/bin/sh\n{languages}\n{does}\n")
    program.chmod(0o755)


def left() -> list[psutil.Process]:
    """Running children, without fork servers. Who adopted one that has ended may not have noticed yet."""
    running = [each for each in children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in running if "fork_server" not in " ".join(each.cmdline())]


async def read(engine: Tesseract, source: Path, *pages: int) -> list[OcrPage]:
    found: list[OcrPage] = []
    await engine.read_pages(source, "application/pdf", pages, found.append)
    return sorted(found)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "upload"
    source.write_bytes(scan(QUAY, QUAY))
    return source


async def test_the_program_gets_an_image_and_its_table_is_parsed(
    tmp_path: Path, source: Path, pretender: Pretender
) -> None:
    engine = pretender(f'echo "$@" > "{tmp_path}/asked" 2>/dev/null; cat >/dev/null; printf "{TABLE}"')
    assert await read(engine, source, 1, 2) == [OcrPage(1, "read", 0.88), OcrPage(2, "read", 0.88)]
    assert (tmp_path / "asked").read_text() == "", "a confined program can write no file"


@pytest.mark.parametrize("does", ["exit 1", "kill -SEGV $$", "head -c 9; exit 3"])
async def test_a_failing_page_does_not_affect_others(
    tmp_path: Path, source: Path, does: str, pretender: Pretender
) -> None:
    assert [page.problem for page in await read(pretender(does), source, 1)] == ["Tesseract gave up on them"]
    assert left() == []


async def test_a_page_that_takes_too_long_is_given_up(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, pretender: Pretender
) -> None:
    monkeypatch.setattr(adapter, "IDLE_SECONDS", 0.5)
    engine = pretender("exec sleep 600")
    await engine.ping()
    assert [page.problem for page in await read(engine, source, 1)] == ["Tesseract gave up on them"]
    assert left() == []


async def test_a_file_that_takes_too_long_keeps_the_pages_that_were_read(
    tmp_path: Path, source: Path, pretender: Pretender
) -> None:
    slow = f'mkdir "{tmp_path}/first" 2>/dev/null || exec sleep 600; cat >/dev/null; printf "{TABLE}"'
    engine = pretender(slow, seconds=3)
    found: list[OcrPage] = []
    with pytest.raises(DeadlineExceeded):
        await engine.read_pages(source, "application/pdf", [1, 2], found.append)
    assert len(found) == 1
    assert left() == []


async def test_a_missing_program_is_a_dependency_error(
    tmp_path: Path, source: Path, pretender: Pretender
) -> None:
    engine = pretender("")
    (tmp_path / "tesseract").unlink()
    with pytest.raises(DependencyDown, match="cannot be started"):
        await read(engine, source, 1)


@pytest.mark.parametrize("end", ["cancel", "close"])
async def test_cancelling_and_closing_end_running_processes(
    tmp_path: Path, source: Path, end: str, pretender: Pretender, box: Sandbox
) -> None:
    """At the end, one page has been read and the other is being read."""
    slow = f'mkdir "{tmp_path}/first" 2>/dev/null || exec sleep 600; cat >/dev/null; printf "{TABLE}"'
    engine = pretender(slow)
    started = asyncio.Event()
    task = asyncio.create_task(engine.read_pages(source, "application/pdf", [1, 2], lambda _: started.set()))
    await started.wait()
    if end == "cancel":
        task.cancel()
    else:
        await box.close()
    with pytest.raises((asyncio.CancelledError, Unavailable)):
        await task
    assert left() == []


async def test_an_error_in_the_callers_callback_reaches_the_caller(
    tmp_path: Path, source: Path, pretender: Pretender
) -> None:
    def fail(_: OcrPage) -> None:
        raise ValueError("the caller's own")

    engine = pretender(f'cat >/dev/null; printf "{TABLE}"')
    with pytest.raises(ValueError, match="the caller's own"):
        await engine.read_pages(source, "application/pdf", [1, 2], fail)
    assert left() == []


async def test_a_file_that_cannot_be_rendered_is_refused(tmp_path: Path, pretender: Pretender) -> None:
    source = tmp_path / "upload"
    source.write_bytes(b"%PDF-1.4 and nothing else")
    with pytest.raises(UnreadableDocument) as caught:
        await read(pretender("exit 1"), source, 1)
    assert caught.value.code == "corrupt"
