"""Words that were copied from a text are found again."""

import pytest

from orc_core.text.quotes import Span, locate

TEXT = "The  infor-\nmation desk\nis at 12 Quay\u00ad side. The US office has moved. 旅费为三十元。"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("The information desk is at 12", "The  infor-\nmation desk\nis at 12"),
        ("the INFORMATION desk", "The  infor-\nmation desk"),
        ("US", "US"),
        ("旅费为三十元", "旅费为三十元"),
        ("office has  moved.", "office has moved."),
    ],
)
def test_white_space_hyphens_and_case_may_differ(quote: str, found: str) -> None:
    span = locate(quote, TEXT)
    assert span is not None
    assert TEXT[span.start : span.end] == found


@pytest.mark.parametrize("quote", ["", "  ", "form", "at 1", "The office", "U"])
def test_other_words_and_parts_of_words_are_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


def test_the_first_place_is_returned() -> None:
    assert locate("the", "Then the quay, the mole") == Span(5, 8)
