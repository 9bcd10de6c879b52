"""Replaces sentences of a checked answer in place: all else stays, and marks point at their markers."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from core.grounding import objections
from core.grounding.citations import CUT_NOTE, CitationWriter, summed_up
from core.grounding.claims import BULLET, Claim, Claims, covered_by_marker
from core.grounding.models import (
    REFUTED,
    Citation,
    CitationCheck,
    Grounding,
    Mark,
    WrittenMark,
    written_marks,
)
from core.grounding.safe_markdown import made_safe
from core.grounding.sources import Source

_LINK_TARGET = ("(", "[", ":")
_RECOMPUTED = frozenset(("uncited", *REFUTED))


class Statement(NamedTuple):
    """The sentences that markers are about, with these markers: code points `start` to `end` of an answer.

    `above` are the heading and the line that introduce them.
    """

    start: int
    end: int
    claims: tuple[Claim, ...]
    above: tuple[Claim, ...]
    marks: tuple[WrittenMark, ...]

    @property
    def text(self) -> str:
        """The sentences without markup and markers."""
        return " ".join(claim.text for claim in self.claims)

    @property
    def citations(self) -> list[Citation]:
        return [written.citation for written in self.marks]

    @property
    def missing(self) -> list[str]:
        """The numbers, dates and amounts that are nowhere on the cited pages."""
        return list(dict.fromkeys(number for citation in self.citations for number in citation.missing))

    @property
    def refuted_by(self) -> CitationCheck | None:
        """The check that refutes it; None if none does."""
        return next((each.check for each in self.citations if each.check in REFUTED), None)

    @property
    def is_correctable(self) -> bool:
        """Whether it is refuted, and not by a number in the line above it."""
        return self.refuted_by is not None and all(_has(self.text, number) for number in self.missing)


class Replacement(NamedTuple):
    """New text for the code points `start` to `end` of an answer; its citations have marks in `text`."""

    start: int
    end: int
    text: str = ""
    citations: Sequence[Citation] = ()


def statements(answer: str, citations: Sequence[Citation]) -> list[Statement]:
    """What the markers of an answer are about, in order; none overlap."""
    return list(_statements(_claims(answer, citations).all, answer, citations))


def plain(text: str, marks: Sequence[Mark]) -> str:
    """The text in one line, without its markers."""
    return " ".join(_without_markers(text, marks)[0].split())


def rewritten(
    statement: Statement, text: str, sources: Sequence[Source], question: str
) -> Replacement | None:
    """A model's new sentences for a statement, with their citations checked against these sources.

    None if they are the same as before, if one of them has no source or differs from it, if nothing was
    found, or if rows of a table have other cells than before. Numbers of the question differ from no source.
    """
    lines = [" ".join(BULLET.sub("", line.strip()).split()) for line in text.splitlines() if line.strip()]
    before = [cells for each in statement.claims if (cells := each.text.count("|"))]
    text = "\n".join(lines) if before else " ".join(lines)
    writer = CitationWriter(sources, question)
    shown = f"{writer.feed(text)}{writer.finish()}".strip()
    checks = writer.grounding
    is_sound = checks.grounded and not checks.objections and not checks.not_found and not writer.code_end
    is_same = " ".join(each.text for each in statements(shown, writer.citations)) == statement.text
    if is_same or not is_sound or [line.count("|") for line in text.splitlines() if "|" in line] != before:
        return None
    return Replacement(statement.start, statement.end, shown, writer.citations)


def removal(answer: str, statement: Statement) -> Replacement:
    """A statement's removal, with its line and bullet if these have nothing else."""
    line = answer.rfind("\n", 0, statement.start) + 1
    begin, end = statement.start, statement.end
    begins_line = _is_bullet(answer[line:begin])
    if not begins_line or not answer[end:].partition("\n")[0].strip():
        begin = len(answer[: line if begins_line else begin].rstrip())
    if begin in (0, statement.start):
        end = len(answer) - len(answer[end:].lstrip())
    return Replacement(begin, end)


