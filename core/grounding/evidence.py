"""Finds the sentences of a page that support a claim."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from operator import attrgetter

from core.grounding.comparisons import is_cut
from core.grounding.effort import LONGEST_CHECKED, Effort
from core.grounding.opposites import IN_CASE, ONLY, POSSIBLE, Sides, exclude
from core.grounding.order_of_tokens import is_turned, same_order
from core.grounding.page_sentences import located_pieces
from core.grounding.quotes import QuoteFinder, Span
from core.grounding.sentence_facts import (
    Clause,
    Token,
    clauses,
    condition,
    has_content,
    has_row,
    joined_pairs,
    matches,
    negations,
    says_maybe,
    sides,
    tokenize,
)
from core.grounding.signs import LOSSES, SPENDING, same_sign
from core.grounding.sources import Source
from core.grounding.table_rows import COST, NEUTRAL, cells_of, says
from core.text.numbers import CURRENCIES, NUMBER_WORDS
from core.text.sentences import Kind
from core.text.terms import detect_language, is_stop_word, words

MAX_WINDOW_SENTENCES = 3
MIN_IN_CLAUSE = 0.7
MIN_IN_WINDOW = 0.7
MIN_BEGINNINGS = 1 / 2
BEGINNING = 3
LANGUAGE_SAMPLE_CHARACTERS = 1500
SURROUNDINGS = 3000
MAX_PARSED_WHOLE = 20_000
MAX_PLACES = 8
COUNTED_WORDS, KNOWN_CLAIMS = 512, 32
READING_COMPARISONS, PARSING_COMPARISONS = 20, 500
"""Comparisons that reading a claim, and parsing a part of a long page, take as long as."""
_CLAIM_WORD = re.compile(r"[^\W\d_]{5,}")
_WRITTEN_OTHERWISE = CURRENCIES.keys() | NUMBER_WORDS.keys()
"""Words of a claim for which the page can have a sign or a figure."""
_LONG_WORD = re.compile(r"\w{2,}")
_LABELLED = re.compile(r"[^.!?:]{1,80}:\s[^.!?]*")
_QUOTED = re.compile(r'["\u201c]([^"\u201c\u201d]{12,})["\u201d]')


@dataclass(frozen=True, slots=True)
class _Part:
    """A clause with what comparisons need.

    `anchors` are its names and numbers. `names` are the words that a name of another clause may repeat.
    """

    tokens: Clause
    stems: frozenset[str]
    negations: int
    anchors: list[Token]
    names: frozenset[str]
    says_loss: bool
    spends: bool
    sides: Sides
    says_only: bool
    says_maybe: bool
    says_possible: bool

    @classmethod
    def of(cls, clause: Clause) -> "_Part":
        stems = frozenset(token.stem for token in clause if token.is_content)
        anchors = [token for token in clause if token.kind != "word" or token.is_name]
        names = frozenset(token.stem for token in clause if token.kind != "number")
        spelled = {token.written.casefold() for token in clause}
        return cls(
            clause,
            stems,
            negations(clause),
            anchors,
            names,
            says_loss=not spelled.isdisjoint(LOSSES),
            spends=not spelled.isdisjoint(SPENDING),
            sides=sides(clause),
            says_only=not spelled.isdisjoint(ONLY),
            says_maybe=says_maybe(clause),
            says_possible=not spelled.isdisjoint(POSSIBLE),
        )

    def limits_alike(self, claimed: Token, found: Token) -> bool:
        """Whether a number of a page has the same signs, or this clause has words for them."""
        if not same_sign(claimed.sign, found.sign, says_loss=self.says_loss, spends=self.spends):
            return False
        wanted = {found.bound, found.other_end} - {""}
        return wanted <= {anchor.stem for anchor in self.anchors}


@dataclass(frozen=True, slots=True)
class _Unit:
    span: Span
    parts: list[_Part]
    words: frozenset[str]
    negations: int
    has_names: bool
    joined: Sides
    asks: bool
    condition: frozenset[str]
    is_record: bool
    """Whether it is a row of a table, or a label with its value."""
    row: Sequence[Token]
    """The tokens of a row with labels."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """The facts of a sentence of an answer that are compared; `has_condition` also if it breaks off."""

    parts: list[_Part]
    stems: frozenset[str]
    negations: int
    joined: Sides
    has_condition: bool

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> "_Claim":
        parts = [part for part in map(_Part.of, clauses(tokens)) if part.stems]
        stems = frozenset[str]().union(*(part.stems for part in parts))
        breaks_off = bool(tokens) and is_stop_word(tokens[-1].written.casefold())
        has_condition = breaks_off or any(token.written.casefold() in IN_CASE for token in tokens)
        return cls(parts, stems, negations(tokens), joined_pairs(tokens), has_condition)

    def leaves_out_condition(self, units: Iterable[_Unit]) -> bool:
        """Whether it has neither a condition nor a word of one that these sentences have."""
        return not self.has_condition and any(
            unit.condition and not unit.condition & self.stems for unit in units
        )


class Evidence:
    """A part of a page; its sentences are parsed once for all claims."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.lower()
        self._quotes = QuoteFinder(text)
        self._units: dict[int, _Unit] = {}
        self.language = detect_language(words(text[:LANGUAGE_SAMPLE_CHARACTERS]))

    def find(self, claim: str, near: Span, effort: Effort | None = None) -> Span | None:
        """The sentences that support `claim`, preferably inside `near`; None if there are none.

        Either they contain the claim word for word and negate as often, or for each of its clauses they have
        one with the same names, numbers, units, opposites and negations, and most of its words, or they are a
        row of a table with a value of the claim and its label. A claim without a content word, such as
        `2019 138 199`, has to be a whole row of a table.
        """
        effort = effort or Effort()
        if not has_content(claim, self.language):
            return self._whole_row(claim, near, effort)
        if any(self._quotes.find(quoted) is None for quoted in _QUOTED.findall(claim)):
            return None
        found = self._verbatim(claim, near, effort) or self._said_by_row(claim, near, effort)
        return found or self._paraphrased(claim, near, effort)

    @cached_property
    def sentences(self) -> list[Span]:
        return [span for span, _ in self._pieces]

    @cached_property
    def _pieces(self) -> list[tuple[Span, Kind]]:
        return located_pieces(self._text)

    @cached_property
    def _with_letters(self) -> dict[str, list[int]]:
        """The sentences with these neighbouring letters, as many as a beginning has."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, span in enumerate(self.sentences):
            text = self._folded[span.start : span.end]
            for letters in {text[at : at + BEGINNING] for at in range(len(text) - BEGINNING + 1)}:
                found[letters].append(number)
        return found

    def _windows_with(self, beginnings: set[str]) -> Iterator[list[_Unit]]:
        """Runs of sentences that may have a good part of the words with these beginnings."""
        having = [0] * len(self.sentences)
        for bit, beginning in enumerate(beginnings):
            for number in self._with_letters.get(beginning, ()):
                having[number] |= 1 << bit
        for size in range(1, MAX_WINDOW_SENTENCES + 1):
            for first in range(len(having) - size + 1):
                found = 0
                for bits in having[first : first + size]:
                    found |= bits
                if found.bit_count() >= MIN_BEGINNINGS * len(beginnings):
                    yield [self._unit(number) for number in range(first, first + size)]

    def _unit(self, number: int) -> _Unit:
        if number not in self._units:
            span, kind = self._pieces[number]
            text = self._text[span.start : span.end]
            tokens = self._tokens(text)
            self._units[number] = _Unit(
                span,
                parts=list(map(_Part.of, clauses(tokens))),
                words=frozenset(token.stem for token in tokens if token.is_content),
                negations=negations(tokens),
                has_names=any(token.is_name for token in tokens[1:]),
                joined=joined_pairs(tokens),
                asks=text.endswith("?"),
                condition=condition(tokens),
                is_record=kind == "row" or _LABELLED.fullmatch(text) is not None,
                row=tokens if kind == "row" and any(token.breaks == ":" for token in tokens) else (),
            )
        return self._units[number]

    def _tokens(self, text: str) -> Sequence[Token]:
        return tokenize(text, self.language)

    def _verbatim(self, claim: str, near: Span, effort: Effort) -> Span | None:
        said = _Claim.of(self._tokens(claim))
        for span in _nearest_first(self._quotes.find_all(claim), near, effort):
            first = bisect_right(self.sentences, span.start, key=attrgetter("end"))
            last = bisect_left(self.sentences, span.end, key=attrgetter("start"))
            if not effort.spend(last - first):
                return None
            units = [self._unit(number) for number in range(first, last)]
            only_asks = "?" not in claim and any(unit.asks for unit in units)
            if only_asks or said.leaves_out_condition(units) or is_cut(self._text, span.start):
                continue
            if sum(unit.negations for unit in units) == said.negations:
                return span
        return None

    def _whole_row(self, claim: str, near: Span, effort: Effort) -> Span | None:
        if not has_row(claim, self.language):
            return None
        found = self._verbatim(claim, near, effort)
        if found is None:
            return None
        rows = (self._text[span.start : span.end] for span in self.sentences if _overlap(span, found))
        quoted = self._text[found.start : found.end].strip("| ")
        return found if [row.strip("| ") for row in rows] == [quoted] else None

    def _paraphrased(self, claim: str, near: Span, effort: Effort) -> Span | None:
        said = _Claim.of(self._tokens(claim))
        best: tuple[tuple[bool, int], Span] | None = None
        for window in self._windows_with(_beginnings(claim)):
            span = Span(window[0].span.start, window[-1].span.end)
            rank = (not _overlap(span, near), len(window))
            if (best is None or rank < best[0]) and _supports(said, window, effort):
                best = (rank, span)
            if effort.is_spent:
                break
        return best[1] if best else None

    def _said_by_row(self, claim: str, near: Span, effort: Effort) -> Span | None:
        if all(kind != "row" for _, kind in self._pieces):
            return None
        said, best = self._tokens(claim), None
        wanted = {token.stem for token in said if token.is_content} - NEUTRAL
        windows = self._windows_with(_beginnings(claim) - {COST[:BEGINNING]})
        for unit in (window[0] for window in takewhile(lambda each: len(each) == 1, windows)):
            if not effort.spend():
                break
            is_near = _overlap(unit.span, near)
            if (best is None or is_near) and wanted <= unit.words and says(said, cells_of(unit.row)):
                best = unit.span
            if best and is_near:
                break
        return best


def _beginnings(claim: str) -> set[str]:
    """The beginnings of its longer words, without those that a page may write as a sign or a figure."""
    found = map(str.lower, _CLAIM_WORD.findall(claim))
    return {word[:BEGINNING] for word in found if word not in _WRITTEN_OTHERWISE}


class SourceEvidence:
    """A source's page; only the parts near the passage, or near a claim's rarest word, are parsed."""

    def __init__(self, source: Source) -> None:
        self._page = source.page_text
        self._passage = Span(source.start, source.start + len(source.text))
        self._parsed: dict[Span, Evidence] = {}
        self._known: dict[str, Span | None] = {}
        # Claims share words, and counting one reads the whole page.
        self._count = lru_cache(COUNTED_WORDS)(self._page.count)

    def find(self, claim: str, effort: Effort | None = None) -> Span | None:
        """The span of the page that supports `claim`; None also if it is too long or the effort is spent."""
        effort = effort or Effort()
        if len(claim) > LONGEST_CHECKED or not effort.spend(READING_COMPARISONS):
            return None
        if claim not in self._known:
            found = self._find(claim, effort)
            if effort.is_spent:
                return found
            if len(self._known) >= KNOWN_CLAIMS:
                self._known.pop(next(iter(self._known)))
            self._known[claim] = found
        return self._known[claim]

    def _find(self, claim: str, effort: Effort) -> Span | None:
        for region in self._regions(claim):
            if region not in self._parsed and not effort.spend(PARSING_COMPARISONS * bool(self._parsed)):
                return None
            near = Span(self._passage.start - region.start, self._passage.end - region.start)
            if found := self._evidence(region).find(claim, near, effort):
                return Span(found.start + region.start, found.end + region.start)
        return None

    def _evidence(self, region: Span) -> Evidence:
        """A part of the page; as many stay parsed as one claim may need, because claims repeat words."""
        evidence = self._parsed.pop(region, None) or Evidence(self._page[region.start : region.end])
        self._parsed[region] = evidence
        if len(self._parsed) > MAX_PLACES:
            self._parsed.pop(next(iter(self._parsed)))
        return evidence

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
            yield from (self._region(at, at) for at in self._places_of_rarest_word(claim))

    def _region(self, start: int, end: int) -> Span:
        """A span and its surroundings, beginning after the end of a sentence."""
        first = max(0, start - SURROUNDINGS)
        if first:
            first = min(start, max(first, self._page.find(". ", first, start) + 1))
        return Span(first, min(len(self._page), end + SURROUNDINGS))

    def _places_of_rarest_word(self, claim: str) -> list[int]:
        counts = {word: count for word in set(_LONG_WORD.findall(claim)) if (count := self._count(word))}
        if not counts:
            return []
        rarest = min(counts, key=lambda word: (counts[word], word))
        return [match.start() for match in islice(re.finditer(re.escape(rarest), self._page), MAX_PLACES)]


def _supports(claim: _Claim, window: list[_Unit], effort: Effort) -> bool:
    missing = len(claim.stems.difference(*[unit.words for unit in window]))
    if not effort.spend() or len(claim.stems) - missing < MIN_IN_WINDOW * len(claim.stems):
        return False
    places: list[int] = []
    for part in claim.parts:
        index = next((i for i in range(len(window)) if _holds(part, window, i, effort)), None)
        if index is None:
            return False
        places.append(index)
    used = {index: window[index] for index in places}
    if claim.leaves_out_condition(used.values()) or not _names_records(claim.parts, places, used):
        return False
    if exclude(claim.joined, frozenset[tuple[str, str]]().union(*(unit.joined for unit in window))):
        return False
    return sum(unit.negations for unit in used.values()) == sum(part.negations for part in claim.parts)


def _names_records(parts: Sequence[_Part], places: Sequence[int], used: Mapping[int, _Unit]) -> bool:
    """Whether each part from a record says something of a name that the other records lack."""
    records = {index: unit.words for index, unit in used.items() if unit.is_record}
    for part, place in zip(parts, places, strict=True):
        others = [words for index, words in records.items() if index != place]
        names = {anchor.stem for anchor in part.anchors if anchor.kind not in ("number", "bound")}
        if place in records and others and not (part.stems - names and all(names - each for each in others)):
            return False
    return True


def _holds(part: _Part, window: list[_Unit], index: int, effort: Effort) -> bool:
    """Whether one clause of a sentence says the same as `part`.

    A clause without names may refer to the names before it in its sentence, and a sentence without names to
    those of the sentences before; a row of a table does not, and a cell has to have all words of `part`.
    """
    unit = window[index]
    if unit.asks or not effort.spend(len(unit.parts)):
        return False
    before = (
        [] if unit.has_names or unit.is_record else [each for other in window[:index] for each in other.parts]
    )
    context = set[str]().union(*(each.names for each in before))
    for number, found in enumerate(unit.parts):
        has_own = any(token.is_name for token in (found.tokens[1:] if number == 0 else found.tokens))
        is_whole = not unit.row or part.stems <= found.stems
        if is_whole and _says(part, found, frozenset() if has_own else context):
            return True
        context |= found.names
    return False


def _says(part: _Part, found: _Part, context: AbstractSet[str]) -> bool:
    """`context` are the words of the sentence and of those before it that names may be among."""
    if part.negations != found.negations or len(part.stems & found.stems) < MIN_IN_CLAUSE * len(part.stems):
        return False
    for anchor in part.anchors:
        is_before = anchor.is_name and anchor.stem in context
        if not is_before and not any(
            matches(anchor, token) and part.limits_alike(anchor, token) for token in found.tokens
        ):
            return False
    if (part.says_only and not found.says_only) or (found.says_maybe and not part.says_possible):
        return False
    if is_turned(part.tokens, found.tokens):
        return False
    return same_order(part.anchors, found.tokens) and not exclude(part.sides, found.sides)


def _nearest_first(found: Iterator[Span], near: Span, effort: Effort) -> Iterator[Span]:
    """The spans inside `near`, then the others; until the effort is spent, as a page may have thousands."""
    others = []
    for span in found:
        if not effort.spend():
            return
        if _overlap(span, near):
            yield span
        else:
            others.append(span)
    yield from others


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
