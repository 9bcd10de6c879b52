"""Checks of answers in other processes: the same verdict, and "not checked" if they take too long."""

import asyncio
import time
from collections.abc import Callable

import pytest

from core.errors import Overdue
from core.grounding.checked_answer import CheckedAnswer, Checker
from core.grounding.checks import check_end, check_marker, check_marker_in_brief, find_conflicts
from core.grounding.citations import NOT_CHECKED, CitationWriter
from core.grounding.claims import Claims
from core.grounding.effort import MOST_COMPARISONS
from core.grounding.sources import Source
from core.infra.text_processes import TextProcesses
from devkit.text_work import InterceptedText, hold_the_interpreter

PAGE = "Leave is 25 days a year. The harbour master approves requests within 5 working days."
URL = "https://quay.example/opening"
SOURCES = [
    Source(number=1, document_id="d", blob_name="a.pdf", page=5, start=0, text=PAGE, page_text=PAGE),
    Source(number=2, document_id="w", blob_name="Quay", page=1, start=0, text=PAGE, page_text=PAGE, url=URL),
]
ANSWERS = [
    "Leave is 25 days a year. [S1]",
    "Leave is 25 days a year. [S1][S2] Requests are approved by the mayor. [S1] Dogs are welcome.",
    f"Leave is 25 days a year. [S2] See [the page]({URL}) and [another](https://evil.example).",
    '# Leave\n\n- Leave is 30 days a year. [S1]\n- Nothing. [S7]\n\n[S1] [Page 5 of Document "a.pdf"]',
    "Hello.",
]


def too_slow(check: Callable[..., object]) -> InterceptedText:
    """Text work in which this check takes too long."""

    async def before(function: Callable[..., object], *_: object) -> None:
        if function is check:
            raise Overdue("It took too long.")

    return InterceptedText(before)


async def written(answer: CheckedAnswer, text: str, size: int) -> str:
    shown = [await answer.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(shown) + await answer.finish()


@pytest.mark.parametrize("text", ANSWERS)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_the_verdict_is_that_of_checks_in_place(text: str, size: int) -> None:
    writer = CitationWriter(SOURCES, "How long?")
    in_place = "".join([writer.feed(text[at : at + 1]) for at in range(len(text))]) + writer.finish()
    answer = CheckedAnswer(SOURCES, "How long?", Checker())
    assert await written(answer, text, size) == in_place
    assert (answer.grounding, answer.label) == (writer.grounding, writer.label)
    assert answer.citations == writer.citations


@pytest.mark.parametrize(("length", "in_place"), [(100, True), (12_000, True), (15_000, False)])
async def test_small_checks_run_in_this_process(length: int, in_place: bool) -> None:
    page = PAGE.ljust(length)
    source = SOURCES[0].model_copy(update={"page_text": page})
    answer = CheckedAnswer([source], "", Checker(too_slow(check_marker)))
    await written(answer, "Leave is 25 days a year. [S1]", 100)
    assert answer.grounding.checked is in_place


async def test_a_citation_whose_check_takes_too_long_is_not_verified() -> None:
    answer = CheckedAnswer(SOURCES, "", Checker(too_slow(check_marker), in_place=0))
    shown = await written(answer, "Leave is 25 days a year. [S1] Dogs are welcome.", 5)
    assert '[Page 5 of Document "a.pdf", not checked]' in shown
    assert NOT_CHECKED in answer.label
    assert [(citation.verified, citation.checked) for citation in answer.citations] == [(False, False)]
    grounding = answer.grounding
    assert (grounding.checked, grounding.grounded, grounding.not_found) == (False, False, False)
    assert "not checked" in " ".join(grounding.issues)


@pytest.mark.parametrize("check", [check_end, find_conflicts])
async def test_an_answer_whose_last_check_takes_too_long_is_not_grounded(
    check: Callable[..., object],
) -> None:
    answer = CheckedAnswer(SOURCES, "", Checker(too_slow(check), in_place=0))
    await written(answer, "Leave is 25 days a year. [S1] Leave was 20 days.", 5)
    assert (answer.grounding.checked, answer.grounding.grounded) == (False, False)
    assert NOT_CHECKED in answer.label


async def test_a_small_check_that_compares_much_moves_to_another_process() -> None:
    page = "Ab is 1. " * 600
    source = SOURCES[0].model_copy(update={"page_text": page})
    answer = CheckedAnswer([source], "", Checker(too_slow(check_marker)))
    await written(answer, f"{'Ab was 2, ' * 40} [S1]", 1000)
    assert not answer.grounding.checked


def test_a_passage_cited_before_is_not_read_again_under_another_number() -> None:
    page = f"{PAGE} The crane lifts 40 tonnes."
    source = SOURCES[0].model_copy(update={"page_text": page})
    first, again = Claims(), Claims()
    check_marker(first, "The crane lifts 41 tonnes.", [source])
    check_marker(again, "The crane lifts 41 tonnes.", [source.model_copy(update={"number": 7})])
    assert again.effort.left > first.effort.left


@pytest.mark.parametrize("most", [0, 30, 100, 1000, MOST_COMPARISONS])
@pytest.mark.parametrize(
    "text", ["Leave is 25 days a year.", "# Leave\n\n- Leave is 20 days.", "", "Ab is 1. " * 30]
)
def test_a_brief_check_gives_the_whole_verdict_or_none(text: str, most: int) -> None:
    asked, whole = Claims(), Claims()
    brief = check_marker_in_brief(asked, text, SOURCES, most)
    assert (asked.all, asked.cited, asked.effort.left) == ([], [], MOST_COMPARISONS)
    verdict = check_marker(whole, text, SOURCES)
    if brief is not None:
        assert (brief.checks, brief.claims.all) == (verdict.checks, verdict.claims.all)
    assert brief is not None or most < MOST_COMPARISONS


@pytest.mark.slow
async def test_a_check_that_hangs_leaves_the_event_loop_free() -> None:
    processes = TextProcesses(1)

    async def hang(*_: object) -> None:
        await hold_the_interpreter(processes)

    answer = CheckedAnswer(SOURCES, "", Checker(InterceptedText(hang), in_place=0))
    checking = asyncio.create_task(written(answer, "Leave is 25 days a year. [S1]", 1000))
    longest = 0.0
    while not checking.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    assert longest < 5
    assert not answer.grounding.checked
    await processes.close()
