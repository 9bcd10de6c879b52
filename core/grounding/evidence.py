"""Finds the sentences of a page that support a claim."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from operator import attrgetter

from core.grounding.comparisons import goes_on, is_cut
from core.grounding.effort import LONGEST_CHECKED, Effort
from core.grounding.equal_words import SPELLED_OTHERWISE, is_exchanged
from core.grounding.opposites import SIDE_OF, UNIT_OF
from core.grounding.page_sentences import located_pieces
from core.grounding.paraphrases import ClaimParts, PageSentence, Part, supports
from core.grounding.quotes import QuoteFinder, Span
from core.grounding.sentence_facts import (
    clauses,
    condition,
    excepts,
    has_content,
    has_row,
    joined_pairs,
    negations,
)
from core.grounding.sources import Source
from core.grounding.table_cells import cells_of
from core.grounding.table_rows import says
from core.grounding.tokens import Token, tokenize
from core.text.numbers import CURRENCIES, MONTHS, NUMBER_WORDS
from core.text.sentences import Kind
from core.text.terms import detect_language, has_digit, is_stop_word, words

MAX_WINDOW_SENTENCES = 3
MIN_BEGINNINGS = 1 / 2
BEGINNING = 3
LANGUAGE_SAMPLE_CHARACTERS = 1500
LEAST_FUNCTION_WORDS = 0.1
"""Of a page that shows its language; a table can have none, and a claim about it shows its own language."""
SURROUNDINGS = 3000
MAX_PARSED_WHOLE = 20_000
MAX_PLACES = 8
COUNTED_WORDS, KNOWN_CLAIMS = 512, 32
READING_COMPARISONS, PARSING_COMPARISONS = 20, 500
"""Comparisons that reading a claim, and parsing a part of a long page, take as long as."""
_CLAIM_WORD = re.compile(r"[^\W\d_]{5,}")
_WRITTEN_OTHERWISE = frozenset[str]().union(
    CURRENCIES, NUMBER_WORDS, MONTHS, SIDE_OF, UNIT_OF, SPELLED_OTHERWISE
)
"""Words of a claim for which the page can have a sign, a figure or another word: `yearly` for `annual`."""
_LONG_WORD = re.compile(r"\w{2,}")
_LABELLED = re.compile(r"[^.!?:]{1,80}:\s[^.!?]*")
_QUOTED = re.compile(r'["\u201c]([^"\u201c\u201d]{12,})["\u201d]')
_KINDS = (
    "document text source file page passage excerpt handbook contract agreement report policy manual guide"
    " guideline minutes table Dokument Text Vertrag Handbuch Bericht Auszug document texte contrat rapport"
    " documento texto contrato informe".replace(" ", "|")
)
_LINKS = (
    "yes no correct however therefore thus hence additionally moreover furthermore also finally overall"
    " specifically note_that in_addition in_summary in_short in_other_words ja nein jedoch außerdem zudem"
    " daher somit zusammengefasst oui non cependant toutefois donc de_plus en_outre sí además"
    " por_lo_tanto"
)
_OPENING = re.compile(
    rf"\s*(?:(?i:{_LINKS.replace(' ', '|').replace('_', ' ')})(?:[,:;.!]|\s[-–—])\s(?!\d)"
    r"|(?:(?i:according to|based on|as (?:stated|described|specified) in|per|laut|gemäß|selon|d'après|según)"
    rf"\s(?i:the|this|dem|diesem|le|la|ce|el|este)\s(?:[a-z]+\s)?(?i:{_KINDS})s?\b,?"
    rf"|(?i:the|this)\s(?i:{_KINDS})\s(?:states|says|specifies|notes|mentions|explains|shows|indicates)"
    r"(?:\sthat|:))\s)"
)
"""What links a sentence or names the kind of its source: `No,`, `According to the text,`."""
_MOST_OPENINGS = 3


class Evidence:
    """A part of a page; its sentences are parsed once for all claims."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.lower()
        self._quotes = QuoteFinder(text)
        self._units: dict[int, PageSentence] = {}
        self._with_letters: dict[str, list[int]] = {}
        sample = words(text[:LANGUAGE_SAMPLE_CHARACTERS])
        self.language = detect_language(sample)
        self._has_prose = sum(map(is_stop_word, sample)) >= LEAST_FUNCTION_WORDS * len(sample)

    def find(self, claim: str, near: Span, effort: Effort | None = None) -> Span | None:
        """The sentences that support `claim`, preferably inside `near`; None if there are none.

        Either they contain the claim word for word and negate as often, or for each of its clauses they have
        one with the same names, numbers, units, opposites and negations, and most of its words, or they are a
        row of a table with a value of the claim and its label. A claim without a content word, such as
        `2019 138 199`, has to be a whole row of a table.
        """
        effort = effort or Effort()
        claim = _without_opening(claim)
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
    def _folded_sentences(self) -> list[str]:
        return [self._folded[span.start : span.end] for span in self.sentences]

    def _having(self, beginning: str) -> list[int]:
        """The sentences with these letters: claims ask for a few, and a page has thousands."""
        if beginning not in self._with_letters:
            found = [number for number, text in enumerate(self._folded_sentences) if beginning in text]
            self._with_letters[beginning] = found
        return self._with_letters[beginning]

    def _windows_with(self, beginnings: set[str]) -> Iterator[list[PageSentence]]:
        """Runs of sentences that may have a good part of the words with these beginnings."""
        having = [0] * len(self.sentences)
        for bit, beginning in enumerate(beginnings):
            for number in self._having(beginning):
                having[number] |= 1 << bit
        for size in range(1, MAX_WINDOW_SENTENCES + 1):
            for first in range(len(having) - size + 1):
                found = 0
                for bits in having[first : first + size]:
                    found |= bits
                if found.bit_count() >= MIN_BEGINNINGS * len(beginnings):
                    yield [self._unit(number) for number in range(first, first + size)]

    def _unit(self, number: int) -> PageSentence:
        if number not in self._units:
            span, kind = self._pieces[number]
            text = self._text[span.start : span.end]
            tokens = self._tokens(text)
            self._units[number] = PageSentence(
                span,
                parts=list(map(Part.of, clauses(tokens))),
                words=frozenset(token.stem for token in tokens if token.is_content),
                negations=negations(tokens),
                has_names=any(token.is_name for token in tokens[1:]),
                joined=joined_pairs(tokens),
                asks=text.endswith("?"),
                condition=condition(tokens),
                excepts=excepts(tokens),
                is_record=kind == "row" or _LABELLED.fullmatch(text) is not None,
                row=tokens if kind == "row" and any(token.breaks == ":" for token in tokens) else (),
            )
        return self._units[number]

    def _tokens(self, text: str) -> Sequence[Token]:
        return tokenize(text, self.language)

    def _verbatim(self, claim: str, near: Span, effort: Effort) -> Span | None:
        tokens = self._tokens(claim)
        said = ClaimParts.of(tokens)
        for span in _nearest_first(self._quotes.find_all(claim), near, effort):
            first = bisect_right(self.sentences, span.start, key=attrgetter("end"))
            last = bisect_left(self.sentences, span.end, key=attrgetter("start"))
            if not effort.spend(last - first):
                return None
            units = [self._unit(number) for number in range(first, last)]
            only_asks = "?" not in claim and any(unit.asks for unit in units)
            if only_asks or said.leaves_out_condition(units) or _adds_minus(tokens, units):
                continue
            if is_cut(self._text, span.start) or goes_on(self._text, span.end):
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
        said = ClaimParts.of(self._tokens(claim))
        best: tuple[tuple[bool, int], Span] | None = None
        for window in self._windows_with(_beginnings(claim)):
            span = Span(window[0].span.start, window[-1].span.end)
            rank = (not _overlap(span, near), len(window))
            if (best is None or rank < best[0]) and supports(said, window, effort):
                best = (rank, span)
            if effort.is_spent:
                break
        return best[1] if best else None

    def _said_by_row(self, claim: str, near: Span, effort: Effort) -> Span | None:
        if all(kind != "row" for _, kind in self._pieces):
            return None
        # The `K` of `K-310` would be Czech.
        plain = " ".join(part for part in claim.split() if not has_digit(part))
        language = self.language if self._has_prose else detect_language(words(plain))
        said, best = tokenize(claim, language), None
        wanted = {token.stem for token in said if token.written.isdigit()}
        needed = (token.written for token in said if token.is_content and not is_exchanged(token.stem))
        windows = self._windows_with(_beginnings(" ".join(needed)))
        for unit in (window[0] for window in takewhile(lambda each: len(each) == 1, windows)):
            if not effort.spend():
                break
            is_near = _overlap(unit.span, near)
            if unit.row and (best is None or is_near) and wanted <= unit.words:
                row = tokenize(self._text[unit.span.start : unit.span.end], language)
                best = unit.span if says(said, cells_of(row)) else best
            if best and is_near:
                break
        return best


def _adds_minus(claim: Sequence[Token], units: Sequence[PageSentence]) -> bool:
    """Whether a dash of a claim, which is no part of its words, is the minus of a number without any sign."""
    negative = {token.stem for token in claim if token.sign == "minus"}
    signed = (token for unit in units for part in unit.parts for token in part.tokens if token.sign)
    return not negative <= {token.stem for token in signed}


def _without_opening(claim: str) -> str:
    for _ in range(_MOST_OPENINGS):
        opening = _OPENING.match(claim)
        if opening is None:
            break
        claim = claim[opening.end() :]
    return claim


def _beginnings(claim: str) -> set[str]:
    """The beginnings of its longer words that a page cannot write as a sign, a figure or another word."""
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
