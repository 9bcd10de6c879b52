"""Checks of citations in words, which call nothing unverified that is in other words."""

import json
from pathlib import Path
from typing import get_args

import pytest

import orc.words
from devkit.remembered_turns import citation
from orc.words import check_words, summary_words, words_of
from orc_core.grounding.models import CitationCheck

CHECKS = get_args(CitationCheck)
PAGE_WORDS = Path(orc.words.__file__).parent / "web" / "words"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("quoted", "same words"),
        ("supported", "checked by a second reading"),
        ("reworded", "in other words"),
        ("differs", "differs: 1,084 is not on the page"),
        ("unsupported", "not supported: The page says nothing of it."),
        ("picture", "read from the picture of the page, not checked"),
    ],
)
def test_each_check_has_its_words(check: CitationCheck, words: str) -> None:
    fields = {"check": check, "missing": ["1,084"], "reason": "The page says\nnothing of it."}
    assert check_words(citation().model_copy(update=fields)) == words


@pytest.mark.parametrize("language", ["de", "en", "fr"])
@pytest.mark.parametrize("check", ["quoted", "reworded"])
@pytest.mark.parametrize("by_code", [False, True])
def test_who_found_a_source_is_said_as_on_the_page(
    language: str, check: CitationCheck, *, by_code: bool
) -> None:
    page = json.loads((PAGE_WORDS / f"{language}.json").read_text())
    cited = citation().model_copy(update={"check": check, "by_code": by_code})
    said = check_words(cited, words_of(language))
    assert said == page[f"verdict.{check}.by_code" if by_code else f"verdict.{check}"]
    assert by_code == ("Orc" in said)


def test_some_of_many_numbers_are_named() -> None:
    differing = citation().model_copy(update={"check": "differs", "missing": ["7", "8", "9", "10", "11"]})
    assert check_words(differing) == "differs: 7, 8, 9 and 2 others are not on the page"


def test_the_summary_counts_by_check() -> None:
    cited = [citation().model_copy(update={"check": check}) for check in ("quoted", "quoted", "reworded")]
    assert summary_words(cited) == "3 sources: 2 in the same words, 1 in other words"
    assert summary_words(cited[2:]) == "1 source: 1 in other words"
    close = citation().model_copy(update={"closest": True})
    assert (
        summary_words([cited[0], close]) == "1 source: 1 in the same words; 1 closest passage, not an answer"
    )
    assert summary_words([]) == "No sources"


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_is_counted(check: CitationCheck) -> None:
    assert summary_words([citation().model_copy(update={"check": check})]).startswith("1 source: 1 ")
