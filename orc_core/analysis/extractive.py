"""Page analysis without a model: central sentences, phrases that are repeated, and headings.

Entities, relations and other anchors need a model.
See docs/decisions/page-analysis.md.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from orc_core.analysis.document_context import DocumentContext, masked, text_of
from orc_core.analysis.models import EXTRACTIVE, Anchor, PageAnalysis
from orc_core.analysis.summaries import candidate, central, is_fit
from orc_core.models import Page
from orc_core.text.headings import find_headings
from orc_core.text.sentences import split_pieces

MOST_HEADINGS = 20
MOST_PIECES = 600
LONGEST_PIECE = 4000
LONGEST_FALLBACK = 200
MOST_TOPICS = 8
LONGEST_TOPIC = 60
GAINS = (0.9, 1.1, 0.9)
"""The weight of each word of a phrase, by the number of its words: two are usually specific enough."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BREAK = re.compile(r"[^\w\s'’-]+|[\d_]+|\s[-–]\s")

Phrase = tuple[str, ...]
"""The terms of a phrase."""


def analyse_page(page: Page, context: DocumentContext) -> PageAnalysis:
    """The analysis of a page in its own words. Deterministic: the same input gives the same result."""
    text = text_of(page, context.running)
    # Longer pieces are lists and tables without line ends, not sentences.
    pieces = [piece for piece in split_pieces(text)[:MOST_PIECES] if len(piece.text) <= LONGEST_PIECE]
    headings = dict.fromkeys(heading.text for heading in find_headings(text))
    anchors = [
        Anchor(kind="heading", text=heading, target_page=page.number)
        for heading in headings
        if masked(heading) not in context.running
    ]
    # One to three sentences; for a page without sentences, its first words.
    whole = [each.text for each in pieces if each.kind == "sentence" and each.is_whole and is_fit(each.text)]
    fit = whole or [each.text for each in pieces if is_fit(each.text)]
    count = 1 + (len(fit) > 3) + (len(fit) > 10)
    picked = central([candidate(each, context) for each in fit], count, context.rarity)
    return PageAnalysis(
        page=page.number,
        method=EXTRACTIVE,
        summary=" ".join(picked) or _beginning(text),
        topics=find_topics((piece.text for piece in pieces), context),
        anchors=anchors[:MOST_HEADINGS],
    )


def _beginning(text: str) -> str:
    """The first words of a page that has no sentence."""
    beginning = " ".join(text.split())
    if len(beginning) <= LONGEST_FALLBACK:
        return beginning
    return beginning[: beginning.rfind(" ", 0, LONGEST_FALLBACK) + 1 or LONGEST_FALLBACK].rstrip()


def find_topics(texts: Iterable[str], context: DocumentContext) -> list[str]:
    """The phrases of up to three content words that a page repeats, or has if it repeats none, best first."""
    uses: defaultdict[Phrase, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for phrase, spelling in _phrases(text, context):
            uses[phrase][spelling] += 1
    repeated = {phrase: found for phrase, found in uses.items() if found.total() > 1} or uses
    scores = {
        phrase: found.total() * sum(map(context.rarity, phrase)) * GAINS[len(phrase) - 1]
        for phrase, found in repeated.items()
    }
    chosen: list[Phrase] = []
    for phrase in sorted(scores, key=scores.__getitem__, reverse=True):
        if len(chosen) < MOST_TOPICS and not any(set(phrase) & set(other) for other in chosen):
            chosen.append(phrase)
    return [uses[phrase].most_common(1)[0][0] for phrase in chosen]


def _phrases(text: str, context: DocumentContext) -> Iterator[tuple[Phrase, str]]:
    """Every run of content words: its terms and its spelling."""
    for part in _BREAK.split(text):
        spelled = _WORD.findall(part)
        found = context.terms([word.casefold() for word in spelled])
        for start in range(len(found)):
            for end in range(start + 1, min(start + len(GAINS), len(found)) + 1):
                if not found[end - 1]:
                    break
                spelling = " ".join(spelled[start:end])
                if 1 < len(spelling) <= LONGEST_TOPIC:
                    yield tuple(found[start:end]), spelling
