"""Answers on the page over reloads and lost connections: what is shown is what is stored, and asked once."""

import asyncio
import re
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from devkit.doubles.openai_double import ChatRequest, Reply, Script
from devkit.doubles.openai_talk import default_reply
from devkit.faults.proxy import Proxy, proxied
from devkit.visits import Visit
from tests.web.test_access import hear_an_answer
from tests.web.test_sessions import read_further_up

SHIPS = [f"Ship {number} leaves berth {number + 100} at seven." for number in range(1, 41)]
PIECES, PIECE_MS = 150, 15.0
ANSWER_SECONDS = PIECES * PIECE_MS / 1000
SHOWN = """
(element) => {
  const copy = element.cloneNode(true);
  copy.querySelectorAll("button.marker")
    .forEach((each) => each.replaceWith(`[${parseInt(each.textContent)}]`));
  return copy.textContent.replace(/\\s+/g, " ").trim();
}
"""
WATCHING = f"""
window.seen = [];
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {{
  for (const each of document.querySelectorAll(".turn:last-child .text")) {{
    const text = ({SHOWN})(each);
    if (seen.at(-1) !== text) seen.push(text);
  }}
}}).observe(document, {{ subtree: true, childList: true, characterData: true }}));
"""
ENDED = (
    "!document.querySelector('.turn.is-waiting, .turn.is-streaming, .turn.is-elsewhere, .turn.is-stopping')"
)
NUMBERED = "document.querySelectorAll('.turn').length === {} && " + ENDED
MARKER = re.compile(r"\[(?:\d+|Page [^\]]*)\]")


def tell_of_ships(asked: ChatRequest) -> Reply:
    """Forty sentences of the file, each with its source, in many pieces."""
    if asked.schema_asked or not asked.sources:
        return default_reply(asked)
    return Reply(text=" ".join(f"{ship} [S1]" for ship in SHIPS))


def stored_text(turn: dict[str, Any]) -> str:
    """A stored answer as the page shows it: the number of the citation in the place of a marker."""
    marks = [
        (mark["start"], mark["end"], index + 1)
        for index, citation in enumerate(turn["citations"])
        for mark in citation["marks"]
    ]
    text = str(turn["answer"])
    for start, end, number in sorted(marks, reverse=True):
        text = f"{text[:start]}[{number}]{text[end:]}"
    return " ".join(text.split())


def numbered(text: str) -> str:
    """The text with its markers numbered. Until its citation arrives, a moment later, a marker is text."""
    numbers = count(1)
    return MARKER.sub(lambda _: f"[{next(numbers)}]", text)


async def begin(visit: Visit, folder: Path) -> None:
    """Attach the file that the answers are about, and have all texts that are shown kept in the page."""
    await visit.page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCHING)
    visit.model.script = Script(tokens=PIECES, delay_ms=PIECE_MS)
    visit.model.responder = tell_of_ships
    file = folder / "ships.txt"
    file.write_text("\n".join(SHIPS))
    await visit.attach(file)


async def send(visit: Visit, question: str) -> None:
    await visit.write(question)
    await visit.page.press("Enter")


async def compare(visit: Visit, asked: int) -> None:
    """The last of so many answers is shown as it is stored, and grew from its start on."""
    await visit.page.until(NUMBERED.format(asked))
    turns = visit.get(f"/conversations/{await visit.conversation()}?limit=100")["turns"]
    assert len(turns) == asked
    expected = stored_text(turns[-1])
    assert expected.count("[1]") >= 1
    [shown] = await visit.page.value(f"[...document.querySelectorAll('.turn:last-child .text')].map({SHOWN})")
    assert shown == expected
    seen = await visit.page.value("seen")
    odd = [text for text in seen if not numbered(expected).startswith(numbered(text))]
    assert odd == []


@pytest.mark.campaign
async def test_a_reload_at_any_moment_shows_what_is_stored(visit: Visit, tmp_path: Path) -> None:
    await begin(visit, tmp_path)
    chance = Random(16)
    moments = [0.0, 0.0, *(chance.uniform(0, ANSWER_SECONDS * 1.3) for _ in range(48))]
    for number, moment in enumerate(moments, 1):
        await send(visit, f"Which ships leave, {number}?")
        await asyncio.sleep(moment)
        await visit.page.reload()
        await compare(visit, number)
        visit.page.problems.clear()


@pytest.mark.campaign
async def test_a_question_of_a_new_session_survives_a_reload_at_any_moment(visit: Visit) -> None:
    chance = Random(17)
    visit.model.script = Script(text="Word after word. " * 20, tokens=40, delay_ms=10)
    for moment in [0.0, 0.0, 0.0, *(chance.uniform(0, 0.3) for _ in range(12))]:
        await visit.click("#new")
        await visit.page.until("!document.querySelector('.turn')")
        await send(visit, "Hello")
        await asyncio.sleep(moment)
        await visit.page.reload()
        await visit.page.until(f"document.querySelector('.turn .text') && {ENDED}")
        turns = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
        assert [turn["question"] for turn in turns] == ["Hello"]
        assert " ".join((await visit.texts(".turn .text"))[0].split()) == stored_text(turns[0])
        visit.page.problems.clear()


async def by_way_of(visit: Visit, proxy: Proxy) -> None:
    await visit.page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCHING)
    await visit.page.open(f"{proxy.address}/")
    await visit.page.until("document.getElementById('question')")


@pytest.mark.campaign
async def test_an_answer_arrives_whole_over_twenty_cut_connections(visit: Visit, tmp_path: Path) -> None:
    async with proxied(visit.address) as proxy:
        await by_way_of(visit, proxy)
        await begin(visit, tmp_path)
        visit.model.script = Script(tokens=600, delay_ms=50)
        await send(visit, "Which ships leave?")
        chance = Random(18)
        for _ in range(20):
            await asyncio.sleep(chance.uniform(0.2, 1.2))
            await proxy.black_out()
            await asyncio.sleep(chance.uniform(0, 0.3))
            await proxy.come_back()
        await visit.sees(".turn.is-streaming, .turn.is-waiting")
        await compare(visit, 1)
        assert await visit.page.value("seen.length") > 100
        # Connections that were cut are errors in the console, and so is one that is open as the proxy ends.
        await visit.page.open("about:blank")
        visit.page.problems.clear()
        visit.page.requests.clear()


@pytest.mark.campaign
async def test_every_ten_seconds_it_is_said_that_an_answer_still_grows(visit: Visit) -> None:
    texts = await hear_an_answer(visit, 12.0)
    still = [int(text.split()[-2]) for text in texts[1:-1]]
    assert still[:2] == [10, 20]


@pytest.mark.campaign
async def test_reading_further_up_is_not_disturbed_for_six_seconds(visit: Visit) -> None:
    await read_further_up(visit, 6.0)
