"""Extractive summaries: the most central sentences of a text, word for word."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.models import PageAnalysis
from orc_core.infra.slices import slices
from orc_core.text.sentences import sentences
from orc_core.text.terms import words

SHORTEST, LONGEST = 30, 420
LEAST_LETTERS = 0.6
TOO_SIMILAR = 0.5
FIRST_BONUS = 0.3
SAID_ONCE = 0.3
USUAL_LENGTH = 15
LENGTH_POWER = 0.7
"""Between 0 (the longest sentence is always the most central) and 1 (length does not matter)."""

_NO_LETTERS = re.compile(r"[\W\d_]+")

Rarity = Callable[[str], float]


@dataclass(frozen=True)
class Candidate:
    """A sentence with its terms; `weight` is its suitability regardless of its terms."""

    text: str
    terms: tuple[str, ...]
    weight: float = 1.0


def candidate(text: str, context: DocumentContext, weight: float = 1.0) -> Candidate:
    """A sentence of a document as a candidate."""
    return Candidate(text, tuple(filter(None, context.terms(words(text)))), weight)


def central(candidates: Sequence[Candidate], count: int, rarity: Rarity) -> list[str]:
    """The `count` most central sentences that are not alike, in their order."""
    picked: list[int] = []
    for index in _ranked(candidates, rarity):
        if len(picked) == count:
            break
        if all(_likeness(candidates[index], candidates[other]) < TOO_SIMILAR for other in picked):
            picked.append(index)
    return [candidates[index].text for index in sorted(picked)]


def is_fit(sentence: str) -> bool:
    """Whether a sentence has a length fit for a summary and consists of words."""
    shortest = SHORTEST if sentence.isascii() else SHORTEST / 2
    letters = _NO_LETTERS.sub("", sentence)
    return shortest <= len(sentence) <= LONGEST and len(letters) >= len(sentence) * LEAST_LETTERS


def _ranked(candidates: Sequence[Candidate], rarity: Rarity) -> list[int]:
    total = Counter(term for candidate in candidates for term in set(candidate.terms))
    weight = {
        term: math.sqrt(times) * rarity(term) if times > 1 else SAID_ONCE * rarity(term)
        for term, times in total.items()
    }
    scores = []
    for place, candidate in enumerate(candidates):
        own = set(candidate.terms)
        centrality = sum(weight[term] for term in own) / math.pow(len(own) + USUAL_LENGTH, LENGTH_POWER)
        scores.append((1 + FIRST_BONUS / (1 + place)) * candidate.weight * centrality)
    return sorted(range(len(candidates)), key=lambda index: -scores[index])


def _likeness(one: Candidate, other: Candidate) -> float:
    mine, its = set(one.terms), set(other.terms)
    return len(mine & its) / (min(len(mine), len(its)) or 1)


SUMMARY_SENTENCES = 4
MOST_LINES = 400
LONGEST_LINE = 400
EARLY_BONUS = 0.3


class Overview(NamedTuple):
    """One paragraph, and a line or more for each part of the document."""

    summary: str
    detailed: str


def overview(pages: Sequence[PageAnalysis], context: DocumentContext) -> Overview:
    """The most central sentences of a document, and of each page: `p. 5: ...`."""
    return Overview(summarise(pages, context), "\n".join(list_pages(pages, context)))


def summarise(pages: Sequence[PageAnalysis], context: DocumentContext) -> str:
    """One paragraph from the pages' summaries, in their order."""
    return " ".join(_central(pages, SUMMARY_SENTENCES, context))


def list_pages(pages: Sequence[PageAnalysis], context: DocumentContext) -> list[str]:
    """A line for each page with a summary; in a very long document, for a few pages together."""
    summarised = [page for page in pages if page.summary]
    size = math.ceil(len(summarised) / MOST_LINES) or 1
    if size == 1:
        return [f"p. {page.page}: {_shortened(page.summary)}" for page in summarised]
    return [
        f"{page_range(group[0].page, group[-1].page)}: {' '.join(_central(group, 1, context))}"
        for group in slices(summarised, size)
    ]


def page_range(first: int, last: int) -> str:
    """`p. 5` or `pp. 5–7`."""
    return f"p. {first}" if first == last else f"pp. {first}–{last}"


def _central(pages: Sequence[PageAnalysis], count: int, context: DocumentContext) -> list[str]:
    places = {text: place for place, page in enumerate(pages) for text in sentences(page.summary)}
    texts = list(places)
    candidates = [
        candidate(text, context, 1 + EARLY_BONUS * (1 - places[text] / len(pages)))
        for text in texts
        if is_fit(text)
    ]
    picked = central(candidates, count, lambda term: math.sqrt(context.rarity(term)))
    return picked or [_shortened(text) for text in texts[:1]]


def _shortened(summary: str) -> str:
    """As many whole sentences as fit a line; a first sentence that is longer is cut."""
    kept = ""
    for sentence in sentences(summary):
        if kept and len(kept) + len(sentence) >= LONGEST_LINE:
            break
        kept = f"{kept} {sentence}".strip()
    return kept if len(kept) <= LONGEST_LINE else kept[: kept.rfind(" ", 0, LONGEST_LINE)] + " …"
