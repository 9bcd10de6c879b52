"""Makes the entries of an export from stored turns."""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from orc.check_words import CLOSEST, check_words
from orc.conversations.models import Head, Turn, TurnStatus
from orc.exports.tree import CitedSource, Entry, Heading
from orc_core.grounding.models import Citation

PENDING = "The question is being answered."
STOPPED = "The user stopped this answer: it is not complete, and was not checked as a whole."
REPLACED = "A later version of this question and its answer follows."
NO_TITLE = "Conversation"


def heading_of(head: Head, now: datetime) -> Heading:
    """The heading of a conversation's export."""
    return Heading(
        title=" ".join((head.title or NO_TITLE).split()) or NO_TITLE,
        conversation_id=head.conversation_id,
        exported_at=_moment(now),
        turns=head.turn_count,
    )


class Transcript:
    """Turns turns into entries, in order: citations are numbered through."""

    def __init__(self) -> None:
        self._cited = 0

    def entry_of(self, turn: Turn) -> Entry:
        """The entry of the next turn."""
        answer, sources = None, list[CitedSource]()
        if turn.assistant is not None:
            citations = turn.assistant.citations
            sources = [
                _source(self._cited + place, citation) for place, citation in enumerate(citations, start=1)
            ]
            self._cited += len(sources)
            answer = numbered(turn.assistant.content, citations, [source.number for source in sources])
        return Entry(
            number=turn.seq,
            asked_at=_moment(turn.created_at),
            question=turn.question,
            documents=[*(name.rpartition("/")[2] for name in turn.blob_names), *_contexts(turn)],
            answer=answer,
            note=_note(turn),
            sources=sources,
        )


def _contexts(turn: Turn) -> list[str]:
    """The contexts of the question, as they were called at that time."""
    named = (context for context in turn.contexts if context.active and context.name)
    return [f'{context.type} "{context.name}"' for context in named]


def _note(turn: Turn) -> str:
    if turn.replaced_by is not None:
        return REPLACED
    notes = {TurnStatus.PENDING: PENDING, TurnStatus.STOPPED: STOPPED}
    return notes.get(turn.status) or (turn.failure.message if turn.failure else "")


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _source(number: int, citation: Citation) -> CitedSource:
    return CitedSource(
        number=number,
        document=citation.blob_name,
        page=citation.page,
        # Of a citation of an earlier version that was not verified, it is the claim of the answer.
        quote=citation.quote if citation.end > citation.start else "",
        verdict=verdict_of(citation),
        address=citation.url or "",
        page_label=citation.page_label or "",
        origin=_origin(citation),
    )


def _origin(citation: Citation) -> str:
    """The context that the document belongs to, as it was called when it was cited."""
    if not citation.context_name:
        return ""
    return f', in {citation.context_type} "{citation.context_name}"'


def verdict_of(citation: Citation) -> str:
    """What the check said about a citation, in words. A closest passage answers nothing: no claim is its."""
    return CLOSEST if citation.closest else check_words(citation)


def numbered(answer: str, citations: Sequence[Citation], numbers: Sequence[int]) -> str:
    """The answer with the numbers of its citations in the places of their markers, as in `28 days [7].`"""
    cited = list(zip(citations, numbers, strict=True))
    places = [((mark.start, mark.end), number) for citation, number in cited for mark in citation.marks]
    places += _without_marks(answer, [(citation, number) for citation, number in cited if not citation.marks])
    shown, begun = list[str](), 0
    for (start, end), number in sorted(places):
        # Several citations may have one marker.
        shown += [answer[begun:start] if start >= begun else "", f"[{number}]"]
        begun = end
    return "".join([*shown, answer[begun:]])


def _without_marks(answer: str, cited: Sequence[tuple[Citation, int]]) -> list[tuple[tuple[int, int], int]]:
    """The places of the markers of citations that were stored before marks were, with their numbers.

    Citations of one page have equal markers, in whose place all their numbers are.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for citation, number in cited:
        for text in _marker_texts(citation):
            numbers[text].append(number)
    if not numbers:
        return []
    found = re.compile("|".join(map(re.escape, numbers))).finditer(answer)
    return [(marker.span(), number) for marker in found for number in numbers[marker[0]]]


def _marker_texts(citation: Citation) -> list[str]:
    """The markers that a citation of its page had: those of claims that were not verified said so."""
    place = citation.place
    return [f"[{place}]"] if citation.verified else [f"[{place}, not verified]", f"[{place}, not checked]"]
