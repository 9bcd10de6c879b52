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


LEASE = (
    "The lease of the flat begins on {} for every tenant of the house and for their guests. It has 31 boats."
)


@pytest.mark.parametrize(
    ("page", "same", "others"),
    [
        ("3 April 2024", "April 3rd, 2024", ["3 May 2024", "May 3, 2024", "4 April 2024", "3 April 2023"]),
        ("April 3", "3 April", ["May 3", "June 3", "April 4", "3. Mai"]),
        ("3. April 2024", "3. April 2024", ["3. Mai 2024", "4. April 2024", "3. April 2025", "3. Mai"]),
        ("le 1er avril 2024", "le 1er avril", ["le 1er mai 2024", "le 2 avril 2024", "le 1er mai"]),
        ("04/03/2024", "3 April 2024", ["3 May 2024", "4 May 2024"]),
        ("April 2024", "April 2024", ["May 2024", "April 2023", "mai 2024"]),
    ],
)
def test_another_day_month_or_year_differs(page: str, same: str, others: list[str]) -> None:
    text = Page(LEASE.format(page))
    assert _check(LEASE.format(same), text).check != "differs"
    for other in others:
        assert _check(LEASE.format(other), text).check == "differs", other


@pytest.mark.parametrize("page", ["From 3 to 5 April", "May | 3 | 10 | 17", "3 Okt. 2024", "The third. 3."])
def test_a_day_that_is_also_apart_from_a_month_does_not_differ(page: str) -> None:
    assert _check("It begins on 3 May.", Page(f"{page}\n\nIt ends on 3 June.")).check == "reworded"


def test_a_date_without_its_year_can_be_of_any_year() -> None:
    page = Page("Minutes of 6 February 2024\n\nThe next meeting is on 12 March. Another one is in April.")
    for sentence in ("They meet on 12 March 2024.", "They meet on 6 February.", "They meet in April 2024."):
        assert _check(sentence, page).check == "reworded", sentence
    assert _check("They meet on 12 February 2024.", page) == CodeCheck("differs", ("12 February 2024",))


def test_exchanged_dates_are_not_quoted() -> None:
    sentence = LEASE.format("3 May 2024, ends on 5 June 2025, or on the day that the landlord names,")
    exchanged = sentence.replace("3 May 2024", "5 June 2024").replace("5 June 2025", "3 May 2025")
    assert _check(sentence, Page(sentence)).check == "quoted"
    assert _check(exchanged, Page(sentence)).check == "differs"
    june = Page("There are 3 boats. June 3 is the deadline for the applications of all tenants.")
    assert _check("May 3 is the deadline for the applications of all tenants.", june).check == "reworded"


CONTRACT = Page(
    "2.1 Scope\n\nThis contract is about boats.\n\n3. Payment\n\nPayment is due within 14 days. The fee is 7"
    " %.\n\n3.2 The deposit is EUR 800.\n\nArticle 5 - Notice\n\nThe notice period is 20 days.\n"
)


def test_the_number_of_an_item_or_heading_counts_nothing() -> None:
    for wrong in ("within 3 days", "after 5 days", "with 2.1 %", "with EUR 3.2", "with € 5"):
        assert _check(f"Payment is due {wrong}.", CONTRACT).check == "differs", wrong


def test_the_number_of_an_item_or_heading_can_be_named() -> None:
    for named in (
        "Section 3 is",
        "Clause 3.2 and section 2.1 are",
        "Parts 2.1 and 3 are",
        "Section 2 is",
        "Article 5 is",
    ):
        assert _check(f"{named} about what people pay.", CONTRACT).check == "reworded", named


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
