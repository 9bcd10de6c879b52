"""The page of a product without a model: passages with their places, and all that concerns quotes works."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.browser import Program
from devkit.doubles.openai_double import OpenAIDouble
from devkit.in_process import Variant, running_here
from devkit.page_scenes import HOTEL, LEAVE
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit, visiting
from tests.web.test_page import places, problems_of_access
from tests.web.test_viewers import choose


@pytest.fixture
async def offline(program: Program, tmp_path: Path) -> AsyncIterator[Visit]:
    """A user at the page of a product that has no model."""
    with running_here(tmp_path / "orc", {"page": Variant()}, common={}, tools={}) as here:
        async with visiting(program, here, OpenAIDouble()) as visit:
            await visit.open()
            yield visit
            assert (visit.page.problems, visit.page.violations) == ([], [])
            assert await visit.kept_texts() == []


async def test_without_a_model_a_quote_is_found_marked_and_kept(offline: Visit) -> None:
    page = offline.page
    assert len(await offline.texts(".composer .badge")) == 1
    await offline.attach(HANDBOOK)
    await offline.write(LEAVE)
    for _ in range(5):
        await page.press("Enter")
    await page.until(ANSWERED.format(1))
    [turn] = offline.get(f"/conversations/{await offline.conversation()}")["turns"]
    assert [each["verified"] for each in turn["citations"]] == [True] * len(turn["citations"])
    markers = await offline.texts(".turn .marker.is-close")
    assert len(markers) == len(turn["citations"]) > 1
    assert all(f"{HANDBOOK.name}, page " in marker for marker in markers)
    assert len(await offline.texts(".turn .note.is-none")) == 1
    await offline.click("button.marker")
    await offline.sees(".marks rect")
    [sheet], drawn = await places(offline, ".sheet img"), await places(offline, ".marks rect")
    for shape, known in zip(drawn, turn["citations"][0]["rectangles"], strict=True):
        assert abs(sheet["left"] + known["left"] * sheet["width"] - shape["left"]) < 1
        assert abs(sheet["top"] + known["top"] * sheet["height"] - shape["top"]) < 1
    await offline.click("#tab-text")
    await offline.sees(".page-text mark")
    assert await offline.texts(".page-text mark") == [turn["citations"][0]["quote"]]
    assert await problems_of_access(offline) == []
    shown = await offline.texts(".turn .text")
    await page.reload()
    await page.until(ANSWERED.format(1))
    assert await offline.texts(".turn .text") == shown


async def test_without_a_model_answers_are_made_again_and_what_is_not_there_is_said(offline: Visit) -> None:
    page = offline.page
    await offline.attach(HANDBOOK)
    await offline.ask(LEAVE)
    await page.value("document.querySelector('.turn .actions [aria-label=\"Edit the question\"]').click()")
    await page.value("document.getElementById('question').select()")
    await page.call("Input.insertText", text=HOTEL)
    await page.press("Enter")
    await page.until(
        f"{ANSWERED.format(1)} && document.querySelector('.question p').textContent === {HOTEL!r}"
    )
    turns = offline.get(f"/conversations/{await offline.conversation()}")["turns"]
    assert turns[-1]["replaces"] == turns[0]["turn_id"]
    await offline.ask("Xylophone zebra quasar?", answers=2)
    # What is known is said: words were compared, and no one looked for an answer.
    [said] = await offline.texts(".turn.is-last .note.is-none")
    assert said.startswith("No passage of your documents shares a word with the question.")
    assert await offline.texts(".turn.is-last .marker") == []


async def test_an_example_is_loaded_with_a_click_and_asked_with_another(offline: Visit) -> None:
    page = offline.page
    await offline.click("#example")
    await page.until("document.querySelectorAll('.empty .suggestions button').length === 3")
    await offline.sees(".shelf .file")
    assert await page.value("document.querySelector('.file .middle').title") == HANDBOOK.name
    assert await page.value("document.activeElement.id") == "question"
    questions = await offline.texts(".empty .suggestions button")
    for number, question in enumerate(questions, start=1):
        if number == 1:
            await offline.click(".empty .suggestions button")
        else:
            await offline.write(question)
            await page.press("Enter")
        await page.until(ANSWERED.format(number))
    turns = offline.get(f"/conversations/{await offline.conversation()}")["turns"]
    assert [each["question"] for each in turns] == questions
    # Each is answered by a passage of the page that has the answer.
    for turn, page_number in zip(turns, (5, 8, 11), strict=True):
        assert page_number in [each["page"] for each in turn["citations"]], turn["question"]


async def test_every_quote_of_the_list_of_sources_is_whole_in_a_small_window(offline: Visit) -> None:
    page = offline.page
    await offline.attach(HANDBOOK)
    await offline.ask(HOTEL)
    await page.look(width=320, height=480)
    await offline.click(".sources-line")
    await page.until("document.querySelectorAll('.card').length > 1")
    cards = "[...document.querySelectorAll('.card')]"
    cut = f"{cards}.filter((each) => each.scrollHeight > each.clientHeight + 1).length"
    assert await page.value(cut) == 0


async def test_a_number_stays_on_one_line_with_its_colon_on_a_phone(offline: Visit, tmp_path: Path) -> None:
    page = offline.page
    file = tmp_path / "Annual report on the collective agreement of the harbour workers, draft 2.pdf"
    file.write_bytes(HANDBOOK.read_bytes())
    await offline.attach(file)
    await offline.ask(HOTEL)
    await page.look(width=320, height=640)
    lines = """[...document.querySelectorAll('.turn .marker')].map((each) => {
      const range = document.createRange();
      range.selectNode(each.firstChild);
      const [word, box] = [each.querySelector('.word'), each].map((one) => one.getBoundingClientRect());
      return [range.getClientRects().length, word.top - box.top > 2 && box.bottom - word.bottom > 2];
    })"""
    shown = await page.value(lines)
    assert shown
    assert shown == [[1, True]] * len(shown)


async def test_without_a_model_people_are_sent_to_an_administrator(offline: Visit) -> None:
    await offline.ask("Hello!")
    [text] = await offline.texts(".turn .text")
    assert "An administrator can set up a model" in text
    assert "_" not in text, "no names of variables"


async def test_that_the_search_is_switched_off_is_said_above_the_answer(offline: Visit) -> None:
    await offline.attach(HANDBOOK)
    for name in ("Search passages", "Search pages"):
        await choose(offline, name)
    await offline.ask(LEAVE)
    [note] = await offline.texts(".turn .note.is-warn p:first-child")
    assert note == (
        "Your documents were not searched. “Search passages” is switched off by you."
        " “Search pages” is switched off by you."
    )
    assert "“Search passages” is switched off by you." in await offline.why()
    # The note above is the answer: nothing asks for documents, which there are.
    assert await offline.texts(".turn .text") == []
    [turn] = offline.get(f"/conversations/{await offline.conversation()}")["turns"]
    assert turn["answer"] == "Your documents were not searched: the search is switched off."
    # With a click it is on, and the question is asked in its place.
    await offline.click(".turn .note button")
    await offline.page.until("document.querySelector('.turn .marker')")
    assert await offline.texts(".turn .note.is-warn") == []
    assert await offline.texts(".chips li") == []
    assert len(await offline.texts(".turn")) == 1


async def test_that_everything_which_finds_documents_is_off_is_said_too(offline: Visit) -> None:
    await offline.attach(HANDBOOK)
    for name in ("Search passages", "Search pages", "List documents"):
        await choose(offline, name)
    await offline.ask(LEAVE)
    [note] = await offline.texts(".turn .note.is-warn p:first-child")
    assert note.startswith("Your documents were not searched. “Search passages” is switched off by you.")
    await offline.ask("Hello!", answers=2)
    assert await offline.texts(".turn.is-last .note") == []
    [text] = await offline.texts(".turn.is-last .text")
    assert "Attach a document" not in text, "there is one"


async def test_a_question_about_a_file_without_the_tool_that_reads_it_says_how_to_switch_it_on(
    offline: Visit,
) -> None:
    await offline.attach(HANDBOOK)
    await choose(offline, "Ask documents")
    await offline.click(".file-main")
    await offline.write(LEAVE)
    await offline.page.press("Enter")
    await offline.sees(".composer .note")
    [reason] = await offline.texts(".composer .note p")
    assert reason.startswith("“Ask documents” is switched off, which reads the files that you ask about.")
    await offline.click(".composer .note button")
    await offline.page.until("!document.querySelector('.composer .note')")
    assert [each for each in await offline.texts(".chips li") if "off" in each] == []
    await offline.page.value("document.getElementById('question').focus()")
    await offline.page.press("Enter")
    await offline.page.until(ANSWERED.format(1))
    assert await offline.texts(".turn .marker")
    offline.page.problems.clear()


async def test_why_the_web_was_not_asked_is_said_in_plain_words(offline: Visit) -> None:
    await offline.attach(HANDBOOK)
    await offline.ask(LEAVE)
    said = await offline.why()
    assert "The web was not searched: no search engine was available." in said
    await offline.click(".file-main")
    await offline.ask(f"{LEAVE} Again.", answers=2)
    said = await offline.why(".turn.is-last")
    assert "The web was not searched: files that a question names are read alone." in said
    await offline.click(".file-main")
    await offline.ask("Hello!", answers=3)
    said = await offline.why(".turn.is-last")
    assert "The web was not searched: nothing had to be looked up." in said
