"""What the page shows of the checks of citations: in the answer, under it, in the list and in the panel."""

import json

from devkit.doubles.openai_double import ChatRequest, Reply
from devkit.doubles.openai_talk import default_reply
from devkit.page_scenes import CHECKED, FALSE, LEAVE, show_checks
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit
from tests.web.test_finished import COPIED
from tests.web.test_notes import MODULE, in_german
from tests.web.test_page import problems_of_access

REWORDED = "A year away from the quay comes to 28 days for those whose week is whole. [S1]"
PLACE = "Page 5 of harbour-handbook.pdf"
VERDICTS = [
    "same words",
    "checked by a second reading",
    "in other words",
    "1,084 is not on page 5",
    "not supported: The page says nothing about June.",
    "not checked: read from the picture of a page without text",
]
LABELS = [
    f"1: {PLACE}, {VERDICTS[0]}",
    f"1: {PLACE}, {VERDICTS[1]}",
    f"1: {PLACE}, {VERDICTS[2]}",
    f"1: {VERDICTS[3]}: {PLACE}, {VERDICTS[3]}",
    f"1: not supported: {PLACE}, {VERDICTS[4]}",
    f"1: not checked: {PLACE}, {VERDICTS[5]}",
]
LOOKS = """[...document.querySelectorAll("MARKERS")].map((each) => {
  const { borderTopStyle: border, borderTopColor: line } = getComputedStyle(each);
  const shown = border === "solid" && line === "rgba(0, 0, 0, 0)" ? "none" : border;
  return `${shown} ${each.querySelector("use")?.getAttribute("href").split("#")[1] ?? ""}`;
})"""
NAMES = "[...document.querySelectorAll('.text .marker')].map((each) => each.getAttribute('aria-label'))"
ROWS = "[...document.querySelectorAll('.quote-row')].map((each) => each.querySelector('.hidden').textContent)"
WIDER = "document.scrollingElement.scrollWidth > innerWidth"
SIZES = ((1280, 720), (390, 844))


def looks(markers: str) -> str:
    return LOOKS.replace("MARKERS", markers)


async def test_each_check_has_its_own_look_without_its_colour(visit: Visit) -> None:
    await show_checks(visit)
    expected = ["none check", "none checks", "solid like", "dashed ", "dashed ", "double "]
    assert await visit.page.value(looks(".text .marker")) == expected
    words = ["1", "1", "1", "1: 1,084 is not on page 5", "1: not supported", "1: not checked"]
    assert await visit.texts(".text .marker") == words
    await visit.click(".sources-line")
    await visit.sees(".quote-row")
    by_verdict = ["none check", "none checks", "none like", "none alert", "none alert", "none clock"]
    assert await visit.page.value(looks(".quote-row .verdict")) == by_verdict


async def test_each_check_is_said_in_words_to_those_who_do_not_see_its_look(visit: Visit) -> None:
    await show_checks(visit)
    assert await visit.page.value(NAMES) == LABELS
    await visit.click(".sources-line")
    await visit.sees(".quote-row")
    assert await visit.page.value(ROWS) == [f"{PLACE}, {verdict}" for verdict in VERDICTS]
    assert await visit.texts(".quote-row .verdict") == VERDICTS
    for number, verdict in enumerate(VERDICTS, start=1):
        await visit.page.value(f"document.querySelectorAll('.text .marker')[{number - 1}].click()")
        current = ".quote-box .quote-row.is-current"
        await visit.sees(f"{current}[aria-current=true] .verdict.is-{CHECKED[number - 1][0]}")
        assert await visit.texts(f"{current} .hidden") == [f"{PLACE}, {verdict}"]
        assert await visit.texts(f"{current} .verdict") == [verdict]


async def test_the_line_under_an_answer_counts_its_sources_by_check(visit: Visit) -> None:
    await show_checks(visit)
    counted = (
        "1 source, 6 quotes: 1 in the same words, 1 checked by a second reading, 1 in other words,"
        " 1 with a number that is not on its page, 1 not supported by its page, 1 read from a picture"
    )
    assert await visit.texts(".sources-line") == [counted]
    assert f"{counted}." in await visit.why()
    [note] = await visit.texts(".answer .note")
    assert note.startswith("2 sources do not say what the answer says. Their markers are dashed.")


