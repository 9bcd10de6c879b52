"""Sessions in the list and in several windows, and what a session says of its answers."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from devkit.browser import Program, browsing
from devkit.doubles.openai_double import ChatRequest, Reply, Script, default_reply
from devkit.store_pairs import items_here
from devkit.visits import ANSWERED, Visit
from orc.api import conversation_events
from orc.conversations.models import NewTurn, TurnOutcome
from orc.conversations.turn_log import TurnLog
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from tests.unit.orc_core.extraction.samples import pdf

MANY = 1000
NOTICED_SECONDS = 2.0
LEAVE = "Every employee of the harbour has 28 days of annual leave."
QUAY = "The quay opens at seven in the morning."
LATER = """
(() => {
  const later = window.setTimeout;
  const look = (act) => () => { window.looked = true; act(); };
  window.setTimeout = (act, ms) => ms === 500 ? later(look(act), 2000) : later(act, ms);
})()
"""
TITLE = "document.querySelector('.head h1').textContent"


async def test_another_window_shows_what_happens_in_this_one(visit: Visit, program: Program) -> None:
    await visit.ask("First question?")
    async with browsing(program) as window:
        other = replace(visit, page=window)
        await other.be("ann")
        await other.open(f"#/c/{await visit.conversation()}")
        await window.until(ANSWERED.format(1))
        visit.model.script = Script(text="The second answer.")
        await visit.ask("Second question?", answers=2)
        began = time.monotonic()
        await window.until(ANSWERED.format(2))
        assert time.monotonic() - began < NOTICED_SECONDS
        assert await other.texts(".turn .text") == await visit.texts(".turn .text")
        with visit.client() as client:
            client.patch(f"/conversations/{await visit.conversation()}", json={"title": "Two windows"})
        began = time.monotonic()
        for page in (window, visit.page):
            await page.until(f"{TITLE} === 'Two windows'")
        assert time.monotonic() - began < NOTICED_SECONDS
        assert window.problems == []


async def test_a_turn_that_is_asked_again_elsewhere_is_shown(visit: Visit) -> None:
    visit.model.responder = lambda asked: Reply(choices=False)
    await visit.write("First question?")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed")
    visit.model.responder = None
    session = await visit.conversation()
    [turn] = visit.get(f"/conversations/{session}")["turns"]
    with visit.client() as client:
        client.patch(f"/conversations/{session}", json={"title": "Heard"})
        await visit.page.until(f"{TITLE} === 'Heard'")
        again = client.post(f"/conversations/{session}/turns/{turn['turn_id']}/retry")
        assert again.status_code == 200, again.text
    await visit.page.until(ANSWERED.format(1))
    assert await visit.texts(".turn .question p") == ["First question?"]


async def test_a_session_that_is_deleted_elsewhere_is_left_with_the_text_in_the_box(
    visit: Visit, tmp_path: Path
) -> None:
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    await visit.attach(tmp_path / "leave.pdf")
    await visit.ask("First question?")
    deleted = await visit.conversation()
    await visit.write("And the second")
    with visit.client() as client:
        client.delete(f"/conversations/{deleted}")
    await visit.page.until("document.querySelector('.notice')?.textContent.includes('no longer does')")
    await visit.page.until("!document.querySelector('.turn, .file, .session')")
    assert await visit.page.value("document.getElementById('question').value") == "And the second"
    await visit.ask(" question?")
    assert await visit.conversation() != deleted
    assert len(visit.get("/conversations")["conversations"]) == 1


async def test_a_stream_that_ends_is_followed_again_also_if_a_proxy_does_not_find_the_server(
    visit: Visit,
) -> None:
    await visit.ask("First question?")
    session = await visit.conversation()
    await visit.click("#new")
    await visit.page.until("!document.querySelector('.turn')")
    await visit.page.value(r"""(() => {
      const fetched = window.fetch;
      window.asked = [];
      const replies = [() => new Response(""), () => new Response("<h1>No such site</h1>", { status: 404 })];
      window.fetch = (url, sent) => {
        if (sent?.signal?.aborted) return fetched(url, sent);
        const isStream = /conversations\/[^/]+\/events$/.test(url);
        if (isStream || String(url).endsWith("/me")) window.asked.push(isStream ? "stream" : "me");
        const reply = isStream ? replies.shift() : undefined;
        return reply ? Promise.resolve(reply()) : fetched(url, sent);
      };
    })()""")
    await visit.page.value(f"location.hash = '#/c/{session}'")
    await visit.page.until(ANSWERED.format(1))
    rest = "await new Promise((done) => { setTimeout(done, 20); });"
    wait = f"for (let n = 0; asked.length < 5 && n < 1000; n += 1) {rest}"
    await visit.page.value(f"(async () => {{ {wait} }})()")
    assert await visit.page.value("asked") == ["stream", "me", "stream", "me", "stream"]
    assert await visit.conversation() == session
    assert len(await visit.texts(".turn")) == 1


async def test_a_session_that_could_not_be_loaded_is_loaded_once_the_server_answers(visit: Visit) -> None:
    await visit.ask("Question 0?")
    session = await visit.conversation()
    with visit.client() as client:
        for number in range(1, 12):
            client.post("/orc", json={"question": f"Question {number}?", "conversation_id": session})
    await visit.click("#new")
    await visit.page.until("!document.querySelector('.turn')")
    await visit.page.value("""{
      const real = window.fetch;
      window.fetch = (...asked) => {
        if (!String(asked[0]).endsWith("?limit=50")) return real(...asked);
        window.fetch = real;
        return Promise.reject(new TypeError("away"));
      };
    }""")
    await visit.page.value(f"location.hash = '#/c/{session}'")
    await visit.page.until(ANSWERED.format(12))
    assert await visit.texts(".turn .question p") == [f"Question {number}?" for number in range(12)]


SHOW = (
    "Object.defineProperty(document, 'hidden', {{ value: {}, configurable: true }}),"
    "document.dispatchEvent(new Event('visibilitychange'))"
)
SOON = """{
  const later = window.setTimeout;
  window.setTimeout = (act, ms) => later(act, ms === 20_000 ? 0 : ms);
}"""


async def hide(visit: Visit) -> None:
    """Hide the window for so long that it stops listening."""
    heard = f"/conversations/{await visit.conversation()}/events"

    def stopped() -> int:
        return sum(address.endswith(heard) for address in visit.page.cancelled)

    before = stopped()
    await visit.page.value(SHOW.format("true"))
    while stopped() == before:
        await visit.page.value("new Promise((done) => { setTimeout(done, 20); })")


async def test_a_hidden_window_leaves_its_connection_to_others(visit: Visit) -> None:
    """A browser has six connections to a server: with six windows that listen, no other one can ask."""
    await visit.ask("First question?")
    session = await visit.conversation()
    with visit.client() as client:
        client.patch(f"/conversations/{session}", json={"title": "Heard"})
        await visit.page.until(f"{TITLE} === 'Heard'")
        await visit.page.value(SOON)
        for answers in (2, 3):
            await hide(visit)
            client.post("/orc", json={"question": "Who asks elsewhere?", "conversation_id": session})
            await visit.page.value(SHOW.format("false"))
            await visit.page.until(ANSWERED.format(answers))
        await hide(visit)
        client.delete(f"/conversations/{session}")
    await visit.page.value(SHOW.format("false"))
    await visit.page.until("document.querySelector('.notice')?.textContent.includes('no longer does')")
    visit.page.problems.clear()


async def heard(visit: Visit) -> None:
    """Wait until the window listens to its session."""
    with visit.client() as client:
        client.patch(f"/conversations/{await visit.conversation()}", json={"title": "Heard"})
    await visit.page.until(f"{TITLE} === 'Heard'")


def edit_elsewhere(visit: Visit, session: str, turn: str, question: str) -> str:
    """Replace a turn as another client does; the id of the new one."""
    body = {"question": question, "conversation_id": session, "replaces": turn}
    with visit.client() as client:
        made = client.post("/orc", json=body)
    assert made.status_code == 200, made.text
    found: str = made.json()["turn_id"]
    return found


FIRST = "document.querySelector('.turn.is-answered .question p')?.textContent"


@pytest.mark.parametrize("is_hidden", [True, False])
async def test_a_question_that_is_edited_twice_elsewhere_is_shown_in_its_place(
    visit: Visit, is_hidden: bool
) -> None:
    await visit.ask("First question?")
    await visit.ask("Second question?", answers=2)
    session = await visit.conversation()
    turn = visit.get(f"/conversations/{session}")["turns"][0]["turn_id"]
    await heard(visit)
    if is_hidden:
        await visit.page.value(SOON)
        await hide(visit)
    for question in ("First edit?", "Second edit?"):
        turn = edit_elsewhere(visit, session, turn, question)
    if is_hidden:
        await visit.page.value(SHOW.format("false"))
    await visit.page.until(f"{FIRST} === 'Second edit?'")
    assert await visit.texts(".turn .question p") == ["Second edit?", "Second question?"]
    assert await visit.texts(".versions span") == ["3 of 3"]
    for question in ("First edit?", "First question?"):
        await visit.click('[aria-label="Earlier version"]')
        await visit.page.until(f"{FIRST} === {question!r}")


@pytest.mark.parametrize("is_closed", [True, False])
async def test_an_edit_goes_on_if_its_question_is_edited_elsewhere(visit: Visit, is_closed: bool) -> None:
    await visit.ask("First question?")
    session = await visit.conversation()
    turn = visit.get(f"/conversations/{session}")["turns"][0]["turn_id"]
    await heard(visit)
    await visit.click('.actions [aria-label="Edit the question"]')
    await visit.write(" Mine.")
    if is_closed:
        await visit.page.open("about:blank")
    other = edit_elsewhere(visit, session, turn, "Another edit?")
    if is_closed:
        await visit.open(f"#/c/{session}")
    await visit.page.until(f"{FIRST} === 'Another edit?' && document.querySelector('.replacing')")
    for _ in range(2):  # and after a reload
        assert await visit.page.value("document.getElementById('question').value") == "First question? Mine."
        await visit.page.reload()
        await visit.page.until(f"{ANSWERED.format(1)} && document.querySelector('.replacing')")
    await visit.page.value("document.getElementById('question').focus()")
    await visit.page.press("Enter")
    await visit.page.until(f"{FIRST} === 'First question? Mine.'")
    assert visit.get(f"/conversations/{session}")["turns"][-1]["replaces"] == other
    assert await visit.texts(".versions span") == ["3 of 3"]


async def test_an_edited_question_is_in_its_place_although_its_first_version_is_not_loaded(
    visit: Visit,
) -> None:
    await visit.ask("Question 1?")
    session = await visit.conversation()
    owner = Owner(visit.organization, visit.user, session)
    database = Database(visit.here.folder / "orc.db")
    try:
        log = TurnLog(items_here(database, "conversations"))
        for number in range(2, 62):
            new = NewTurn(key=f"k{number}", request_hash="h", question=f"Question {number}?")
            if number > 59:
                new = new.model_copy(update={"replaces": "k5"})
            turn = (await log.begin(owner, new, lease_seconds=60)).turn
            outcome = TurnOutcome(answer="A pier.", result={"answer": "A pier."}, citations=[])
            await log.commit(owner, turn.turn_id, turn.attempt, outcome)
    finally:
        await database.close()
    await visit.page.reload()
    await visit.page.until("document.querySelectorAll('.turn .question').length === 49")
    shown = await visit.texts(".turn .question p")
    assert (shown[0], shown[-1]) == ("Question 61?", "Question 59?")
    await visit.page.value("document.querySelector('.scroller').scrollTop = 0")
    await visit.page.until("document.querySelectorAll('.turn .question').length === 59")
    order = [*range(1, 5), 61, *range(6, 60)]
    assert await visit.texts(".turn .question p") == [f"Question {number}?" for number in order]
    assert await visit.texts(".versions span") == ["3 of 3"]


async def test_a_quiet_window_asks_for_nothing_until_its_user_is_back(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open stream holds a request of the server, and reads the stores."""
    monkeypatch.setattr(conversation_events, "QUIET_SECONDS", 0.5)
    await visit.ask("First question?")
    session = await visit.conversation()
    streams = (
        "performance.getEntriesByType('resource').filter((each) => each.name.endsWith('{}/events')).length"
    )
    opened = streams.format(session)
    await visit.page.until(f"{opened} === 1")
    with visit.client() as client:
        client.post("/orc", json={"question": "Who asks elsewhere?", "conversation_id": session})
    await visit.page.value("new Promise((done) => { setTimeout(done, 2000); })")
    assert await visit.page.value(opened) == 1
    assert await visit.page.value("document.querySelectorAll('.turn.is-answered').length") == 1
    await visit.page.value("dispatchEvent(new Event('pointermove'))")
    await visit.page.until(ANSWERED.format(2))


