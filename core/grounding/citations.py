"""Replaces a model's citation markers by checked citations, and locates their quotes on PDF pages."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from core.extraction.word_boxes import SCALE, boxes_between
from core.grounding.claims import Claim, Claims
from core.grounding.evidence import SourceEvidence
from core.grounding.models import Citation, Grounding, Rectangle
from core.grounding.numbers import NumberConflicts
from core.grounding.quotes import Span
from core.grounding.sources import OPENING, Source, bracketed, cited_numbers, is_forged, visible_name
from core.names import page_id


class StreamStripper:
    """Drops leading white space; holds back white space that may be trailing until more text follows."""

    def __init__(self) -> None:
        self._space = ""
        self._has_begun = False

    def feed(self, text: str) -> str:
        """The part of the text that can be passed on now."""
        held = self._space + text
        held = held if self._has_begun else held.lstrip()
        shown = held.rstrip()
        self._space = held[len(shown) :]
        self._has_begun = self._has_begun or bool(shown)
        return shown


LONGEST_QUOTE = 1500
_DECIMALS = 4

ReadBoxes = Callable[[str, int], Awaitable[bytes]]
"""Reads the word boxes of a document's page by its number, as PageStore.boxes does."""

log = logging.getLogger(__name__)


def marker(number: int) -> str:
    """The marker with which a model cites source `number`."""
    return f"[S{number}]"


def mark_truncated(grounding: Grounding, tokens: int) -> Grounding:
    """The verdict on an answer that was cut at its token limit: incomplete, so not grounded."""
    issue = f"The answer was cut at its limit of {tokens} tokens."
    return grounding.model_copy(update={"grounded": False, "issues": [*grounding.issues, issue]})


class CitationWriter:
    """Replaces the markers of an answer by checked citations while the answer streams in.

    `feed` returns the text that can be shown so far, `finish` the rest. Then `citations` has every distinct
    citation, and `grounding` the result of the checks. Numbers from the `question` contradict no source.
    """

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        self._sources = {source.number: source for source in sources}
        self._conflicts = NumberConflicts(sources, question)
        self._evidence: dict[int, SourceEvidence] = {}
        self._held = ""
        self._since_marker = ""
        self._ends_in_citation = False
        self._claims = Claims()
        self._issues: list[str] = []
        self.citations: list[Citation] = []

    def feed(self, delta: str) -> str:
        """Take in more of the model's text; returns what can no longer become part of a marker."""
        self._held += delta
        return self._release(is_all=False)

    def finish(self) -> str:
        """Return the text that was still held back."""
        rest = self._release(is_all=True)
        self._close_claims()
        return rest

    @property
    def grounding(self) -> Grounding:
        """The result of the code checks on the text so far."""
        verified = sum(citation.verified for citation in self.citations)
        uncovered, coverage = self._claims.uncovered, self._claims.coverage
        uncited = [f"Nothing is cited for: {claim.short}" for claim in uncovered if not claim.is_cited]
        contradicted = [issue for claim in uncovered for issue in self._conflicts.find(claim.text)]
        issues = self._issues + uncited + contradicted
        all_verified = bool(self.citations) and verified == len(self.citations)
        return Grounding(
            grounded=all_verified and not issues and coverage == 1.0,
            citations=len(self.citations),
            verified=verified,
            coverage=coverage,
            not_found=self._claims.report_not_found,
            issues=issues,
            contradicted=contradicted,
        )

    def _release(self, *, is_all: bool) -> str:
        shown = []
        while opened := OPENING.search(self._held):
            shown.append(self._prose(self._held[: opened.start()]))
            self._held = self._held[opened.start() :]
            bracket = bracketed(self._held, is_all=is_all)
            if bracket is None:
                return "".join(shown)
            if numbers := cited_numbers(bracket):
                shown.append(self._cite(numbers))
                self._held = self._held[len(bracket) :]
            else:
                shown.append(self._prose("(" if is_forged(bracket) else bracket[0]))
                self._held = self._held[1:]
        shown.append(self._prose(self._held))
        self._held = ""
        return "".join(shown)

    def _prose(self, text: str) -> str:
        # After a citation these would turn it into a Markdown link to an address of the model's choice.
        shown = f" {text}" if self._ends_in_citation and text.startswith(("(", ":")) else text
        self._ends_in_citation = self._ends_in_citation and not text
        self._since_marker += text
        return shown

    def _cite(self, numbers: list[int]) -> str:
        self._close_claims()
        cited = " ".join(filter(None, map(self._cite_one, numbers)))
        self._ends_in_citation = self._ends_in_citation or bool(cited)
        return cited

    def _cite_one(self, number: int) -> str:
        source = self._sources.get(number)
        if source is None:
            self._issues.append(f"The answer cites source {number}, which it was not given.")
            return "[citation withheld: no such source]"
        if not self._claims.cited:
            self._issues.append(f"The answer cites source {number} for nothing.")
            return ""
        citation = self._check(self._claims.cited, source)
        if citation not in self.citations:
            self.citations.append(citation)
        place = _place(source)
        if citation.verified:
            return f"[{place}]"
        self._issues.append(f"{place} does not support: {self._claims.cited[0].short}")
        return f"[{place}, not verified]"

    def _check(self, claims: list[Claim], source: Source) -> Citation:
        """Check the last claim against the source, and mark the claims that it introduces or lists too."""
        evidence = self._evidence.setdefault(source.number, SourceEvidence(source))
        spans = [evidence.find(claim.text) for claim in claims]
        claims[0].is_cited = True
        for claim, span in zip(claims, spans, strict=True):
            claim.is_covered = claim.is_covered or span is not None
        span = _joined(spans)
        return Citation(
            document_id=source.document_id,
            blob_name=source.blob_name,
            page=source.page,
            page_id=source.url or page_id(source.document_id, source.page),
            quote=source.page_text[span.start : span.end] if span else claims[0].text,
            start=span.start if span else 0,
            end=span.end if span else 0,
            verified=span is not None,
            url=source.url,
        )

    def _close_claims(self) -> None:
        text, self._since_marker = self._since_marker, ""
        self._claims.add(text)


