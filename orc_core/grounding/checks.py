"""Checks the sentences of an answer against the sources that they cite, in linear time and in any language.

Code compares words and numbers, without knowing what words mean. All runs in the event loop.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Literal, NamedTuple

from orc_core.grounding.claims import Claim, Claims, covered_by_marker
from orc_core.grounding.models import CitationCheck
from orc_core.grounding.sources import Source
from orc_core.grounding.units import Unit, label_of, page_units
from orc_core.grounding.values import Values, missing, numbers_of, other_dates
from orc_core.grounding.wording import Wording, Words, language_of, wording_of
from orc_core.markdown.brackets import Status
from orc_core.text.numbers import SCALES
from orc_core.text.quotes import Span

Check = Literal["quoted", "reworded", "differs"]

LEAST_NAMED = 0.5
"""The share of a sentence's content words that are words of the table's labels or titles, or its numbers."""
LONGEST_QUOTE = 1500
"""Characters from the first to the last of the places that a marker's sentences are closest to."""
MOST_TOGETHER = 20
"""Sources of the markers behind one sentence that are compared with it."""
READ_PAGES = 32
MOST_COMPARED = 20
"""Sources that are compared with a sentence whose own source shares little with it; of more, none is."""
LEAST_MORE = 1.5
"""How many times as much another source shares with a sentence than the one that the model has named."""
LEAST_SHARED = 0.5
"""The share of a sentence's words, by weight, that the other source has in its closest places."""
_PART = re.compile(r"[,;:،、，；：]\s*(?!\d)")
"""Ends a part of a sentence: what a sentence lists may stand in several places of a page."""
NOTHING_ASKED = Values("")


class Row(NamedTuple):
    """The label of a row, what is written above and before it, and the column and text of each other cell."""

    label: str
    title: str
    cells: tuple[tuple[str, str], ...]


def row_of(text: str, header: str, heading: str) -> Row | None:
    """`Oslo | 2022: 31 | 2023: 33`, or `Oslo | 31 | 33` below `Branch | 2022 | 2023`; None without cells."""
    first, *others = (cell.strip() for cell in text.strip(" |").split("|"))
    columns = [cell.strip() for cell in header.strip(" |").split("|")][1:]
    if len(columns) != len(others):
        columns = [""] * len(others)
    cells: list[tuple[str, str]] = []
    for cell, column in zip(others, columns, strict=True):
        label, mark, value = cell.rpartition(": ")
        cells.append((label, value) if mark else (column, cell))
    title, _, label = first.rpartition(": ")
    return Row(label, f"{heading}\n{header}\n{title}", tuple(cells)) if cells and label else None


def are_in_cells(sentence: str, rows: Sequence[Row], language: str) -> bool:
    """Whether each number of a sentence is in a cell of a row all of whose label's words it has.

    If it has all words of the labels of some columns, the cell is in one of these. Numbers of labels only
    name something. Verbs are free, but half of the words are the table's; a sentence that negates has none.
    """
    said = wording_of(sentence, language)
    stated = list(numbers_of(sentence, language)) if rows else []
    if not stated or said.negators:
        return False
    words = frozenset(said.content)
    wanted = _named((row.label for row in rows), words, language)
    named = [row for row in rows if row.label in wanted]
    columns = dict.fromkeys(label for row in named for label, _ in row.cells)
    meant = _named(columns, words, language)
    names = "\n".join((*dict.fromkeys(text for row in named for text in (row.label, row.title)), *columns))
    labels = Values("\n".join((*(row.label for row in named), *meant)))
    cells = [text for row in named for label, text in row.cells if not meant or label in meant]
    values = {
        value for text in dict.fromkeys(cells) for each in numbers_of(text, language) for value in each.values
    }
    stated = [number for number in stated if not labels.have(number)]
    known = sum(map(frozenset(Words([names], language).wording(0).content).__contains__, said.content))
    if not stated or known + len(stated) < LEAST_NAMED * len(said.content):
        return False
    scales = {SCALES.get(word.strip("().,:")) for word in names.casefold().split()}
    for number in stated:
        # A scale of the number must be that of the cell, or be written above.
        is_named = SCALES.get(number.written.rpartition(" ")[2]) in scales
        if values.isdisjoint([*number.values, *(number.in_scale if is_named else ())]):
            return False
    return True