async def test_what_was_typed_goes_along_from_a_session_that_is_deleted_elsewhere(visit: Visit) -> None:
    await visit.ask("First question?")
    deleted = await visit.conversation()
    await visit.click("#new")
    await visit.page.until("!document.querySelector('.turn')")
    await visit.write("A new one.")
    await visit.page.value(f"location.hash = '#/c/{deleted}'")
    await visit.page.until(ANSWERED.format(1))
    with visit.client() as client:
        client.patch(f"/conversations/{deleted}", json={"title": "Heard"})
    await visit.page.until(f"{TITLE} === 'Heard'")
    await visit.write("And the second")
    await visit.click('.actions [aria-label="Edit the question"]')
    await visit.write(" Edited.")
    with visit.client() as client:
        client.delete(f"/conversations/{deleted}")
    await visit.page.until("document.querySelector('.notice')?.textContent.includes('no longer does')")
    kept = "A new one.\n\nAnd the second\n\nFirst question? Edited."
    await visit.page.until("!document.querySelector('.turn, .session')")
    assert await visit.page.value("document.getElementById('question').value") == kept
    await visit.page.reload()
    await visit.page.until(f"document.getElementById('question')?.value === {json.dumps(kept)}")


async def test_a_session_of_another_window_is_listed_once_this_one_is_looked_at(visit: Visit) -> None:
    assert await visit.texts(".session") == []
    with visit.client() as client:
        client.post("/orc", json={"question": "Who begins elsewhere?"})
    await visit.page.value("document.dispatchEvent(new Event('visibilitychange'))")
    await visit.page.until("document.querySelector('.session')?.textContent.includes('elsewhere')")


