"""What the page says of an answer, outside of its text: what was checked, not found and corrected."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from devkit.doubles.openai_double import ChatRequest, Failure, Reply, Script, ToolCall
from devkit.doubles.openai_talk import default_reply
from devkit.page_scenes import FALSE, LEAVE, WRONG_NUMBER, corrects, quoting
from devkit.shared_data import HANDBOOK
from devkit.system import upload
from devkit.visits import ANSWERED, Visit
from orc.contexts.withholding import WITHHELD
from orc_core.grounding.citations import CUT_NOTE, NO_SUCH_SOURCE
from orc_core.grounding.closest import NOT_FOUND_ANSWER, closest_label
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_files import attach_all

GERMAN = (
    "import(document.documentElement.dataset.base + 'store.js').then((store) => {"
    " store.prefer({ language: 'de' }); })"
)
MODULE = "import(document.documentElement.dataset.base + '{}.js')"
ENGLISH = ("does not support", "is cited", "The answer", "the source", "found", "were", "searched")


async def in_german(visit: Visit) -> None:
    await visit.page.value(GERMAN)
    await visit.page.until("document.documentElement.lang === 'de'")


def assert_german(*texts: str) -> None:
    assert texts
    assert [(words, text) for text in texts for words in ENGLISH if words in text] == []


async def test_a_sentence_is_corrected_in_place_and_the_rest_of_the_answer_stays(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = corrects
    await visit.write(LEAVE)
    await visit.page.press("Enter")
    await visit.page.until("document.querySelector('.turn .text')?.innerText.includes('That is all')")
    assert "943 working days" in (await visit.texts(".turn .text"))[0]
    await visit.page.value("""(() => {
      const text = document.querySelector('.turn .text');
      window.kept = [text, ...text.querySelectorAll('.block, p, button.marker')];
      window.missed = 0;
      const look = () => { window.missed += /Leave comes to 28.*That is all/s.test(text.innerText) ? 0 : 1; };
      new MutationObserver(look).observe(text, { subtree: true, childList: true, characterData: true });
    })()""")
    await visit.page.until(ANSWERED.format(1))
    [text] = await visit.texts(".turn .text")
    assert "28 working days" in text
    assert "943" not in text
    assert await visit.page.value("window.missed") == 0
    assert await visit.page.value("window.kept.every((each) => each.isConnected)")
    markers = "[...document.querySelectorAll('.turn .text button.marker')].map((each) => each.className)"
    assert await visit.page.value(markers) == ["marker is-reworded", "marker is-quoted"]
    said = "document.body.textContent.match(/A sentence was corrected after the checks\\./g).length"
    # In what is read out, which comes once the stream has ended, and in how the answer came about.
    await visit.why()
    await visit.page.until(f"{said} === 2")
    await visit.page.reload()
    await visit.sees(".corrected")
    assert await visit.texts(".corrected del") == [WRONG_NUMBER.removesuffix(" [S1]")]
    assert await visit.texts(".withdrawn:not(.corrected)") == []
    await in_german(visit)
    assert await visit.texts(".corrected summary") == ["Ein Satz wurde nach der Prüfung korrigiert"]


async def test_a_marker_is_plain_until_its_answer_is_checked(visit: Visit, tmp_path: Path) -> None:
    leave = "Every employee of the harbour has 28 days of annual leave."
    await attach_all(visit, tmp_path, leave=pdf(leave))
    visit.model.responder = quoting(f"{leave} [S1] " * 6)
    visit.model.script = Script(tokens=60, delay_ms=20)
    await visit.write("How many days of leave does an employee get?")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-streaming button.marker")
    marker = "document.querySelector('button.marker')"
    assert await visit.page.value(f"{marker}.className") == "marker is-open"
    assert await visit.page.value(f"{marker}.querySelector('.icon')") is None
    assert "being checked" in await visit.page.value(f"{marker}.getAttribute('aria-label')")
    plain = await visit.page.value(f"getComputedStyle({marker}).borderTopColor")
    await visit.page.until(ANSWERED.format(1))
    assert await visit.page.value(f"{marker}.className") == "marker is-quoted"
    assert "same words" in await visit.page.value(f"{marker}.getAttribute('aria-label')")
    assert await visit.page.value(f"Boolean({marker}.querySelector('.icon'))")
    assert await visit.page.value(f"getComputedStyle({marker}).borderTopColor") != plain


async def test_a_number_that_is_not_on_the_page_is_said_in_the_language_of_the_page(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = quoting(WRONG_NUMBER)
    await visit.ask(LEAVE)
    assert await visit.texts(".turn .text .marker") == ["1: 943 is not on page 5"]
    assert await visit.texts(".sources-line") == ["1 source: 1 with a number that is not on its page"]
    [note] = await visit.texts(".answer .note.is-warn")
    assert note == "1 source does not say what the answer says. Its marker is dashed."
    await in_german(visit)
    assert await visit.texts(".turn .text .marker") == ["1: 943 steht nicht auf Seite 5"]
    assert await visit.texts(".sources-line") == ["1 Quelle: 1 mit einer Zahl, die nicht auf der Seite steht"]
    assert_german(*await visit.texts(".answer .note.is-warn"), *await visit.why())


async def test_an_answer_without_a_source_ends_in_words_of_the_page(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = quoting("Employees have a good life at the quay.")
    await visit.ask(LEAVE)
    [text] = await visit.texts(".turn .text")
    assert text == "Employees have a good life at the quay. no source"
    await in_german(visit)
    await visit.page.until("document.querySelector('.text .marker').innerText === 'keine Quelle'")


async def test_what_the_server_adds_to_an_answer_is_in_words_of_the_page(visit: Visit) -> None:
    """A source that was not given, the end of what was cut, and what is withheld."""
    text = f"One {NO_SUCH_SOURCE} and two. {CUT_NOTE} {WITHHELD}"
    await visit.ask("Hello there")
    change = f"""({{ turns, change }}) => {{
      change(turns.value[0], {{ text: {json.dumps(text)} }});
    }}"""
    await visit.page.value(f"{MODULE.format('session')}.then({change})")
    await visit.page.until("document.querySelectorAll('.turn .text .is-missing').length === 3")
    await in_german(visit)
    await visit.page.until("document.querySelector('.turn .text').textContent.includes('abgeschnitten')")
    [text] = await visit.texts(".turn .text")
    assert text.startswith("One Beleg zurückgehalten: diese Quelle gibt es nicht and two.")
    assert "cut here" not in text
    assert text.endswith("die Sie nicht mehr lesen dürfen")


async def test_a_list_of_the_documents_that_says_more_has_a_warning(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    called = Reply(tool_calls=[ToolCall(name="documents_list")])
    visit.model.script.replies.extend([called, Reply(text="harbour-handbook.pdf, with 99 rules.")])
    await visit.ask("Which documents do I have?")
    assert "names no source" in "".join(await visit.texts(".turn .note.is-warn"))


async def test_nothing_found_is_not_said_of_what_was_not_searched(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, quay=pdf("The quay opens at seven."), scan=pdf(""))
    visit.model.responder = quoting(NOT_FOUND_ANSWER)
    await visit.ask("When does the quay close?")
    notes = await visit.texts(".answer .note")
    assert notes == [
        "No answer was found in the documents that could be searched.",
        "Not searched: scan.pdf (has no text).",
    ]
    # The note says that nothing was found, in the language of the page; the answer says what to do.
    [text] = await visit.texts(".turn .text")
    assert text.startswith("“scan.pdf” was not searched: Its only page has no text")
    assert "could not find" not in text


async def test_documents_that_a_search_of_very_many_could_not_reach_are_counted(visit: Visit) -> None:
    """Of more than 200, one search reads through 20 that are not indexed yet."""
    await visit.ask("Hello there")
    session = await visit.conversation()
    notes = [
        (f"note-{number}.md", f"The code of item {number} is K-{number}.".encode()) for number in range(221)
    ]
    with visit.client() as client:
        for first in range(0, len(notes), 20):
            stored = await asyncio.to_thread(upload, client, session, *notes[first : first + 20])
            assert stored.status_code == 201, stored.text
    visit.model.responder = quoting(NOT_FOUND_ANSWER)
    await visit.ask("What is the code of item 220?", answers=2)
    assert await visit.texts(".turn.is-last .note") == [
        "No answer was found in the documents that could be searched.",
        "Not searched: 201 documents.",
    ]


async def test_while_the_model_is_away_the_closest_passages_are_shown_with_the_error(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = lambda asked: Failure(status=503)
    await visit.write(LEAVE)
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed .note.is-bad button")
    [failed, closest] = await visit.texts(".answer .note")
    assert closest.startswith("These passages come closest to the question. They are quotes, not an answer.")
    assert "Try again" in failed
    assert await visit.texts(".turn .marker.is-close")
    assert "language model" not in "".join(await visit.texts(".turn .text"))
    await visit.click(".turn .marker.is-close")
    await visit.sees("#sources .quote-box")
    # A retry while it is still away shows them again.
    await visit.page.value("document.querySelector('.turn .marker').dataset.before = '1'")
    await visit.click(".turn .note.is-bad button")
    await visit.sees(".turn.is-failed .marker.is-close:not([data-before])")
    # It can be asked again once the model is back.
    visit.model.responder = None
    await visit.click(".turn .note.is-bad button")
    await visit.page.until("document.querySelector('.turn.is-answered .marker.is-quoted')")
    assert await visit.texts(".turn .note") == []


async def test_without_passages_an_absent_model_is_an_error_alone(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = lambda asked: Failure(status=503)
    await visit.write("Xylophone zebra quasar?")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed .note.is-bad button")
    assert len(await visit.texts(".answer .note")) == 1
    assert await visit.texts(".turn .text") == []


async def test_a_search_that_found_nothing_is_said_in_both_languages(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, quay=pdf("The quay opens at seven."))
    await visit.ask("Xylophone zebra quasar?")
    english = await visit.why()
    assert "“Search passages” found nothing." in english
    assert not any("Nothing was looked up" in each for each in english)
    await in_german(visit)
    german = await visit.why()
    assert "„Textstellen durchsuchen“ fand nichts." in german
    assert len(german) == len(english)


async def test_passages_that_are_not_close_are_counted(visit: Visit) -> None:
    """They may be sources all the same."""
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    change = """({ turns, change }) => {
      const [turn] = turns.value;
      const [lookup] = turn.value.metadata.lookups;
      const lookups = [8, 1].map((hits) => ({ ...lookup, reason_code: 'below_threshold', detail: '', hits }));
      change(turn, { metadata: { ...turn.value.metadata, lookups } });
    }"""
    await visit.page.value(f"{MODULE.format('session')}.then({change})")
    await visit.why()
    await visit.page.until("document.querySelector('.why').textContent.includes('close match')")
    said = [each for each in await visit.why() if "close" in each]
    assert [each.partition("” ")[2] for each in said] == [
        "found 8 passages, none a close match.",
        "found 1 passage, not a close match.",
    ]


async def test_both_languages_explain_a_lookup_alike(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    english = await visit.why()
    await in_german(visit)
    german = await visit.why()
    assert len(german) == len(english)
    assert any("Treffer" in each for each in german) is any("result" in each for each in english)
    assert_german(*german)


async def test_closest_passages_have_a_note_of_the_page_and_are_no_checked_quotes(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    label = closest_label("")
    change = f"""(session) => {{
      const [turn] = session.turns.value;
      const label = {json.dumps(label)} + '\\n\\n- ';
      const later = ({{ start, end }}) => ({{ start: start + label.length, end: end + label.length }});
      const near = (each) => ({{ ...each, closest: true, marks: each.marks.map(later) }});
      const citations = turn.value.citations.map(near);
      session.change(turn, {{ text: label + turn.value.text, kind: 'closest_passages', citations }});
    }}"""
    await visit.page.value(f"{MODULE.format('session')}.then({change})")
    await visit.sees(".turn .marker.is-close")
    [note] = await visit.texts(".answer .note")
    assert note.startswith("These passages come closest")
    [text] = await visit.texts(".turn .text")
    assert "I could not find" not in text
    assert text.rstrip().endswith(f"annual leave. 1: {HANDBOOK.name}, page 5")
    why = await visit.why()
    assert any("not an answer" in each for each in why)
    assert not any("same words" in each for each in why)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It rains. [Page 5 of Docu", "It rains. "),
        ("It rains. [Web page “Rain”, exam", "It rains. "),
        ("It rains. [Web", "It rains. "),
        ("It rains. [", "It rains. "),
        ("It rains [often] and [Pays", "It rains [often] and [Pays"),
    ],
)
async def test_a_marker_is_not_shown_before_its_citation(visit: Visit, text: str, shown: str) -> None:
    found = f"({MODULE.format('stream')}).then(({{ untilMarker }}) => untilMarker({json.dumps(text)}))"
    assert await visit.page.value(found) == shown


async def test_a_failed_turn_has_one_way_to_try_again(visit: Visit) -> None:
    visit.model.responder = lambda asked: Failure(status=503)
    await visit.write(LEAVE)
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed .note button")
    assert "Try again" in await visit.texts(".turn button")
    assert await visit.page.value("document.querySelector('.actions [aria-label=\"Answer again\"]')") is None
    visit.model.responder = None
    await visit.click(".turn.is-failed .note button")
    await visit.page.until(ANSWERED.format(1))
    await visit.sees('.actions [aria-label="Answer again"]')


def given(visit: Visit, conversation: str) -> Callable[[], dict[str, str]]:
    def feedback() -> dict[str, str]:
        [turn] = visit.get(f"/conversations/{conversation}")["turns"]
        found: dict[str, str] = turn["feedback"]
        return found

    return feedback


async def test_a_bad_rating_may_have_a_reason_and_a_comment(visit: Visit) -> None:
    await visit.ask("Hello")
    feedback = given(visit, await visit.conversation())
    await visit.click('.actions [aria-label="Bad answer"]')
    await visit.click(".reason:nth-child(2)")
    await visit.page.until("document.querySelector('.reason:nth-child(2)').ariaPressed === 'true'")
    await visit.page.value("document.querySelector('.comment input').focus()")
    await visit.page.type_line("The second fee is missing.")
    await visit.sees(".comment [role=status]")
    stored = {"rating": "down", "reason": "incomplete", "comment": "The second fee is missing."}
    await visit.page.value("""(async () => {
      const requests = () => performance.getEntriesByType("resource");
      const sent = () => requests().filter((each) => each.name.endsWith("/feedback"));
      while (sent().length < 3) await new Promise((go) => setTimeout(go, 20));
    })()""")
    assert stored.items() <= feedback().items()
    await visit.page.reload()
    await visit.page.until("document.querySelector('.reason:nth-child(2)')?.ariaPressed === 'true'")


async def test_an_answer_that_is_given_after_all_is_not_shown_as_withdrawn(visit: Visit) -> None:
    """The revision is worse, so that the first answer is given again."""
    await visit.attach(HANDBOOK)
    first = iter([True])

    def revise(asked: ChatRequest) -> Reply:
        said = default_reply(asked)
        if not asked.sources or asked.schema_asked:
            return said
        return Reply(text=f"{said.text} {FALSE}" if next(first, False) else "The tide is high.")

    visit.model.responder = revise
    await visit.ask(LEAVE)
    for _ in range(2):
        [answer] = await visit.texts(".turn .text")
        assert "submarines" in answer
        assert await visit.texts(".withdrawn") == []
        await visit.page.reload()
        await visit.sees(".turn .text")


async def test_an_answer_that_begins_again_is_not_the_one_that_was_withdrawn(visit: Visit) -> None:
    """A second answer is given from its beginning again if the tools server restarts meanwhile."""
    objected = {"action": "retrieve", "objections": [{"code": "other", "text": "Nothing is cited."}]}
    events = [
        ("token", {"text": "First."}),
        ("critique", objected),
        ("reset", {"reason": "More is looked up for the answer."}),
        ("token", {"text": "Half of the sec"}),
        ("reset", {"reason": "The tools server was started again."}),
        ("token", {"text": "Second."}),
    ]
    lines = [
        f"id: {n}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for n, (kind, data) in enumerate(events, 2)
    ]
    await visit.page.value(f"""(() => {{
      const send = window.fetch;
      const text = new TextEncoder().encode({json.dumps("".join(lines))});
      const stream = () => new ReadableStream({{ start: (body) => body.enqueue(text) }});
      const headers = {{ "content-type": "text/event-stream" }};
      window.fetch = async (address, init) =>
        String(address).endsWith("/orc/stream") ? new Response(stream(), {{ headers }}) : send(address, init);
    }})()""")
    await visit.write("Hello")
    await visit.page.press("Enter")
    await visit.page.until("document.body.innerText.includes('Second.')")
    [struck] = await visit.texts(".withdrawn del")
    assert struck.strip() == "First."


async def test_the_last_rating_is_kept_although_an_earlier_request_is_slow(visit: Visit) -> None:
    await visit.ask("Hello")
    feedback = given(visit, await visit.conversation())
    await visit.page.value("""(() => {
      const send = window.fetch;
      let puts = 0;
      window.fetch = async (address, init) => {
        if (init?.method === "PUT" && puts++ === 0) await new Promise((go) => setTimeout(go, 500));
        const response = await send(address, init);
        if (init?.method === "PUT") document.body.dataset.stored = String(++stored);
        return response;
      };
      let stored = 0;
    })()""")
    await visit.click('.actions [aria-label="Bad answer"]')
    await visit.click(".reason:nth-child(2)")
    await visit.page.until("document.body.dataset.stored === '2'")
    assert feedback()["reason"] == "incomplete"


async def test_no_rating_is_shown_if_none_could_be_stored(visit: Visit) -> None:
    await visit.ask("Hello")
    await visit.page.value("""(() => {
      const send = window.fetch;
      let failed = 0;
      window.fetch = async (address, init) => {
        if (init?.method !== "PUT") return send(address, init);
        await new Promise((go) => setTimeout(go, 300));
        document.body.dataset.failed = String(++failed);
        return new Response("{}", { status: 503 });
      };
    })()""")
    await visit.click('.actions [aria-label="Bad answer"]')
    await visit.click(".reason:nth-child(2)")
    await visit.page.until("document.body.dataset.failed === '2'")
    await visit.page.until("!document.querySelector('.reason')")
    pressed = "document.querySelector('.actions [aria-label=\"Bad answer\"]').ariaPressed"
    assert await visit.page.value(pressed) == "false"


async def test_an_address_of_nothing_says_so(visit: Visit) -> None:
    for address in ("#/c/nonsense", "#/elsewhere"):
        await visit.page.value(f"location.hash = {address!r}")
        await visit.page.until("document.querySelector('.notice')?.textContent.includes('does not exist')")
        assert await visit.page.value("location.hash") == "#/"
        await visit.click('.notice [aria-label="Close"]')
        await visit.page.until("!document.querySelector('.notice')")


async def test_a_question_that_waits_for_the_connection_says_so(visit: Visit) -> None:
    await visit.page.call("Network.setBlockedURLs", urls=["*/api/*"])
    await visit.write("Are you there?")
    await visit.page.press("Enter")
    await visit.page.until("document.querySelector('.working')?.textContent.includes('for the connection')")
    await visit.page.call("Network.setBlockedURLs", urls=[])
    await visit.page.until(ANSWERED.format(1))
    visit.page.problems.clear()


async def test_an_objection_quotes_the_cells_of_a_row_in_a_sentence(visit: Visit) -> None:
    said = await visit.page.value(
        "import(document.documentElement.dataset.base + 'answer.js').then(({ objectionWords }) =>"
        " ['| Ann Lee | CTO | ten years', 'The fee is 5 euros.']"
        ".map((claim) => objectionWords({ code: 'uncited', text: '', claim })).join(' '))"
    )
    quoted = "No source is given for “Ann Lee CTO ten years”. No source is given for “The fee is 5 euros”."
    assert said == quoted
