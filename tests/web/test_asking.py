"""What becomes of a question that is not sent yet, or that the API does not take."""

import asyncio
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from devkit.doubles.openai_double import ChatRequest, Failure, Reply, Script, default_reply
from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf

FEE = "The mooring fee of the harbour is nine crowns a day."
BOX = "document.getElementById('question').value"
KEPT_QUESTIONS = "Object.keys(sessionStorage).filter((each) => each.includes('asking.'))"
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


BROKEN = """
(() => {
  const send = window.fetch;
  let refused = 0, broken = 0;
  window.fetch = (address, init) => {
    const to = String(address);
    if (to.endsWith('/events') && to.includes('/turns/') && refused < 1) {
      refused += 1;
      return Promise.resolve(new Response(JSON.stringify(PROBLEM), { status: 409 }));
    }
    if (refused && to.includes('before_seq=') && broken < 1) {
      broken += 1;
      return Promise.reject(new TypeError('broken'));
    }
    window.broken = broken;
    return send(address, init);
  };
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
    # The button does the same, and gives the focus back.
    await page.value(f"{EDIT}[0].click()")
    await visit.point(".replacing button")
    await page.until("!document.querySelector('.replacing') && document.activeElement.id === 'question'")
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


async def test_each_refusal_has_words_and_a_trace_to_copy(visit: Visit) -> None:
    """Also if no code of ours says why: a proxy's page, for example."""
    page = visit.page
    await page.value(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => {"
        " window.copied = text; } } }), 0"
    )
    await visit.write("May I?")
    said = set()
    for status in (403, 413, 415, 422, 500, 503, 504):
        await refuse(visit, status, f"http_{status}")
        await page.value("window.refusal.detail = '', document.getElementById('question').focus()")
        await page.press("Enter")
        await page.until("document.querySelector('.composer .note.is-bad')")
        said.add((await visit.texts(".composer .note p"))[0])
        await page.value("document.querySelector('.composer .note .quiet').click()")
        await page.until("window.copied === window.refusal.trace_id")
        assert await page.value(BOX) == "May I?"
        await page.value("window.copied = '', document.querySelector('.composer .note button.icon').click()")
        await page.until("!document.querySelector('.composer .note')")
    assert len(said) == 7, said


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


async def test_an_edited_question_keeps_its_place_and_its_earlier_versions(visit: Visit) -> None:
    page = visit.page
    numbers = itertools.count(1)
    visit.model.responder = lambda asked: Reply(text=f"Hello number {next(numbers)}!")
    for number, words in enumerate(("First question", "Second question", "Third question"), 1):
        await visit.ask(words, answers=number)
    for change in (" changed", " twice"):
        await page.value(f"{EDIT}[0].click()")
        await visit.write(change)
        await page.press("Enter")
        await page.until(
            f"document.querySelector('.turn.is-answered .question').textContent.includes('{change}')"
        )
    order = ["First question changed twice", "Second question", "Third question"]
    assert await visit.texts(".turn .question p") == order
    newest = (await visit.texts(".turn .text"))[0]
    earlier, later = (
        f"document.querySelector('[aria-label=\"{way} version\"]')" for way in ("Earlier", "Later")
    )
    for _ in range(2):  # and after a reload
        assert await visit.texts(".versions span") == ["3 of 3"]
        await page.value(f"{earlier}.click()")
        await page.value(f"{earlier}.click()")
        await page.until("document.querySelector('.versions span').textContent === '1 of 3'")
        assert (await visit.texts(".turn .question p"))[0] == "First question"
        assert (await visit.texts(".turn .text"))[0] != newest
        ends = f"[{earlier}, {later}].map((each) => each.getAttribute('aria-disabled'))"
        assert await page.value(ends) == ["true", None]
        assert await page.value("document.querySelectorAll('.turn')[0].querySelector('.actions')") is None
        await page.value(f"{later}.click()")
        await page.value(f"{later}.click()")
        await page.until("document.querySelector('.turn .text')")
        assert (await visit.texts(".turn .text"))[0] == newest
        await page.reload()
        await page.until(ANSWERED.format(3))
        assert await visit.texts(".turn .question p") == order


async def test_the_question_that_was_asked_last_is_edited_with_the_arrow(visit: Visit) -> None:
    """Also if it is further up, because it is an edit itself."""
    page = visit.page
    for number, words in enumerate(("First question", "Second question"), 1):
        await visit.ask(words, answers=number)
    await page.value(f"{EDIT}[0].click()")
    await visit.write(", edited")
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-answered .question p')?.innerText.includes('edited')")
    await page.until(f"{BOX} === ''")
    await page.value("document.getElementById('question').focus()")
    await page.press("ArrowUp")
    await page.until(f"{BOX} === 'First question, edited'")
    await page.press("Escape")


async def test_an_answer_is_asked_for_again_from_another_model(visit: Visit) -> None:
    page = visit.page
    await page.open("about:blank")
    several = replace(visit, variant="models")
    await several.open()
    assert (await several.texts(".composer-row option"))[0] == "Default model: gpt-5.1"
    await several.ask("First question")
    await several.click('.actions [aria-label="Answer again with another model"]')
    other = "[...document.querySelectorAll('.actions .menu:popover-open button')].at(-1)"
    await page.until(other)
    assert await visit.texts(".actions .menu:popover-open button") == ["gpt-5.1", "gpt-5-mini"]
    await page.value(f"{other}.focus()")
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-answered .versions span')?.textContent === '2 of 2'")
    [_, again] = several.get(f"/conversations/{await several.conversation()}")["turns"]
    assert (again["choices"]["model"], again["question"]) == ("gpt-5-mini", "First question")
    # With one model there is nothing to choose.
    await page.open("about:blank")
    await visit.open()
    await visit.ask("First question")
    assert await page.value("document.querySelector('.actions .menu')") is None


async def test_the_keyboard_stays_at_the_button_of_versions_at_their_end(visit: Visit) -> None:
    page = visit.page
    await visit.ask("First question")
    await visit.click('.actions [aria-label="Answer again"]')
    for way, shown in (("Earlier", "1 of 2"), ("Later", "2 of 2")):
        button = f'[aria-label="{way} version"]'
        await visit.sees(button)
        await page.value(f"document.querySelector('{button}').focus()")
        await page.press("Enter")
        await page.until(f"document.querySelector('.versions span').textContent === '{shown}'")
        await page.press("Enter")
        assert await page.value(f"document.activeElement.matches('{button}')")
        assert await visit.texts(".versions span") == [shown]


@pytest.mark.parametrize("again", ["The same.", "Another one."])
async def test_a_source_of_an_earlier_version_is_opened_from_its_marker(
    visit: Visit, tmp_path: Path, again: str
) -> None:
    """Also if both versions have the same text, and after a reload."""
    page = visit.page
    (tmp_path / "fee.pdf").write_bytes(pdf(FEE))
    await visit.attach(tmp_path / "fee.pdf")
    for number, words in enumerate(("The same.", again), start=1):
        said = Reply(text=f"{FEE} [S1] {words}")
        visit.model.responder = lambda asked, said=said: (
            said if asked.sources and not asked.schema_asked else default_reply(asked)
        )
        if number == 1:
            await visit.ask("What is the mooring fee?")
        else:
            await visit.click('.actions [aria-label="Answer again"]')
            await page.until("document.querySelector('.turn.is-answered .versions')")
    first, second = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    for way, turn in (("Earlier", first), ("Later", second), ("Earlier", first)):
        await visit.click(f'[aria-label="{way} version"]')
        await page.until("document.querySelectorAll('.turn button.marker').length === 1")
        await visit.click(".turn button.marker")
        await page.until(f"location.hash.includes('/t/{turn['turn_id']}/s/1')")
        await visit.sees(".quote-box .quote")
    await page.reload()
    await visit.sees(".quote-box .quote")
    await page.until(ANSWERED.format(1))
    await page.value("new Promise((done) => { setTimeout(done, 300); })")
    assert await page.value(f"location.hash.includes('/t/{first['turn_id']}/s/1')")
    assert await visit.texts(".notice") == []
    # The turn shows the version whose source is open, and each of the two follows the other.
    assert await visit.texts(".versions span") == ["1 of 2"]
    await visit.click('[aria-label="Later version"]')
    await page.until(f"location.hash.includes('/t/{second['turn_id']}/s')")
    assert await visit.texts(".versions span") == ["2 of 2"]
    await page.value(f"location.hash = location.hash.replace('{second['turn_id']}', '{first['turn_id']}')")
    await page.until("document.querySelector('.versions span').textContent === '1 of 2'")


async def test_suggestions_are_those_of_the_answer_that_was_asked_last(visit: Visit, tmp_path: Path) -> None:
    """Also if it is further up, because an earlier question was edited."""
    (tmp_path / "fee.pdf").write_bytes(pdf(FEE))
    await visit.attach(tmp_path / "fee.pdf")
    for number in (1, 2):
        await visit.ask(f"What is the mooring fee? {number}", answers=number)
    suggest = """(async () => {
      const { turns, change } = await import(document.documentElement.dataset.base + "session.js");
      turns.value.forEach((turn, at) => change(turn, { suggestions: [`What about ${at}?`] }));
    })()"""
    await visit.page.value(suggest)
    await visit.page.until("document.querySelector('.suggestions')?.textContent === 'What about 1?'")
    await visit.page.value(f"{EDIT}[0].click()")
    await visit.write(" Edited.")
    await visit.page.press("Enter")
    await visit.page.until(
        "document.querySelector('.turn.is-answered .question').textContent.includes('Edited')"
    )
    await visit.page.value(suggest)
    await visit.page.until("document.querySelector('.suggestions')?.textContent === 'What about 0?'")
    assert len(await visit.texts(".suggestions")) == 1


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


async def test_an_error_is_in_words_for_people_and_those_for_operators_are_folded(visit: Visit) -> None:
    """In English too; only administrators are shown what to look at."""
    visit.model.responder = lambda asked: Failure(status=401)
    await visit.write("Hello there")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed .note details")
    words = "The model does not accept the server's credentials. Tell your administrator."
    assert (await visit.texts(".turn.is-failed .note p"))[0] == words
    folded = "document.querySelector('.turn.is-failed .note details')"
    assert await visit.page.value(f"!{folded}.open && {folded}.innerText !== ''")
    await visit.page.value("""(async () => {
      const { me } = await import(document.documentElement.dataset.base + "store.js");
      me.value = { ...me.value, can: { ...me.value.can, administer: false } };
    })()""")
    await visit.page.until(f"!{folded}")
    assert words in (await visit.texts(".turn.is-failed .note"))[0]


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
    await visit.sees(".marker.is-picture")
    [note] = await visit.texts(".note.is-warn")
    assert "read from the picture" in note


async def test_a_connection_that_breaks_twice_does_not_end_an_answer(visit: Visit) -> None:
    """The turn is answered elsewhere, and what is stored of it cannot be fetched the first time."""
    page = visit.page
    await visit.ask("Hello there")
    turn = visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]
    problem = {
        "status": 409,
        "code": "turn_in_flight",
        "detail": "No.",
        "trace_id": "",
        "turn_id": turn["turn_id"],
    }
    await page.value(BROKEN.replace("PROBLEM", json.dumps(problem)))
    follow = """(async () => {
      const base = document.documentElement.dataset.base;
      const [{ turns }, { follow }] = await Promise.all(
        [import(base + "session.js"), import(base + "stream.js")]);
      turns.value[0].value = { ...turns.value[0].value, state: "elsewhere", text: "" };
      follow(turns.value[0]).catch(() => { window.ended = "failed"; });
    })()"""
    await page.value(follow)
    await page.until("window.broken === 1 && document.querySelector('.turn.is-answered .text')")
    assert await page.value("window.ended ?? null") is None
    page.problems.clear()