def _named(labels: Iterable[str], words: frozenset[str], language: str) -> set[str]:
    """The labels all of whose content words are among these."""
    distinct = list(dict.fromkeys(labels))
    read = Words(distinct, language)
    return {label for at, label in enumerate(distinct) if (own := read.stems_of(at)) and words >= own}


class CodeCheck(NamedTuple):
    """The verdict on a sentence.

    `missing`: its numbers, as it writes them, that are nowhere on the cited pages. `quoted_by`: the places in
    the list of passages, from 0, of those that have its words.
    """

    check: Check
    missing: tuple[str, ...] = ()
    quoted_by: tuple[int, ...] = ()


class Page:
    """A page's text with what checks compare, read when it is first needed and once for all sentences."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def units(self) -> list[Unit]:
        return page_units(self.text)

    @cached_property
    def values(self) -> Values:
        parts = [(self.of(unit), label_of(self.of(unit), unit.kind)) for unit in self.units]
        text = "\n".join(part[len(label) :] for part, label in parts)
        return Values(text, "\n".join(label for _, label in parts))

    @cached_property
    def language(self) -> str:
        return language_of(self.text)

    def of(self, unit: Unit) -> str:
        """The text of a unit."""
        return self.text[unit.start : unit.end]


class Passage:
    """What is cited of a page: the units with characters from `start` up to `end`, by default all."""

    def __init__(self, page: Page, start: int = 0, end: int | None = None) -> None:
        self.page = page
        end = len(page.text) if end is None else end
        self.units = [unit for unit in page.units if unit.start < end and start < unit.end]

    @cached_property
    def words(self) -> Words:
        return Words(map(self.page.of, self.units), self.page.language)

    def rows(self, said: Wording) -> list[Row]:
        """Those with cells and a word of a sentence, each once."""
        page, units = self.page, self.page.units
        found = (
            row_of(
                page.of(unit), *("" if n is None else page.of(units[n]) for n in (unit.header, unit.above))
            )
            for at, unit in enumerate(self.units)
            if unit.kind == "row" and "|" in page.of(unit)
            if not self.words.stems_of(at).isdisjoint(said.content)
        )
        return list(filter(None, dict.fromkeys(found)))

    def quotes(self, sentence: str) -> bool:
        """Whether the units have the words of a sentence, or its numbers in the cells that it names."""
        said = wording_of(sentence, language := self.page.language)
        return self.words.have(said) or are_in_cells(sentence, self.rows(said), language)

    def closest(self, sentence: str) -> Span | None:
        """The place of the passage that shares most words and numbers with a sentence: a sentence, a row, an
        item, or two of these next to each other; None if none shares any."""
        found = self.words.closest(wording_of(sentence, self.page.language)) if self.units else []
        return Span(self.units[found[0]].start, self.units[found[-1]].end) if found else None


def check(sentence: str, passages: Sequence[Passage], question: Values = NOTHING_ASKED) -> CodeCheck:
    """Compare a sentence of an answer with the passages that it cites and the pages that these are from.

    `quoted`: it uses the words of one passage, in their order, adds none, and negates as often; or it names a
    row of a table and its numbers are in cells of it. `differs`: a number, date or amount of it is neither on
    the pages nor in the question in any usual way of writing, and no calculation that the sentence shows
    gives it; the number of an item or heading counts nothing. `reworded` is the rest: it may be right or
    wrong, and code cannot know.
    """
    everywhere = (question, *(passage.page.values for passage in passages))
    dates = other_dates(sentence, everywhere)
    if quoted_by := tuple(n for n, each in enumerate(passages) if not dates and each.quotes(sentence)):
        return CodeCheck("quoted", quoted_by=quoted_by)
    language = passages[0].page.language if passages else ""
    differing = missing(sentence, language, everywhere, question) or dates
    return CodeCheck("differs", tuple(differing)) if differing else CodeCheck("reworded")


class Evidence(NamedTuple):
    """What markers are about, and what is known of it.

    `sources` are those of all markers behind these claims, by the numbers that the markers name. If the
    sources have the words of all claims, `quoting` are the numbers of those that have any; `missing` are the
    numbers in claims that no page has, and `differing` the first claim that has one.
    """

    claims: Sequence[Claim] = ()
    sources: Mapping[int, Source] = MappingProxyType({})
    quoting: frozenset[int] = frozenset()
    missing: Sequence[str] = ()
    differing: str = ""

    def check_of(self, source: Source) -> CitationCheck:
        """What is known of the claims as far as this source is concerned."""
        if source.pictured:
            return "picture"
        if self.missing:
            return "differs"
        return "quoted" if source.number in self.quoting else "reworded"


class AnswerChecks:
    """The checks of one answer; a page is read once. All run in the event loop: they are linear.

    Small models often name another source than the one that they have read, among the few that were `shown`.
    """

    def __init__(self, question: str = "", shown: Sequence[Source] = ()) -> None:
        self.claims = Claims(question)
        self._question = Values(question)
        self._latest = Evidence()
        self._page = lru_cache(READ_PAGES)(Page)
        self._passages: dict[int, Passage] = {}
        self._indexed: dict[str, tuple[Words, Sequence[int]]] = {}
        """The places of all sources that were shown, and the number of the source of each, by language."""
        self._shown = shown if len(shown) <= MOST_COMPARED else ()

    def check(self, text: str, cited: Mapping[int, Source]) -> Evidence:
        """Check the text between markers against the sources of those that follow it.

        Markers are about the sentences of the last paragraph, list item or table, with what introduces them;
        without new sentences about those of the markers before. What goes on after a marker within a sentence
        can be from the source of that one too.
        """
        added = self.claims.add(text)
        if added and added[0] is not covered_by_marker(added)[0][0]:
            self._check_rest(added[0])
        self._latest = self._evidence(added, cited)
        return self._latest

    def add(self, text: str, status: Status | None = None) -> None:
        """Add text that cites nothing: the end of the answer, or what `[none]` or `[talk]` is about."""
        if added := self.claims.add(text, status):
            self._check_rest(added[0])
            self._latest = Evidence(added)

    def sources_of(self, block: str, text: str) -> list[int]:
        """The sources of a paragraph or item without a marker: those with its words, or the closest.

        Each sentence is quoted in exactly one; or the closest places of one have half of its words at least,
        and more than those of each other page. `text` is what a marker behind the block would be checked for:
        none are found if it has a number that is not there.
        """
        if self.claims.lists_closest:
            return []  # their markers are written by code already
        read = self.claims.read(block)
        claims = covered_by_marker(read)[0] if read else []
        for claim in claims:
            is_prose = claim.kind in ("sentence", "item") and not (claim.goes_on or claim.is_lead)
            # A line without the end of a sentence is a heading.
            is_whole = claim.kind == "item" or claim.is_ended
            if not (is_prose and is_whole and claim.needs_source):
                return []
        quoting = [
            [each for each in self._shown if self._passage(each).quotes(claim.text)] for claim in claims
        ]
        is_quoted = all(len(having) == 1 for having in quoting)
        having = [having[0] for having in quoting] if is_quoted else self._closest(claims)
        found = {each.number: each for each in having}
        checks = map(self._evidence(self.claims.read(text), found).check_of, found.values())
        return [] if set(checks) - ({"quoted"} if is_quoted else {"quoted", "reworded"}) else list(found)

    def quote(self, evidence: Evidence, source: Source) -> Span:
        """The place on a source's page that is closest to the claims, above all to the last; or none."""
        passage = self._passage(source)
        spans = [span for claim in reversed(evidence.claims) if (span := passage.closest(claim.text))]
        if not spans:
            return Span(0, 0)
        whole = Span(min(span.start for span in spans), max(span.end for span in spans))
        return whole if whole.end - whole.start <= LONGEST_QUOTE else spans[0]

    def _evidence(self, added: Sequence[Claim], cited: Mapping[int, Source]) -> Evidence:
        """What is known of a marker behind these sentences."""
        claims, above = covered_by_marker(added) if added else (self._latest.claims, [])
        if len(cited) == 1:
            cited = {number: self._meant(claims, source) for number, source in cited.items()}
        goes_on = not added or claims[0].goes_on
        every = [*cited.items(), *(self._latest.sources.items() if goes_on else ())]
        sources = dict(every[:MOST_TOGETHER])
        return self._checked(claims, above, sources) if cited else Evidence(claims, sources)

    def _meant(self, claims: Sequence[Claim], named: Source) -> Source:
        """The source of sentences: the named one, unless a place of another shares far more with them."""
        if named.pictured or not named.page_text or len(self._shown) < 2:
            return named  # what it says is not known
        shared, whole = self._shares(claims, self._passage(named).page.language)
        number, most = max(shared.items(), key=itemgetter(1), default=(named.number, 0.0))
        is_far_more = most >= LEAST_MORE * shared[named.number] and most >= LEAST_SHARED * whole
        return next(each for each in self._shown if each.number == number) if is_far_more else named

    def _closest(self, claims: Sequence[Claim]) -> list[Source]:
        """Of each sentence the source with half of its words at least, and more than each other page has.

        None if these sentences have less than half of the words.
        """
        found, kept, all_words = list[Source](), 0.0, 0.0
        for claim in claims if self._shown else ():
            shared, whole = self._shares([claim], self._passage(self._shown[0]).page.language)
            most = max(shared.values(), default=0.0)
            closest = [each for each in self._shown if shared[each.number] == most]
            all_words += whole
            if len({each.page_id for each in closest}) == 1 and most >= LEAST_SHARED * whole:
                found.append(closest[0])
                kept += whole
        return found if kept >= LEAST_SHARED * all_words else []

    def _shares(self, claims: Sequence[Claim], language: str) -> tuple[Counter[int], float]:
        """How much of sentences, part by part, the closest places of each source have; and all there is."""
        if language not in self._indexed:
            pairs = [(unit, each) for each in self._shown for unit in self._passage(each).units]
            texts = (each.page_text[unit.start : unit.end] for unit, each in pairs)
            self._indexed[language] = Words(texts, language), [each.number for _, each in pairs]
        (places, numbers), whole, shared = self._indexed[language], 0.0, Counter[int]()
        for part in (part for claim in claims for part in _PART.split(claim.text)):
            weights = places.weights(wording_of(part, language))
            whole += sum(weights.values())
            best: dict[int, float] = {}
            for at, share in places.shares(weights).items():
                best[numbers[at]] = max(share, best.get(numbers[at], 0.0))
            shared.update(best)
        return shared, whole

    def _checked(
        self, claims: Sequence[Claim], above: Sequence[Claim], sources: Mapping[int, Source]
    ) -> Evidence:
        numbers = [source.number for source in sources.values()]
        found = [self._check(claim, sources) for claim in claims]
        is_quoted = all(each.check == "quoted" for each in found)
        quoting = {numbers[at] for each in found for at in each.quoted_by} if is_quoted else ()
        for lead in (claim for claim in above if claim.is_lead):
            # A number that is not there, such as the count of a list, is not that of the first item.
            self._check(lead, sources, if_there=True)
        # An introduction is never the reason why what it introduces is not quoted.
        lines = [claim for claim in above if not claim.is_lead]
        found += [self._check(claim, sources) for claim in lines]
        missing = dict.fromkeys(number for each in found for number in each.missing)
        pairs = zip([*claims, *lines], found, strict=True)
        differing = next((claim.short for claim, each in pairs if each.missing), "")
        return Evidence(claims, sources, frozenset(quoting), list(missing), differing)

    def _check_rest(self, claim: Claim) -> None:
        """What goes on after a marker within a sentence has its source, unless a number is not there."""
        if claim.goes_on and self._latest.sources:
            self._check(claim, self._latest.sources, if_there=True)

    def _check(self, claim: Claim, sources: Mapping[int, Source], *, if_there: bool = False) -> CodeCheck:
        """Compare a claim with its sources, and note what is found; with `if_there`, unless it differs."""
        found = check(claim.text, list(map(self._passage, sources.values())), self._question)
        pictured = [source.pictured for source in sources.values()]
        if found.check == "differs" and any(pictured):
            # A number that is on no page can be in a picture, which code cannot read.
            found = CodeCheck("reworded")
        if not claim.is_covered and not (if_there and found.check == "differs"):
            claim.check = "picture" if all(pictured) else found.check
        return found

    def _passage(self, source: Source) -> Passage:
        """The units of the page that a source has characters of."""
        if source.number not in self._passages:
            page, end = self._page(source.page_text), source.start + len(source.text)
            self._passages[source.number] = Passage(page, source.start, end)
        return self._passages[source.number]