def _place(source: Source) -> str:
    name = visible_name(source.blob_name)
    if source.url is None:
        return f'Page {source.page} of Document "{name}"'
    return f'Web page "{name}", {visible_name(source.host)}'


def _joined(spans: list[Span | None]) -> Span | None:
    """From the first to the last span; only the first one if they are far apart, or None if it is None."""
    if spans[0] is None:
        return None
    found = [span for span in spans if span]
    whole = Span(min(span.start for span in found), max(span.end for span in found))
    return whole if whole.end - whole.start <= LONGEST_QUOTE else spans[0]


def rectangles(page_text: str, boxes: bytes, start: int, end: int) -> list[Rectangle]:
    """One rectangle for each line with characters `start` to `end` of a page, in whole words.

    Empty if `boxes` do not belong to this text.
    """
    return [
        Rectangle(**{name: round(edge / SCALE, _DECIMALS) for name, edge in box._asdict().items()})
        for box in boxes_between(page_text, boxes, start, end)
    ]


async def with_rectangles(
    citations: Sequence[Citation], sources: Sequence[Source], read_boxes: ReadBoxes
) -> list[Citation]:
    """The citations, the verified ones with their rectangles.

    `sources` are those that the answer was written from; web pages have no rectangles. The boxes of each
    cited page are read once, all concurrently. If they cannot be read, citations have no rectangles.
    """
    texts = {(source.document_id, source.page): source.page_text for source in sources if not source.url}
    cited = {(citation.document_id, citation.page) for citation in citations if citation.verified}
    pages = sorted(cited & texts.keys())
    boxes = dict(zip(pages, await asyncio.gather(*(_read(read_boxes, *page) for page in pages)), strict=True))
    highlighted = list(citations)
    for index, citation in enumerate(citations):
        page = (citation.document_id, citation.page)
        if citation.verified and boxes.get(page):
            found = rectangles(texts[page], boxes[page], citation.start, citation.end)
            highlighted[index] = citation.model_copy(update={"rectangles": found})
    return highlighted


async def _read(read_boxes: ReadBoxes, document_id: str, page: int) -> bytes:
    try:
        return await read_boxes(document_id, page)
    except Exception:
        # Rectangles are optional, and the answer may have been shown already.
        log.warning("boxes.unavailable document_id=%s page=%d", document_id, page, exc_info=True)
        return b""
