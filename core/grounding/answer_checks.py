"""Checks the sentences of an answer against the sources that they cite, while the answer is written."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from core.grounding.claims import Claim, Claims, covered_by_marker
from core.grounding.code_check import CodeCheck, Page, Passage, check
from core.grounding.models import CitationCheck
from core.grounding.sources import Source
from core.grounding.values import Values
from core.text.quotes import Span

LONGEST_QUOTE = 1500
"""Characters from the first to the last of the places that a marker's sentences are closest to."""
MOST_TOGETHER = 20
"""Sources of the markers behind one sentence that are compared with it."""
READ_PAGES = 32


class Evidence(NamedTuple):
    """What markers are about, and what is known of it.

    `sources` are those of all markers behind these claims, by their numbers. If the sources have the words of
    all claims, `quoting` are the numbers of those that have any; `missing` are the numbers in claims that no
    page has, and `differing` the first claim that has one.
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
    """The checks of one answer; a page is read once. All run in the event loop: they are linear."""

    def __init__(self, question: str = "") -> None:
        self.claims = Claims(question)
        self._question = Values(question)
        self._latest = Evidence()
        self._page = lru_cache(READ_PAGES)(Page)
        self._passages: dict[int, Passage] = {}

    def check(self, text: str, cited: Mapping[int, Source]) -> Evidence:
        """Check the text between markers against the sources of those that follow it.

        Markers are about the sentences of the last paragraph, list item or table, with what introduces them;
        without new sentences about those of the markers before. What goes on after a marker within a sentence
        can be from the source of that one too.
        """
        added = self.claims.add(text)
        claims, above = covered_by_marker(added) if added else (self._latest.claims, [])
        if added and added[0] is not claims[0]:
            self._check_rest(added[0])
        goes_on = not added or claims[0].goes_on
        every = [*cited.items(), *(self._latest.sources.items() if goes_on else ())]
        sources = dict(every[:MOST_TOGETHER])
        self._latest = self._checked(claims, above, sources) if cited else Evidence(claims, sources)
        return self._latest

    def finish(self, text: str) -> None:
        """Add the text behind the last marker."""
        if added := self.claims.add(text):
            self._check_rest(added[0])

    def quote(self, evidence: Evidence, source: Source) -> Span:
        """The place on a source's page that is closest to the claims, to the last one above all."""
        passage = self._passage(source)
        spans = [span for claim in reversed(evidence.claims) if (span := passage.closest(claim.text))]
        if not spans:
            return Span(0, 0)
        whole = Span(min(span.start for span in spans), max(span.end for span in spans))
        return whole if whole.end - whole.start <= LONGEST_QUOTE else spans[0]

    def _checked(
        self, claims: Sequence[Claim], above: Sequence[Claim], sources: Mapping[int, Source]
    ) -> Evidence:
        found = [self._check_claim(claim, sources) for claim in claims]
        for lead in (claim for claim in above if claim.is_lead):
            # A number that is not there, such as the count of a list, is not that of the first item.
            self._check_if_there(lead, sources)
        # An introduction is never the reason why what it introduces is not quoted.
        lines = [claim for claim in above if not claim.is_lead]
        introduced = [self._check_claim(claim, sources) for claim in lines]
        pairs = list(zip([*claims, *lines], [*found, *introduced], strict=True))
        numbers = list(sources)
        is_quoted = all(each.check == "quoted" for each in found)
        quoting = {numbers[at] for each in found for at in each.quoted_by} if is_quoted else ()
        missing = dict.fromkeys(number for _, each in pairs for number in each.missing)
        differing = next((claim.short for claim, each in pairs if each.missing), "")
        return Evidence(claims, sources, frozenset(quoting), list(missing), differing)

    def _check_claim(self, claim: Claim, sources: Mapping[int, Source]) -> CodeCheck:
        found = self._compare(claim, sources)
        if not claim.is_covered:
            claim.check = "picture" if all(each.pictured for each in sources.values()) else found.check
        return found

    def _check_rest(self, claim: Claim) -> None:
        """What goes on after a marker within a sentence has its source, unless a number is not there."""
        if claim.goes_on and self._latest.sources:
            self._check_if_there(claim, self._latest.sources)

    def _check_if_there(self, claim: Claim, sources: Mapping[int, Source]) -> None:
        if self._compare(claim, sources).check != "differs":
            self._check_claim(claim, sources)

    def _compare(self, claim: Claim, sources: Mapping[int, Source]) -> CodeCheck:
        """The verdict of code. A number that is on no page can be in a picture, which code cannot read."""
        found = check(claim.text, list(map(self._passage, sources.values())), self._question)
        is_unknown = found.check == "differs" and any(source.pictured for source in sources.values())
        return CodeCheck("reworded") if is_unknown else found

    def _passage(self, source: Source) -> Passage:
        """The units of the page that a source has characters of."""
        if source.number not in self._passages:
            page, end = self._page(source.page_text), source.start + len(source.text)
            self._passages[source.number] = Passage(page, source.start, end)
        return self._passages[source.number]
