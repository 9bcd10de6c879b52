"""Abbreviations and defined terms."""

import pytest

from core.analysis.abbreviations import find_abbreviations, find_terms


def abbreviations(text: str) -> list[tuple[str, str]]:
    return [(each.long, each.short) for each in find_abbreviations(text)]


def defined(text: str) -> list[tuple[str, str]]:
    return [(each.long, each.short) for each in find_terms(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the Northwind Health Plus (NHP) plan", ("Northwind Health Plus", "NHP")),
        ("your Explanation of Benefits (EOB) arrives", ("Explanation of Benefits", "EOB")),
        ("graphics processing units (“GPUs”) are", ("graphics processing units", "GPUs")),
        ("the Social Security Administration (SSA)", ("Social Security Administration", "SSA")),
        ("Program-Guided Fact-Checking (PROGRAMFC), a", ("Program-Guided Fact-Checking", "PROGRAMFC")),
        (
            "de la Asociación Polaca de Fútbol (PZPN, por sus siglas en polaco)",
            ("Asociación Polaca de Fútbol", "PZPN"),
        ),
    ],
)
def test_the_complete_long_form_of_an_abbreviation_is_found(text: str, expected: tuple[str, str]) -> None:
    assert abbreviations(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "principles generally accepted in the United States of America (“GAAP”)",
        "It was sold (USA) again.",
        "In Proceedings of the Joint Conference on Artificial Intelligence (IJCAI)",
        "see the appendix (A) below",
        "(NHP)",
    ],
)
def test_brackets_without_an_abbreviation_are_ignored(text: str) -> None:
    assert abbreviations(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("between Contoso Ltd. (the “Company”) and", ("Contoso Ltd.", "Company")),
        ('and Fabrikam Inc. (hereinafter the "Customer").', ("Fabrikam Inc.", "Customer")),
        ("der Müller GmbH (nachfolgend „Verkäufer“)", ("Müller GmbH", "Verkäufer")),
        ("bought ZeniMax Media Inc. (“ZeniMax”), the", ("ZeniMax Media Inc.", "ZeniMax")),
        ("“Premium” means the yearly fee.", ("the yearly fee", "Premium")),
    ],
)
def test_a_defined_term_abbreviates_the_name_before_it(text: str, expected: tuple[str, str]) -> None:
    assert defined(text) == [expected]


def test_a_defined_term_without_a_name_before_it_is_still_found() -> None:
    text = "as filed with the Securities and Exchange Commission (the “Report”)"
    assert defined(text) == [("", "Report")]


def test_function_calls_define_nothing() -> None:
    assert defined('answer = Question("Where is it?") and Verify("It is there.")') == []
