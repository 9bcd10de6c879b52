"""Whether quotes answer a question, or only come close to it."""

import re
from collections.abc import Sequence

from core.grounding.claims import PREDICATES
from core.grounding.sources import FencedSource
from core.offline.material import Material
from core.search.bm25 import Candidate, TextRanking
from core.text.answer_type import asking_words, counted_words, has_what_is_asked, must_be_worked_out
from core.text.terms import detect_language, words

COVERED = 0.5
"""The share of the question, its rare terms counting more, that the best quote and its headings contain."""

SOURCE_TERMS = 2 / 3
"""The share of the question's terms that the source of the best quote contains."""

_NAME = re.compile(r"(?<=[\w,;'’\"“(] )[A-ZÄÖÜÉ][\w-]{2,}")
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
    return any(
        _is_covered(ranking, candidates, index)
        and has_what_is_asked(question, candidates[index].text)
        and (not counted or counted & ranking.scores[index].terms)
        for index in chosen
    )


def _is_covered(ranking: TextRanking, candidates: Sequence[Candidate], best: int) -> bool:
    """Whether the best quote has enough of the question, by weight, and its source enough of the terms."""
    own = ranking.scores[best]
    stated = _permissions(ranking, candidates[best].text)
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


def _is_about_the_same(question: str, sources: Sequence[FencedSource]) -> bool:
    """Whether the sources, those of the quotes, have the names and numbers of the question."""
    asked = words(question)
    numbers = [word for word in asked if _NUMBER.search(word)]
    # German writes every noun with a capital.
    names = [] if detect_language(asked) == "de" else words(" ".join(_NAME.findall(question)))
    if not numbers and not names:
        return True
    known = {word for source in sources for word in words(f"{source.blob_name} {source.text}")}
    return all(name in known or name.removesuffix("s") in known for name in [*numbers, *names])
