"""Quotes on generated pages: always found, however lines are broken, and never if changed."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.grounding.quotes import Span, locate

pytestmark = pytest.mark.slow

Draw = Callable[[st.SearchStrategy[Any]], Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}
WORDS = st.one_of(
    st.text(LETTERS, min_size=2, max_size=12),
    st.sampled_from(["office", "fluffy", "final", "affluent", "Zürich", "naïve", "Ærø", "don't"]),
)
NUMBERS = st.one_of(
    st.integers(0, 99_999).map(str),
    st.decimals(0, 9999, places=2).map(str),
    st.integers(1000, 9_999_999).map("{:,}".format),
)
TOKENS = st.lists(st.one_of(WORDS, WORDS, NUMBERS), min_size=4, max_size=40)
JOINTS = st.sampled_from([" ", " ", "  ", "\n", " \n"])


@st.composite
def quoted(draw: st.DrawFn) -> tuple[list[str], int, int]:
    """The words of a page, and which of them are quoted."""
    tokens = draw(TOKENS)
    start = draw(st.integers(0, len(tokens) - 1))
    return tokens, start, draw(st.integers(start + 1, len(tokens)))


def set_in_type(draw: Draw, word: str) -> str:
    """The word as a page may have it: with ligatures, and broken at the end of a line."""
    at = draw(st.integers(2, max(2, len(word) - 2)))
    if len(word) > 4 and word.isalpha() and word.isascii() and draw(st.booleans()):
        return (
            f"{_joined(draw, word[:at])}{draw(st.sampled_from(['-', chr(0x2010), chr(0xAD)]))}\n"
            + _joined(draw, word[at:])
        )
    return _joined(draw, word)


def _joined(draw: Draw, word: str) -> str:
    for letters, ligature in LIGATURES.items():
        if letters in word and draw(st.booleans()):
            word = word.replace(letters, ligature)
    return word


def typeset(draw: Draw, tokens: list[str], start: int, end: int) -> tuple[str, Span]:
    """A page of these words, and the place on it of those from `start` to `end`."""
    page, span_start, span_end = "", 0, 0
    for index, token in enumerate(tokens):
        page += draw(JOINTS) if index else ""
        span_start = len(page) if index == start else span_start
        page += set_in_type(draw, token)
        span_end = len(page) if index == end - 1 else span_end
    return page, Span(span_start, span_end)


@given(quoted(), st.data())
def test_a_quote_is_found_across_line_breaks(drawn: tuple[list[str], int, int], data: st.DataObject) -> None:
    tokens, start, end = drawn
    page, _ = typeset(data.draw, tokens, start, end)
    quote = " ".join(tokens[start:end])
    span = locate(quote, page)
    assert span is not None
    assert read(page[span.start : span.end]) == read(quote)


@given(quoted(), st.data())
def test_a_span_of_a_page_is_found_on_it(drawn: tuple[list[str], int, int], data: st.DataObject) -> None:
    tokens, start, end = drawn
    page, place = typeset(data.draw, tokens, start, end)
    written = " ".join(tokens)
    span = locate(page[place.start : place.end], written)
    assert span is not None
    assert read(written[span.start : span.end]) == read(" ".join(tokens[start:end]))


@given(quoted(), st.data())
def test_a_quote_with_a_changed_letter_or_digit_is_never_found(
    drawn: tuple[list[str], int, int], data: st.DataObject
) -> None:
    tokens, start, end = drawn
    page, _ = typeset(data.draw, tokens, start, end)
    quote = " ".join(tokens[start:end])
    at = data.draw(st.sampled_from([i for i, c in enumerate(quote) if c.isascii() and c.isalnum()]))
    others = "0123456789" if quote[at].isdigit() else LETTERS
    other = data.draw(st.sampled_from([c for c in others if c != quote[at].lower()]))
    changed = quote[:at] + other + quote[at + 1 :]
    assume(f" {read(changed)} " not in f" {read(' '.join(tokens))} ")
    assert locate(changed, page) is None


@given(quoted(), st.data())
def test_a_quote_with_an_omitted_or_added_word_is_never_found(
    drawn: tuple[list[str], int, int], data: st.DataObject
) -> None:
    tokens, start, end = drawn
    page, _ = typeset(data.draw, tokens, start, end)
    quoted_tokens = tokens[start:end]
    at = data.draw(st.integers(0, len(quoted_tokens)))
    added = [*quoted_tokens[:at], "zzzz", *quoted_tokens[at:]]
    assert "zzzz" in tokens or locate(" ".join(added), page) is None
    left_out = " ".join(quoted_tokens[:at] + quoted_tokens[at + 1 :])
    if f" {read(left_out)} " not in f" {read(' '.join(tokens))} ":
        assert locate(left_out, page) is None


@pytest.mark.slow
@given(quoted(), st.data())
def test_a_quote_with_a_shortened_word_or_number_is_never_found(
    drawn: tuple[list[str], int, int], data: st.DataObject
) -> None:
    tokens, start, end = drawn
    page, _ = typeset(data.draw, tokens, start, end)
    quote = " ".join(tokens[start:end])
    for cut in (quote[1:], quote[:-1]):
        is_whole = f" {read(cut)} " in f" {read(' '.join(tokens))} "
        if cut.strip() == cut and cut[:1].isalnum() and cut[-1:].isalnum() and not is_whole:
            assert locate(cut, page) is None


def read(text: str) -> str:
    """The words as a reader sees them, without typography: a second definition of the same text."""
    for hyphen in ("-\n", "\u2010\n", "\u00ad\n"):
        text = text.replace(hyphen, "")
    for letters, ligature in LIGATURES.items():
        text = text.replace(ligature, letters)
    return " ".join(text.lower().split())
