"""Fixed sentences of answers, which models are told to use word for word, and what is said of cut ones."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from core.extraction.word_boxes import SCALE, Box, boxes_between
from core.grounding.claims import Claim, Claims
from core.grounding.evidence import SourceEvidence
from core.grounding.models import Citation, Grounding, Rectangle
from core.grounding.numbers import NumberConflicts
from core.grounding.quotes import Span
from core.grounding.sources import OPENING, Source, bracketed, cited_numbers, is_forged, visible_name
from core.names import page_id


def mark_truncated(grounding: Grounding, tokens: int) -> Grounding:
    """The verdict on an answer that reached its limit: its end is missing, so it cannot count as grounded."""
    issue = f"The answer was cut at its limit of {tokens} tokens."
    return grounding.model_copy(update={"grounded": False, "issues": [*grounding.issues, issue]})


LONGEST_QUOTE = 1500


def marker(number: int) -> str:
    """How a model is asked to cite source `number`."""
    return f"[S{number}]"


class CitationWriter:
    """Rewrites a model's answer as it streams in: markers out, checked citations in.

    `feed` returns the text that is safe to show so far, `finish` the rest. Afterwards `citations`
    holds every distinct citation and `grounding` what the checks found. Numbers that the `question` gave
    contradict nothing.
    """

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        self._sources = {source.number: source for source in sources}
        self._contradictions = NumberConflicts(sources, question)
        self._evidence: dict[int, SourceEvidence] = {}
        self._held = ""
        self._since_marker = ""
        self._ends_in_citation = False
        self._claims = Claims()
        self._issues: list[str] = []
        self.citations: list[Citation] = []

    def feed(self, delta: str) -> str:
        """Take in more of the model's text; give out what can no longer turn into a marker."""
        self._held += delta
        return self._release(is_all=False)

    def finish(self) -> str:
        """The text that was still held back."""
        rest = self._release(is_all=True)
        self._close_claims()
        return rest

    @property
    def grounding(self) -> Grounding:
        """The verdict of the code checks on what was written."""
        verified = sum(citation.verified for citation in self.citations)
        uncovered = [claim for claim in self._claims.uncovered if not claim.is_cited]
        contradicted = [
            told for claim in self._claims.uncovered for told in self._contradictions.of(claim.text)
        ]
        issues = self._issues + [f"Nothing is cited for: {claim.short}" for claim in uncovered] + contradicted
        coverage = self._claims.coverage
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
        # Right after a citation these would make a link of it, to wherever the model says.
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
        self._issues.append(f"{place} does not bear out: {self._claims.cited[0].short}")
        return f"[{place}, not verified]"

    def _check(self, claims: list[Claim], source: Source) -> Citation:
        """Whether the source bears out the last claim; those that it introduces or lists are marked too."""
        evidence = self._evidence.setdefault(source.number, SourceEvidence(source))
        spans = [evidence.find(claim.text) for claim in claims]
        claims[0].is_cited = True
        for claim, span in zip(claims, spans, strict=True):
            claim.is_covered = claim.is_covered or span is not None
        return _citation(source, claims[0].text, _joined(spans))

    def _close_claims(self) -> None:
        text, self._since_marker = self._since_marker, ""
        self._claims.add(text)


def _place(source: Source) -> str:
    name = visible_name(source.blob_name)
    if source.url is None:
        return f'Page {source.page} of Document "{name}"'
    return f'Web page "{name}", {visible_name(source.host)}'


def _joined(spans: list[Span | None]) -> Span | None:
    """From the first to the last of the spans; only the first one where they lie far apart or it is None."""
    found = [span for span in spans if span]
    if spans[0] is None:
        return None
    whole = Span(min(span.start for span in found), max(span.end for span in found))
    return whole if whole.end - whole.start <= LONGEST_QUOTE else spans[0]


def _citation(source: Source, claim: str, span: Span | None) -> Citation:
    return Citation(
        document_id=source.document_id,
        blob_name=source.blob_name,
        page=source.page,
        page_id=source.url or page_id(source.document_id, source.page),
        quote=source.page_text[span.start : span.end] if span else claim,
        start=span.start if span else 0,
        end=span.end if span else 0,
        verified=span is not None,
        url=source.url,
    )


ReadBoxes = Callable[[str, int], Awaitable[bytes]]
"""The boxes of a document's page by its number, as PageStore.boxes gives them."""

_DECIMALS = 4

log = logging.getLogger(__name__)


def rectangles(page_text: str, boxes: bytes, start: int, end: int) -> list[Rectangle]:
    """One rectangle for each line that characters `start` to `end` of a page stand on, words kept whole.

    None where `boxes` are not those of this text.
    """
    return [_rectangle(box) for box in boxes_between(page_text, boxes, start, end)]


async def with_rectangles(
    citations: Sequence[Citation], sources: Sequence[Source], read_boxes: ReadBoxes
) -> list[Citation]:
    """The citations, those that are verified with their rectangles.

    `sources` are what the answer was written from; pages of the web have no rectangles. Each cited page's
    boxes are read once, all side by side. The answer has been made: it stands without what cannot be had.
    """
    texts = {(source.document_id, source.page): source.page_text for source in sources if not source.url}
    cited = {(citation.document_id, citation.page) for citation in citations if citation.verified}
    pages = sorted(cited & texts.keys())
    found = await asyncio.gather(*(_read(read_boxes, *page) for page in pages))
    boxes = dict(zip(pages, found, strict=True))
    return [_highlighted(citation, texts, boxes) for citation in citations]


async def _read(read_boxes: ReadBoxes, document_id: str, page: int) -> bytes:
    try:
        return await read_boxes(document_id, page)
    except Exception:
        # The outermost edge of what only adorns an answer that may have been shown.
        log.warning("boxes.unavailable document_id=%s page=%d", document_id, page, exc_info=True)
        return b""


def _highlighted(
    citation: Citation, texts: dict[tuple[str, int], str], boxes: dict[tuple[str, int], bytes]
) -> Citation:
    page = (citation.document_id, citation.page)
    if not citation.verified or not boxes.get(page):
        return citation
    found = rectangles(texts[page], boxes[page], citation.start, citation.end)
    return citation.model_copy(update={"rectangles": found})


def _rectangle(box: Box) -> Rectangle:
    left, top, right, bottom = (round(edge / SCALE, _DECIMALS) for edge in box)
    return Rectangle(left=left, top=top, right=right, bottom=bottom)
