"""Cutting texts and lists to a token budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devkit.fakes import WordCounter
from orc_core.llm.tokens import (
    TokenCounter,
    longest_fitting,
    take_each_fitting,
    take_first_fitting,
    take_last_fitting,
    truncate,
    truncate_words,
)

SIZES = st.lists(st.integers(0, 9), max_size=12)


@pytest.mark.parametrize("tokens", [-3, 0, 1, 7, 40, 10_000])
def test_a_truncated_text_is_a_beginning_and_fits(tokens: int) -> None:
    counter = TokenCounter()
    text = "Der Hafenmeister öffnet um sieben; 港 opens at 07:00. " * 40
    kept = truncate(text, tokens, counter)
    assert text.startswith(kept)
    assert counter.count(kept) <= max(tokens, 0)
    assert (kept == text) == (counter.count(text) <= tokens)
    assert tokens < 7 or counter.count(kept) >= min(tokens, counter.count(text)) // 2


def test_a_text_is_truncated_at_the_end_of_a_word() -> None:
    counter = WordCounter()
    assert truncate_words("one two three", 3, counter) == "one two three"
    assert truncate_words("one two three four", 3, counter) == "one two …"
    assert truncate_words("one two", 0, counter) == "one …"


def test_taking_stops_at_the_first_item_that_does_not_fit() -> None:
    assert take_first_fitting([3, 4, 9, 1], 8, int) == [3, 4]
    assert take_last_fitting([1, 9, 4, 3], 8, int) == [4, 3]


def test_items_too_large_for_what_is_left_are_skipped() -> None:
    assert take_each_fitting([3, 9, 4, 2, 1], 8, int) == [3, 4, 1]


@given(SIZES, st.integers(-2, 40))
def test_what_is_taken_fits_and_keeps_its_order(sizes: list[int], tokens: int) -> None:
    first = take_first_fitting(sizes, tokens, int)
    assert first == sizes[: len(first)]
    assert sum(first) <= max(tokens, 0)
    assert len(first) == len(sizes) or sum(sizes[: len(first) + 1]) > tokens
    assert take_last_fitting(sizes, tokens, int) == take_first_fitting(sizes[::-1], tokens, int)[::-1]
    assert sum(take_each_fitting(sizes, tokens, int)) <= max(tokens, 0)


@given(SIZES, st.integers(0, 40), st.integers(0, 3))
def test_the_longest_beginning_that_fits_is_found(sizes: list[int], tokens: int, least: int) -> None:
    count = longest_fitting(sizes, lambda first: sum(first) <= tokens, least=least)
    assert count == max(len(take_first_fitting(sizes, tokens, int)), min(least, len(sizes)))
