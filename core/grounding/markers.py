"""Citation markers: `[S3]` in a model's answer becomes a checked citation, even in mid-stream."""

import re
from collections.abc import Sequence

from core.contract import Citation, Grounding
from core.documents.names import page_id
from core.grounding.answers import NOT_FOUND_ANSWER
from core.grounding.quotes import Span, find_support, sentences
from core.grounding.sources import Source

_MARKER = re.compile(r"\[\s*S\d+(?:\s*[,;]\s*S?\d+)*\s*\]", re.I)
_COULD_BECOME_MARKER = re.compile(r"\[\s*(?:S(?:\d+(?:\s*[,;]\s*(?:S?\d*)?)*\s*)?)?$", re.I)
_FORGED = re.compile(r"\[(?=\s*page\s+\d+\s+of\s+document)", re.I)
_COULD_BECOME_FORGED = re.compile(r"\[\s*(?:p|pa|pag|page[^\]]{0,30})?$", re.I)


def marker(number: int) -> str:
    """How a model is asked to cite source `number`."""
    return f"[S{number}]"


class CitationWriter:
    """Rewrites a model's answer as it streams in: markers out, checked citations in.

    `feed` returns the text that is safe to show so far, `finish` the rest. Afterwards `citations`
    holds every distinct citation and `grounding` what the checks found.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {source.number: source for source in sources}
        self._held = ""
        self._since_marker = ""
        self._claim = ""
        self._claims: list[tuple[str, bool]] = []
        self._issues: list[str] = []
        self.citations: list[Citation] = []

    def feed(self, delta: str) -> str:
        """Take in more of the model's text; give out what can no longer turn into a marker."""
        self._held += delta
        shown = []
        while match := _MARKER.search(self._held):
            shown.append(self._prose(self._held[: match.start()]))
            shown.append(self._cite(match.group()))
            self._held = self._held[match.end() :]
        cut = _safe_length(self._held)
        shown.append(self._prose(self._held[:cut]))
        self._held = self._held[cut:]
        return "".join(shown)

    def finish(self) -> str:
        """The text that was still held back."""
        rest, self._held = self._prose(self._held), ""
        self._close_claims()
        return rest

    @property
    def grounding(self) -> Grounding:
        """The verdict of the code checks on what was written."""
        verified = sum(citation.verified for citation in self.citations)
        text = " ".join(sentence for sentence, _ in self._claims)
        not_found = NOT_FOUND_ANSWER.casefold() in text.casefold()
        covered = sum(is_covered for _, is_covered in self._claims)
        return Grounding(
            grounded=bool(self.citations) and verified == len(self.citations) and not self._issues,
            citations=len(self.citations),
            verified=verified,
            coverage=covered / len(self._claims) if self._claims else 0.0,
            not_found=not_found and not self.citations,
            issues=self._issues,
        )

    def _prose(self, text: str) -> str:
        text = _FORGED.sub("(", text)
        self._since_marker += text
        return text

    def _cite(self, written: str) -> str:
        self._close_claims()
        numbers = dict.fromkeys(int(digits) for digits in re.findall(r"\d+", written))
        return " ".join(self._cite_one(number) for number in numbers)

    def _cite_one(self, number: int) -> str:
        source = self._sources.get(number)
        if source is None:
            self._issues.append(f"The answer cites source {number}, which it was not given.")
            return "[citation withheld: no such source]"
        citation = _check(self._claim, source)
        if citation not in self.citations:
            self.citations.append(citation)
        place = f'Page {source.page} of Document "{source.blob_name}"'
        if citation.verified:
            if self._claims:
                self._claims[-1] = (self._claims[-1][0], True)
            return f"[{place}]"
        self._issues.append(f"{place} does not bear out: {self._claim[:200]}")
        return f"[{place}, not verified]"

    def _close_claims(self) -> None:
        """Split what was written since the last marker into claims; a marker cites the last of them."""
        text, self._since_marker = self._since_marker, ""
        claims = [text[span.start : span.end] for span in sentences(text)]
        claims = [claim for claim in claims if any(character.isalnum() for character in claim)]
        self._claims.extend((claim, False) for claim in claims)
        if claims:
            self._claim = claims[-1]


def _safe_length(text: str) -> int:
    """How much of `text` cannot be the start of a marker or of a forged citation."""
    opened = text.rfind("[")
    if opened == -1:
        return len(text)
    tail = text[opened:]
    undecided = _COULD_BECOME_MARKER.match(tail) or _COULD_BECOME_FORGED.match(tail)
    return opened if undecided else len(text)


def _check(claim: str, source: Source) -> Citation:
    near = Span(source.start, source.start + len(source.text))
    span = find_support(claim, source.page_text, near)
    return Citation(
        document_id=source.document_id,
        blob_name=source.blob_name,
        page=source.page,
        page_id=page_id(source.document_id, source.page),
        quote=source.page_text[span.start : span.end] if span else claim,
        start=span.start if span else 0,
        end=span.end if span else 0,
        verified=span is not None,
    )