async def test_an_event_does_not_hide_that_the_browser_is_offline(visit: Visit) -> None:
    page = visit.page
    visit.model.script = Script(text="One word and then another. " * 8, tokens=60, delay_ms=40)
    await visit.write("Hello there")
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-streaming .text')")
    offline = "Object.defineProperty(navigator, 'onLine', { value: false, configurable: true })"
    await page.value(f"{offline}, dispatchEvent(new Event('offline')), 0")
    await page.until("document.querySelector('.banner')")
    # The half of the answer that is there says that it waits.
    waits = "document.querySelector('.turn.is-streaming .working')?.textContent"
    await page.until(f"{waits}?.includes('for the connection')")
    await page.until(ANSWERED.format(1))
    assert len(await visit.texts(".banner")) == 1


async def test_files_that_all_failed_are_not_offered_for_questions(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"no file at all")
    await visit.page.attach("#picker", tmp_path / "broken.pdf")
    await visit.sees(".file.is-failed")
    assert await visit.texts(".empty h2") == ["Ask your documents"]
    await visit.sees(".empty .drop")
    assert visit.get("/conversations")["conversations"] == []
    (tmp_path / "bill.pdf").write_bytes(pdf("The bill of the harbour.", ""))
    await visit.attach(tmp_path / "bill.pdf")
    assert await visit.texts(".empty h2") == ["What would you like to know?"]
    visit.page.problems.clear()


