"""BM25 and its parts."""

import math

from hypothesis import given
from hypothesis import strategies as st

from orc_core.search.bm25 import K1, B, bm25, floored, idf, idf_of_terms, relative_scores, saturation


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=8))
def test_bm25_is_the_formula(units: list[list[str]]) -> None:
    lengths = [len(unit) for unit in units]
    average = sum(lengths) / len(units)
    counts = [
        {number: unit.count(term) for number, unit in enumerate(units) if term in unit} for term in "abcd"
    ]
    scores = bm25(counts, lengths)
    for number, unit in enumerate(units):
        expected = 0.0
        for term in set(unit):
            having = sum(term in other for other in units)
            idf = math.log(1 + (len(units) - having + 0.5) / (having + 0.5))
            norm = K1 * (1 - B + B * len(unit) / average)
            expected += idf * unit.count(term) * (K1 + 1) / (unit.count(term) + norm)
        assert math.isclose(scores[number], expected)


def test_idf_of_terms_counts_texts_not_occurrences() -> None:
    weights = idf_of_terms(["fee", "leave"], [["fee", "leave"], ["fee"], []])
    assert weights == {"fee": idf(2, 3), "leave": idf(1, 3)}


def test_saturation_has_a_limit_and_falls_with_length() -> None:
    assert saturation(1, 1.0) == 1.0
    assert saturation(0, 1.0) == 0.0
    assert saturation(1000, 1.0) < K1 + 1
    assert saturation(1, 2.0) < saturation(1, 2.0, b=0.1) < 1.0


def test_floored_weights_are_above_a_share_of_the_largest() -> None:
    assert floored({"rare": 2.0, "common": 0.0}) == {"rare": 2.4, "common": 0.4}
    assert floored({}) == {}


def test_normalized_scores_are_shares_of_the_best() -> None:
    assert relative_scores({1: 4.0, 2: 1.0}) == {1: 1.0, 2: 0.25}
    assert relative_scores({2: 1.0}, {1: 4.0, 2: 1.0}) == {2: 0.25}
    assert relative_scores({}) == {}
