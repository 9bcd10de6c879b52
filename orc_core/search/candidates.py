"""The first stage of a search over very many documents: those whose passages are worth ranking."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from orc_core.search.bm25 import idf, saturation
from orc_core.search.document_match import joined_words, name_parts, reported_periods
from orc_core.search.query import Period, Question
from orc_core.text.terms import stems

WIDE = 200
"""The most documents of which all passages are ranked. Of more documents, this many candidates are ranked."""
NAME, PERIOD = "\x01name:", "\x01period:"
"""The prefixes of terms for a document's name and for the periods it reports on; no word has one."""
OF_DOCUMENT = 2.0
"""The weight of a term about the document as a whole, a word of its text being 1."""

Asked = Mapping[str, float]
"""The terms of a question with their weights."""


def document_terms(name: str, cover: Period | None) -> list[str]:
    """The terms of a document as a whole, which are stored with those of its text."""
    periods = reported_periods(name, cover)
    named = [PERIOD + _spelled(each) for period in periods for each in {period, Period(period.year)}]
    return sorted({*(NAME + part for part in name_parts(name)), *named})


def question_terms(question: Question, languages: Iterable[str]) -> Asked:
    """The weighted terms of a question, as documents in these languages have them."""
    asked = {NAME + part: OF_DOCUMENT for part in joined_words(question.text)}
    asked |= {PERIOD + _spelled(period): OF_DOCUMENT for period in question.periods}
    for word, weight in _words(question):
        for language in languages:
            for stem in stems([word], language):
                if stem:
                    asked[stem] = max(weight, asked.get(stem, 0.0))
    return asked


# Why there are two stages, and what they miss: docs/decisions/many-documents.md.
def best_documents(found: Iterable[tuple[str, int, int]], asked: Asked, total: int, most: int) -> list[int]:
    """The keys of the best of `total` documents by BM25, at most `most`; of equally good ones, the first.

    `found`: term, key of a document, and how often the document has the term.
    """
    occurrences: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for term, key, count in found:
        occurrences[term].append((key, count))
    scores: dict[int, float] = defaultdict(float)
    for term, documents in occurrences.items():
        weight = asked[term] * idf(len(documents), total)
        for key, count in documents:
            scores[key] += weight * saturation(count, 1.0)
    return heapq.nsmallest(most, scores, key=lambda key: (-scores[key], key))


def _words(question: Question) -> Iterator[tuple[str, float]]:
    """The words of the question, and those of the concepts that stand for them."""
    yield from ((word, 1.0) for word in question.words)
    for expansion in question.expansions:
        yield from ((word, EXPANDED) for phrase in expansion.phrases() for word in phrase)


EXPANDED = 0.3
"""The weight of a word that only an expansion of the question has."""


def _spelled(period: Period) -> str:
    return f"{period.year}Q{period.quarter}" if period.quarter else str(period.year)
