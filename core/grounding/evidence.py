"""Finds the sentences of a page that support a claim."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from core.grounding.quotes import QuoteFinder, Span
from core.grounding.sentence_facts import (
    Clause,
    Token,
    clauses,
    has_content,
    matches,
    negations,
    same_order,
    tokenize,
)
from core.grounding.sources import Source
from core.text.sentences import sentences as split_sentences
from core.text.sentences import split_pieces
from core.text.terms import detect_language, words

MAX_WINDOW_SENTENCES = 3
MIN_IN_CLAUSE = 0.7
MIN_IN_WINDOW = 0.7
MIN_BEGINNINGS = 1 / 2
BEGINNING = 3
LANGUAGE_SAMPLE_CHARACTERS = 1500
SURROUNDINGS = 3000
MAX_PARSED_WHOLE = 20_000
MAX_PLACES = 8
_CLAIM_WORD = re.compile(r"[^\W\d_]{5,}")
_VISIBLE = re.compile(r"\S")
_LONG_WORD = re.compile(r"\w{2,}")
_QUOTED = re.compile(r'["\u201c]([^"\u201c\u201d]{12,})["\u201d]')


@dataclass(frozen=True, slots=True)
class _Unit:
    span: Span
    clauses: list[Clause]
    words: frozenset[str]
    negations: int
    has_names: bool


class Evidence:
    """A part of a page; its sentences are parsed once for all claims."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.lower()
        self._quotes = QuoteFinder(text)
        self._units: dict[int, _Unit] = {}
        self.language = detect_language(words(text[:LANGUAGE_SAMPLE_CHARACTERS]))

    def find(self, claim: str, near: Span) -> Span | None:
        """The sentences that support `claim`, preferably inside `near`; None if there are none.

        Either they contain the claim word for word and negate as often, or for each of its clauses they have
        one with the same names, numbers, units, opposites and negations, and most of its words.
        """
        if not has_content(claim, self.language):
            return None
        if any(not self._quotes.find_all(quoted) for quoted in _QUOTED.findall(claim)):
            return None
        return self._verbatim(claim, near) or self._paraphrased(claim, near)

    @cached_property
    def sentences(self) -> list[Span]:
        return page_sentences(self._text)

    def _windows_with(self, beginnings: set[str]) -> Iterator[list[_Unit]]:
        """Runs of sentences that may have a good part of the words with these beginnings."""
        spans = self.sentences
        for size in range(1, MAX_WINDOW_SENTENCES + 1):
            for first in range(len(spans) - size + 1):
                text = self._folded[spans[first].start : spans[first + size - 1].end]
                if sum(word in text for word in beginnings) >= MIN_BEGINNINGS * len(beginnings):
                    yield [self._unit(number) for number in range(first, first + size)]

    def _unit(self, number: int) -> _Unit:
        if number not in self._units:
            span = self.sentences[number]
            tokens = self._tokens(self._text[span.start : span.end])
            stems = frozenset(token.stem for token in tokens if token.is_content)
            has_names = any(token.is_name for token in tokens[1:])
            self._units[number] = _Unit(span, clauses(tokens), stems, negations(tokens), has_names)
        return self._units[number]

    def _tokens(self, text: str) -> list[Token]:
        return tokenize(text, self.language)

    def _verbatim(self, claim: str, near: Span) -> Span | None:
        wanted = negations(self._tokens(claim))
        found = sorted(self._quotes.find_all(claim), key=lambda span: not _overlap(span, near))
        for span in found:
            around = [part for part in self.sentences if _overlap(part, span)]
            if sum(negations(self._tokens(self._text[part.start : part.end])) for part in around) == wanted:
                return span
        return None

    def _paraphrased(self, claim: str, near: Span) -> Span | None:
        asked = [clause for clause in clauses(self._tokens(claim)) if any(t.is_content for t in clause)]
        best: tuple[tuple[bool, int], Span] | None = None
        beginnings = {word.lower()[:BEGINNING] for word in _CLAIM_WORD.findall(claim)}
        for window in self._windows_with(beginnings):
            span = Span(window[0].span.start, window[-1].span.end)
            rank = (not _overlap(span, near), len(window))
            if (best is None or rank < best[0]) and _supports(asked, window):
                best = (rank, span)
        return best[1] if best else None