async def test_a_reason_is_not_given_twice(visit: Visit) -> None:
    base = await visit.page.value("document.documentElement.dataset.base")
    problem = {
        "detail": "The filter stopped this answer.",
        "errors": [
            {"field": "question", "reason": "The filter stopped this answer."},
            {"field": "blob_names", "reason": "Too many."},
        ],
    }
    more = f"(found) => found.moreOf({json.dumps(problem)}).map((each) => each.field)"
    assert await visit.page.value(f"import('{base}store.js').then({more})") == ["blob_names"]


async def test_the_state_of_a_file_is_not_cut(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "bill.pdf").write_bytes(pdf("The bill of the harbour.", ""))
    await visit.attach(tmp_path / "bill.pdf")
    cut = """(() => {
      const state = document.querySelector('.file-status');
      state.textContent = 'Kann befragt werden · wird noch indexiert · 123,4 MB';
      return [state.scrollWidth > state.clientWidth, state.scrollHeight > state.clientHeight];
    })()"""
    assert await visit.page.value(cut) == [False, False]


OBJECTIONS = '[{ code: "contradicted", text: "It says 4." }, { code: "other", text: "It is cut." }]'


@pytest.mark.parametrize("objections", ["undefined", OBJECTIONS], ids=["as stored", "as the API reads it"])
async def test_objections_of_earlier_versions_are_said_as_they_were(visit: Visit, objections: str) -> None:
    """In turns that were stored before objections had codes, or with codes that there are no longer."""
    await visit.ask("Hello there")
    changed = """(async () => {
      const base = document.documentElement.dataset.base;
      const { turns, change } = await import(base + "session.js");
      const issues = ["It says 4.", "It is cut."];
      const critic_summary = { coverage: 0, contradicted: ["It says 4."], issues, objections: OBJECTIONS };
      const metadata = { critic_summary, retrieval_mode: "rag" };
      change(turns.value[0], { citations: [], metadata });
    })()"""
    await visit.page.value(changed.replace("OBJECTIONS", objections))
    await visit.sees(".note.is-warn")
    [source] = await visit.texts(".turn .note")
    assert "no source" in source
    assert "It says 4. It is cut." in " ".join(await visit.why())


