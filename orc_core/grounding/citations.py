"""Replaces a model's citation markers by checked citations."""

import re
from collections import Counter
from collections.abc import Sequence

from orc_core.grounding.checks import AnswerChecks, Evidence
from orc_core.grounding.claims import BULLET
from orc_core.grounding.closest import not_found_answer
from orc_core.grounding.models import (
    REFUTED,
    Citation,
    Cited,
    Grounding,
    Mark,
    Objection,
    ObjectionCode,
    StatusMark,
    WrittenMark,
    are_not_there,
)
from orc_core.grounding.sources import Source
from orc_core.markdown.brackets import (
    MAX_BRACKET,
    OPENING,
    Status,
    bracketed,
    cited_numbers,
    is_forged,
    rounded_end,
    squared,
    status_of,
    without_citations,
)
from orc_core.markdown.safe_markdown import SafeMarkdown

_ENDS = (".", "!", "?", "\u3002")
LONGEST_BLOCK = 4000
"""Characters of a paragraph without a marker whose sources code looks for."""
_STAYS = ".,\u3002"
"""What may stand directly behind a text whose marker is not shown. It makes neither a tag nor an address."""
CUT_NOTE = "\n\n[The answer was cut here: it reached a length limit, or the model broke off.]"
"""The end of the text of an answer that was cut."""
MAX_BRACKETS = 2000
"""Brackets of an answer that are read; the others are made round, so that none looks like a citation."""
NO_SUCH_SOURCE = "[citation withheld: no such source]"
"""Shown for a marker of a source that was not in the prompt."""
WITHOUT_SOURCE = "[No source, not verified]"
"""Ends an answer that states something and cites nothing."""
_IN_EARLIER_ANSWERS = "\u2060", "\u2063"
"""Characters that earlier versions have put in the place of markers; they cannot be seen."""
_NOTES = re.compile(
    "|".join(map(re.escape, (CUT_NOTE, NO_SUCH_SOURCE, WITHOUT_SOURCE, *_IN_EARLIER_ANSWERS)))
)


