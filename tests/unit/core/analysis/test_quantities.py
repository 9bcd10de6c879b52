"""Dates, amounts, percentages and addresses, as people write them."""

import pytest

from core.analysis.quantities import find_addresses, find_quantities


def found(text: str) -> list[tuple[str, str]]:
    return [(mention.name, mention.type) for mention in find_quantities(text)]


@pytest.mark.parametrize(
    "date",
    [
        "July 25, 2024",
        "July 9-14, 2023",
        "25 July 2024",
        "12. Januar 2023",
        "5 de mayo de 2020",
        "1er janvier 2021",
        "2024-07-25",
        "25.07.2024",
        "September 2020",
        "Q4 2023",
        "fiscal year 2023",
        "2023年4月",
    ],
)
def test_dates_are_found_whole(date: str) -> None:
    assert found(f"It ends {date}, they say.") == [(date, "date")]


@pytest.mark.parametrize(
    "amount",
    [
        "$800 million",
        "EUR 1,200",
        "1.200 Euro",
        "3,5 Mio. Euro",
        "€ 3.5 bn",
        "US$ 5",
        "20-33 hours",
        "180 days",
        "10 business days",
        "12 km",
        "500万円",
    ],
)
def test_amounts_are_found_with_their_units(amount: str) -> None:
    assert found(f"It takes {amount}, they say.") == [(amount, "amount")]


@pytest.mark.parametrize("share", ["3.5 %", "99.8%", "10 percent", "5 Prozent", "2,5 por ciento"])
def test_percentages_are_found(share: str) -> None:
    assert found(f"It is {share} now.") == [(share, "percentage")]


def test_a_year_counts_after_a_preposition_only() -> None:
    assert found("Founded in 1946, it has 1946 members.") == [("1946", "date")]


def test_plain_numbers_are_nothing() -> None:
    assert found("Call 911 for room 12 on floor 3.") == []


def test_addresses_end_before_the_punctuation_of_the_sentence() -> None:
    text = "Write to anna.b@contoso.co.uk, or see https://contoso.com/a?b=1."
    assert [(each.name, each.type) for each in find_addresses(text)] == [
        ("anna.b@contoso.co.uk", "email"),
        ("https://contoso.com/a?b=1", "url"),
    ]


def test_mentions_stand_where_they_say() -> None:
    text = "From July 25, 2024 on it costs $5 or 3 %."
    for mention in find_quantities(text):
        assert text[mention.start : mention.end] == mention.name
