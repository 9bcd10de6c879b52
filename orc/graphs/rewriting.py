"""Has the refuted sentences of an answer written again, and replaces them in place."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from unicodedata import normalize
from xml.sax.saxutils import escape

from langchain_core.messages import BaseMessage, SystemMessage

from orc.events import Correction
from orc.graphs.models import ConversationState, Run
from orc.graphs.second_reading import JUDGED, SecondReading
from orc.graphs.sources import around_quotes, cited_pages, key_of
from orc_core.errors import OrcError
from orc_core.grounding.citations import CUT_NOTE, checked, marker
from orc_core.grounding.claims import BULLET, Claim, Claims, covered_by_marker
from orc_core.grounding.models import (
    REFUTED,
    Citation,
    Grounding,
    Mark,
    StatusMark,
    WrittenMark,
    are_not_there,
    written_marks,
)
from orc_core.grounding.rectangles import with_rectangles
from orc_core.grounding.sources import Source, fence, without_markers
from orc_core.llm.messages import QuestionMessage

FIRST_NUMBER = 9000
"""Of the sources of an answer that is checked again: a number that no answer has in brackets."""
_CHECKED_AGAIN = frozenset(("uncited", *REFUTED))
_CONTINUATION = re.compile(r"[ \t]*\n[ \t]+(?=\S)")
MOST_STATEMENTS = 20
"""What is asked for in one call; the rest of an answer with more keeps its marks."""
NONE_CORRECTED = "no correction was supported by the cited pages."
_NUMBERED = re.compile(r"^[ \t]*\**(\d{1,2})[.)]\**[ \t]*", re.M)
_LEFT_OUT = "-\N{EN DASH}\N{EM DASH} "


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
    def is_correctable(self) -> bool:
        """Whether it is refuted, and not by a number in the line above it."""
        said = normalize("NFKC", self.text)  # as the missing numbers are named
        is_refuted = any(each.check in REFUTED for each in self.citations)
        return is_refuted and all(number in said for number in self.missing)


class Replacement(NamedTuple):
    """New text for the code points `start` to `end` of an answer; its marks are places in `text`."""

    start: int
    end: int
    text: str = ""
    citations: Sequence[Citation] = ()
    statuses: Sequence[StatusMark] = ()


def statements(
    answer: str, citations: Sequence[Citation], statuses: Sequence[StatusMark] = ()
) -> list[Statement]:
    """What the markers of an answer are about, in order; none overlap."""
    marks, ends, found = written_marks(citations), [each.at for each in statuses], list[Statement]()
    text, places = _without_markers(answer, [each.mark for each in marks])
    claims = Claims()
    for claim in claims.add(text):
        claim.start, claim.end = places[claim.start], places[claim.end - 1] + 1
    first = at = 0
    for number, claim in enumerate(claims.all):
        following = claims.all[number + 1].start if number + 1 < len(claims.all) else len(answer)
        own = []
        while at < len(marks) and marks[at].mark.start < following:
            own.append(marks[at])
            at += 1
        if not own:
            # A marker is not about what the answer says has no source.
            first = number + 1 if any(claim.end <= end <= following for end in ends) else first
            continue
        covered, above = covered_by_marker(claims.all[first : number + 1])
        first = number + 1
        start = covered[0].start
        if bullet := BULLET.match(answer[start : claim.end]):
            start += bullet.end()
        end = max(claim.end, own[-1].mark.end)
        found.append(Statement(start, end, tuple(covered), tuple(above), tuple(own)))
    return found


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
    writer = checked(text, sources, question)
    checks = writer.grounding
    is_sound = checks.grounded and not checks.objections and not checks.not_found and not writer.ends_in_code
    new = statements(writer.text, writer.citations, checks.statuses)
    is_same = " ".join(each.text for each in new) == statement.text
    if is_same or not is_sound or [line.count("|") for line in text.splitlines() if "|" in line] != before:
        return None
    return Replacement(statement.start, statement.end, writer.text, writer.citations, checks.statuses)


def removal(answer: str, statement: Statement) -> Replacement:
    """A statement's removal, with its line and bullet if these have nothing else."""
    line = answer.rfind("\n", 0, statement.start) + 1
    begin, end = statement.start, statement.end
    before = answer[line:begin].lstrip()
    begins_line = not before or BULLET.fullmatch(before) is not None
    goes_on = _CONTINUATION.match(answer, end)
    has_more = answer[end:].partition("\n")[0].strip() or (
        goes_on and not BULLET.match(answer[goes_on.end() :])
    )
    if not (begins_line and has_more):
        begin = len(answer[: line if begins_line else begin].rstrip())
    if begin in (0, statement.start):
        end = len(answer) - len(answer[end:].lstrip())
    return Replacement(begin, end)


