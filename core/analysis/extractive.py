"""Page analysis without a model: a page's own sentences, phrases and names, by deterministic means."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from core.analysis.abbreviations import Definition, find_abbreviations, find_terms
from core.analysis.anchors import Reference, Target, find_references, is_caption, resolve
from core.analysis.document_context import DocumentContext
from core.analysis.entities import find_mentions
from core.analysis.models import Anchor, Entity, PageAnalysis, Relation
from core.analysis.page_text import PageText, masked
from core.analysis.quantities import Mention
from core.analysis.relation_patterns import ABBREVIATED_AS, DEFINED_AS, REFERS_TO, excerpt, find_statements
from core.analysis.summaries import WEAK_FACTOR, Candidate, central, is_fit, opens_weakly
from core.analysis.topics import find_topics
from core.analysis.word_forms import Lexicon, language_of, spelled
from core.models import Page
from core.text.sentences import Piece

EXTRACTIVE = "extractive"
MOST_ENTITIES = 60
MOST_FIGURES = 20
"""Amounts, and percentages: a table has hundreds, and says nothing by them without its rows."""
LONGEST_ENTITY = 120
MOST_HEADINGS = 20
MOST_ANCHORS = 60
MOST_RELATIONS = 40
MOST_PIECES = 600
LONGEST_PIECE = 4000
LONGEST_FALLBACK = 200


def analyse_page(page: Page, context: DocumentContext) -> PageAnalysis:
    """What the page speaks of, in its own words; the same page and context always give the same."""
    reading = _Reading(page, context)
    return PageAnalysis(
        page=page.number,
        method=EXTRACTIVE,
        summary=reading.summary,
        topics=reading.topics,
        entities=reading.entities,
        anchors=reading.anchors,
        relations=reading.relations,
    )


class _Reading:
    """One page, read once for everything that its analysis has."""

    def __init__(self, page: Page, context: DocumentContext) -> None:
        self._page = page
        self._context = context
        self._text = PageText(page, context.running, context.lower_case)
        words = spelled(self._text.text)
        self._language = language_of(words, context.language)
        self._lexicon = Lexicon(words, self._language)
        self._pieces = [_shortened(piece) for piece in self._text.pieces[:MOST_PIECES]]
        self._headings = set(self._text.headings)

    @property
    def summary(self) -> str:
        """One to three sentences; where the page has none, its headings or its first words."""
        whole = [piece.text for piece in self._prose if piece.is_whole and is_fit(piece.text)]
        fit = whole or [piece.text for piece in self._pieces if is_fit(piece.text)]
        count = 1 + (len(fit) > 3) + (len(fit) > 10)
        while fit:
            picked = central([self._candidate(text) for text in fit], count, self._context.rarity)
            if all(self._text.holds(text) for text in picked):
                return " ".join(picked)
            fit = [text for text in fit if self._text.holds(text)]
        beginning = _beginning(self._text.text)
        return beginning if self._text.holds(beginning) else _beginning(self._page.text)

    @cached_property
    def topics(self) -> list[str]:
        sources = [(piece.text, piece.kind == "heading") for piece in self._pieces]
        return find_topics(sources, self._context, self._language, self._lexicon)

    @property
    def entities(self) -> list[Entity]:
        """Names by how often they are on the page, then in their order."""
        counts: Counter[str] = Counter()
        types: dict[str, str] = {}
        defined = [Mention(0, 0, each.short, "term") for _, each in self._terms]
        for mention in [*(m for _, mentions in self._mentions for m in mentions), *defined]:
            if len(mention.name) > LONGEST_ENTITY:
                continue
            counts[mention.name] += 1
            if types.get(mention.name, "other") == "other":
                types[mention.name] = mention.type
        found = [Entity(name=name, type=types[name]) for name, _ in counts.most_common()]
        figures = [entity for entity in found if entity.type in ("amount", "percentage")]
        surplus = {entity.name for entity in figures[MOST_FIGURES:]}
        return [entity for entity in found if entity.name not in surplus][:MOST_ENTITIES]

    @property
    def anchors(self) -> list[Anchor]:
        """The page's headings, and every table, figure, section, page and link that it speaks of."""
        number = self._page.number
        found = [
            Anchor(kind="heading", text=heading, target_page=number)
            for heading in self._text.headings[:MOST_HEADINGS]
            if masked(heading) not in self._context.running
        ]
        for piece, references in self._references:
            captioned = number if is_caption(piece.text) else None
            for place, each in enumerate(references):
                target = captioned if place == 0 and captioned else self._page_of(each.target)
                found.append(Anchor(kind=each.kind, text=each.text, target_page=target))
        links = [m.name for _, mentions in self._mentions for m in mentions if m.type == "url"]
        found += [Anchor(kind="link", text=link) for link in links]
        return list({(anchor.kind, anchor.text): anchor for anchor in reversed(found)}.values())[::-1][
            :MOST_ANCHORS
        ]

    @property
    def relations(self) -> list[Relation]:
        """What the page's sentences say for sure; the evidence of each stands on the page."""
        found = {
            (relation.source, relation.type, relation.target): relation
            for relation in [*self._defined, *self._stated, *self._cross_references]
        }
        held = [relation for relation in found.values() if self._text.holds(relation.evidence)]
        return held[:MOST_RELATIONS]

    @property
    def _prose(self) -> Iterator[Piece]:
        return (piece for piece in self._pieces if piece.kind == "sentence" and not is_caption(piece.text))

    @cached_property
    def _mentions(self) -> list[tuple[Piece, list[Mention]]]:
        return [
            (piece, find_mentions(piece.text, self._context, self._language))
            for piece in self._pieces
            if piece.kind != "heading" and piece.text not in self._headings
        ]

    @cached_property
    def _references(self) -> list[tuple[Piece, list[Reference]]]:
        found = ((piece, list(find_references(piece.text))) for piece in self._pieces)
        return [(piece, references) for piece, references in found if references]

    @cached_property
    def _terms(self) -> list[tuple[Piece, Definition]]:
        return [(piece, each) for piece in self._pieces for each in find_terms(piece.text)]

    @property
    def _defined(self) -> Iterator[Relation]:
        for piece in self._pieces:
            for each in find_abbreviations(piece.text):
                yield _definition(ABBREVIATED_AS, piece, each)
        for piece, each in self._terms:
            if each.long:
                yield _definition(DEFINED_AS, piece, each)

    @property
    def _stated(self) -> Iterator[Relation]:
        topics = [topic for topic in self.topics if " " in topic]
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, topics))})\b", re.I) if topics else None
        for piece, mentions in self._mentions:
            if mentions:
                yield from find_statements(piece.text, _with_topics(mentions, pattern, piece.text))

    @property
    def _cross_references(self) -> Iterator[Relation]:
        for piece, references in self._references:
            for each in references[is_caption(piece.text) :]:
                yield Relation(
                    source=f"page {self._page.number}",
                    type=REFERS_TO,
                    target=each.text,
                    evidence=excerpt(piece.text, each.start),
                )

    def _candidate(self, text: str) -> Candidate:
        found = [term for word in spelled(text) if (term := self._lexicon[word])]
        return Candidate(text, tuple(found), WEAK_FACTOR if opens_weakly(text) else 1.0)

    def _page_of(self, target: Target) -> int | None:
        if target.family == "page":
            return self._context.page_printed(int(target.number)) if target.number.isdigit() else None
        return resolve(target, self._context.targets)


