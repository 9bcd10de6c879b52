"""The memory of a conversation beyond its latest turns, and the part of it that one turn sees."""

import hashlib
import logging
from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError

from orc.conversations.models import Head
from orc.conversations.session_contexts import Range
from orc_core.errors import NotFound
from orc_core.models import Record
from orc_core.names import Owner
from orc_core.text.terms import words

logger = logging.getLogger(__name__)

NO_SUCH_NOTE = "There is no such note in the memory of this conversation."
UNKNOWN_FORM = "The stored memory of the conversation has a form that this version does not know."


class NoteKind(StrEnum):
    """The kind of a note: a statement of the user, a wish, or a question without an answer."""

    FACT = "fact"
    PREFERENCE = "preference"
    QUESTION = "question"


class Note(Record):
    """One sentence to remember, in the user's own words. Turns are counted by their `seq`."""

    kind: NoteKind
    text: str
    lasting: bool = Field(default=False, description="a name, or what the user asked to be remembered")
    first_seen: int = Field(ge=1)
    last_seen: int = Field(ge=1, description="when it was said last")

    @property
    def note_id(self) -> str:
        """The same for all notes with the same words."""
        return hashlib.sha256(" ".join(words(self.text)).encode()).hexdigest()[:16]


class SummaryPoint(Record):
    """One point of the rolling summary, the turns that it covers, and how many tokens they had.

    Its text may be of any of the turns `shown`: a model that wrote it may have been shown more turns.
    """

    text: str
    first_seq: int = Field(ge=1)
    last_seq: int = Field(ge=1)
    tokens: int = Field(default=0, ge=0)
    shown: tuple[int, int] | None = None

    @property
    def origin(self) -> tuple[int, int]:
        """The first and the last turn whose text the point may have."""
        return self.shown or (self.first_seq, self.last_seq)


class Memory(Record):
    """The memory of one conversation.

    `life` is the time at which the conversation was created: a memory of a deleted conversation with the same
    id is ignored. Points are in the order of their turns, notes in the order of `last_seen`.
    """

    life: datetime | None = None
    version: int = Field(default=0, ge=0, description="goes up with every write; 0: never stored")
    unread: str = Field(default="", exclude=True, description="why nothing could be read; never stored")
    noted_seq: int = Field(default=0, ge=0, description="turns up to this one are in `notes` and `summary`")
    summarised_seq: int = Field(
        default=0, ge=0, description="turns up to this one have final points, which a model will not replace"
    )
    without: list[int] = Field(default=[], description="turns that were replaced, of which nothing is here")
    retried: list[int] = Field(
        default=[], description="turns that a later attempt answered, and that are in `notes` and `summary`"
    )
    summary: list[SummaryPoint] = []
    notes: list[Note] = []
    withdrawn: dict[str, int] = Field(
        default={}, description="ids of notes that their user has withdrawn, and the newest turn then"
    )

    def is_withdrawn(self, note: Note) -> bool:
        """Whether the user has withdrawn the note, and has not said it again since."""
        return note.last_seen <= self.withdrawn.get(note.note_id, 0)

    @property
    def latest_seq(self) -> int:
        """The newest turn in the memory."""
        newest_point = self.summary[-1].last_seq if self.summary else 0
        return max(self.noted_seq, newest_point, *(note.last_seen for note in self.notes))


def memory_from(item: dict[str, Any]) -> Memory:
    """The stored memory. If its form is unknown: an empty one, which the next update replaces."""
    try:
        memory = Memory.model_validate(item)
    except ValidationError as exc:
        logger.warning("a stored memory has an unknown form: %s errors", exc.error_count())
        version = item.get("version")
        known = version if isinstance(version, int) and version > 0 else 0
        return Memory(version=known, unread=UNKNOWN_FORM)
    # Earlier versions did not store what was shown. A model may have written what is not newer than
    # `summarised_seq`, from any turns up to there.
    newest = memory.summarised_seq
    summary = [
        point
        if point.shown is not None or point.first_seq > newest
        else point.model_copy(update={"shown": (1, max(point.last_seq, newest))})
        for point in memory.summary
    ]
    return memory.model_copy(update={"summary": summary})


