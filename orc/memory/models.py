"""What is remembered of a conversation beyond its latest turns, and what of it one turn is told."""

import logging
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError

from core.models import Record

logger = logging.getLogger(__name__)

UNKNOWN_FORM = "What is stored of the conversation's memory is of a form that is not known here."


class NoteKind(StrEnum):
    """What a note holds: something the user said is so, wants, or has not had answered."""

    FACT = "fact"
    PREFERENCE = "preference"
    QUESTION = "question"


class Note(Record):
    """One thing worth remembering, in the user's own words. Turns are counted by their `seq`."""

    kind: NoteKind
    text: str
    topic: str = Field(default="", description="what it is about, in a word or two")
    subject: str = Field(
        default="", description="what it gives a value to: a later one of it takes its place"
    )
    lasting: bool = Field(default=False, description="a name, or what the user asked to be remembered")
    first_seen: int = Field(ge=1)
    last_seen: int = Field(ge=1, description="when it was said last")


class SummaryPoint(Record):
    """One point of the rolling summary, and the turns that it stands for, which had so many tokens."""

    text: str
    first_seq: int = Field(ge=1)
    last_seq: int = Field(ge=1)
    tokens: int = Field(default=0, ge=0)


class Memory(Record):
    """What is remembered of one conversation.

    `life`: when that conversation was made. Memory of one that was deleted and made anew under the same
    id does not count. Points are in the order of their turns, notes in that in which they were said last.
    """

    life: datetime | None = None
    version: int = Field(default=0, ge=0, description="goes up with every write; 0: never stored")
    unread: str = Field(default="", exclude=True, description="why nothing was read; never stored")
    noted_seq: int = Field(default=0, ge=0, description="turns up to this one are in `notes` and `summary`")
    summarised_seq: int = Field(
        default=0, ge=0, description="turns up to this one have points that will not be made again by a model"
    )
    summary: list[SummaryPoint] = []
    notes: list[Note] = []

    @property
    def latest_seq(self) -> int:
        """The newest turn that it knows of."""
        newest_point = self.summary[-1].last_seq if self.summary else 0
        return max(self.noted_seq, newest_point, *(note.last_seen for note in self.notes))


def memory_from(item: dict[str, Any]) -> Memory:
    """What was stored. Of a form that is not known here it is a memory of no life: nothing is read from it,
    and the next update writes over it, as all that it held follows from the turn log.
    """
    try:
        return Memory.model_validate(item)
    except ValidationError as exc:
        logger.warning("a stored memory is not of a known form: %s errors", exc.error_count())
        version = item.get("version")
        known = version if isinstance(version, int) and version > 0 else 0
        return Memory(version=known, unread=UNKNOWN_FORM)


class Recalled(Record):
    """What one turn is told of the memory, best first, and what it is not."""

    summary: list[SummaryPoint] = []
    notes: list[Note] = []
    left_out: int = Field(default=0, ge=0, description="points and notes that were not chosen")
    method: Literal["none", "lexical", "embeddings"] = "none"
    reason: str = Field(default="", description="why not the better method, or nothing, where that is so")
    coverage: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of the telling words of a question about the user that the best fact holds",
    )
    lasting_coverage: float = Field(
        default=0.0, ge=0, le=1, description="the same of names, and of what was to be remembered"
    )

    @property
    def selection(self) -> dict[str, JsonValue]:
        """How much a turn was told, and how that was chosen, without the text."""
        return {
            "method": self.method,
            "reason": self.reason,
            "summary_points": len(self.summary),
            "notes": len(self.notes),
            "left_out": self.left_out,
        }
