"""The verdicts of the code check on sentences about the units of pages."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.grounding.checks import CodeCheck, Page, Passage, check
from orc_core.grounding.values import Values
from orc_core.grounding.word_lists import NEGATORS

PAGE = Page(
    "Leave\n\nEvery full-time employee has 28 working days of annual leave. One day is added after five years"
    " of service, and a second one after ten years.\n\nGrade | Days | Bonus\nA | 28 | 1,084\nB | 30 | 2,150\n"
)
OTHER = Page("The canteen opens at 11:30 and closes at two. It serves 450 guests.")
QUOTED = CodeCheck("quoted", quoted_by=(0,))
WORDS = st.lists(
    st.sampled_from("boat harbour leaves each day after the of noon 28 town 1,084 days years rent".split()),
    min_size=4,
    max_size=12,
)


def _check(sentence: str, page: Page = PAGE, question: str = "") -> CodeCheck:
    return check(sentence, [Passage(page)], Values(question))


def test_the_words_of_a_unit_are_quoted() -> None:
    assert _check("Every full-time employee has 28 working days of annual leave.") == QUOTED
    assert _check("A | 28 | 1,084") == QUOTED


def test_other_words_are_reworded_and_a_number_that_is_nowhere_differs() -> None:
    assert _check("People get 28 days off.") == CodeCheck("reworded")
    assert _check("People get 77 days off.") == CodeCheck("differs", ("77",))


def test_a_number_of_the_question_or_of_another_cited_page_does_not_differ() -> None:
    assert _check("77 people get days off.", question="Do 77 people get leave?").check == "reworded"
    cited = [Passage(PAGE), Passage(OTHER)]
    assert check("450 guests have days off.", cited).check == "reworded"
    assert check("450 guests have days off.", cited[:1]).check == "differs"


def test_a_unit_that_is_not_cited_is_not_quoted() -> None:
    sentence = "Every full-time employee has 28 working days of annual leave."
    assert check(sentence, [Passage(PAGE, 0, 5)]).check == "reworded"
    assert check(sentence, [Passage(PAGE, 3, 3)]).check == "reworded"


def test_units_that_are_no_neighbours_are_not_read_as_one() -> None:
    page = Page("Red boat | north | east\nOld ship | south | west\nBlue raft | lake | town\n")
    first, second, third = (page.text[unit.start : unit.end] for unit in page.units)
    assert check(f"{first} {second}", [Passage(page)]).check == "quoted"
    assert check(f"{first} {third}", [Passage(page)]).check == "reworded"


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_a_copied_unit_is_always_quoted(sentences: list[list[str]]) -> None:
    page = Page(" ".join(f"The {' '.join(words)}." for words in sentences))
    for span in page.units:
        assert (
            check(page.text[span.start : span.end], [Passage(page, span.start, span.end)]).check == "quoted"
        )


@pytest.mark.slow
@given(WORDS, st.sampled_from(sorted(NEGATORS["en"] | NEGATORS["fr"] | NEGATORS["ru"])), st.data())
def test_an_inserted_negator_is_never_quoted(words: list[str], negator: str, data: st.DataObject) -> None:
    page = Page(f"The {' '.join(words)} in the town.")
    at = data.draw(st.integers(0, len(words)))
    negated = f"The {' '.join((*words[:at], negator, *words[at:]))} in the town."
    assert _check(negated, page).check != "quoted"


@pytest.mark.slow
@given(WORDS, st.integers(2, 10**6), st.integers(1, 9))
def test_a_changed_number_is_never_quoted(words: list[str], number: int, more: int) -> None:
    page = Page(f"The {' '.join(words)} in the town cost {number} pounds.")
    assert _check(page.text, page).check == "quoted"
    assert _check(page.text.replace(f"cost {number}", f"cost {number + more}"), page).check != "quoted"


KINDS = {
    "prose": "The tenant pays 1,084 euros to the landlord by the third of May. ",
    "rows": "Rent | 1,084 | 28\n",
    "numbers": "1 234 567,8 ",
    "Chinese": "租户可以在公寓里养狗",
    "marks": ",;.-'",
    "items": "- boats\n",
    "combining": "a\u0301\u0316",
    "negators": "not pas ",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_time_grows_with_the_text_alone(kind: str) -> None:
    def seconds(length: int) -> float:
        text = (KINDS[kind] * length)[:length]
        return min(_timed(lambda: _check(text[: length // 4] + " 991", Page(text))) for _ in range(3))

    assert seconds(40_000) < 4 * 3 * seconds(10_000)


def _timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