class Rebuilt(NamedTuple):
    """An answer with replaced sentences, and its checks."""

    answer: str
    citations: list[Citation]
    grounding: Grounding


def rebuilt(
    answer: str,
    citations: Sequence[Citation],
    replacements: Sequence[Replacement],
    sources: Sequence[Source],
    question: str,
    before: Grounding,
) -> Rebuilt:
    """The answer with these places replaced, checked again from the pages that it cites.

    What a judge has said of sentences that stay, and other objections of the checks `before`, stay too.
    """
    numbered = [each.model_copy(update={"number": at}) for at, each in enumerate(sources, FIRST_NUMBER)]
    numbers = {source.page_id: source.number for source in numbered}
    said, note = answer.removesuffix(CUT_NOTE), CUT_NOTE * answer.endswith(CUT_NOTE)
    text, end, markers = "", 0, markers_of(citations, before.statuses, numbers)
    for new in sorted(replacements, key=lambda each: each.start):
        text += as_written(said, markers, end, max(end, new.start))
        text += as_written(new.text, markers_of(new.citations, new.statuses, numbers), 0, len(new.text))
        end = new.end
    text += as_written(said, markers, end, len(said))
    writer = checked(text, numbered, question)
    found = writer.grounding
    kept = [each for each in before.objections if each.code not in _CHECKED_AGAIN]
    objections = [*kept, *(each for each in found.objections if each.code in _CHECKED_AGAIN)]
    is_cut = any(each.code == "cut" for each in kept)
    changed = {"objections": objections, "grounded": found.grounded and not is_cut}
    changed["not_found"] = found.not_found and not is_cut
    grounding, cited = found.model_copy(update=changed), writer.citations
    if any(each.check in JUDGED for each in citations):
        reading = SecondReading(writer.text, cited, found.statuses)
        reading.take_over(SecondReading(said, citations, before.statuses))
        grounding, cited = reading.grounding(grounding), reading.citations()
    return Rebuilt(f"{writer.text}{note}", cited, grounding)


def markers_of(
    citations: Sequence[Citation], statuses: Sequence[StatusMark], numbers: Mapping[str, int]
) -> list[tuple[int, int, str]]:
    """The markers of an answer as a model writes them, in order, and the place of what is shown for each.

    Those of code are left out, with the space before them: code finds their sentences again.
    """
    shown = [
        (each.mark.start - 1, each.mark.end, "")
        if each.citation.by_code
        else (each.mark.start, each.mark.end, marker(numbers[each.citation.page_id]))
        for each in written_marks(citations)
    ]
    return sorted([*shown, *((each.at, each.at, f" [{each.status}]") for each in statuses)])


def as_written(
    text: str,
    markers: Sequence[tuple[int, int, str]],
    start: int,
    end: int,
    prose: Callable[[str], str] = str,
) -> str:
    """Characters `start` to `end` of a text as a model writes them; one that ends there has its marker.

    `prose` changes what is between markers.
    """
    shown, at = "", start
    for first, last, marker_there in markers:
        if start <= first and start < last <= end:
            shown += prose(text[at:first]) + marker_there
            at = last
    return shown + prose(text[at:end])


def _without_markers(text: str, marks: Sequence[Mark]) -> tuple[str, list[int]]:
    """The text without markers and the space before them, and where each of its code points was."""
    places: list[int] = []
    end = 0
    for mark in [*sorted(marks, key=lambda mark: mark.start), None]:
        part = text[end : mark.start].rstrip() if mark else text[end:]
        places += range(end, end + len(part))
        end = mark.end if mark else end
    return "".join(text[place] for place in places), places


