"""Replaces a model's citation markers by checked citations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.grounding import objections
from core.grounding.brackets import (
    MAX_BRACKET,
    OPENING,
    bracketed,
    cited_numbers,
    is_forged,
    rounded_end,
    visible_name,
)
from core.grounding.checks import (
    CheckedEnd,
    CheckedMarker,
    SourceCheck,
    check_end,
    check_marker,
    find_conflicts,
)
from core.grounding.claims import Claims
from core.grounding.code_check import Cited, Page, check
from core.grounding.models import REFUTED, Citation, CitationCheck, Grounding, Mark, WrittenMark
from core.grounding.objections import Objection
from core.grounding.quotes import Span
from core.grounding.safe_markdown import SafeMarkdown
from core.grounding.sources import Source, host_of
from core.names import page_id

NOTHING = "\u2060"
"""Shown behind a marker without a claim: it cannot be seen, and keeps the text around it apart."""
LONGEST_QUOTE = 1500


def marker(number: int) -> str:
    """The marker with which a model cites source `number`."""
    return f"[S{number}]"


CUT_NOTE = "\n\n[The answer was cut here: it reached a length limit.]"
"""The end of the text of an answer that was cut."""


def mark_truncated(grounding: Grounding, tokens: int | None) -> Grounding:
    """The verdict on an answer that was cut, at a limit of `tokens` or of the model: it is not grounded."""
    limit = f"its limit of {tokens} tokens" if tokens else "the length limit of the model"
    found = [*grounding.objections, objections.cut(limit)]
    return grounding.model_copy(update={"grounded": False, "not_found": False, "objections": found})


MAX_BRACKETS = 2000
"""Brackets of an answer that are read; the others are made round, so that none looks like a citation."""
WITHOUT_SOURCE = "[No source, not verified]"
"""Ends an answer that states something and cites nothing."""
NOT_CHECKED = "[Not checked: the checks of this answer did not end in time]"
"""Ends an answer whose checks failed."""
NOT_CHECKED_END = ", not checked]"
"""Ends the marker of a citation whose check did not end."""


class Marker(NamedTuple):
    """A marker of an answer, and the text since the one before."""

    numbers: list[int]
    text: str


class CitationWriter:
    """Replaces the markers of an answer by checked citations while the answer streams in.

    `feed` returns the text that can be shown so far, `finish` the rest. Then `citations` has every distinct
    citation, and `grounding` the result of the checks. Numbers from the `question` contradict no source.
    No text that is shown makes a renderer of Markdown load or run anything; it links only to web pages that
    it has cited.

    Marks are places in the text without leading white space, which StreamStripper drops. `take_marks` returns
    those of the markers that were shown since its last call.

    With `deferred` the caller runs the checks: `take` returns the text and the markers, `settle` turns a
    marker into text once its `request` was checked, `pass_on` is called with the text between markers, in
    order, and `conclude` takes the check of the `rest`. If a check fails, the caller sets `is_unchecked`: no
    further citation is verified, and the answer says so.
    """

    def __init__(self, sources: Sequence[Source], question: str = "", *, deferred: bool = False) -> None:
        self.sources = sources
        self.question = question
        self.is_unchecked = False
        self._by_number = {source.number: source for source in sources}
        self._is_deferred = deferred
        self._concluded: tuple[CheckedEnd, list[Objection]] | None = None
        self._markdown = SafeMarkdown(self._take, self._is_cited)
        self._shown: list[str | Marker] = []
        self._held = ""
        self._brackets = 0
        self._since_marker = ""
        self._ends_in_citation = False
        self._skips_marker = False
        self._claims = Claims()
        self._objections: list[Objection] = []
        self._has_too_many_brackets = False
        self._length = 0
        self._cited: list[Citation] = []
        self._places: dict[str, int] = {}
        self._marks: list[list[Mark]] = []
        self._new_marks: list[WrittenMark] = []

    def feed(self, delta: str) -> str:
        """Take in more of the model's text; returns what can no longer become part of a marker."""
        self._markdown.feed(delta)
        return self._text_shown()

    def finish(self) -> str:
        """Return the text that was still held back."""
        self._markdown.finish()
        self._release(is_all=True)
        return self._text_shown()

    def take(self) -> list[str | Marker]:
        """What can be shown since the last call, with the markers that have to be settled."""
        shown, self._shown = self._shown, []
        return shown

    def pass_on(self, text: str) -> str:
        """The text, which is counted as shown."""
        self._length += len(text if self._length else text.lstrip())
        return text

    def take_marks(self) -> list[WrittenMark]:
        """The markers that were shown since the last call."""
        marks, self._new_marks = self._new_marks, []
        return marks

    @property
    def citations(self) -> list[Citation]:
        """Every distinct citation so far, with the marks of its markers."""
        pairs = zip(self._cited, self._marks, strict=True)
        return [citation.model_copy(update={"marks": list(marks)}) for citation, marks in pairs]

    def request(self, marker: Marker) -> tuple[Claims, str, list[Source]]:
        """The arguments of `check_marker` for this marker."""
        return self._claims.open_part(), marker.text, self._known(marker)

    def rest(self) -> tuple[Claims, str]:
        """The arguments of `check_end` for the finished answer."""
        text, self._since_marker = self._since_marker, ""
        return self._claims, text

    def settle(self, marker: Marker, checked: CheckedMarker | None) -> str:
        """The text of a marker after its check, which is None if it failed."""
        if checked is not None:
            self._claims.take_back(checked.claims)
        checks = dict(zip(self._known(marker), checked.checks, strict=True)) if checked else {}
        shown = ""
        for number in marker.numbers:
            text, citation = self._cite_one(number, marker.text, checks)
            shown += f" {text}" if shown and text else text
            if citation is not None:
                end = self._length + len(shown)
                self._add(citation, Mark(start=end - len(text), end=end))
        return self.pass_on(shown)

    def conclude(self, end: CheckedEnd, conflicts: list[Objection]) -> None:
        """Take in the check of the whole answer."""
        self._concluded = end, conflicts

    @property
    def code_end(self) -> str:
        """What to append before a note, so that no open block of code contains it; otherwise empty."""
        return self._markdown.code_end

    @property
    def label(self) -> str:
        """What to append to a finished answer that states something without any source; otherwise empty."""
        if self.is_unchecked:
            return f"\n\n{NOT_CHECKED}"
        end, _ = self._conclusion()
        return f" {WITHOUT_SOURCE}" if end.uncovered and not self._cited else ""

    @property
    def grounding(self) -> Grounding:
        """The result of the code checks on the text so far."""
        counts: Counter[str] = Counter(citation.check for citation in self._cited)
        if self.is_unchecked:
            found = [*self._objections, objections.NOT_CHECKED]
            return Grounding(grounded=False, citations=len(self._cited), objections=found, **counts)
        end, _ = self._conclusion()
        uncited = [claim for claim in end.uncovered if not claim.is_cited]
        pictured = [claim for claim in end.uncovered if claim.is_pictured]
        unchecked = [claim for claim in end.uncovered if claim.is_unchecked and not claim.is_pictured]
        found = [*self._objections, *(objections.uncited(claim.short) for claim in uncited)]
        found += [objections.not_compared(claim.short) for claim in unchecked]
        found += [objections.read_from_picture(claim.short) for claim in pictured]
        return Grounding(
            grounded=bool(self._cited) and not uncited and REFUTED.isdisjoint(counts),
            citations=len(self._cited),
            **counts,
            coverage=end.coverage,
            uncited=len(uncited),
            not_found=end.not_found,
            closest_passages=end.closest,
            objections=found,
        )

    def _conclusion(self) -> tuple[CheckedEnd, list[Objection]]:
        if self._concluded is not None:
            return self._concluded
        end = check_end(*self.rest())
        return end, find_conflicts(end, self.sources, self.question)

    def _take(self, safe: str) -> None:
        goes_on = self._held and not any(c.isprintable() and not c.isspace() for c in safe)
        self._held += safe
        if not goes_on or len(self._held) >= MAX_BRACKET:
            self._release(is_all=False)

    def _text_shown(self) -> str:
        """The text that can be shown now; with deferred checks `take` returns it."""
        return "" if self._is_deferred else "".join(map(str, self.take()))

    def _is_cited(self, address: str) -> bool:
        return any(citation.verified and citation.url == address for citation in self._cited)

    def _release(self, *, is_all: bool) -> None:
        while (opened := OPENING.search(self._held)) and self._brackets < MAX_BRACKETS:
            self._show(self._prose(self._held[: opened.start()]))
            self._held = self._held[opened.start() :]
            bracket = bracketed(self._held, is_all=is_all)
            if bracket is None:
                return
            self._brackets += 1
            if numbers := cited_numbers(bracket):
                self._cite(numbers)
                self._held = self._held[len(bracket) :]
            elif is_forged(bracket):
                self._show(self._prose(self._round()))
                self._held = rounded_end(bracket)[1:] + self._held[len(bracket) :]
            else:
                self._show(self._prose(bracket[0]))
                self._held = self._held[1:]
        if opened:
            if not self._has_too_many_brackets:
                self._has_too_many_brackets = True
                self._objections.append(objections.too_many_brackets(MAX_BRACKETS))
            self._held = OPENING.sub(" (", self._held)
        self._show(self._prose(self._held))
        self._held = ""

    def _show(self, text: str) -> None:
        self._shown.append(text if self._is_deferred else self.pass_on(text))

    def _round(self) -> str:
        return " (" if self._since_marker.endswith("]") else "("

    def _prose(self, text: str) -> str:
        # After a citation these would turn it into a Markdown link to an address of the model's choice.
        behind = text.lstrip("]")
        cut = (
            len(text) - len(behind) if self._ends_in_citation and behind.startswith(("(", "[", ":")) else None
        )
        shown = text if cut is None else f"{text[:cut]} {behind}"
        self._ends_in_citation = self._ends_in_citation and not behind
        if shown and self._skips_marker:
            shown, self._skips_marker = f"{NOTHING}{shown}", False
        self._since_marker += text
        return shown

    def _cite(self, numbers: list[int]) -> None:
        marker, self._since_marker = Marker(numbers, self._since_marker), ""
        self._ends_in_citation = True
        if self._is_deferred:
            self._shown.append(marker)
        else:
            self._shown.append(self.settle(marker, check_marker(*self.request(marker))))

    def _known(self, marker: Marker) -> list[Source]:
        return [self._by_number[number] for number in marker.numbers if number in self._by_number]

    def _cite_one(
        self, number: int, text: str, checks: Mapping[Source, SourceCheck]
    ) -> tuple[str, Citation | None]:
        """What the answer shows for one number of a marker, and the citation that it makes."""
        source = self._by_number.get(number)
        if source is None:
            self._objections.append(objections.unknown_source(number))
            return "[citation withheld: no such source]", None
        if self.is_unchecked:
            return self._reworded(source, text.strip()[-LONGEST_QUOTE:])
        if not self._claims.cited:
            self._objections.append(objections.empty_citation(number))
            self._skips_marker = True
            return "", None
        span = _joined(checks[source].spans)
        if span is None:
            return self._reworded(source, self._claims.cited[0].text)
        return f"[{place_of(source)}]", self._citation(source, "quoted", span)

    def _reworded(self, source: Source, claim: str) -> tuple[str, Citation]:
        """The citation of what the page does not say in these words, and its marker."""
        place = place_of(source)
        page = Page(source.page_text)
        if source.pictured or not page.units:
            return f"[{place}]", self._citation(
                source, "picture" if source.pictured else "reworded", Span(0, 0)
            )
        words = set(claim.casefold().split())

        def common(unit: int) -> int:
            span = page.units[unit]
            return len(words & set(source.page_text[span.start : span.end].casefold().split()))

        best = max(range(len(page.units)), key=common)
        found = check(claim, [Cited(page, best)], [page], self.question)
        citation = self._citation(
            source,
            "differs" if found.missing else "reworded",
            Span(page.units[best].start, page.units[best].end),
        ).model_copy(update={"missing": list(found.missing)})
        if not found.missing:
            return f"[{place}]", citation
        name, number = (visible_name(source.blob_name), source.page) if source.url is None else (place, None)
        self._objections.append(objections.differs(place, name, number, claim, found.missing))
        return f"[{place}: {objections.are_not_there(found.missing)}]", citation

    def _citation(self, source: Source, check: CitationCheck, span: Span) -> Citation:
        return _citation(source, check, span).model_copy(update={"closest": self._claims.lists_closest})

    def _add(self, citation: Citation, mark: Mark) -> None:
        index = self._places.setdefault(citation.model_dump_json(), len(self._cited))
        if index == len(self._cited):
            self._cited.append(citation)
            self._marks.append([])
        self._marks[index].append(mark)
        marked = citation.model_copy(update={"marks": [mark]})
        self._new_marks.append(WrittenMark(index=index, citation=marked, mark=mark))


