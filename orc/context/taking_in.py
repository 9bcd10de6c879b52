"""Takes answered turns into a memory: notes and points, so that taking them in again changes nothing."""

from collections.abc import Sequence

from core.llm.tokens import TokenCounter
from orc.context.models import Memory
from orc.context.notes import kept, with_notes_of
from orc.context.summary import bounded, point_of
from orc.conversations.models import Turn, TurnStatus

RETRIED_TURNS = 8
"""A failed turn may be asked again, under its own number, for as long as it is one of the newest."""


def take_in(memory: Memory, turns: Sequence[Turn], newest_seq: int, counter: TokenCounter) -> Memory:
    """The memory with what these turns add, which follow `memory.noted_seq` without gaps, in order.

    Turns that may still be answered hold `noted_seq` back; what is answered after them counts already.
    """
    notes = memory.notes
    points = [point for point in memory.summary if point.last_seq <= memory.noted_seq]
    for turn in turns:
        if turn.status is TurnStatus.COMMITTED:
            notes = with_notes_of(notes, turn)
            points += filter(None, [point_of(turn, counter)])
    settled_seq = _settled(memory.noted_seq, turns, newest_seq)
    return memory.model_copy(
        update={
            "noted_seq": settled_seq,
            "notes": kept(notes, max(newest_seq, memory.latest_seq)),
            "summary": bounded(points, settled_seq, counter),
        }
    )


def _settled(noted_seq: int, turns: Sequence[Turn], newest_seq: int) -> int:
    """The last turn before the first that may still be answered."""
    for turn in turns:
        is_retried = turn.status is TurnStatus.FAILED and turn.seq > newest_seq - RETRIED_TURNS
        if turn.status is TurnStatus.PENDING or is_retried:
            break
        noted_seq = turn.seq
    return noted_seq