def marker(number: int) -> str:
    """The marker with which a model cites source `number`."""
    return f"[S{number}]"


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

    `text` is all that was returned, without white space around it; marks are places in it. `take_marks`
    returns those of the markers that were shown since its last call.
    """

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        self._by_number = {source.number: source for source in sources}
        self._question, self._checks = question, AnswerChecks(question, sources)
        self.is_cut = False
        self._markdown = SafeMarkdown(self._take, self._is_cited)
        self._shown: list[str] = []
        self._space = ""
        """White space that waits for what follows it."""
        self.text = ""
        self._unread = self._held = ""
        self._brackets = 0
        self._before_markers = self._since_marker = self._block = ""
        """Text before the markers that wait, since the last marker, and of the paragraph since then."""
        self._has_code = False
        """Whether a line of `_block` may be code, in which a citation would be no citation."""
        self._waiting: list[list[int] | str] = []
        """Markers next to each other, as their numbers, with what is between and behind them."""
        self._ends_in_citation = False
        self._has_gap = False
        """Whether the text ends where a marker is not shown: what follows must not join it."""
        self._has_full_stop = False
        """Whether a sentence has ended before such a marker: `No. [none].` has one full stop too many."""
        self._objections: list[Objection] = []
        self._length = 0
        self._cited: list[Citation] = []
        self._places: dict[str, int] = {}
        self._marks: list[list[Mark]] = []
        self._statuses: list[StatusMark] = []
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
        self._settle()
        self._cite_block(is_over=True)
        text, self._since_marker = self._since_marker, ""
        self._checks.add(text)
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
    def ends_in_code(self) -> bool:
        """Whether the finished text leaves a block of code open."""
        return bool(self._markdown.code_end)

    def cut(self, tokens: int | None) -> None:
        """Note that the answer was cut, at a limit of `tokens` or of the model: it is not grounded."""
        limit = f"its limit of {tokens} tokens" if tokens else "the length limit of the model"
        self._objections.append(Objection(code="cut", text=f"The answer was cut at {limit}."))
        self.is_cut = True

    def add_notes(self, *, needs_sources: bool = True) -> str:
        """Say at the end of a finished answer that it states something without any source, or was cut.

        Returns what is shown for that. No block of code contains it.
        """
        lacks_sources = needs_sources and self._checks.claims.uncited and not self._cited
        notes = f" {WITHOUT_SOURCE}" * bool(lacks_sources) + CUT_NOTE * self.is_cut
        notes = notes and self._markdown.code_end + notes
        self.text += notes
        return notes

    @property
    def grounding(self) -> Grounding:
        """The result of the checks of the finished text."""
        claims, checks = self._checks.claims, Counter[str](citation.check for citation in self._cited)
        uncited = [claim.short for claim in claims.uncited]
        objections = [
            Objection(code="uncited", text=f"Nothing is cited for: {each}", claim=each) for each in uncited
        ]
        grounding = Grounding(
            grounded=not (self.is_cut or uncited) and bool(checks) and checks.keys().isdisjoint(REFUTED),
            citations=checks.total(),
            coverage=claims.coverage,
            uncited=len(uncited),
            not_found=claims.report_not_found and not self.is_cut,
            statuses=list(self._statuses),
            closest_passages=claims.lists_closest,
            objections=[*self._objections, *objections],
        )
        return grounding.model_copy(update=checks)

    def _take(self, safe: str) -> None:
        goes_on = self._held and not any(c.isprintable() and not c.isspace() for c in safe)
        self._held += safe
        if not goes_on or len(self._held) >= MAX_BRACKET:
            self._release(is_all=False)

    def _text_shown(self) -> str:
        shown, self._shown = "".join(self._shown), []
        self.text += shown
        return shown

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
                self._add_prose(" (" if self._since_marker.endswith("]") else "(")
                self._held = rounded_end(bracket)[1:] + self._held
            else:
                self._add_prose(bracket[0])
                self._held = bracket[1:] + self._held
        if opened:
            if self._brackets == MAX_BRACKETS:
                self._brackets += 1
                text = f"Not read: brackets after the first {MAX_BRACKETS:,} of the answer."
                self._object("too_many_brackets", text, MAX_BRACKETS)
            self._held = OPENING.sub(" (", self._held)
        # The space before a marker that is not shown is not shown either.
        shown = self._held if is_all else self._held.removesuffix(" ")
        self._held = self._held[len(shown) :]
        self._add_prose(shown)

    def _add_prose(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            self._add_line(line)

    def _add_line(self, text: str) -> None:
        """Show text of one line; the markers before it are shown first, unless it has no words."""
        if self._has_full_stop:
            text = text.lstrip(_STAYS)
            self._has_full_stop = not text
        if "\n" in self._space and text.strip() and not self._waiting:
            self._cite_block(is_over=self._space.count("\n") > 1)
        if any(map(str.isalnum, text)):
            self._settle()
        # After a citation these would turn it into a Markdown link to an address of the model's choice.
        behind = text.lstrip("]")
        is_link = self._ends_in_citation and behind.startswith(("(", "[", ":"))
        shown = f"{text[: len(text) - len(behind)]} {behind}" if is_link else text
        self._ends_in_citation = self._ends_in_citation and not behind
        self._since_marker += text
        self._block += text
        self._has_code = self._has_code or not self._markdown.is_prose
        if self._waiting:
            self._waiting.append(shown)
        else:
            self._show(shown)

    def _add_status(self, status: Status) -> None:
        """Note that the sentences since the last marker need no source."""
        self._settle()
        if status == "none" and not self._length and not any(map(str.isalnum, self._since_marker)):
            # A small model may say no more than that.
            self._add_prose(not_found_answer(self._question).removesuffix(" [none]"))
        text, self._since_marker, self._block, self._has_code = self._since_marker, "", "", False
        self._checks.add(text, status)
        self._statuses.append(StatusMark(at=self._length + len(self._space), status=status))
        self._has_gap = self._length > 0
        self._has_full_stop = text.rstrip().endswith(_ENDS)

    def _add_marker(self, numbers: list[int]) -> None:
        """Have a marker wait for those next to it."""
        self._has_full_stop = False
        self._ends_in_citation = True
        if not self._waiting:
            self._before_markers = self._since_marker
        self._waiting.append(numbers)
        self._since_marker, self._block, self._has_code = "", "", False

    def _show(self, text: str) -> None:
        if self._has_gap and (behind := text.lstrip(_STAYS)):
            text = f"{text[: -len(behind)]}{'' if behind[0].isspace() else ' '}{behind}"
            self._has_gap = False
        text = f"{self._space}{text}" if self._length else text.lstrip()
        shown = text.rstrip()
        self._space = text[len(shown) :]
        self._length += len(shown)
        self._shown.append(shown)

    def _cite_block(self, *, is_over: bool) -> None:
        """Cite the sources of a paragraph or item that ends without a marker, if code finds its words there.

        A line ends an item; a paragraph is over at an empty line.
        """
        last_line = self._block[-LONGEST_BLOCK:].rstrip().rpartition("\n")[2]
        if not (is_over or BULLET.match(last_line.lstrip())):
            return
        block, self._block = self._block, ""
        has_code, self._has_code = self._has_code, False
        if has_code or len(block) > LONGEST_BLOCK:
            return
        if numbers := self._checks.sources_of(block, self._since_marker[-2 * LONGEST_BLOCK :]):
            space, self._space = self._space, " "
            self._add_marker(numbers)
            self._settle(by_code=True)
            self._ends_in_citation, self._space = False, space

    def _settle(self, *, by_code: bool = False) -> None:
        """Check the markers that wait, and show them and what is between and behind them."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        numbers = dict.fromkeys(number for each in waiting if not isinstance(each, str) for number in each)
        known = {number: self._by_number[number] for number in numbers if number in self._by_number}
        evidence = self._checks.check(self._before_markers, known)
        if evidence.missing and known:
            cited, why = next(iter(evidence.sources.values())), are_not_there(evidence.missing)
            found = Objection.to("differs", cited, evidence.differing, why, evidence.missing)
            self._objections.append(found)
        for each in waiting:
            if isinstance(each, str):
                self._show(each)
            else:
                self._show_marker(each, evidence, by_code=by_code)

    def _object(self, code: ObjectionCode, text: str, number: int) -> None:
        self._objections.append(Objection(code=code, text=text, number=number))

    def _show_marker(self, numbers: Sequence[int], evidence: Evidence, *, by_code: bool) -> None:
        shown = " " if self._has_gap else ""
        for number in numbers:
            text, citation = self._cite(number, evidence, by_code=by_code)
            shown += f" {text}" if shown.strip() and text else text
            if citation is not None:
                end = self._length + len(self._space) + len(shown)
                mark = Mark(start=end - len(text), end=end)
                index = self._places.setdefault(citation.model_dump_json(), len(self._cited))
                if index == len(self._cited):
                    self._cited.append(citation)
                    self._marks.append([])
                self._marks[index].append(mark)
                marked = citation.model_copy(update={"marks": [mark]})
                self._new_marks.append(WrittenMark(index=index, citation=marked, mark=mark))
        if shown.strip():
            self._show(shown)
        else:
            self._has_gap = self._length > 0

    def _cite(self, number: int, evidence: Evidence, *, by_code: bool) -> tuple[str, Citation | None]:
        """What the answer shows for one number of a marker, and the citation that it makes."""
        source = evidence.sources.get(number) or self._by_number.get(number)
        if source is None:
            text = f"The answer cites source {number}, which it was not given."
            self._object("unknown_source", text, number)
            return NO_SUCH_SOURCE, None
        if not evidence.claims:
            self._object("empty_citation", f"The answer cites source {number} for nothing.", number)
            return "", None
        check = evidence.check_of(source)
        span = self._checks.quote(evidence, source)
        citation = Citation(
            **{name: getattr(source, name) for name in Cited.model_fields},
            page_id=source.page_id,
            page_label=source.page_label or None,
            quote=source.page_text[span.start : span.end],
            start=span.start,
            end=span.end,
            check=check,
            missing=list(evidence.missing) if check == "differs" else [],
            closest=self._checks.claims.lists_closest,
            by_code=by_code,
        )
        return citation.marker, citation


def checked(text: str, sources: Sequence[Source], question: str = "") -> CitationWriter:
    """A whole answer with its markers replaced and checked."""
    writer = CitationWriter(sources, question)
    writer.feed(text)
    writer.finish()
    return writer
