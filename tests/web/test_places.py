"""What is looked for, or was clicked, is in view."""

import json
import uuid
from collections.abc import Iterable

from devkit.browser import Page
from devkit.doubles.openai_double import Reply, Script
from devkit.store_pairs import items_here
from devkit.visits import ANSWERED, Visit
from orc.conversations.models import NewTurn, TurnOutcome
from orc.conversations.turn_log import TurnLog
from orc_core.infra.sqlite import Database
from orc_core.names import Owner

LINES = "One line of an answer.\n\n" * 40
FOUND = "document.activeElement.matches('.turn')"
AT = """(() => {
  const box = document.querySelector(".scroller");
  return document.activeElement.getBoundingClientRect().top - box.getBoundingClientRect().top;
})()"""
TO_END = "document.querySelector('.scroller').scrollTop = 1e6"


async def click_with_the_pointer(page: Page, selector: str) -> None:
    """Where it is seen: what is clicked has the focus."""
    box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
    left, top = await page.value(f"(({{ left, top }}) => [left + 4, top + 4])({box})")
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, x=left, y=top, clickCount=1, button="left")


async def search(visit: Visit, words: str) -> None:
    await visit.page.value("document.getElementById('search').select()")
    await visit.page.call("Input.insertText", text=words)
    hit = "document.querySelector('.session:only-child a')"
    found = f"{hit}?.textContent.toLowerCase().includes('{words}') && {hit}.href.includes('/t/')"
    await visit.page.until(found)


async def test_a_hit_leads_to_its_turn(visit: Visit) -> None:
    """Also a second time, from another chat, and with the focus on the turn that was found."""
    page = visit.page
    visit.model.responder = lambda asked: Reply(text=LINES)
    for number, question in enumerate(("First?", "Is there a sabbatical?", "Third?", "Fourth?"), 1):
        await visit.ask(question, answers=number)
    chat = await visit.conversation()
    await search(visit, "sabbatical")
    for _ in range(2):
        await page.value(TO_END)
        await click_with_the_pointer(page, ".session a")
        await page.until(FOUND)
        assert -2 <= await page.value(AT) < 40
        assert await page.value("document.activeElement.textContent.includes('sabbatical')")
        assert await page.value("document.activeElement.matches(':focus')")
        await page.until(f"location.hash === '#/c/{chat}'")
    await visit.click("#new")
    await page.until("!document.querySelector('.turn')")
    await page.value("document.querySelector('.session a').focus()")
    await page.press("Enter")
    await page.until(FOUND)
    assert -2 <= await page.value(AT) < 40
    # It is a mark for once.
    await page.value("document.getElementById('question').focus()")
    assert await page.value("document.querySelector('.turn[tabindex]')") is None


async def store(visit: Visit, numbers: Iterable[int]) -> None:
    """Turns of the chat that is open, without a model."""
    owner = Owner(visit.organization, visit.user, await visit.conversation())
    database = Database(visit.here.folder / "orc.db")
    try:
        log = TurnLog(items_here(database, "conversations"))
        for number in numbers:
            new = NewTurn(key=str(uuid.uuid4()), request_hash="h", question=f"Question {number}?")
            turn = (await log.begin(owner, new, lease_seconds=60)).turn
            outcome = TurnOutcome(answer=f"Pier{number:03}.", result={"answer": ""}, citations=[])
            await log.commit(owner, turn.turn_id, turn.attempt, outcome)
    finally:
        await database.close()


async def test_a_hit_that_is_not_loaded_is_loaded(visit: Visit) -> None:
    """Far up in a chat, and then far down, which is not kept while one reads the beginning."""
    page = visit.page
    await visit.ask("Question 1?")
    await store(visit, range(2, 132))
    await page.reload()
    await page.until("document.querySelectorAll('.turn .question').length === 50")
    for words in ("pier003", "pier130"):
        await search(visit, words)
        await click_with_the_pointer(page, ".session a")
        await page.until(f"{FOUND} && document.activeElement.textContent.toLowerCase().includes('{words}')")
        await page.until(f"{AT} > -2 && {AT} < 600")


async def test_a_hit_stays_in_view_while_an_answer_grows(visit: Visit) -> None:
    page = visit.page
    visit.model.responder = lambda asked: Reply(text=LINES)
    await visit.ask("Is there a sabbatical?")
    visit.model.responder = None
    visit.model.script = Script(text=LINES, tokens=60, delay_ms=40)
    await visit.write("Second?")
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-streaming .text')")
    await page.value("document.querySelector('.scroller').scrollTop = 0")
    await visit.click(".to-end")
    await search(visit, "sabbatical")
    await click_with_the_pointer(page, ".session a")
    await page.until(FOUND)
    await page.until(ANSWERED.format(2))
    assert -2 <= await page.value(AT) < 40
