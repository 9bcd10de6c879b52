"""The page and the processes behind it: an API that is killed, and a worker that has much to do."""

import asyncio
import logging
import os
import signal
import time
from pathlib import Path

import pytest

from devkit.browser import Page, Program, browsing
from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.long_report import fact, long_report
from devkit.process_state import is_busy
from devkit.system import System, running

FILES, PAGES, NAMED_PAGE = 20, 60, 7
MOST_LATER_SECONDS = 2.0
FIRST_TOKEN = "document.querySelectorAll('.turn .text').length >= {}"
READY = "document.querySelectorAll('.file.is-ready').length"
LEASE = '{"model_retries": 0, "turn_lease_seconds": 2}'
log = logging.getLogger(__name__)


async def enter(page: Page, system: System) -> None:
    await page.look(width=1440, height=900)
    await page.open(system.api.removesuffix("api"))
    await page.until("document.getElementById('question')")


async def send(page: Page, question: str) -> None:
    await page.value("document.getElementById('question').focus()")
    await page.type_line(question)


def kill(system: System) -> None:
    """End the API and what it started, as if the machine had lost its power."""
    assert system.process is not None
    os.killpg(system.process.pid, signal.SIGKILL)
    system.process.wait()


@pytest.mark.campaign
async def test_a_turn_whose_api_was_killed_is_interrupted_and_a_retry_answers_it(
    program: Program, double: OpenAIDouble, model_settings: dict[str, str], tmp_path: Path
) -> None:
    with running(tmp_path / "orc", **model_settings | {"ORC_ADVANCED": LEASE}) as system:
        async with browsing(program) as page:
            await enter(page, system)
            double.script = Script(text="The quay opens at seven. " * 40, tokens=400, delay_ms=50)
            await send(page, "When does the quay open?")
            await page.until("document.querySelector('.turn.is-streaming .text')?.textContent.length > 60")
            await asyncio.to_thread(kill, system)
            await page.until("document.querySelector('.banner')")
            await asyncio.to_thread(system.start)
            await page.until("document.querySelector('.turn.is-interrupted .note button')")
            await page.until("!document.querySelector('.banner')")
            double.script = Script(text="At seven.")
            await page.value("document.querySelector('.turn.is-interrupted .note button').click()")
            await page.until("document.querySelector('.turn.is-answered .text')")
            shown = await page.value("document.querySelector('.turn.is-answered .text').textContent")
            conversation = await page.value("location.hash.slice(4)")
        with system.client() as client:
            [turn] = client.get(f"/conversations/{conversation}").json()["turns"]
    assert (turn["status"], turn["question"]) == ("committed", "When does the quay open?")
    assert shown.strip() == turn["answer"].strip() == "At seven."


async def first_token(page: Page, number: int) -> float:
    """The seconds from a question to the first of its answer; returns when that has ended."""
    question = f"What is the berth fee of quay {NAMED_PAGE}? Attempt {number}."
    await page.value("document.getElementById('question').focus()")
    await page.call("Input.insertText", text=question)
    began = time.monotonic()
    await page.press("Enter")
    await page.until(FIRST_TOKEN.format(number))
    took = time.monotonic() - began
    await page.until(f"document.querySelectorAll('.turn.is-answered').length >= {number}")
    return took


@pytest.mark.campaign
async def test_an_answer_begins_in_time_while_twenty_files_are_indexed(
    program: Program, double: OpenAIDouble, model_settings: dict[str, str], tmp_path: Path
) -> None:
    files = [tmp_path / f"report{number}.pdf" for number in range(FILES + 1)]
    for number, file in enumerate(files):
        file.write_bytes(await asyncio.to_thread(long_report, PAGES, 200, number))
    with running(tmp_path / "orc", **model_settings) as system:
        async with browsing(program) as page:
            await enter(page, system)
            await page.attach("#picker", files[0])
            await page.until(f"{READY} === 1")
            alone = [await first_token(page, number) for number in (1, 2, 3)]
            await page.attach("#picker", *files[1:])
            # Some are stored; the others are being sent, read and indexed.
            await page.until(f"document.querySelectorAll('.file button.file-main').length > {FILES // 4}")
            before = FILES + 1 - await page.value(READY)
            meanwhile = await first_token(page, 4)
            after = FILES + 1 - await page.value(READY)
            quotes = await page.value(
                "[...document.querySelectorAll('.turn.is-last .text')].at(-1).textContent"
            )
    busy = f"{before} and then {after} of {FILES} files not ready"
    log.info("first token after %.2f s alone, %.2f s with %s", min(alone), meanwhile, busy)
    assert fact(NAMED_PAGE)[:20] in quotes
    assert before > FILES // 2
    if is_busy():
        pytest.skip(f"The machine is too busy to judge the clock: {meanwhile:.2f} s")
    assert meanwhile - min(alone) < MOST_LATER_SECONDS
