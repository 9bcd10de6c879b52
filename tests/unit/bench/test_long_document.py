"""What turns about the long document are scripted with, and which of them count."""

from typing import Any

import pytest

from bench.annual_report import FACTS, QUESTION
from bench.long_document import check_citations, cited_answer
from orc_core.grounding.sources import FencedSource

GOOD = {"verified": True, "rectangles": [{"left": 0, "top": 0, "right": 1, "bottom": 0.1}]}


def sources(*texts: str) -> list[FencedSource]:
    return [
        FencedSource(number=at, blob_name="a.pdf", page=at, text=text) for at, text in enumerate(texts, 1)
    ]


def test_the_answer_cites_the_three_sentences_that_share_most_words_with_the_question() -> None:
    other = (
        "The audit committee considered cyber attacks in March 2024 and decided on quarterly stress tests."
    )
    found = sources(other, f"{other} {FACTS[0]}", FACTS[1].replace("after", "after\n"), FACTS[2])
    answer = cited_answer(found, QUESTION)
    for fact, number in zip(FACTS, (2, 3, 4), strict=True):
        assert f"{fact} [S{number}]" in answer
    assert other not in answer


def test_there_is_no_answer_without_three_sentences() -> None:
    with pytest.raises(ValueError, match="1 sentences"):
        cited_answer(sources(FACTS[0]), QUESTION)


@pytest.mark.parametrize("third", [{**GOOD, "verified": False}, {**GOOD, "rectangles": []}, None])
def test_a_turn_without_three_checked_and_located_citations_does_not_count(
    third: dict[str, Any] | None,
) -> None:
    check_citations([GOOD, GOOD, GOOD])
    with pytest.raises(ValueError, match="2 of"):
        check_citations([GOOD, GOOD, *([third] if third else [])])
