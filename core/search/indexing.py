"""A document's passages as the index keeps them: the places of every term, and what its cover says."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.documents.models import Passage
from core.search.periods import Period, cover_period
from core.search.scope_table import Layout
from core.text.dates import find_dates
from core.text.terms import detect_language, has_digit, stems, words

_UNSIGNED = "I"


class Analysis(NamedTuple):
    """A document as the index keeps it; `positions` and `headings` as in Evidence, by stem."""

    language: str
    period: Period | None
    layout: Layout
    positions: "dict[str, array[int]]"
    headings: "dict[str, array[int]]"


def analyse(passages: Sequence[Passage]) -> Analysis:
    """Take a document's passages apart into stems of its own language."""
    spelled = [words(passage.text) for passage in passages]
    language = detect_language(word for found in spelled for word in found)
    starts, digits = integers([0]), integers()
    positions: dict[str, array[int]] = defaultdict(integers)
    headings: dict[str, array[int]] = defaultdict(integers)
    for ordinal, (passage, found) in enumerate(zip(passages, spelled, strict=True)):
        terms = [*_terms(found, language), *find_dates(passage.text)]
        for position, term in enumerate(terms, starts[-1]):
            positions[term].append(position)
        for term in set(_terms(words(passage.heading), language)):
            headings[term].append(ordinal)
        starts.append(starts[-1] + len(terms) + 1)
        digits.append(sum(map(has_digit, terms)))
    pages = integers(passage.page for passage in passages)
    return Analysis(language, _cover(passages), Layout(pages, starts, digits), positions, headings)


def integers(numbers: bytes | Iterable[int] = ()) -> "array[int]":
    """Numbers in the form in which they are stored: four bytes each."""
    return array(_UNSIGNED, numbers)


def _terms(spelled: list[str], language: str) -> list[str]:
    return [stem for stem in stems(spelled, language) if stem]


def _cover(passages: Sequence[Passage]) -> Period | None:
    first = passages[0].page if passages else 0
    return cover_period("\n".join(passage.text for passage in passages if passage.page == first))
