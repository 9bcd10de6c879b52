"""Extractive summaries: the most central sentences of a text, word for word."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.analysis.document_context import DocumentContext
from core.analysis.models import PageAnalysis
from core.analysis.page_text import spelled, terms
from core.infra.slices import slices
from core.text.sentences import sentences

SHORTEST, LONGEST = 30, 420
MOST_SIGNS = 0.4
TOO_SIMILAR = 0.5
FIRST_BONUS = 0.3
SAID_ONCE = 0.3
WEAK_FACTOR = 0.7
"""The weight of a sentence that depends on the one before it."""
USUAL_LENGTH = 15
WEAK_OPENINGS = frozenset(
    "this that these those it they he she however but and or also additionally furthermore therefore "
    "thus finally if generally conclusion both dies diese dieser dieses er sie es jedoch aber und auch daher "
    "außerdem esto esta este estos estas además pero sin también su sus ce cette ces il elle mais".split()
)
"""A sentence that begins with one of these depends on the one before it."""
LENGTH_POWER = 0.7
"""Between 0 (the longest sentence is always the most central) and 1 (length does not matter)."""

_WEAK_PHRASES = tuple(
    "In addition|In conclusion|For example|In this case|In this way|Zum Beispiel|Por ejemplo".split("|")
)

_NO_LETTERS = re.compile(r"[\W\d_]+")
_NO_ASCII_LETTERS = {code: None for code in range(128) if not chr(code).isalpha()}
# Each alternative begins with one letter, and then looks back: the others are skipped fast.
_NO_PROSE = re.compile(
    r"@|\||://|www\.|P(?<!\w.)roceedings of\b|arXiv:|d(?<!\w.)oi\b|p(?<!\w.)p\.\s\d"
    r"|\.(?<=[a-z].)\d{1,2}\s(?:\d\s)?[A-Z]"
)
"""Addresses, bibliographies, and sentences joined by a footnote's number."""

Rarity = Callable[[str], float]


@dataclass(frozen=True)
class Candidate:
    """A sentence with its terms; `weight` is its suitability regardless of its terms."""

    text: str
    terms: tuple[str, ...]
    weight: float = 1.0


def central(candidates: Sequence[Candidate], count: int, rarity: Rarity) -> list[str]:
    """The `count` most central sentences that are not alike, in their order."""
    picked: list[int] = []
    for index in _ranked(candidates, rarity):
        if len(picked) == count:
            break
        if all(_likeness(candidates[index], candidates[other]) < TOO_SIMILAR for other in picked):
            picked.append(index)
    return [candidates[index].text for index in sorted(picked)]


def opens_weakly(sentence: str) -> bool:
    """Whether a sentence depends on the one before it."""
    first = sentence.split(maxsplit=1)[0] if sentence.strip() else ""
    return first.casefold().strip(",;:") in WEAK_OPENINGS or sentence.startswith(_WEAK_PHRASES)


def is_fit(sentence: str) -> bool:
    """Whether a sentence has a length fit for a summary and consists of words."""
    shortest = SHORTEST if sentence.isascii() else SHORTEST / 2
    if not shortest <= len(sentence) <= LONGEST:
        return False
    is_ascii = sentence.isascii()
    letters = sentence.translate(_NO_ASCII_LETTERS) if is_ascii else _NO_LETTERS.sub("", sentence)
    return len(sentence) - len(letters) < len(sentence) * MOST_SIGNS and not _NO_PROSE.search(sentence)


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
    candidates = [_candidate(text, 1 - places[text] / len(pages), context) for text in texts if is_fit(text)]
    picked = central(candidates, count, lambda term: math.sqrt(context.rarity(term)))
    return picked or [_shortened(text) for text in texts[:1]]


def _candidate(text: str, earliness: float, context: DocumentContext) -> Candidate:
    """`earliness` is 1 at the start of the document and 0 at its end."""
    found = [term for term in terms(spelled(text), context.language) if term]
    weight = 1 + EARLY_BONUS * earliness + DEFINING_BONUS * bool(_DEFINING.match(text))
    return Candidate(text, tuple(found), weight * (WEAK_FACTOR if opens_weakly(text) else 1.0))


def _shortened(summary: str) -> str:
    """As many whole sentences as fit a line; a first sentence that is longer is cut."""
    kept = ""
    for sentence in sentences(summary):
        if kept and len(kept) + len(sentence) >= LONGEST_LINE:
            break
        kept = f"{kept} {sentence}".strip()
    return kept if len(kept) <= LONGEST_LINE else kept[: kept.rfind(" ", 0, LONGEST_LINE)] + " …"
