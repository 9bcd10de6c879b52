"""Quotes located on pages, and sentences that support a claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.evidence import Evidence
from core.grounding.page_sentences import page_sentences
from core.grounding.quotes import QuoteFinder, Span, locate

PAGE = (
    "2. Travel\n"
    "The daily allowance in Oslo is 1,250.50 kroner. It is not paid for trips under six hours.\n"
    "Ex-\nceptions are approved by the harbour master. The ﬁnal report is due within 14 days of return.\n"
)
EVERYWHERE = Span(0, len(PAGE))


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


def supported(claim: str) -> str | None:
    span = Evidence(PAGE).find(claim, EVERYWHERE)
    return PAGE[span.start : span.end] if span else None


def test_a_paraphrase_with_the_same_numbers_is_supported() -> None:
    quote = supported("In Oslo the allowance per day is 1,250.50 kroner.")
    assert quote is not None
    assert "1,250.50 kroner" in quote


@pytest.mark.parametrize(
    "claim",
    [
        "In Oslo the daily allowance is 1,300 kroner.",
        "It is paid for trips under six hours.",
        "The harbour master never approves exceptions.",
        "Ships must register with the coast guard before arrival.",
        'The handbook says "exceptions are approved by the minister himself".',
    ],
)
def test_a_changed_number_negation_or_word_is_not_supported(claim: str) -> None:
    assert supported(claim) is None


def test_sentences_continue_over_line_breaks_but_not_over_paragraphs() -> None:
    text = "One goes\non here. Two costs 3.50 today!\n\nThree"
    assert [text[s.start : s.end] for s in page_sentences(text)] == [
        "One goes\non here.",
        "Two costs 3.50 today!",
        "Three",
    ]


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
