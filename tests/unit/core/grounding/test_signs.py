"""Signs of numbers in quotes: a quote with another sign, or without it, is not found."""

import pytest

from core.grounding.quotes import locate


@pytest.mark.parametrize(
    ("quote", "page"),
    [
        ("5 degrees", "It was -5 degrees."),
        ("$5 was lost", "-$5 was lost"),
        ("138 in Berlin", "(138) in Berlin"),
        ("5 days of rain", "3–5 days of rain"),
        ("rain for 3", "rain for 3–5 days"),
        ("it costs 500", "it costs 500€ a day"),
        ("salt of 5", "salt of 5 ‰"),
        ("5 mg per litre", "<5 mg per litre"),
    ],
)
def test_a_quote_does_not_begin_or_end_between_a_number_and_its_sign(quote: str, page: str) -> None:
    assert locate(quote, page) is None


@pytest.mark.parametrize(
    ("quote", "page", "found"),
    [
        ("Result ( 138 ) in Berlin", "The Result (138) in Berlin fell", "Result (138) in Berlin"),
        ("(138) in Berlin", "Result (138) in Berlin fell", "(138) in Berlin"),
        ("limit <5 mg", "The limit < 5 mg holds", "limit < 5 mg"),
        ("pH<5", "A pH < 5 is sour", "pH < 5"),
        ("3-5 days", "It rains 3 – 5 days", "3 – 5 days"),
        ("the form <Name> is", "Fill in the form\n<Name> is your own", "the form\n<Name> is"),
        ("Two cabins. A view.", "► Two cabins.\n► A view.", "Two cabins.\n► A view."),
    ],
)
def test_the_place_of_a_quote_with_signs(quote: str, page: str, found: str) -> None:
    span = locate(quote, page)
    assert span is not None
    assert page[span.start : span.end] == found