async def test_a_question_that_the_api_has_is_not_kept_to_be_sent_again(visit: Visit) -> None:
    """Sent again, it would take the place of the stored turn and close a source that is open."""
    visit.model.script = Script(text="A slow answer. " * 10, tokens=60, delay_ms=50)
    await visit.write("Hello there")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-streaming .text")
    assert await visit.page.value(KEPT_QUESTIONS) == []
    await visit.page.until(ANSWERED.format(1))


async def test_an_answer_whose_stop_failed_goes_on_and_can_be_stopped(visit: Visit) -> None:
    visit.model.script = Script(text="A slow answer. " * 40, tokens=240, delay_ms=50)
    await visit.page.answer("*/stop", 503)
    await visit.write("Hello there")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-streaming .text")
    await visit.click("#stop")
    await visit.sees(".notice.is-error")
    await visit.sees(".turn.is-streaming")
    assert await visit.page.value("document.getElementById('stop').disabled") is False
    await visit.page.answer_no_more()
    await visit.click("#stop")
    await visit.sees(".turn.is-stopped")
    visit.page.problems.clear()


async def test_a_retry_whose_answer_was_lost_on_the_way_is_shown(visit: Visit) -> None:
    visit.model.responder = lambda asked: Reply(choices=False)
    await visit.write("Hello there")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed")
    visit.model.responder = None
    await visit.page.value("""{
      const real = window.fetch;
      window.fetch = async (...asked) => {
        if (!String(asked[0]).endsWith("/retry")) return real(...asked);
        window.fetch = real;
        await (await real(...asked)).text();
        throw new TypeError("lost");
      };
    }""")
    await visit.click(".turn .note button")
    await visit.page.until(ANSWERED.format(1))
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert turn["status"] == "committed"


