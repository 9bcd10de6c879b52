"""Page analysis without a model: central sentences, key phrases, anchors, references and abbreviations.

Entities, and relations that a verb states, need a model.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from operator import attrgetter

from core.analysis.abbreviations import find_abbreviations, find_terms
from core.analysis.anchors import Reference, Target, find_links, find_references, is_caption, resolve
from core.analysis.document_context import DocumentContext
from core.analysis.models import (
    ABBREVIATED_AS,
    DEFINED_AS,
    EXTRACTIVE,
    REFERS_TO,
    Anchor,
    PageAnalysis,
    Relation,
)
from core.analysis.page_text import PageText, language_of, masked, spelled
from core.analysis.summaries import WEAK_FACTOR, Candidate, central, is_fit, opens_weakly
from core.analysis.topics import find_topics
from core.models import Page
from core.text.sentences import Piece

MOST_HEADINGS = 20
MOST_ANCHORS = 60
MOST_RELATIONS = 40
MOST_PIECES = 600
LONGEST_PIECE = 4000
LONGEST_FALLBACK = 200
LONGEST_EVIDENCE = 500


def analyse_page(page: Page, context: DocumentContext) -> PageAnalysis:
    """The analysis of a page in its own words. Deterministic: the same input gives the same result."""
    draft = _PageDraft(page, context)
    return PageAnalysis(
        page=page.number,
        method=EXTRACTIVE,
        summary=draft.summary,
        topics=draft.topics,
        anchors=draft.anchors,
        relations=draft.relations,
    )


class _PageDraft:
    """The parts of one page's analysis, computed from one pass over its text."""

    def __init__(self, page: Page, context: DocumentContext) -> None:
        self._page = page
        self._context = context
        self._text = PageText(page, context.running, context.lower_case)
        words = spelled(self._text.text)
        self._language = language_of(words, context.language)
        self._lexicon = context.lexicon(self._language)
        self._lexicon.learn(words)
        # Longer pieces are lists and tables without line ends, not sentences.
        self._pieces = [
            piece if len(piece.text) <= LONGEST_PIECE else replace(piece, text=piece.text[:LONGEST_PIECE])
            for piece in self._text.pieces[:MOST_PIECES]
        ]

    @property
    def summary(self) -> str:
        """One to three sentences; for a page without sentences, its headings or its first words."""
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
    def anchors(self) -> list[Anchor]:
        """The page's headings, and each table, figure, section, page and link that it mentions."""
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
        headings = set(self._text.headings)
        for piece in self._pieces:
            if piece.kind != "heading" and piece.text not in headings:
                found += [Anchor(kind="link", text=link) for link in find_links(piece.text)]
        first_of_each = {(anchor.kind, anchor.text): anchor for anchor in reversed(found)}
        return list(first_of_each.values())[::-1][:MOST_ANCHORS]

    @property
    def relations(self) -> list[Relation]:
        """Abbreviations, defined terms and cross-references; the page contains the evidence of each."""
        relations = [*self._definitions, *self._cross_references]
        found = {(each.source, each.type, each.target): each for each in relations}
        held = [relation for relation in found.values() if self._text.holds(relation.evidence)]
        return held[:MOST_RELATIONS]

    @property
    def _prose(self) -> Iterator[Piece]:
        return (piece for piece in self._pieces if piece.kind == "sentence" and not is_caption(piece.text))

    @cached_property
    def _references(self) -> list[tuple[Piece, list[Reference]]]:
        found = ((piece, list(find_references(piece.text))) for piece in self._pieces)
        return [(piece, references) for piece, references in found if references]

    @property
    def _definitions(self) -> Iterator[Relation]:
        for kind, find in ((ABBREVIATED_AS, find_abbreviations), (DEFINED_AS, find_terms)):
            for piece in self._pieces:
                for each in filter(attrgetter("long"), find(piece.text)):
                    evidence = _excerpt(piece.text, each.start)
                    yield Relation(source=each.long, type=kind, target=each.short, evidence=evidence)

    @property
    def _cross_references(self) -> Iterator[Relation]:
        for piece, references in self._references:
            for each in references[is_caption(piece.text) :]:
                source, evidence = f"page {self._page.number}", _excerpt(piece.text, each.start)
                yield Relation(source=source, type=REFERS_TO, target=each.text, evidence=evidence)

    def _candidate(self, text: str) -> Candidate:
        found = [term for word in spelled(text) if (term := self._lexicon[word])]
        return Candidate(text, tuple(found), WEAK_FACTOR if opens_weakly(text) else 1.0)

    def _page_of(self, target: Target) -> int | None:
        if target.family == "page":
            return self._context.page_printed(int(target.number)) if target.number.isdigit() else None
        return resolve(target, self._context.targets)


def _excerpt(sentence: str, at: int) -> str:
    """The sentence, or the part around one position if it is too long; cut between words."""
    if len(sentence) <= LONGEST_EVIDENCE:
        return sentence
    start = max(0, at - LONGEST_EVIDENCE // 3)
    start = sentence.rfind(" ", 0, start) + 1 if start else 0
    end = sentence.rfind(" ", start, start + LONGEST_EVIDENCE)
    return sentence[start : end if end > at else start + LONGEST_EVIDENCE]


def _beginning(text: str) -> str:
    """The first words of a page that has no sentence."""
    words = " ".join(text.split())
    if len(words) <= LONGEST_FALLBACK:
        return words
    return words[: words.rfind(" ", 0, LONGEST_FALLBACK) + 1 or LONGEST_FALLBACK].rstrip()