async def test_checks_are_readable_in_both_colours_and_fit_laptop_and_phone(visit: Visit) -> None:
    await show_checks(visit)
    for width, height in SIZES:
        for dark in (False, True):
            await visit.page.look(width=width, height=height, dark=dark)
            assert await problems_of_access(visit) == []
            assert await visit.page.value(WIDER) is False
    await visit.click(".sources-line")
    await visit.sees(".quote-row")
    for width, height in SIZES:
        for dark in (False, True):
            await visit.page.look(width=width, height=height, dark=dark)
            assert await problems_of_access(visit) == []
            assert await visit.page.value(WIDER) is False


async def test_checks_are_said_in_german(visit: Visit) -> None:
    await show_checks(visit)
    await in_german(visit)
    names = await visit.page.value(NAMES)
    assert names[2] == "1: Seite 5 von harbour-handbook.pdf, mit anderen Worten"
    assert "1,084 steht nicht auf Seite 5" in names[3]
    assert (await visit.texts(".sources-line"))[0].startswith(
        "1 Quelle, 6 Zitate: 1 mit denselben Worten, 1 beim"
    )


async def test_quotes_have_the_marks_of_the_language_of_the_page(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    await visit.click("button.marker")
    await visit.sees(".quote-box .quote")

    async def marks() -> set[str]:
        tree = await visit.page.call("Accessibility.getFullAXTree")
        names = "".join(str(each.get("name", {}).get("value", "")) for each in tree["nodes"])
        return {"“", "”", "„"}.intersection(names)

    assert await marks() == {"“", "”"}
    await in_german(visit)
    assert await marks() == {"„", "“"}
    await visit.page.value(COPIED)
    await visit.click(".turn .actions button")
    await visit.page.until("window.copied.length === 1")
    assert ".“ (" in (await visit.page.value("window.copied"))[0]


async def ask_for_more(visit: Visit, more: str) -> None:
    """Ask about the handbook; the model quotes it, and then says this too."""

    def say_more(asked: ChatRequest) -> Reply:
        said = default_reply(asked)
        return Reply(text=f"{said.text} {more}") if asked.sources and not asked.schema_asked else said

    await visit.attach(HANDBOOK)
    visit.model.responder = say_more
    await visit.ask(LEAVE)


async def test_an_answer_in_other_words_is_no_alarm(visit: Visit) -> None:
    await ask_for_more(visit, REWORDED)
    await visit.sees(".text .marker.is-reworded")
    assert await visit.texts(".answer .note") == []
    [line] = await visit.texts(".sources-line")
    assert line.endswith("1 in other words")
    shown = await visit.page.value("document.querySelector('.turn').innerText")
    assert not any(alarm in shown for alarm in ("not found", "not verified", "not checked"))
    await visit.click(".text .marker.is-reworded")
    await visit.sees(".marks rect")
    assert await visit.texts(".quote-box .claim") == []


async def test_a_sentence_that_shares_no_word_with_its_page_leads_to_the_page_without_a_mark(
    visit: Visit,
) -> None:
    await ask_for_more(visit, "Xylophones hum quietly. [S1]")
    await visit.click(".text .marker.is-reworded")
    await visit.sees(".sheet img[width]")
    assert await visit.page.value("document.querySelectorAll('.marks rect').length") == 0
    assert len(await visit.texts(".quote-box .quote")) == 1, "that of the other sentence"
    await visit.click("#tab-text")
    await visit.sees(".page-text")
    assert await visit.texts(".page-text mark") == []


async def test_what_differs_says_what_in_the_answer(visit: Visit) -> None:
    await ask_for_more(visit, FALSE)
    await visit.sees(".text .marker.is-differs")
    [differing] = await visit.texts(".text .marker.is-differs")
    assert differing.endswith(": 99 is not on page 5")
    # The words of the marker in the stored answer are not repeated.
    assert "not there" not in (await visit.texts(".turn .text"))[0]


async def test_a_claim_of_an_earlier_version_is_not_shown_as_a_quote(visit: Visit) -> None:
    await show_checks(visit)
    earlier = """(session) => {
      const [turn] = session.turns.value;
      const old = { check: "reworded", quote: "A claim of the answer.", start: 0, end: 0, rectangles: [] };
      session.change(turn, { citations: turn.value.citations.map((each) => ({ ...each, ...old })) });
    }"""
    await visit.page.value(f"{MODULE.format('session')}.then({earlier})")
    await visit.click(".sources-line")
    await visit.sees(".quote-row .claim")
    assert await visit.texts(".quote-row .quote") == []


JUDGED = """(async () => {
  const { turns } = await import(document.documentElement.dataset.base + "session.js");
  const { citations } = turns.value[0].value;
  return citations.map((each) => ({ ...each, check: "supported" }));
})()"""
HEARD = """(async (citations) => {
  const send = window.fetch;
  const { turns } = await import(document.documentElement.dataset.base + "session.js");
  const data = JSON.stringify({ turn_id: turns.value[0].value.turnId, action: "accept", citations });
  const text = new TextEncoder().encode(`id: 1\\nevent: critique\\ndata: ${data}\\n\\n`);
  const headers = { "content-type": "text/event-stream" };
  let isFirst = true;
  window.fetch = async (address, init) => {
    // The API has other checks than this page shows.
    if (String(address).endsWith("?limit=10")) return new Response('{"turns": []}');
    if (!/conversations\\/[^/]+\\/events$/.test(String(address)) || !isFirst) return send(address, init);
    isFirst = false;
    return new Response(new ReadableStream({ start: (body) => body.enqueue(text) }), { headers });
  };
  const { stopListening, listen } = await import(document.documentElement.dataset.base + "listen.js");
  stopListening();
  listen(location.hash.split("/").at(-1));
})"""


async def test_checks_that_come_later_change_the_marks_where_they_are(visit: Visit) -> None:
    await show_checks(visit)
    await visit.page.value("document.querySelector('.text .marker.is-reworded').focus()")
    before = await visit.page.value(NAMES)
    judged = await visit.page.value(JUDGED)
    await visit.page.value(f"{HEARD}({json.dumps(judged)})")
    await visit.page.until("document.querySelectorAll('.text .marker.is-supported').length === 6")
    assert await visit.texts(".sources-line") == ["1 source, 6 quotes: 6 checked by a second reading"]
    assert await visit.page.value("document.activeElement.className") == "marker is-supported"
    assert await visit.page.value("document.activeElement.getAttribute('aria-label')") == before[2].replace(
        "in other words", "checked by a second reading"
    )


async def test_checks_that_came_while_the_window_was_quiet_change_the_marks_too(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    assert await visit.page.value("document.querySelector('.text .marker:not(.is-supported)') !== null")
    await visit.page.value("""(async () => {
      const send = window.fetch;
      window.fetch = async (address, init) => {
        const response = await send(address, init);
        if (!String(address).endsWith("?limit=10")) return response;
        const found = await response.json();
        const judged = (each) => ({ ...each, check: "supported" });
        for (const turn of found.turns) turn.citations = turn.citations.map(judged);
        return new Response(JSON.stringify(found), { headers: { "content-type": "application/json" } });
      };
      const { stopListening, listen } = await import(document.documentElement.dataset.base + "listen.js");
      stopListening();
      listen(location.hash.split("/").at(-1), true);
    })()""")
    await visit.page.until("!document.querySelector('.text .marker:not(.is-supported)')")


async def test_checks_that_come_before_the_end_of_a_turn_show_on_its_marks(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    [cited, *_] = turn["citations"]
    answer = turn["answer"]
    [mark, *_] = cited["marks"]
    reworded = {**cited, "check": "reworded", "marks": [mark]}
    events = [
        ("token", {"text": answer[: mark["end"]]}),
        ("citation", {"index": 0, "citation": reworded, "mark": mark}),
        ("citations", {"citations": [reworded]}),
    ]
    judged = ("critique", {"action": "accept", "citations": [{**reworded, "check": "supported"}]})
    await visit.page.value(f"""(() => {{
      const send = window.fetch;
      const encode = (text) => new TextEncoder().encode(text);
      const headers = {{ "content-type": "text/event-stream" }};
      window.fetch = async (address, init) => {{
        if (!String(address).endsWith("/orc/stream")) return send(address, init);
        const start = (body) => {{
          body.enqueue(encode({json.dumps(encoded(*events))}));
          window.judge = () => body.enqueue(encode({json.dumps(encoded(judged))}));
        }};
        return new Response(new ReadableStream({{ start }}), {{ headers }});
      }};
    }})()""")
    await visit.write("And now?")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-streaming .marker.is-open")
    await visit.page.value("judge()")
    await visit.sees(".turn.is-streaming .marker.is-supported")


def encoded(*events: tuple[str, object]) -> str:
    numbered = enumerate(events, start=2)
    return "".join(f"id: {n}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for n, (kind, data) in numbered)


async def test_a_reload_shows_the_same_checks(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    before = await visit.page.value(NAMES)
    assert before and all("same words" in each for each in before)
    await visit.page.reload()
    await visit.page.until(ANSWERED.format(1))
    assert await visit.page.value(NAMES) == before
