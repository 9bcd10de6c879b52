"""Replaces a model's citation markers by checked citations."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from core.grounding import objections
from core.grounding.answer_checks import AnswerChecks, Evidence
from core.grounding.brackets import (
    MAX_BRACKET,
    OPENING,
    STATUS,
    bracketed,
    cited_numbers,
    is_forged,
    rounded_end,
    squared,
    status_of,
    visible_name,
    without_citations,
)
from core.grounding.claims import Claims
from core.grounding.closest import not_found_answer
from core.grounding.models import REFUTED, Citation, Grounding, Mark, WrittenMark
from core.grounding.objections import Objection, Place, are_not_there
from core.grounding.safe_markdown import SafeMarkdown
from core.grounding.sources import Source, host_of

NOTHING = "\u2060"
"""Shown for a marker without a claim: it cannot be seen, and keeps the text around it apart."""


def marker(number: int) -> str:
    """The marker with which a model cites source `number`."""
    return f"[S{number}]"


CUT_NOTE = "\n\n[The answer was cut here: it reached a length limit, or the model broke off.]"
"""The end of the text of an answer that was cut."""


def mark_truncated(grounding: Grounding, tokens: int | None) -> Grounding:
    """The verdict on an answer that was cut, at a limit of `tokens` or of the model: it is not grounded."""
    limit = f"its limit of {tokens} tokens" if tokens else "the length limit of the model"
    found = [*grounding.objections, objections.cut(limit)]
    return grounding.model_copy(update={"grounded": False, "not_found": False, "objections": found})


MAX_BRACKETS = 2000
"""Brackets of an answer that are read; the others are made round, so that none looks like a citation."""
NO_SUCH_SOURCE = "[citation withheld: no such source]"
"""Shown for a marker of a source that was not in the prompt."""
WITHOUT_SOURCE = "[No source, not verified]"
"""Ends an answer that states something and cites nothing."""


_NOTES = re.compile("|".join(map(re.escape, (CUT_NOTE, NO_SUCH_SOURCE, WITHOUT_SOURCE, NOTHING, *STATUS))))


def as_said(answer: str) -> str:
    """A shown answer as the model wrote it, without what code has added: a model would imitate that."""
    return _NOTES.sub("", without_citations(answer)).strip()


class CitationWriter:
    """Replaces the markers of an answer by checked citations while the answer streams in.

    `feed` returns the text that can be shown so far, `finish` the rest. Then `citations` has every distinct
    citation, and `grounding` the result of the checks. Numbers from the `question` differ from no source.
    No text that is shown makes a renderer of Markdown load or run anything; it links only to web pages that
    it has cited.

    A marker is about the sentences since the one before it in its paragraph, list item or table. Markers next
    to each other are checked together, so they are shown when the words behind them begin.

    Marks are places in the text without leading white space, which StreamStripper drops. `take_marks` returns
    those of the markers that were shown since its last call.
    """

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        self._by_number = {source.number: source for source in sources}
        self._question, self._checks = question, AnswerChecks(question)
        self._markdown = SafeMarkdown(self._take, self._is_cited)
        self._shown: list[str] = []
        self._unread = self._held = ""
        self._brackets = 0
        self._before_markers = self._since_marker = ""
        self._waiting: list[list[int] | str] = []
        """Markers next to each other, as their numbers, with what is between and behind them."""
        self._ends_in_citation = False
        self._is_ending = False
        self._objections: list[Objection] = []
        self._has_too_many_brackets = False
        self._length = 0
        self._cited: list[Citation] = []
        self._places: dict[str, int] = {}
        self._marks: list[list[Mark]] = []
        self._new_marks: list[WrittenMark] = []

    def feed(self, delta: str) -> str:
        """Take in more of the model's text; returns what can no longer become part of a marker."""
        text, self._unread = squared(self._unread + delta, self._by_number, is_all=False)
        self._markdown.feed(text)
        return self._text_shown()

    def finish(self) -> str:
        """Return the text that was still held back, and check what follows the last marker."""
        self._markdown.feed(squared(self._unread, self._by_number, is_all=True)[0])
        self._unread = ""
        self._markdown.finish()
        self._release(is_all=True)
        self._is_ending = True
        self._settle()
        text, self._since_marker = self._since_marker, ""
        self._checks.finish(text)
        return self._text_shown()

    def take_marks(self) -> list[WrittenMark]:
        """The markers that were shown since the last call."""
        marks, self._new_marks = self._new_marks, []
        return marks

    @property
    def citations(self) -> list[Citation]:
        """Every distinct citation so far, with the marks of its markers."""
        pairs = zip(self._cited, self._marks, strict=True)
        return [citation.model_copy(update={"marks": list(marks)}) for citation, marks in pairs]

    @property
    def code_end(self) -> str:
        """What to append before a note, so that no open block of code contains it; otherwise empty."""
        return self._markdown.code_end

    @property
    def label(self) -> str:
        """What to append to a finished answer that states something without any source; otherwise empty."""
        return f" {WITHOUT_SOURCE}" if self._checks.claims.uncited and not self._cited else ""

    @property
    def grounding(self) -> Grounding:
        """The result of the checks of the finished text."""
        uncited = [objections.uncited(claim.short) for claim in self._checks.claims.uncited]
        return summed_up(self._checks.claims, self._cited, [*self._objections, *uncited])

    def _take(self, safe: str) -> None:
        goes_on = self._held and not any(c.isprintable() and not c.isspace() for c in safe)
        self._held += safe
        if not goes_on or len(self._held) >= MAX_BRACKET:
            self._release(is_all=False)

    def _text_shown(self) -> str:
        shown, self._shown = self._shown, []
        return "".join(shown)

    def _is_cited(self, address: str) -> bool:
        self._settle()
        return any(each.url == address and each.check not in REFUTED for each in self._cited)

    def _release(self, *, is_all: bool) -> None:
        while (opened := OPENING.search(self._held)) and self._brackets < MAX_BRACKETS:
            before = self._held[: opened.start()]
            self._add_prose(before.rstrip(" "))
            gap = before[len(before.rstrip(" ")) :]
            bracket = bracketed(self._held[opened.start() :], is_all=is_all)
            if bracket is None:
                self._held = gap + self._held[opened.start() :]
                return
            self._brackets += 1
            self._held = self._held[opened.start() + len(bracket) :]
            if status := status_of(bracket):
                self._add_status(status)
                continue
            self._add_prose(gap)
            if numbers := cited_numbers(bracket, self._by_number):
                self._add_marker(numbers)
            elif is_forged(bracket):
                self._add_prose(self._round())
                self._held = rounded_end(bracket)[1:] + self._held
            else:
                self._add_prose(bracket[0])
                self._held = bracket[1:] + self._held
        if opened:
            if not self._has_too_many_brackets:
                self._has_too_many_brackets = True
                self._objections.append(objections.too_many_brackets(MAX_BRACKETS))
            self._held = OPENING.sub(" (", self._held)
        # The space before a marker that is not shown is not shown either.
        shown = self._held if is_all else self._held.removesuffix(" ")
        self._held = self._held[len(shown) :]
        self._add_prose(shown)

    def _round(self) -> str:
        return " (" if self._since_marker.endswith("]") else "("

    def _add_prose(self, text: str) -> None:
        """Show text; the markers before it are shown first, unless it has no words."""
        if any(map(str.isalnum, text)):
            self._settle()
        # After a citation these would turn it into a Markdown link to an address of the model's choice.
        behind = text.lstrip("]")
        is_link = self._ends_in_citation and behind.startswith(("(", "[", ":"))
        shown = f"{text[: len(text) - len(behind)]} {behind}" if is_link else text
        self._ends_in_citation = self._ends_in_citation and not behind
        self._since_marker += text
        if self._waiting:
            self._waiting.append(shown)
        else:
            self._show(shown)

    def _add_status(self, status: str) -> None:
        """Note what needs no source. What was not found stays so when the answer is checked again."""
        if STATUS[status] == "none":
            if not self._length and not any(map(str.isalnum, self._since_marker)):
                # A small model may say no more than that.
                self._add_prose(not_found_answer(self._question).removesuffix(" [none]"))
            self._add_prose(status)
        else:
            self._since_marker += status

    def _add_marker(self, numbers: list[int]) -> None:
        """Have a marker wait for those next to it."""
        self._ends_in_citation = True
        if not self._waiting:
            self._before_markers = self._since_marker
        self._waiting.append(numbers)
        self._since_marker = ""

    def _show(self, text: str) -> None:
        self._length += len(text if self._length else text.lstrip())
        self._shown.append(text)

    def _settle(self) -> None:
        """Check the markers that wait, and show them and what is between and behind them."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        numbers = dict.fromkeys(number for each in waiting if not isinstance(each, str) for number in each)
        known = {number: self._by_number[number] for number in numbers if number in self._by_number}
        evidence = self._checks.check(self._before_markers, known)
        self._report(evidence, known)
        for each in waiting:
            if isinstance(each, str):
                self._show(each)
            else:
                self._show_marker(each, evidence)

    def _report(self, evidence: Evidence, known: Mapping[int, Source]) -> None:
        """Object to numbers that no page has."""
        if not evidence.missing or not known:
            return
        place = cited_place(next(iter(known.values())))
        self._objections.append(objections.differs(place, evidence.differing, evidence.missing))

    def _show_marker(self, numbers: Sequence[int], evidence: Evidence) -> None:
        shown = ""
        for number in numbers:
            text, citation = self._cite(number, evidence)
            shown += f" {text}" if shown and text else text
            if citation is not None:
                end = self._length + len(shown)
                self._add(citation, Mark(start=end - len(text), end=end))
        self._show(shown or ("" if self._is_ending else NOTHING))

    def _cite(self, number: int, evidence: Evidence) -> tuple[str, Citation | None]:
        """What the answer shows for one number of a marker, and the citation that it makes."""
        source = self._by_number.get(number)
        if source is None:
            self._objections.append(objections.unknown_source(number))
            return NO_SUCH_SOURCE, None
        if not evidence.claims:
            self._objections.append(objections.empty_citation(number))
            return "", None
        check = evidence.check_of(source)
        span = self._checks.quote(evidence, source)
        citation = _citation(
            source,
            quote=source.page_text[span.start : span.end],
            start=span.start,
            end=span.end,
            check=check,
            missing=list(evidence.missing) if check == "differs" else [],
            closest=self._checks.claims.lists_closest,
        )
        return marker_text(citation), citation

    def _add(self, citation: Citation, mark: Mark) -> None:
        index = self._places.setdefault(citation.model_dump_json(), len(self._cited))
        if index == len(self._cited):
            self._cited.append(citation)
            self._marks.append([])
        self._marks[index].append(mark)
        marked = citation.model_copy(update={"marks": [mark]})
        self._new_marks.append(WrittenMark(index=index, citation=marked, mark=mark))


def summed_up(claims: Claims, citations: Sequence[Citation], found: Sequence[Objection]) -> Grounding:
    """The result of all checks of an answer with these claims and citations."""
    uncited, counts = claims.uncited, Counter[str](citation.check for citation in citations)
    grounding = Grounding(
        grounded=bool(citations) and not uncited and counts.keys().isdisjoint(REFUTED),
        citations=len(citations),
        coverage=claims.coverage,
        uncited=len(uncited),
        not_found=claims.report_not_found,
        closest_passages=claims.lists_closest,
        objections=list(found),
    )
    return grounding.model_copy(update=counts)


def _citation(source: Source, **checked: Any) -> Citation:
    """The citation of a source, with what was `checked`: its quote and the check."""
    return Citation(
        document_id=source.document_id,
        blob_name=source.blob_name,
        page=source.page,
        page_id=source.page_id,
        url=source.url,
        document_version=source.document_version,
        media_type=source.media_type,
        page_label=source.page_label or None,
        context_type=source.context_type,
        context_id=source.context_id,
        context_name=source.context_name,
        focus=source.focus,
        **checked,
    )


def marker_text(citation: Citation) -> str:
    """What an answer shows for a citation: its place, and the numbers that are not there."""
    place = place_of(citation)
    return f"[{place}: {are_not_there(citation.missing)}]" if citation.missing else f"[{place}]"


def place_of(cited: Source | Citation) -> str:
    """What a marker of an answer says between its brackets: the page, or the title and host of a web page."""
    name = visible_name(cited.blob_name)
    if cited.url is None:
        return f'Page {cited.page} of Document "{name}"{_other_context(cited)}'
    return f'Web page "{name}", {visible_name(host_of(cited.url))}'


def cited_place(cited: Source | Citation) -> Place:
    """What is cited, as objections name it."""
    text = place_of(cited)
    return (
        Place(text, visible_name(cited.blob_name), cited.page)
        if cited.url is None
        else Place(text, text, None)
    )


def _other_context(cited: Source | Citation) -> str:
    """What a marker adds for a document of a context that does not belong to the focus."""
    if cited.focus or not cited.context_type or cited.context_name is None:
        return ""
    return f' in {cited.context_type} "{visible_name(cited.context_name)}"'
