"""The summaries of a whole document, picked from those of its pages."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from core.documents.analysis.context import DocumentContext
from core.documents.analysis.models import PageAnalysis
from core.documents.analysis.spelling import spelled, terms
from core.documents.analysis.summaries import WEAK_FACTOR, Candidate, central, is_fit, opens_weakly
from core.text.sentences import sentences

SUMMARY_SENTENCES = 4
MOST_LINES = 400
LONGEST_LINE = 400
EARLY_BONUS = 0.3
DEFINING_BONUS = 0.5

_DEFINING = re.compile(
    r"(?:(?:The|Der|Die|Das|El|La|Le|Il)\s)?[^\W\d_a-z][\w’'-]*(?:\s[^\W\d_a-z][\w’'-]*){0,4}\s"
    r"(?:is|are|was|ist|sind|war|es|son|fue|est|sont|è)\s"
    r"(?:an?|the|one|ein|eine|der|die|das|un|una|une|el|la|le|los|las|il)\b"
)
"""A sentence that says what something is: `Contoso is a ...`."""


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
    """A line for each page that says something; where there are very many, for a few pages together."""
    told = [page for page in pages if page.summary]
    size = math.ceil(len(told) / MOST_LINES) or 1
    if size == 1:
        return [f"p. {page.page}: {_shortened(page.summary)}" for page in told]
    groups = [told[start : start + size] for start in range(0, len(told), size)]
    return [
        f"{page_range(group[0].page, group[-1].page)}: {' '.join(_central(group, 1, context))}"
        for group in groups
    ]


def page_range(first: int, last: int) -> str:
    """`p. 5` or `pp. 5–7`."""
    return f"p. {first}" if first == last else f"pp. {first}–{last}"


def _central(pages: Sequence[PageAnalysis], count: int, context: DocumentContext) -> list[str]:
    places = {text: place for place, page in enumerate(pages) for text in sentences(page.summary)}
    said = list(places)
    candidates = [_candidate(text, 1 - places[text] / len(pages), context) for text in said if is_fit(text)]
    picked = central(candidates, count, lambda term: math.sqrt(context.rarity(term)))
    return picked or [_shortened(text) for text in said[:1]]


def _candidate(text: str, earliness: float, context: DocumentContext) -> Candidate:
    """`earliness` is 1 at the start of the document and 0 at its end."""
    found = [term for term in terms(spelled(text), context.language) if term]
    weight = 1 + EARLY_BONUS * earliness + DEFINING_BONUS * bool(_DEFINING.match(text))
    return Candidate(text, tuple(found), weight * (WEAK_FACTOR if opens_weakly(text) else 1.0))


def _shortened(summary: str) -> str:
    """As many whole sentences as fit a line, at least one, cut only where it is longer than that."""
    kept = ""
    for sentence in sentences(summary):
        if kept and len(kept) + len(sentence) >= LONGEST_LINE:
            break
        kept = f"{kept} {sentence}".strip()
    return kept if len(kept) <= LONGEST_LINE else kept[: kept.rfind(" ", 0, LONGEST_LINE)] + " …"