async def test_a_title_comes_before_the_answer_and_although_the_turn_fails(visit: Visit) -> None:
    visit.model.script = Script(text="A slow answer. " * 10, tokens=60, delay_ms=50)
    await visit.write("When does the ferry leave?")
    began = time.monotonic()
    await visit.page.press("Enter")
    await visit.page.until(f"{TITLE}.includes('ferry') || document.querySelector('.turn.is-answered')")
    assert time.monotonic() - began < NOTICED_SECONDS
    assert not await visit.texts(".turn.is-answered")
    await visit.page.until(ANSWERED.format(1))
    await visit.click("#new")
    visit.model.responder = lambda asked: Reply(choices=False)
    await visit.write("Where is the lighthouse?")
    began = time.monotonic()
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed")
    await visit.page.until(f"{TITLE}.includes('lighthouse')")
    assert time.monotonic() - began < NOTICED_SECONDS


async def test_a_thousand_sessions_are_listed_searched_and_scrolled(visit: Visit) -> None:
    database = Database(visit.here.folder / "orc.db")
    try:
        log = TurnLog(items_here(database, "conversations"))
        for number in range(MANY):
            owner = Owner(visit.organization, visit.user, f"00000000-0000-4000-8000-{number:012}")
            new = NewTurn(key="k", request_hash="h", question=f"What is pier{number}?")
            turn = (await log.begin(owner, new, lease_seconds=60)).turn
            outcome = TurnOutcome(answer="A pier.", result={"answer": "A pier."}, citations=[])
            await log.commit(owner, turn.turn_id, turn.attempt, outcome)
    finally:
        await database.close()
    page, listed = visit.page, "document.querySelectorAll('.session').length"
    await page.reload()
    await page.until(f"{listed} >= 50")
    shown = await page.value(listed)
    while shown < MANY:
        await page.value("document.querySelector('.session-list > button').click()")
        await page.until(f"{listed} > {shown}")
        shown = await page.value(listed)
    assert shown == MANY
    assert len(set(await visit.texts(".session a"))) == MANY
    await page.value("document.querySelector('.session-list').scrollTop = 1e9")
    last = "[...document.querySelectorAll('.session a')].at(-1)"
    await page.until(f"{last}.getBoundingClientRect().bottom <= innerHeight")
    await page.value("document.getElementById('search').focus()")
    await page.call("Input.insertText", text="pier777")
    await page.until(f"{listed} === 1")
    assert "pier777" in (await visit.texts(".session a"))[0]


