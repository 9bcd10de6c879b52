"""Pieces of text ranked by a question, without an index."""

import pytest

from orc_core.search.bm25 import Candidate, QuestionTerms, TextRanking

TEXTS = [
    "The garage opens at seven.",
    "The annual fee of the garage is 120 dollars.",
    "Lunch is served at noon.",
]


def rank(question: str, *candidates: Candidate) -> list[int]:
    return TextRanking(question, candidates).matching()


def test_matching_texts_are_ranked_best_first_and_others_left_out() -> None:
    assert rank("What is the annual fee of the garage?", *map(Candidate, TEXTS)) == [1, 0]


def test_no_candidates_give_an_empty_ranking() -> None:
    ranking = TextRanking("What is the fee?", [])
    assert ranking.matching() == ranking.best_first() == []
    assert ranking.coverage(["fee"]) == 1.0


def test_a_question_for_a_number_prefers_a_text_with_a_number() -> None:
    texts = Candidate("The fee is high for members."), Candidate("The fee is 120 for members.")
    assert rank("How much is the fee?", *texts) == [1, 0]


def test_a_heading_and_a_file_name_count_for_its_texts() -> None:
    below = (
        Candidate("It is due in May.", heading="Annual fee"),
        Candidate("It is due in June.", heading="Lunch"),
    )
    assert rank("When is the annual fee due?", *below)[0] == 0
    files = Candidate("It is due.", document="lunch_menu.pdf"), Candidate("It is due.", document="garage.pdf")
    assert rank("When is it due for the garage?", *files)[0] == 1


def test_a_part_of_a_sentence_counts_less_than_a_whole_one() -> None:
    text = "The annual fee is due in May."
    assert rank("When is the annual fee due?", Candidate(text, is_fragment=True), Candidate(text)) == [1, 0]


def test_coverage_weighs_rare_terms_more() -> None:
    ranking = TextRanking("garage fee", [Candidate(text) for text in TEXTS])
    (garage,), (fee,) = (ranking.question.terms_of(word) for word in ("garage", "fee"))
    assert 0 < ranking.coverage([garage]) < ranking.coverage([fee]) < 1
    assert ranking.coverage([garage, fee]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "is_specific"), [("What is the fee?", True), ("What does it say?", False)]
)
def test_a_question_of_generic_words_is_not_specific(question: str, is_specific: bool) -> None:
    assert QuestionTerms(question).is_specific is is_specific
