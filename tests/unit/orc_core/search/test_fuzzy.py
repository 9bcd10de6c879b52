"""Similar words and other words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.search.fuzzy import edits, misspelling_of, resembles

WORDS = st.text("abc", max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("plan", "plan", 0), ("plan", "plain", 1), ("plan", "plna", 1), ("plan", "pan", 1), ("", "ab", 2)],
)
def test_edits_are_counted(one: str, other: str, count: int) -> None:
    assert edits(one, other, 3) == count


@given(WORDS, WORDS, st.integers(0, 3))
def test_edits_are_symmetric_and_stop_at_the_limit(one: str, other: str, most: int) -> None:
    assert edits(one, other, most) == edits(other, one, most) == min(edits(one, other, 6), most + 1)


@pytest.mark.parametrize(
    ("word", "terms", "expected"),
    [
        ("inventry", ["invent", "inventor", "inventri"], "invent"),
        ("amortis", ["amortiz", "mortis"], "amortiz"),
        ("recognis", ["recognit", "recogniz"], "recogniz"),
        ("deductibel", ["deduct", "delay"], "deduct"),
        ("ratio", ["radio"], None),
        ("garage", ["mirage", "carrot"], None),
        ("plan", ["plane"], None),
        ("anything", [], None),
    ],
)
def test_a_long_word_is_repaired_to_the_nearest_term(
    word: str, terms: list[str], expected: str | None
) -> None:
    assert misspelling_of(word, terms) == expected


@pytest.mark.parametrize(
    ("word", "term", "expected"),
    [
        ("umsatz", "umsatzerlos", True),
        ("cardiologist", "cardiolog", True),
        ("nation", "national", True),
        ("税", "税率", True),
        ("organis", "organiz", True),
        ("car", "cat", False),
        ("plan", "garage", False),
        ("a", "ambulance", False),
    ],
)
def test_words_resemble_by_their_start_or_their_letters(word: str, term: str, expected: bool) -> None:
    assert resembles(word, term) is expected
    assert resembles(term, word) is expected