async def test_sessions_further_down_stay_listed_once_the_page_is_looked_at_again(visit: Visit) -> None:
    page, listed = visit.page, "document.querySelectorAll('.session').length"
    with visit.client() as client:
        for number in range(52):
            client.post("/orc", json={"question": f"What is pier{number}?"})
    await page.reload()
    await page.until(f"{listed} === 50")
    await page.value("document.querySelector('.session-list > button').click()")
    await page.until(f"{listed} === 52")
    with visit.client() as client:
        client.post("/orc", json={"question": "Who begins elsewhere?"})
    await page.value("document.dispatchEvent(new Event('visibilitychange'))")
    await page.until("document.querySelector('.session').textContent.includes('elsewhere')")
    assert await page.value(listed) == 53
    assert len(set(await visit.texts(".session a"))) == 53
    assert await page.value("document.querySelector('.session-list > button')") is None


async def test_a_session_is_found_by_its_answer_and_its_file_with_the_place(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    said = "After ten years the harbour gives a sabbatical of three months."
    (tmp_path / "pilots.pdf").write_bytes(pdf(said))
    await visit.attach(tmp_path / "pilots.pdf")
    visit.model.responder = lambda asked: (
        Reply(text=f"{said} [S1]") if asked.sources and not asked.schema_asked else default_reply(asked)
    )
    await visit.ask("What is given after so many years?")
    await visit.click("#new")
    await visit.ask("Hello")
    await page.until("document.querySelectorAll('.session').length === 2")
    searches = {"sabbaticals": "sabbatical", "harbour gives": "harbour gives", "pilots": "pilots.pdf"}
    for words, found in searches.items():
        await page.value("document.getElementById('search').select()")
        await page.call("Input.insertText", text=words)
        await page.until("document.querySelectorAll('.session').length === 1")
        await page.until(f"document.querySelector('.session small')?.textContent.includes('{found}')")
        assert await visit.texts(".session bdi") == ["What is given after so many years?"]
        assert "[Page" not in (await visit.texts(".session small"))[0]
    # What every marker has is no word of an answer.
    await page.value("document.getElementById('search').select()")
    await page.call("Input.insertText", text="document")
    await page.until("document.querySelector('.session-list > p')?.textContent === 'No chat matches.'")


async def test_sessions_are_pinned_and_several_are_deleted_and_brought_back(visit: Visit) -> None:
    page = visit.page
    with visit.client() as client:
        for number in range(4):
            client.post("/orc", json={"question": f"What is pier{number}?"})
    await page.reload()
    await page.until("document.querySelectorAll('.session').length === 4")
    entry = "[...document.querySelectorAll('.menu .toggle')].find((each) => each.textContent === '{}')"

    async def choose(number: int, words: str) -> None:
        await page.value(f"document.querySelectorAll('.session > button')[{number}].click()")
        await page.until(entry.format(words))
        await page.value(f"{entry.format(words)}.click()")

    await choose(3, "Pin to the top")
    await page.until("document.querySelector('.session-list h2').textContent === 'Pinned'")
    assert (await visit.texts(".session a"))[0] == "What is pier0?"
    await choose(1, "Choose several")
    await page.until("document.activeElement.matches('.session input:checked')")
    await page.value("document.querySelectorAll('.session input')[2].click()")
    await page.until("document.querySelector('.chosen').textContent.includes('2 chosen')")
    await page.value("document.querySelector('.chosen .is-bad').click()")
    await page.until("document.querySelectorAll('.session').length === 2")
    assert await visit.texts(".session a") == ["What is pier0?", "What is pier1?"]
    await visit.click(".notice button")
    await page.until("document.querySelectorAll('.session').length === 4")
    assert len(visit.get("/conversations")["conversations"]) == 4
    await choose(0, "Unpin")
    await page.until("document.querySelector('.session a')?.textContent === 'What is pier3?'")


async def test_the_list_is_made_wider_with_the_keyboard_and_stays_so(visit: Visit) -> None:
    page = visit.page
    width = "document.getElementById('sessions').offsetWidth"
    before = await page.value(width)
    await page.value("document.querySelector('#sessions .divider').focus()")
    await page.press("ArrowRight")
    await page.until(f"{width} === {before + 40}")
    await page.reload()
    await page.until(f"document.getElementById('question') && {width} === {before + 40}")
    assert await page.value("document.documentElement.scrollWidth <= innerWidth")


async def test_the_arrows_lead_from_the_search_to_a_session_and_back(visit: Visit) -> None:
    await visit.ask("When does the ferry leave?")
    await visit.click("#new")
    await visit.page.until(
        "document.querySelector('.session-list li > a')?.textContent === 'When does the ferry leave?'"
    )
    await visit.page.press("k", modifiers=2)
    await visit.page.until("document.activeElement.id === 'search'")
    await visit.page.press("ArrowDown")
    assert await visit.page.value("document.activeElement.textContent") == "When does the ferry leave?"
    await visit.page.press("ArrowUp")
    assert await visit.page.value("document.activeElement.id") == "search"
    await visit.page.press("ArrowDown")
    await visit.page.press("Enter")
    await visit.page.until(ANSWERED.format(1))


async def test_the_title_follows_an_edited_question(visit: Visit) -> None:
    await visit.ask("How many days of leaf?")
    await visit.click('.actions [aria-label="Edit the question"]')
    await visit.page.value("document.getElementById('question').select()")
    await visit.write("How many days of leave?")
    await visit.page.press("Enter")
    await visit.page.until("document.querySelector('h1').textContent === 'How many days of leave?'")
    await visit.page.until("document.querySelector('.session a').textContent === 'How many days of leave?'")


async def test_a_question_that_was_edited_does_not_come_back(visit: Visit) -> None:
    """The page looks for turns of other windows a moment after it heard of them."""
    page = visit.page
    await page.value(LATER)
    visit.model.script = Script(text="A slow answer. " * 4, tokens=20, delay_ms=40)
    await visit.ask("First question?")
    visit.model.script = Script()
    await visit.click('.actions [aria-label="Edit the question"]')
    await visit.write(" Edited.")
    await page.press("Enter")
    await page.until(ANSWERED.format(1))
    heard = "while (!window.looked) await new Promise((done) => { setTimeout(done, 20); });"
    await page.value(f"(async () => {{ {heard} }})()")
    await visit.ask("Second question?", answers=2)
    assert await visit.texts(".turn .question p") == ["First question? Edited.", "Second question?"]


async def test_how_an_answer_came_about_is_what_its_metadata_says(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    await visit.attach(tmp_path / "leave.pdf")
    await visit.ask("How many days of leave does an employee of the harbour get?")
    turn = visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]
    metadata = turn["metadata"]
    shown = [
        await visit.why(),
        await visit.texts(".why .steps li"),
        await visit.texts(".why p"),
    ]
    assert len(shown[1]) == len(metadata["tools"]) > 0
    # What was searched for, word for word.
    queries = [each["arguments"].get("query") for each in metadata["tools"]]
    assert await visit.texts(".why .steps .quote") == [each for each in queries if each] != []
    tokens = metadata["usage"]["input_tokens"] + metadata["usage"]["output_tokens"]
    assert f"{tokens:,} tokens" in " ".join(shown[2])
    quoted = sum(each["check"] == "quoted" for each in turn["citations"])
    assert any(f"{quoted} in the same words" in each for each in shown[0]), shown[0]
    await visit.page.reload()
    await visit.page.until(ANSWERED.format(1))
    again = [
        await visit.why(),
        await visit.texts(".why .steps li"),
        await visit.texts(".why p"),
    ]
    assert again == shown


async def test_each_marker_opens_its_own_quote(visit: Visit, tmp_path: Path) -> None:
    def cite_three_times(asked: ChatRequest) -> Reply:
        said = Reply(text=f"{LEAVE} [S1] {QUAY} [S1] {LEAVE} [S1]")
        return said if asked.sources and not asked.schema_asked else default_reply(asked)

    (tmp_path / "rules.pdf").write_bytes(pdf(f"{LEAVE} {QUAY}"))
    await visit.attach(tmp_path / "rules.pdf")
    visit.model.responder = cite_three_times
    await visit.ask("What are the rules of the harbour?")
    assert await visit.page.value("document.querySelectorAll('button.marker').length") == 3
    for place, quote in enumerate((LEAVE, QUAY, LEAVE)):
        await visit.page.value(f"document.querySelectorAll('button.marker')[{place}].click()")
        begin = quote.split()[1]
        await visit.page.until(
            f"document.querySelector('.quote-box .is-current .quote')?.textContent.includes('{begin}')"
        )
        other = (QUAY if quote == LEAVE else LEAVE).split()[1]
        assert other not in (await visit.texts(".quote-box .is-current .quote"))[0]


async def test_reading_further_up_is_not_disturbed_by_an_answer(visit: Visit) -> None:
    await read_further_up(visit, 2.4)


async def read_further_up(visit: Visit, seconds: float) -> None:
    """Read an earlier answer while another one is written for so long."""
    page = visit.page
    visit.model.script = Script(text="One line of an answer.\n\n" * 60, tokens=10, delay_ms=1)
    await visit.ask("First?")
    visit.model.script = Script(
        text="Another line of an answer.\n\n" * 60, tokens=60, delay_ms=seconds / 60 * 1000
    )
    await visit.write("Second?")
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-streaming .text')")
    await page.value("document.querySelector('.scroller').scrollTop = 200")
    place = "document.querySelector('.turn .text').getBoundingClientRect().top"
    await page.value(f"""(() => {{
      window.places = [];
      const look = () => {{ places.push({place}); requestAnimationFrame(look); }};
      look();
    }})()""")
    written = "document.querySelector('.turn.is-last .text').textContent.length"
    begun = await page.value(written)
    await page.until(ANSWERED.format(2))
    assert await page.value(written) > begun
    assert len(set(await page.value("places"))) == 1