def _with_topics(mentions: Sequence[Mention], pattern: re.Pattern[str] | None, text: str) -> list[Mention]:
    """The mentions and, between them, the topics of the page."""
    if pattern is None:
        return list(mentions)
    topics = [Mention(match.start(), match.end(), match[0], "topic") for match in pattern.finditer(text)]
    free = [t for t in topics if not any(t.start < m.end and m.start < t.end for m in mentions)]
    return sorted([*mentions, *free])


def _definition(kind: str, piece: Piece, definition: Definition) -> Relation:
    evidence = excerpt(piece.text, definition.start)
    return Relation(source=definition.long, type=kind, target=definition.short, evidence=evidence)


def _shortened(piece: Piece) -> Piece:
    """Nobody writes longer sentences: what is cut off are lists and tables without line ends."""
    return (
        piece
        if len(piece.text) <= LONGEST_PIECE
        else Piece(piece.text[:LONGEST_PIECE], piece.kind, piece.heading)
    )


def _beginning(text: str) -> str:
    """The first words of a page that has no sentence."""
    words = " ".join(text.split())
    if len(words) <= LONGEST_FALLBACK:
        return words
    return words[: words.rfind(" ", 0, LONGEST_FALLBACK) + 1 or LONGEST_FALLBACK].rstrip()
