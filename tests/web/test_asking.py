"""What becomes of a question that is not sent yet, or that the API does not take."""

import json
import re
from pathlib import Path

from devkit.doubles.openai_double import ChatRequest, Reply
from devkit.visits import ANSWERED, Visit
from tests.unit.core.extraction.samples import pdf

BOX = "document.getElementById('question').value"
EDIT = "document.querySelectorAll('.turn .actions [aria-label=\"Edit the question\"]')"
REFUSING = """
(() => {
  const send = window.fetch;
  window.fetch = (address, init) => String(address).endsWith('/orc/stream') && window.refusal
    ? Promise.resolve(new Response(JSON.stringify(window.refusal), {
      status: window.refusal.status, headers: { 'retry-after': String(window.refusal.retry_after ?? 0) } }))
    : send(address, init);
})()
"""


async def refuse(visit: Visit, status: int, code: str, seconds: int = 0) -> None:
    """Have the API refuse the next questions."""
    problem = {
        "status": status,
        "code": code,
        "detail": "No.",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "retry_after": seconds,
    }
    await visit.page.value(f"window.refusal ? 0 : {REFUSING}")
    await visit.page.value(f"window.refusal = {json.dumps(problem)}, 0")


async def test_an_edit_that_is_cancelled_gives_the_draft_back(visit: Visit) -> None:
    page = visit.page
    await visit.ask("First question")
    await visit.write("A draft")
    await page.value(f"{EDIT}[0].click()")
    assert await page.value(BOX) == "First question"
    await visit.write(" and more")
    await page.reload()
    await page.until(f"document.querySelector('.replacing') && {BOX} === 'First question and more'")
    await page.value("document.getElementById('question').focus()")
    await page.press("Escape")
    await page.until("!document.querySelector('.replacing')")
    assert await page.value(BOX) == "A draft"
    await page.value(f"{EDIT}[0].click()")
    await page.press("Enter")
    await page.until(f"{ANSWERED.format(1)} && !document.querySelector('.replacing')")
    assert await page.value(BOX) == "A draft"


async def test_a_long_limit_gives_the_question_back(visit: Visit) -> None:
    page = visit.page
    await refuse(visit, 429, "rate_limited", 1500)
    await visit.write("Am I too early?")
    await page.press("Enter")
    await page.until("document.querySelector('.composer .note.is-warn')")
    assert await visit.texts(".turn") == []
    assert await page.value(BOX) == "Am I too early?"
    [words] = await visit.texts(".composer .note")
    assert "in 25 minutes, at " in words
    assert await page.value("document.getElementById('send').disabled") is True
    await page.press("Enter")
    assert await visit.texts(".turn") == []
    assert await page.value("location.hash") == "#/"
    await page.value("window.refusal = null, 0")
    await page.reload()
    await page.until(f"document.getElementById('question') && {BOX} === 'Am I too early?'")
    await page.value("document.getElementById('question').focus()")
    await page.press("Enter")
    await page.until(ANSWERED.format(1))
    assert len(visit.get(f"/conversations/{await visit.conversation()}")["turns"]) == 1


async def test_a_short_limit_is_waited_for_and_can_be_left(visit: Visit) -> None:
    page = visit.page
    await refuse(visit, 429, "rate_limited", 30)
    await visit.write("Soon?")
    await page.press("Enter")
    await page.until("document.querySelector('.turn .working')?.textContent.includes('seconds')")
    await page.value("document.getElementById('stop').click()")
    await page.until("!document.querySelector('.turn')")
    assert await page.value(BOX) == "Soon?"
    await refuse(visit, 429, "rate_limited", 1)
    await page.press("Enter")
    await page.until("document.querySelector('.turn .working')")
    await page.value("window.refusal = null, 0")
    await page.until(ANSWERED.format(1))
    assert await page.value(BOX) == ""


async def test_a_refused_edit_leaves_the_earlier_answer(visit: Visit) -> None:
    page = visit.page
    await visit.ask("First question")
    await visit.ask("Second question", answers=2)
    await refuse(visit, 413, "too_large")
    await visit.write("A draft")
    await page.value(f"{EDIT}[0].click()")
    await visit.write(", edited")
    await page.press("Enter")
    await page.until("document.querySelector('.composer .note.is-bad')")
    assert await visit.texts(".turn .question p") == ["First question", "Second question"]
    assert await page.value(BOX) == "First question, edited"
    await page.press("Escape")
    assert await page.value(BOX) == "A draft"
    # Answering again has nothing to give back to the text box.
    await page.value("document.querySelectorAll('.turn [aria-label=\"Answer again\"]')[0].click()")
    await page.until("document.querySelectorAll('.turn').length === 2")
    assert await page.value(BOX) == "A draft"


async def test_a_question_survives_a_reload_before_the_api_had_it(visit: Visit) -> None:
    page = visit.page
    await page.value("window.fetch = () => new Promise(() => {}), 0")
    await visit.write("Are you there?")
    await page.press("Enter")
    await page.until("document.querySelector('.turn')")
    await page.reload()
    await page.until(ANSWERED.format(1))
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert turn["question"] == "Are you there?"
    page.problems.clear()


async def test_a_german_page_gives_reasons_and_tools_in_german(visit: Visit) -> None:
    page = visit.page
    preferences = f"orc.{visit.organization}.ann.preferences"
    await page.value(f"localStorage.setItem({preferences!r}, JSON.stringify({{ language: 'de' }}))")
    await page.reload()
    await page.until("document.documentElement?.lang === 'de' && document.getElementById('question')")
    await refuse(visit, 403, "forbidden")
    await visit.write("Darf ich?")
    await page.press("Enter")
    await page.until("document.querySelector('.composer .note.is-bad')")
    assert "Dazu haben Sie keine Berechtigung." in (await visit.texts(".composer .note"))[0]
    # What has no sentence in German is better in English than not at all.
    await refuse(visit, 403, "of_tomorrow")
    await page.value("document.getElementById('question').focus()")
    await page.press("Enter")
    await page.until("document.querySelector('.composer .note.is-bad')?.textContent.startsWith('No.')")
    await page.value("document.getElementById('plus').click()")
    await page.until("document.querySelector('#plus-menu .toggle .state')")
    tools = " ".join(await visit.texts("#plus-menu .toggle"))
    assert "Textstellen durchsuchen" in tools
    assert "Search" not in tools


async def test_pictures_of_pages_are_sent_on_request_and_the_marker_says_so(
    visit: Visit, tmp_path: Path
) -> None:
    def respond(asked: ChatRequest) -> Reply | None:
        unread = re.search(r'<picture [^>]*page="2" sources="S(\d+)"', asked.prompt)
        return Reply(text=f"The total is 47 crowns. [S{unread[1]}]") if unread else None

    visit.model.responder = respond
    (tmp_path / "bill.pdf").write_bytes(pdf("The bill of the harbour.", ""))
    await visit.attach(tmp_path / "bill.pdf")
    row = (
        "[...document.querySelectorAll('#plus-menu .toggle')].find((e) => e.textContent.includes('Pictures'))"
    )
    await visit.page.value("document.getElementById('plus').click()")
    await visit.page.until(f"{row}?.getAttribute('aria-pressed') === 'false'")
    await visit.page.value(f"{row}.click()")
    await visit.ask("What is the total?")
    assert "image_url" in str(visit.model.requests[-1].body)
    await visit.sees(".marker.is-unchecked")
    [note] = await visit.texts(".note.is-warn")
    assert "read from the picture" in note
