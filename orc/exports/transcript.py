"""Makes the entries of an export from stored turns."""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from orc.contexts.withholding import WITHHELD
from orc.conversations.models import Head, Turn, TurnStatus
from orc.exports.tree import CitedSource, Entry, Heading, Labels, Quote, mark, without_marks
from orc.words import Words, check_words
from orc_core.grounding.citations import CUT_NOTE, NO_SUCH_SOURCE, WITHOUT_SOURCE
from orc_core.grounding.models import Citation

NOTES = {
    NO_SUCH_SOURCE: "note.no_such_source",
    WITHOUT_SOURCE: "note.no_source",
    CUT_NOTE.strip(): "note.cut",
    WITHHELD: "note.withheld",
}
"""What code adds to answers, in English in the data, with the keys of the words for readers."""

PAGED = ("application/pdf", "image/", "presentation")
"""What media types of files with pages or slides have; pages of others are sections of their text."""


class Transcript:
    """Turns turns into entries, in a reader's language and time. `zone` is the name of a time zone."""

    def __init__(self, words: Words, zone: str = "UTC") -> None:
        self._words = words
        self._zone = _zone(zone)

    def heading(self, head: Head, now: datetime) -> Heading:
        """The heading of a conversation's export."""
        say = self._words.say
        named = {name: say(f"export.{name}") for name in ("about", "question", "answer", "note", "sources")}
        questions = head.turn_count - len(head.replaced)
        boxes = {"box": say("export.boxes"), "boxes": self._words.form("export.boxes", n=2)}
        return Heading(
            title=" ".join((head.title or "").split()) or say("export.untitled"),
            line=say("export.line", n=questions, time=self._moment(now)),
            labels=Labels(**named, **boxes),
        )

    def entry_of(self, turn: Turn) -> Entry:
        """The entry of a turn, with its place as the number.

        Its sources are numbered like on the web page: each page once, from 1.
        """
        answer, sources = None, list[CitedSource]()
        if turn.assistant is not None:
            citations, numbers = turn.assistant.citations, numbers_of(turn.assistant.citations)
            answer = numbered(turn.assistant.content, citations, numbers)
            for note, key in NOTES.items():
                answer = answer.replace(note, f"[{self._words.say(key)}]")
            cited: dict[int, list[Citation]] = defaultdict(list)
            for number, citation in zip(numbers, citations, strict=True):
                cited[number].append(citation)
            for number, of_page in cited.items():
                # Of a citation of an earlier version that was not verified, the quote is the answer's claim.
                quotes = [Quote(self.verdict_of(c), c.quote if c.end > c.start else "") for c in of_page]
                sources.append(CitedSource(number, of_page[0].blob_name, self._place(of_page[0]), quotes))
        is_plain = turn.replaced_by is None and turn.status is TurnStatus.COMMITTED
        state = turn.status if turn.replaced_by is None else "replaced"
        # The contexts of the question, as they were called at that time.
        contexts = [
            f'{self._words.name(f"context.{each.type}", each.type)} "{each.name}"'
            for each in turn.contexts
            if each.active and each.name
        ]
        return Entry(
            number=turn.place or turn.seq,
            asked_at=self._moment(turn.created_at),
            question=turn.question,
            documents=[*(name.rpartition("/")[2] for name in turn.blob_names), *contexts],
            answer=answer,
            note="" if is_plain else self._words.say(f"export.{state}"),
            sources=sources,
        )

    def verdict_of(self, citation: Citation) -> str:
        """What the check said about a citation. A closest passage answers nothing: no claim is its."""
        closest = citation.closest
        return self._words.say("verdict.closest") if closest else check_words(citation, self._words)

    def _place(self, citation: Citation) -> str:
        """Where a quote comes from, with the context of the document as it was called then."""
        say = self._words.say
        if citation.url:
            return say("place.web", address=citation.url)
        page, label, media_type = f"{citation.page}", citation.page_label or "", citation.media_type
        if media_type and not any(kind in media_type for kind in PAGED):
            place = label or say("place.section", page=page)
        else:
            place = say("place.label" if label else "place.page", page=page, label=label)
        if not citation.context_name:
            return place
        kind = self._words.name(f"context.{citation.context_type}", citation.context_type or "")
        return say("place.in", place=place, type=kind, name=citation.context_name)

    def _moment(self, moment: datetime) -> str:
        time = self._words.say("export.time", at=moment.astimezone(self._zone))
        return f"{time} UTC" if self._zone is UTC else time


def _zone(name: str) -> tzinfo:
    """The time zone of this name; UTC for one that this machine does not know."""
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (OSError, KeyError, ValueError):
        return UTC


def numbers_of(citations: Sequence[Citation]) -> list[int]:
    """The number of each citation: that of its page, in the order of their first use."""
    pages = dict.fromkeys(map(_page_of, citations))
    numbers = {page: number for number, page in enumerate(pages, start=1)}
    return [numbers[_page_of(citation)] for citation in citations]


def _page_of(citation: Citation) -> tuple[str, int]:
    return (citation.url or citation.document_id, 0 if citation.url else citation.page)


def numbered(answer: str, citations: Sequence[Citation], numbers: Sequence[int]) -> str:
    """The answer with marks of its citations in the places of their markers, which are shown as `[7]`."""
    cited = list(zip(citations, numbers, strict=True))
    places = [((mark.start, mark.end), number) for citation, number in cited for mark in citation.marks]
    # Markers of citations that were stored before marks were. Citations of one page have equal markers, in
    # whose place all their numbers are.
    unmarked: dict[str, list[int]] = defaultdict(list)
    for citation, number in ((each, number) for each, number in cited if not each.marks):
        place = citation.place
        # Those of claims that were not verified said so.
        for text in [place] if citation.verified else [f"{place}, not verified", f"{place}, not checked"]:
            unmarked[f"[{text}]"].append(number)
    if unmarked:
        found = re.compile("|".join(map(re.escape, unmarked))).finditer(answer)
        places += [(marker.span(), number) for marker in found for number in unmarked[marker[0]]]
    shown, begun = list[str](), 0
    for (start, end), number in sorted(set(places)):
        # Citations of several pages may have one marker.
        shown += [without_marks(answer[begun:start]) if start >= begun else "", mark(number)]
        begun = end
    return "".join([*shown, without_marks(answer[begun:])])