async def rewrite_refuted(state: ConversationState, run: Run) -> tuple[Rebuilt, list[Correction]]:
    """Ask once for all refuted sentences; those that are not better than before stay as they are.

    Raises OrcError if none is replaced.
    """
    attempt = state.attempt
    assert attempt.answer is not None
    statuses = attempt.grounding.statuses if attempt.grounding else ()
    found = statements(attempt.answer, attempt.citations, statuses)
    wrong = [each for each in found if each.is_correctable][:MOST_STATEMENTS]
    pages = await cited_pages(attempt.citations, state, run) if wrong else []
    if not pages:
        raise OrcError(NONE_CORRECTED)
    # The pages that these statements cite, as far as they fit, numbered from 1.
    citations = [citation for statement in wrong for citation in statement.citations]
    cited = [page for page in pages if key_of(page) in set(map(key_of, citations))]
    share = run.context.settings.retrieval_tokens // len(cited)
    fitting = [around_quotes(page, citations, share, run.resources.counter) for page in cited]
    shown = [page.model_copy(update={"number": number}) for number, page in enumerate(fitting, 1)]
    writer, cap = run.writer_of(state)
    prompt = _prompt(attempt.answer, wrong, shown, state, run)
    reply = await writer.complete(prompt, budget=run.context.budget, max_tokens=cap)
    made, corrections = _corrected(attempt.answer, wrong, (shown, pages), reply, state)
    if not attempt.sources:
        # Those of other answers are located when the turn ends.
        located = await with_rectangles(made.citations, pages, run.resources.library.page_boxes)
        made = made._replace(citations=located)
    return made, corrections


def _prompt(
    answer: str, wrong: Sequence[Statement], sources: Sequence[Source], state: ConversationState, run: Run
) -> list[BaseMessage]:
    numbers, listed = {source.page_id: source.number for source in sources}, []
    for number, each in enumerate(wrong, 1):
        markers = markers_of(each.citations, (), numbers)
        said = as_written(answer, markers, each.start, each.end, _inert)
        why = [are_not_there(each.missing)] if each.missing else []
        why += dict.fromkeys(citation.reason for citation in each.citations if citation.reason)
        wrong_there = " ".join("; ".join(why or ["Its sources do not say this."]).split())
        listed.append(f"{number}. {said}\n({_inert(wrong_there)})")
    sentences = "\n".join(["<sentences>", *listed, "</sentences>"])
    text = f"{fence(sources)}\n\nQuestion: {state.query}\n\n{sentences}"
    return [SystemMessage(run.resources.prompts.revise), QuestionMessage(content=text, question=state.query)]


def _inert(text: str) -> str:
    return escape(without_markers(text))


def _corrected(
    answer: str,
    wrong: Sequence[Statement],
    sources: tuple[Sequence[Source], Sequence[Source]],
    reply: str,
    state: ConversationState,
) -> tuple[Rebuilt, list[Correction]]:
    """The answer with what can be taken of a reply; `sources` are those of the prompt, and all."""
    attempt, said, question = state.attempt, numbered(reply, len(wrong)), f"{state.question}\n{state.query}"
    taken: list[Replacement] = []
    corrections: list[Correction] = []
    for number, statement in enumerate(wrong, 1):
        new: Replacement | None = None
        if (text := said.get(number)) and not text.strip(_LEFT_OUT):
            new = removal(answer, statement)
        elif text:
            own = set(map(key_of, statement.citations))
            new = rewritten(statement, text, [each for each in sources[0] if key_of(each) in own], question)
        if new is not None:
            after = plain(new.text, [mark for each in new.citations for mark in each.marks])
            corrections.append(Correction(before=statement.text, after=after))
            taken.append(new)
    assert attempt.grounding is not None
    made = rebuilt(answer, attempt.citations, taken, sources[1], question, attempt.grounding)
    if not taken or not made.citations:
        raise OrcError(NONE_CORRECTED)
    return made, corrections


def numbered(reply: str, count: int) -> dict[int, str]:
    """The texts of a reply by their numbers, from 1 to `count`; what has no number is left out."""
    found: dict[int, str] = {}
    begins = [each for each in _NUMBERED.finditer(reply) if 0 < int(each[1]) <= count]
    for at, begin in enumerate(begins):
        end = begins[at + 1].start() if at + 1 < len(begins) else len(reply)
        found.setdefault(int(begin[1]), reply[begin.end() : end].strip())
    return found