def replace(
    answer: str, citations: Sequence[Citation], new: Replacement
) -> tuple[str, list[Citation]] | None:
    """The answer with one place replaced, and its citations with their marks moved.

    Citations are in the order of their first marks; those without any mark left are dropped. None if no
    citation would be left.
    """
    # After a marker these would be the address of a Markdown link.
    is_link = new.text.endswith("]") and answer.startswith(_LINK_TARGET, new.end)
    shown = f"{new.text} " if is_link else new.text
    text = f"{answer[: new.start]}{shown}{answer[new.end :]}"
    shift = len(text) - len(answer)
    marked = [(citation, [_moved(mark, new.start) for mark in citation.marks]) for citation in new.citations]
    for citation in citations:
        before = [mark for mark in citation.marks if mark.end <= new.start]
        behind = [_moved(mark, shift) for mark in citation.marks if mark.start >= new.end]
        marked.append((citation, before + behind))
    found: dict[str, tuple[Citation, list[Mark]]] = {}
    for citation, marks in marked:
        if marks:
            bare = citation.model_copy(update={"marks": [], "rectangles": []}).model_dump_json()
            found.setdefault(bare, (citation, []))[1].extend(marks)
    cited = [
        citation.model_copy(update={"marks": sorted(marks, key=_start)}) for citation, marks in found.values()
    ]
    return (text, sorted(cited, key=lambda each: each.marks[0].start)) if cited else None


def is_safe(answer: str, citations: Sequence[Citation]) -> bool:
    """Whether Markdown reads an answer as its parts: new text can change what is code or HTML around it.

    It may link to web pages that it cites.
    """
    text, _ = _without_markers(answer, [mark for citation in citations for mark in citation.marks])
    addresses = {each.url for each in citations if each.url}
    return made_safe(text, addresses) == text


def checked_again(answer: str, citations: Sequence[Citation], before: Grounding) -> Grounding:
    """The result of the checks after sentences were replaced; `before` has objections to what has stayed."""
    unsourced = {each.claim for each in before.objections if each.code == "uncited"}
    claims = _claims(answer, citations, unsourced)
    wrong = [claim for claim in claims.all if claim.check in REFUTED]
    kept = [
        each
        for each in before.objections
        if each.code not in _RECOMPUTED
        or (each.code in REFUTED and any((each.claim or "") in claim.text for claim in wrong))
    ]
    kept += [objections.uncited(claim.short) for claim in claims.uncited]
    found = summed_up(claims, citations, kept)
    is_cut = any(each.code == "cut" for each in kept)
    return found.model_copy(update={"grounded": False, "not_found": False}) if is_cut else found


def _claims(answer: str, citations: Sequence[Citation], unsourced: Collection[str | None] = ()) -> Claims:
    """The sentences of an answer without its markers, each with what is known of it.

    An introduction that is not `unsourced` has the source of what it introduces.
    """
    claims = Claims()
    marks = [mark for citation in citations for mark in citation.marks]
    text, places = _without_markers(answer.removesuffix(CUT_NOTE), marks)
    for claim in claims.add(text):
        claim.start, claim.end = places[claim.start], places[claim.end - 1] + 1
    for statement in _statements(claims.all, answer, citations):
        refuted_by, missing = statement.refuted_by, statement.missing
        every = [*statement.claims, *statement.above]
        wrong = [each for each in every if any(_has(each.text, number) for number in missing)] or every
        for claim in every:
            if claim not in statement.above or claim.short not in unsourced:
                claim.check = refuted_by if refuted_by and claim in wrong else "reworded"
    return claims


def _statements(claims: Sequence[Claim], answer: str, citations: Sequence[Citation]) -> Iterator[Statement]:
    marks = written_marks(citations)
    first = at = 0
    for number, claim in enumerate(claims):
        following = claims[number + 1].start if number + 1 < len(claims) else len(answer)
        own = []
        while at < len(marks) and marks[at].mark.start < following:
            own.append(marks[at])
            at += 1
        if not own:
            continue
        covered, above = covered_by_marker(claims[first : number + 1])
        first = number + 1
        start = covered[0].start
        if bullet := BULLET.match(answer[start : claim.end]):
            start += bullet.end()
        end = max(claim.end, own[-1].mark.end)
        yield Statement(start, end, tuple(covered), tuple(above), tuple(own))


def _without_markers(text: str, marks: Sequence[Mark]) -> tuple[str, list[int]]:
    """The text without markers and the space before them, and where each of its code points was."""
    places: list[int] = []
    end = 0
    for mark in [*sorted(marks, key=_start), None]:
        part = text[end : mark.start].rstrip() if mark else text[end:]
        places += range(end, end + len(part))
        end = mark.end if mark else end
    return "".join(text[place] for place in places), places


def _has(text: str, number: str) -> bool:
    """Whether a text has a number that is missing elsewhere, which is named in normal form."""
    return number in normalize("NFKC", text)


def _start(mark: Mark) -> int:
    return mark.start


def _moved(mark: Mark, by: int) -> Mark:
    return Mark(start=mark.start + by, end=mark.end + by)


def _is_bullet(text: str) -> bool:
    return not text.strip() or BULLET.fullmatch(text.lstrip()) is not None
