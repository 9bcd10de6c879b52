"""The double of Upstash Vector has the published grammar of filters, and refuses the rest."""

import pytest

from devkit.doubles.upstash_filter import Malformed, parse_filter

ISTANBUL = {
    "city": "Istanbul",
    "country": "Turkey",
    "is_capital": False,
    "population": 15460000,
    "economy": {"currency": "TRY", "industries": ["Tourism", "Textiles"]},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("country = 'Turkey' AND population = 15460000 AND is_capital = false", True),
        ("country != 'Germany' AND is_capital != true", True),
        ("is_capital = 0", True),
        ("population < 20000000", True),
        ("population >= 15460001", False),
        ('city = "Istanbul"', True),
        ("city GLOB '?[sz]*[^m-z]'", True),
        ("city NOT GLOB 'A*'", True),
        ("country IN ('Germany', 'Turkey')", True),
        ("country in ('Germany')", False),
        ("economy.currency NOT IN ('USD', 'EUR')", True),
        ("economy.industries CONTAINS 'Tourism'", True),
        ("economy.industries NOT CONTAINS 'Steel'", True),
        ("HAS FIELD economy.currency", True),
        ("HAS NOT FIELD economy.currency.sign", True),
        ("file_id = 'abc-123' OR country = 'Turkey'", True),
        ("country = 'Turkey' OR city = 'x' AND city = 'y'", True),
        ("(country = 'Turkey' OR city = 'x') AND city = 'y'", False),
        ("unknown != 'x'", False),
        ("population = 'Turkey'", False),
    ],
)
def test_filters_are_read_as_published(text: str, expected: bool) -> None:
    assert parse_filter(text)(ISTANBUL) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "country == 'x'",
        "country = 'it''s'",
        r"country = 'it\'s'",
        "country = Turkey",
        "'Turkey' = country",
        "country IN ()",
        "country IN ('a' 'b')",
        "country IN 'a'",
        "country eq 'a'",
        "country = 'a' AND",
        "(country = 'a'",
        "country = 'a'; drop",
        "country NOT = 'a'",
        "country < 'a'",
        "1country = 'a'",
        "HAS country",
    ],
)
def test_what_the_grammar_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse_filter(text)