async def test_a_question_stays_if_the_session_is_left_and_opened_before_the_api_replies(
    visit: Visit,
) -> None:
    page = visit.page
    await visit.ask("First question?")
    session = await visit.conversation()
    await page.value("""{
      const real = window.fetch;
      window.fetch = async (...asked) => {
        const response = await real(...asked);
        if (String(asked[0]).endsWith("/orc/stream") && !window.release) {
          await new Promise((done) => { window.release = done; });
        }
        return response;
      };
    }""")
    await visit.write("Second question?")
    await page.press("Enter")
    wait = "while (!window.release) await new Promise((done) => { setTimeout(done, 20); });"
    await page.value(f"(async () => {{ {wait} }})()")
    await visit.click("#new")
    await page.until("!document.querySelector('.turn')")
    await page.value(f"location.hash = '#/c/{session}'")
    await page.until(f"{ANSWERED.format(2)} && document.querySelectorAll('.turn').length === 2")
    await page.value("window.release(), new Promise((done) => { setTimeout(done, 300); })")
    assert await visit.texts(".turn .question p") == ["First question?", "Second question?"]


async def test_a_question_that_is_asked_while_a_session_is_loaded_stays(visit: Visit) -> None:
    page = visit.page
    await visit.ask("First question?")
    async with page.hold("GET", "*?limit=50"):
        await page.reload()
        await page.until("document.querySelector('.scroller .loading')")
        await visit.write("Second question?")
        await page.press("Enter")
        await page.until(ANSWERED.format(1))
        assert await visit.texts(".turn .question p") == ["Second question?"]
    await page.until(ANSWERED.format(2))
    assert await visit.texts(".turn .question p") == ["First question?", "Second question?"]
    assert await visit.texts(".turn.is-newest .question p") == ["Second question?"]


async def test_a_click_on_a_suggestion_asks_it_and_leaves_what_was_written(visit: Visit) -> None:
    await visit.ask("Hello there")
    suggest = """(async () => {
      const { turns, change } = await import(document.documentElement.dataset.base + "session.js");
      change(turns.value[0], { suggestions: ["What else?", "And then?"] });
    })()"""
    await visit.page.value(suggest)
    await visit.write("My own words.")
    await visit.click(".suggestions li:nth-child(2) button")
    await visit.page.until(ANSWERED.format(2))
    assert await visit.texts(".turn .question p") == ["Hello there", "And then?"]
    assert await visit.page.value(BOX) == "My own words."


async def test_cells_of_a_spreadsheet_are_pasted_as_text_and_a_picture_as_a_file(visit: Visit) -> None:
    paste = """((texts) => {
      const pasted = new DataTransfer();
      for (const [type, text] of Object.entries(texts)) pasted.setData(type, text);
      pasted.items.add(new File(["no picture"], "image.png", { type: "image/png" }));
      const event = new ClipboardEvent("paste", { clipboardData: pasted, cancelable: true, bubbles: true });
      return document.getElementById("question").dispatchEvent(event);
    })"""
    cells = {"text/plain": "Rent 5", "text/html": "<td>Rent</td><td>5</td>"}
    assert await visit.page.value(f"{paste}({json.dumps(cells)})") is True
    assert await visit.texts(".file") == []
    link = {"text/html": "<img src='a.png'>"}
    assert await visit.page.value(f"{paste}({json.dumps(link)})") is False
    await visit.sees(".file.is-failed")
    visit.page.problems.clear()


async def test_a_condition_is_noticed_that_changes_nothing_in_the_document(visit: Visit) -> None:
    await visit.page.value("setTimeout(() => { window.later = true; }, 200), 0")
    await asyncio.wait_for(visit.page.until("window.later"), 10)
