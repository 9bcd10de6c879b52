"""A newcomer with ten own files and no model: a marked quote after few actions, and no false green."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from devkit.shared_data import SHARED, needs_shared
from devkit.visits import ANSWERED, Visit
from tests.web.test_offline_model import offline

__all__ = ["offline"]

CASES = SHARED / "data" / "field" / "open"
"""Files as people have them, with questions that they answer."""
ANSWERABLE = ("04-pdf", "07-pdf", "10-docx", "11-docx", "25-what")
OTHERS = ("06-pdf", "08-docx", "09-docx", "13-rtf", "40-docx")
UNANSWERABLE = (
    "How many vacation days do employees get?",
    "Who is the managing director of the shipyard?",
    "Do we get a company car?",
    "What is the telephone number of the harbour master in Bergen?",
    "How many people live in Lisbon?",
)
MOST_ACTIONS = 4
GREEN = ".marker.is-quoted, .marker.is-supported, .verdict.is-quoted, .verdict.is-supported"
LEFT = "document.querySelector('.turn .marker').getBoundingClientRect().left + 9"
TOP = "document.querySelector('.turn .marker').getBoundingClientRect().top + 9"


def case(start: str) -> tuple[Path, dict[str, Any]]:
    """The file of a case, and its first question with what has to be in the answer."""
    [folder] = CASES.glob(f"{start}*")
    known = json.loads((folder / "case.json").read_text())
    return folder / known["upload"][0]["file"], known["questions"][0]


async def click_on_the_first_marker(visit: Visit) -> None:
    """With the pointer, where it is seen."""
    await visit.page.value("document.querySelector('.turn .marker').scrollIntoView({ block: 'center' })")
    at = {"x": await visit.page.value(LEFT), "y": await visit.page.value(TOP), "button": "left"}
    for kind in ("mousePressed", "mouseReleased"):
        await visit.page.call("Input.dispatchMouseEvent", type=kind, clickCount=1, **at)


@needs_shared
async def test_a_newcomer_with_ten_files_sees_a_marked_quote_after_four_actions(offline: Visit) -> None:
    page, files = offline.page, [case(each)[0] for each in (*ANSWERABLE, *OTHERS)]
    askable = f"document.querySelector('.shelf')?.dataset.askable === '{len(files)}'"
    # What is done, and what a person then waits for.
    actions: tuple[tuple[Callable[[], Awaitable[Any]], str], ...] = (
        (lambda: page.attach("#picker", *files), askable),
        (lambda: offline.write(case("25-what")[1]["ask"]), "!document.getElementById('send').disabled"),
        (lambda: page.press("Enter"), ANSWERED.format(1)),
        (
            lambda: click_on_the_first_marker(offline),
            "document.querySelector('.marks rect, .page-text mark')",
        ),
    )
    for act, waited in actions:
        await act()
        await page.until(waited)
    assert len(actions) <= MOST_ACTIONS


@needs_shared
async def test_of_ten_questions_to_ten_files_nothing_is_green_that_is_not_checked(offline: Visit) -> None:
    """Five that the files answer, five that they do not; without a model nothing judges an answer."""
    await offline.attach(*(case(each)[0] for each in (*ANSWERABLE, *OTHERS)))
    asked = [case(each)[1] for each in ANSWERABLE] + [{"ask": each, "must": []} for each in UNANSWERABLE]
    for number, question in enumerate(asked, 1):
        await offline.ask(question["ask"], answers=number)
        [turn] = await offline.texts(".turn:last-child .answer")
        assert all(each in turn for each in question["must"]), question["ask"]
    assert await offline.texts(GREEN) == []
    markers = await offline.texts(".turn .marker")
    assert len(markers) == len(await offline.texts(".turn .marker.is-close")) > len(ANSWERABLE)
