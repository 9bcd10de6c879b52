"""Quotes located on pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.quotes import QuoteFinder, locate

PAGE = (
    "2. Travel\n"
    "The daily allowance in Oslo is 1,250.50 kroner. It is not paid for trips under six hours.\n"
    "Ex-\nceptions are approved by the harbour master. The ﬁnal report is due within 14 days of return.\n"
)


def found(quote: str, page: str = PAGE) -> str | None:
    span = locate(quote, page)
    return page[span.start : span.end] if span else None


@pytest.mark.parametrize(
    ("quote", "on_page"),
    [
        (
            "The daily allowance in Oslo is 1,250.50 kroner.",
            "The daily allowance in Oslo is 1,250.50 kroner.",
        ),
        ("the DAILY allowance\nin  Oslo", "The daily allowance in Oslo"),
        ("Exceptions are approved by the harbour master", "Ex-\nceptions are approved by the harbour master"),
        ("the final report", "The ﬁnal report"),
        ("six hours. Exceptions are", "six hours.\nEx-\nceptions are"),
    ],
)
def test_a_quote_is_found_despite_breaks_hyphens_ligatures_and_case(quote: str, on_page: str) -> None:
    assert found(quote) == on_page


@pytest.mark.parametrize(
    "quote",
    [
        "The daily allowance in Oslo is 1,250.51 kroner.",
        "The daily allowance in Oslo is 125050 kroner.",
        "The daily allowance in Bergen is 1,250.50 kroner.",
        "The weekly allowance in Oslo is 1,250.50 kroner.",
        "It is paid for trips under six hours.",
        "is due within 1 days",
        "within 14 day",
        "llowance in Oslo",
        "",
        "  \n ",
    ],
)
def test_a_changed_word_number_or_cut_word_is_not_found(quote: str) -> None:
    assert found(quote) is None


@pytest.mark.parametrize(
    "quote",
    [
        "(net of tax) the fee is due",
        "“Net fees” are due.",
        '"Net fees" are due',
        "[net fees] are due",
        "¿Cuánto?",
    ],
)
def test_the_marks_around_a_quote_belong_to_it(quote: str) -> None:
    assert found(quote, f"It says: {quote} Then it ends.") == quote


def test_an_opening_mark_is_the_one_on_the_page() -> None:
    assert found("(net fees are due", "It says: “net fees are due”.") == "net fees are due"
    assert found("(net fees are due", "net fees are due)") == "net fees are due"


def test_final_marks_are_kept_as_far_as_the_page_has_them() -> None:
    assert found("(net fees are due.)", "(Net fees are due.)") == "(Net fees are due.)"
    assert found("net fees are due.”", "“Net fees are due.” he said") == "Net fees are due.”"
    assert found("net fees are due.)", "Net fees are due. And more.") == "Net fees are due."
    assert found("net fees are due!", "Net fees are due.)") == "Net fees are due"


def test_a_minus_sign_and_a_decimal_point_count() -> None:
    assert found("fell to -5", "It fell to -5 degrees.") == "fell to -5"
    assert found("fell to 5", "It fell to -5 degrees.") is None
    assert found("cost 15", "It cost 1.5 million.") is None


def test_line_breaks_inside_chinese_and_japanese_do_not_matter() -> None:
    assert found("东京的夏天", "今年东京\n的夏天很热。") == "东京\n的夏天"


@given(st.text(max_size=200), st.data())
def test_a_located_span_has_the_text_of_the_quote(page: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(page)))
    end = data.draw(st.integers(start, len(page)))
    span = locate(page[start:end], page)
    assert span is None or (0 <= span.start < span.end <= len(page))


@given(st.lists(st.from_regex(r"[A-Za-z0-9]{1,8}", fullmatch=True), min_size=3, max_size=30), st.data())
def test_any_run_of_whole_words_is_found_with_any_spacing(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 2))
    end = data.draw(st.integers(start + 1, len(words)))
    page = "\n".join(words)
    assert locate("  ".join(words[start:end]), page) is not None


@given(
    st.lists(st.sampled_from(["Fee", "5", "1,5", "-", "[S2]", "\n", ".", "é", "水", " ", "(a)"])).map(
        " ".join
    ),
    st.sampled_from(["fee 5", "5 1,5", "1,5", "fee", "a", "水 fee"]),
)
def test_a_quote_is_found_at_the_same_place_whatever_spaces_the_page_has(page: str, quote: str) -> None:
    # Words with plain spaces between them are read at once; those with other spaces one by one.
    finder = QuoteFinder(page.replace(" ", "\u2009"))
    assert list(QuoteFinder(page).find_all(quote)) == list(finder.find_all(quote))