class SourceEvidence:
    """A source's page; only the parts near the passage, or near a claim's rarest word, are parsed."""

    def __init__(self, source: Source) -> None:
        self._page = source.page_text
        self._passage = Span(source.start, source.start + len(source.text))
        self._parsed: dict[Span, Evidence] = {}

    def find(self, claim: str) -> Span | None:
        """The span of the page that supports `claim`."""
        for region in self._regions(claim):
            if region not in self._parsed:
                self._parsed[region] = Evidence(self._page[region.start : region.end])
            near = Span(self._passage.start - region.start, self._passage.end - region.start)
            if found := self._parsed[region].find(claim, near):
                return Span(found.start + region.start, found.end + region.start)
        return None

    def _regions(self, claim: str) -> Iterator[Span]:
        around = self._region(self._passage.start, self._passage.end)
        if around.end - around.start <= MAX_PARSED_WHOLE:
            yield around
        whole = Span(0, len(self._page))
        if around == whole and whole.end <= MAX_PARSED_WHOLE:
            return
        if whole.end <= MAX_PARSED_WHOLE:
            yield whole
        else:
            self._parsed.clear()
            yield from (self._region(at, at) for at in _places_of_rarest_word(claim, self._page))

    def _region(self, start: int, end: int) -> Span:
        """A span and its surroundings, beginning after the end of a sentence."""
        first = max(0, start - SURROUNDINGS)
        if first:
            first = min(start, max(first, self._page.find(". ", first, start) + 1))
        return Span(first, min(len(self._page), end + SURROUNDINGS))


def _places_of_rarest_word(claim: str, page: str) -> list[int]:
    counts = {word: count for word in set(_LONG_WORD.findall(claim)) if (count := page.count(word))}
    if not counts:
        return []
    rarest = min(counts, key=lambda word: (counts[word], word))
    return [match.start() for match in islice(re.finditer(re.escape(rarest), page), MAX_PLACES)]


def page_sentences(text: str) -> list[Span]:
    """The spans of the sentences, list items, table rows and headings of a text."""
    offsets = [match.start() for match in _VISIBLE.finditer(text)]
    found: list[Span] = []
    position = 0
    for piece in split_pieces(text):
        for part in split_sentences(piece.text):
            length = len("".join(part.split()))
            found.append(Span(offsets[position], offsets[position + length - 1] + 1))
            position += length
    return found


def _supports(asked: list[Clause], window: list[_Unit]) -> bool:
    known = frozenset[str]().union(*(unit.words for unit in window))
    wanted = frozenset(token.stem for clause in asked for token in clause if token.is_content)
    if len(wanted & known) < MIN_IN_WINDOW * len(wanted):
        return False
    used: set[int] = set()
    for clause in asked:
        index = next((i for i in range(len(window)) if _holds(clause, window, i)), None)
        if index is None:
            return False
        used.add(index)
    return sum(window[index].negations for index in used) == sum(map(negations, asked))


def _holds(clause: Clause, window: list[_Unit], index: int) -> bool:
    """Whether one clause of a sentence says the same as `clause`.

    A clause without names may refer to the names before it in its sentence, and a sentence without names to
    those of the sentences before.
    """
    unit = window[index]
    context = [] if unit.has_names else [t for u in window[:index] for clause in u.clauses for t in clause]
    for number, found in enumerate(unit.clauses):
        own = found[1:] if number == 0 else found
        if _says(clause, found, [] if any(token.is_name for token in own) else context):
            return True
        context = [*context, *found]
    return False


def _says(clause: Clause, found: Clause, context: list[Token]) -> bool:
    wanted, here = ({token.stem for token in tokens if token.is_content} for tokens in (clause, found))
    if negations(clause) != negations(found) or len(wanted & here) < MIN_IN_CLAUSE * len(wanted):
        return False
    anchors = [token for token in clause if token.kind != "word" or token.is_name]
    for anchor in anchors:
        if not any(matches(anchor, token) for token in (found + context if anchor.is_name else found)):
            return False
    return same_order(anchors, found)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