class Recalled(Record):
    """The part of a memory that one turn sees, best first."""

    summary: list[SummaryPoint] = []
    notes: list[Note] = []
    left_out: int = Field(default=0, ge=0, description="points and notes that were not chosen")
    method: Literal["none", "lexical", "embeddings"] = "none"
    reason: str = Field(default="", description="why not the better method, or why nothing")
    coverage: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of the terms of a question about the user that the best statement covers",
    )
    lasting_coverage: float = Field(
        default=0.0, ge=0, le=1, description="the same for names and for what was to be remembered"
    )

    @property
    def selection(self) -> dict[str, JsonValue]:
        """How many items a turn sees, and how they were chosen, without their text."""
        return {
            "method": self.method,
            "reason": self.reason,
            "summary_points": len(self.summary),
            "notes": len(self.notes),
            "left_out": self.left_out,
        }


class ConversationMemory:
    """The memory as turns use it. This one stores nothing: turns then see the latest turns only."""

    async def read(
        self,
        head: Head,  # noqa: ARG002
        sent_turns: int | None = None,  # noqa: ARG002
        blocked: Sequence[Range] = (),  # noqa: ARG002
    ) -> Memory:
        """The memory of this conversation; an empty one if there is none.

        `sent_turns`: the number of turns in the history that the caller sent, if it sent one. Points about
        `blocked` turns are left out; what the user said stays.

        Never fails a turn: if the store fails or is slow, that is logged, and the memory is empty and has the
        reason in `unread`.
        """
        return Memory()

    async def recall(self, question: str, memory: Memory) -> Recalled:  # noqa: ARG002
        """The part of the memory that is relevant to the question, within the limits of the settings."""
        return Recalled()

    async def update(self, head: Head, blocked: Sequence[Range] = ()) -> None:
        """Add the turns committed since. Called in the background after a turn, maybe late or twice.

        No model is shown `blocked` turns: the points of older turns stay as they are while one is among them.
        """

    async def notes(self, head: Head) -> list[Note]:  # noqa: ARG002
        """What is remembered of what the user said, oldest first."""
        return []

    async def withdraw(self, head: Head, note_id: str) -> None:  # noqa: ARG002
        """Forget a note until the user says it again. Raises NotFound."""
        raise NotFound(NO_SUCH_NOTE)

    async def forget(self, owner: Owner) -> None:
        """Delete the memory of a conversation.

        An update that began before the conversation was deleted does not restore it.
        """


def without_replaced(memory: Memory, replaced: Sequence[int]) -> Memory:
    """The memory without what it has of these turns. A point that may have text of one goes as a whole."""
    new = set(replaced).difference(memory.without)
    if not new:
        return memory
    notes = (_without(note, new) for note in memory.notes)
    return memory.model_copy(
        update={
            "without": sorted(new.union(memory.without)),
            "summary": [point for point in memory.summary if not _may_have(point, new)],
            "notes": [note for note in notes if note is not None],
        }
    )


def gaps(memory: Memory, replaced: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last turns of points that `without_replaced` removes although they cover others too."""
    new = set(replaced).difference(memory.without)
    return [
        (point.first_seq, point.last_seq)
        for point in memory.summary
        if _may_have(point, new) and not new.issuperset(range(point.first_seq, point.last_seq + 1))
    ]


def _may_have(point: SummaryPoint, turns: Collection[int]) -> bool:
    first, last = point.origin
    return any(first <= seq <= last for seq in turns)


def _without(note: Note, turns: Collection[int]) -> Note | None:
    """The note as the other turns that said it have it; None if no other is known."""
    if note.first_seen in turns and note.last_seen in turns:
        return None
    if note.last_seen in turns:
        # An open question has the words of its last turn, a statement is the same in both.
        same = note.model_copy(update={"last_seen": note.first_seen})
        return None if note.kind is NoteKind.QUESTION else same
    return note.model_copy(update={"first_seen": note.last_seen}) if note.first_seen in turns else note
