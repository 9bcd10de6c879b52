"""Whether quotes answer a question, or only come close to it."""

import re
from collections.abc import Collection, Sequence

from core.grounding.claims import PREDICATES
from core.grounding.sources import FencedSource
from core.offline.material import Material
from core.search.bm25 import Candidate, QuestionTerms, TextRanking
from core.text.answer_type import (
    asking_words,
    counted_words,
    has_what_is_asked,
    must_be_worked_out,
    office_words,
    owners_of_office,
)
from core.text.question_type import asks_for_explanation
from core.text.terms import detect_language, words

COVERED = 0.5
"""The share of the question, its rare terms counting more, that the best quote and its headings contain."""

SOURCE_TERMS = 2 / 3
"""The share of the question's terms that the source of the best quote contains."""

_CONDITIONAL = (
    r"(?:if|unless|where|when|wenn|falls|sofern|sollten?|si|s['’]il|lorsqu[e’']|quand|cuando|en cas? de)"
)
_CONDITION = re.compile(rf"{_CONDITIONAL}\b[^,]{{0,300}},", re.I)
_CAPITALISED = r"[A-ZÄÖÜÉ][\w-]{2,}"
_NAME = re.compile(rf"(?<=[\w,;'’\"“(] ){_CAPITALISED}")
_NAMES_IN_ROW = re.compile(rf"{_NAME.pattern}(?: {_CAPITALISED})+")
_NUMBER = re.compile(r"\d")


def answers(ranking: TextRanking, material: Material, chosen: Sequence[int]) -> bool:
    """Whether the chosen candidates answer the question: one of them has what it asks for."""
    question, candidates = ranking.question.text, material.candidates
    if must_be_worked_out(question):
        return False
    quoted = [material.sources[candidates[index].source] for index in chosen]
    if not _is_about_the_same(question, quoted):
        return False
    counted = set(ranking.question.terms_of(counted_words(question)))
    office = set(ranking.question.terms_of(office_words(question)))
    return any(
        _is_covered(ranking, candidates, index)
        and has_what_is_asked(question, candidates[index].text)
        and (not counted or counted & ranking.scores[index].terms)
        and office <= ranking.scores[index].covered
        and not _is_office_of_another(ranking, candidates[index].text)
        for index in chosen
    )


def can_answer(index: int, ranking: TextRanking, material: Material) -> bool:
    """False for a condition, and for a row of which only headings have a term if `how` or `why` is asked."""
    question, piece = ranking.question, material.piece(index)
    own = own_terms(index, ranking, material)
    if piece.kind == "row":
        return bool(own) or not asks_for_explanation(question.text)
    condition = _CONDITION.match(piece.text)
    if condition is None or not asks_figure(question.text):
        return True
    # `If a monthly fee is returned unpaid, 8 pounds are charged` does not say what the fee is.
    return not own <= set(question.terms_of(condition[0]))


def own_terms(index: int, ranking: TextRanking, material: Material) -> frozenset[str]:
    """The terms of the question in the text itself, without its headings and the header of its table."""
    piece, terms = material.piece(index), ranking.scores[index].terms
    if piece.text != material.candidates[index].text:
        terms = frozenset(ranking.question.terms_of(piece.text))
    return terms.intersection(ranking.question.terms)


def is_one_of_many(index: int, ranking: TextRanking, material: Material) -> bool:
    """Whether only headings connect a sentence with a question for a figure, and others below them have one.

    Below `School trip`, each sentence with a day would answer `When was the school trip?`.
    """
    question, best = ranking.question.text, material.candidates[index]
    if not asks_figure(question) or material.piece(index).kind != "sentence":
        return False
    if own_terms(index, ranking, material):
        return False
    place = (best.source, best.heading)
    alike = (each.text for each in material.candidates if (each.source, each.heading) == place)
    return sum(has_what_is_asked(question, text) for text in alike) > 1


def asks_figure(question: str) -> bool:
    """Whether an answer needs a number, a time or a name of a figure."""
    return not has_what_is_asked(question, "")


def has_only_names(asked: QuestionTerms, found: Collection[str]) -> bool:
    """Whether the terms that were found are those of names only, and the question has others.

    A signature has all the words of a name and says nothing of a salary.
    """
    named_or_asking = f"{' '.join(_names(asked.text))} {asking_words(asked.text)}"
    others = set(asked.terms).difference(asked.terms_of(named_or_asking))
    return bool(others) and others.isdisjoint(found)


def _is_covered(ranking: TextRanking, candidates: Sequence[Candidate], best: int) -> bool:
    """Whether the best quote has enough of the question, by weight, and its source enough of the terms."""
    own = ranking.scores[best]
    stated = _permissions(ranking, candidates[best].text)
    if has_only_names(ranking.question, own.covered | own.document_terms | stated):
        return False
    stated.update(ranking.question.terms_of(asking_words(ranking.question.text)))
    nearby = stated | own.document_terms
    for candidate, scored in zip(candidates, ranking.scores, strict=True):
        if candidate.source == candidates[best].source:
            nearby |= scored.covered
    if len(nearby) < SOURCE_TERMS * len(ranking.question.terms):
        return False
    return ranking.coverage(own.covered | own.document_terms | stated) >= COVERED


def _permissions(ranking: TextRanking, text: str) -> set[str]:
    """The question's words such as `allowed`, if the text has one too: `forbidden` answers the question."""
    if PREDICATES.isdisjoint(words(text)):
        return set()
    return {
        term
        for word in PREDICATES.intersection(words(ranking.question.text))
        for term in ranking.question.terms_of(word)
    }


def _is_office_of_another(ranking: TextRanking, text: str) -> bool:
    """Whether the text names who holds the office that the question asks for, but elsewhere only."""
    terms_of, asked = ranking.question.terms_of, ranking.question.terms
    owners = owners_of_office(ranking.question.text, text)
    return bool(owners) and all(set(asked).isdisjoint(terms_of(owner)) for owner in owners)


def _names(question: str) -> list[str]:
    """The words of the names in a question; German writes every noun with a capital."""
    is_german = detect_language(words(question)) == "de"
    return words(" ".join((_NAMES_IN_ROW if is_german else _NAME).findall(question)))


def _is_about_the_same(question: str, sources: Sequence[FencedSource]) -> bool:
    """Whether the sources, those of the quotes, have the names and numbers of the question."""
    numbers = [word for word in words(question) if _NUMBER.search(word)]
    names = _names(question)
    if not numbers and not names:
        return True
    known = {word for source in sources for word in words(f"{source.blob_name} {source.text}")}
    return all(name in known or name.removesuffix("s") in known for name in [*numbers, *names])