def _citation(source: Source, check: CitationCheck, span: Span) -> Citation:
    """The citation of a place on a source's page, with what is known of the claim."""
    return Citation(
        document_id=source.document_id,
        blob_name=source.blob_name,
        page=source.page,
        page_id=source.url or page_id(source.document_id, source.page),
        quote=source.page_text[span.start : span.end],
        start=span.start,
        end=span.end,
        check=check,
        url=source.url,
        document_version=source.document_version,
        media_type=source.media_type,
        page_label=source.page_label or None,
        context_type=source.context_type,
        context_id=source.context_id,
        context_name=source.context_name,
        focus=source.focus,
    )


def place_of(cited: Source | Citation) -> str:
    """What a marker of an answer says between its brackets: the page, or the title and host of a web page."""
    name = visible_name(cited.blob_name)
    if cited.url is None:
        return f'Page {cited.page} of Document "{name}"{_other_context(cited)}'
    return f'Web page "{name}", {visible_name(host_of(cited.url))}'


def _other_context(cited: Source | Citation) -> str:
    """What a marker adds for a document of a context that does not belong to the focus."""
    if cited.focus or not cited.context_type or cited.context_name is None:
        return ""
    return f' in {cited.context_type} "{visible_name(cited.context_name)}"'


def _joined(spans: list[Span | None]) -> Span | None:
    """From the first to the last span; only the first one if they are far apart, or None if it is None."""
    if spans[0] is None:
        return None
    found = [span for span in spans if span]
    whole = Span(min(span.start for span in found), max(span.end for span in found))
    return whole if whole.end - whole.start <= LONGEST_QUOTE else spans[0]
