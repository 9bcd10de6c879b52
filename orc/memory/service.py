"""The memory of a conversation: adds answered turns, reads what is relevant, and forgets.

All of it follows from the turn log: adding the same turns again changes nothing.
See docs/decisions/memory.md.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from orc.conversations.models import Head, Turn, TurnStatus
from orc.conversations.session_contexts import Range, covers
from orc.conversations.turn_log import TurnLog
from orc.memory.models import (
    NO_SUCH_NOTE,
    ConversationMemory,
    Memory,
    Note,
    NoteKind,
    Recalled,
    gaps,
    memory_from,
    without_replaced,
)
from orc.memory.notes import add_note, add_notes_of, bounded_notes
from orc.memory.recall import Selection
from orc.memory.summary import Condensed, Summarizer, bounded, point_of
from orc.settings import MemorySettings
from orc_core.errors import NotFound, OrcError, Unavailable
from orc_core.infra.items import Items, delete, over, repeated_if_raced
from orc_core.llm.tokens import TokenCounter
from orc_core.names import Owner

RETRIED_TURNS = 8
"""A failed turn may be retried, under its own number, while it is one of the newest so many."""
MEMORY = "memory"


def add_turns(memory: Memory, turns: Sequence[Turn], newest_seq: int, counter: TokenCounter) -> Memory:
    """The memory with the notes and points of these turns, which follow `memory.noted_seq` without gaps.

    Turns that may still be answered hold `noted_seq` back; later turns are added all the same.
    """
    notes = memory.notes
    points = [point for point in memory.summary if point.last_seq <= memory.noted_seq]
    for turn in turns:
        if _is_remembered(turn):
            notes = add_notes_of(notes, turn)
            points += filter(None, [point_of(turn, counter)])
    settled_seq = memory.noted_seq
    for turn in turns:
        is_retried = turn.status.is_retried and turn.seq > newest_seq - RETRIED_TURNS
        if turn.status is TurnStatus.PENDING or is_retried:
            # It may still be answered.
            break
        settled_seq = turn.seq
    late = [each.seq for each in turns if each.attempt_number > 1 and _is_remembered(each)]
    return memory.model_copy(
        update={
            "noted_seq": settled_seq,
            "retried": [*memory.retried, *(seq for seq in late if seq <= settled_seq)],
            "notes": _wanted(notes, memory, newest_seq),
            "summary": bounded(points, settled_seq, counter),
        }
    )


def _wanted(notes: Sequence[Note], memory: Memory, newest_seq: int = 0) -> list[Note]:
    """As many of the notes as are kept, without those that the user has withdrawn."""
    kept = [note for note in notes if not memory.is_withdrawn(note)]
    return bounded_notes(kept, max(newest_seq, memory.latest_seq))


def _is_remembered(turn: Turn) -> bool:
    """Whether the turn was answered, and is the last version of its question."""
    return turn.status is TurnStatus.COMMITTED and turn.replaced_by is None


logger = logging.getLogger(__name__)

TURNS_AT_ONCE = 50
LATE_AT_ONCE = 10
"""The retried turns that an update looks at: those that were begun again last, failed ones included."""
UNWRITTEN_TURNS = 8
"""So many turns without notes are not written, or fewer if the history has fewer; the next update reads
them again."""
RACES = 5
READ_SECONDS = 1.0
"""Time limit of reading the memory at the start of a turn."""
UNREADABLE = "The memory of the conversation could not be read."
WITHOUT_MEMORY = "the memory could not be read, the turn continues without it"


class MemoryStore:
    """One memory per conversation. Every method raises DependencyDown if the store cannot be used."""

    def __init__(self, items: Items) -> None:
        self._items = items

    async def read(self, owner: Owner) -> Memory | None:
        """The stored memory, maybe of a deleted conversation with the same id; None if none is stored."""
        item = await self._items.read(owner.key, MEMORY)
        return None if item is None else memory_from(item["item"])

    @repeated_if_raced
    async def write(self, owner: Owner, memory: Memory) -> bool:
        """Store it as the version after `memory.version`, if that is the stored version (0: none is stored).

        Returns whether it is stored. Repeating a write whose confirmation was lost returns True.
        """
        written = memory.model_copy(update={"version": memory.version + 1})
        item = {"id": MEMORY, "item": written.model_dump(mode="json")}
        present = await self._items.read(owner.key, MEMORY)
        stored = present and memory_from(present["item"])
        if stored == written:
            return True
        if (stored.version if stored else 0) != memory.version:
            return False
        await self._items.write(owner.key, over(present, item))
        return True

    @repeated_if_raced
    async def delete(self, owner: Owner) -> None:
        """Delete the memory; an absent one is no error."""
        if await self._items.read(owner.key, MEMORY) is not None:
            await self._items.write(owner.key, delete(MEMORY))


@dataclass
class MemoryService(ConversationMemory):
    """A ConversationMemory over a store.

    With a `summarizer` a model replaces the points of older turns; until then, and if it fails, the sentences
    of the answers are used.
    """

    store: MemoryStore
    log: TurnLog
    selection: Selection
    counter: TokenCounter
    limits: MemorySettings
    summarizer: Summarizer | None = None
    read_seconds: float = READ_SECONDS

    async def read(self, head: Head, sent_turns: int | None = None, blocked: Sequence[Range] = ()) -> Memory:
        if head.turn_count <= 1:
            return Memory(life=head.created_at)
        most = self.limits.history_turns
        turns = most if sent_turns is None else min(sent_turns, most)
        try:
            async with asyncio.timeout(self.read_seconds):
                memory = await self._reaching_history(head, await self.store.read(head.owner), turns)
        except (OrcError, TimeoutError) as exc:
            logger.warning("%s: %s", WITHOUT_MEMORY, type(exc).__name__)
            return Memory(unread=UNREADABLE)
        except Exception:
            # The outermost edge: no turn fails because of its memory.
            logger.exception(WITHOUT_MEMORY)
            return Memory(unread=UNREADABLE)
        # In doubt a point is kept that the history has too: twice is better than not at all. Turns without a
        # point, or not added yet, are allowed half of the history's tokens.
        points, tokens = list(memory.summary), self.limits.history_tokens // 2
        last_before_history = head.turn_count - 1 - turns
        while points and points[-1].first_seq > last_before_history and points[-1].tokens <= tokens:
            tokens -= points.pop().tokens
        shown = [point for point in points if not covers(blocked, *point.origin)]
        return memory.model_copy(update={"summary": shown})

    async def _reaching_history(self, head: Head, stored: Memory | None, turns: int) -> Memory:
        """The stored memory with the turns before the history that were not added to it yet."""
        if stored is not None and stored.unread:
            return Memory(unread=stored.unread)
        if stored is None or stored.life != head.created_at:
            stored = Memory(life=head.created_at)
        stored = without_replaced(stored, head.replaced)
        missing = head.turn_count - 1 - turns - stored.noted_seq
        if missing <= 0:
            return stored
        added = await self.log.turns(
            head.owner, after_seq=stored.noted_seq, limit=min(missing, TURNS_AT_ONCE)
        )
        newest = max([stored.noted_seq, *(turn.seq for turn in added)])
        return await asyncio.to_thread(add_turns, stored, added, newest, self.counter)

    async def recall(self, question: str, memory: Memory) -> Recalled:
        return await self.selection.choose(question, memory)

    async def update(self, head: Head, blocked: Sequence[Range] = ()) -> None:
        try:
            memory = await self._add_new_turns(head)
            if self.summarizer is not None and memory is not None:
                await self._condense(head, memory, self.summarizer, blocked)
        except OrcError as exc:
            # The next turn's update adds what this one did not.
            logger.warning("the memory is updated later: %s", type(exc).__name__)
        except Exception:
            # The outermost edge: an update runs in the background.
            logger.exception("a memory could not be updated")

    async def notes(self, head: Head) -> list[Note]:
        stored = await self._of_this_life(head)
        said = (NoteKind.FACT, NoteKind.PREFERENCE)
        return [note for note in stored.notes if note.kind in said] if stored else []

    async def withdraw(self, head: Head, note_id: str) -> None:
        for _ in range(RACES):
            memory = await self._of_this_life(head) or Memory()
            kept = [note for note in memory.notes if note.note_id != note_id]
            if len(kept) == len(memory.notes):
                raise NotFound(NO_SUCH_NOTE)
            withdrawn = {**memory.withdrawn, note_id: max(head.turn_count, memory.latest_seq)}
            changed = memory.model_copy(update={"notes": kept, "withdrawn": withdrawn})
            if await self._write(head, changed) is not None:
                return self.selection.forget_texts()
        raise Unavailable("The memory is being written by others. Try again in a moment.")

    async def forget(self, owner: Owner) -> None:
        await self.store.delete(owner)
        self.selection.forget_texts()

    async def _add_new_turns(self, head: Head) -> Memory | None:
        """Adds the turns committed since, and writes them if that is worth a write. Returns the memory."""
        for _ in range(RACES):
            stored = await self._of_this_life(head)
            if stored is None:
                return None
            memory = await self._with_late_answers(head, await self._without_replaced(head, stored))
            turns = await self.log.turns(head.owner, after_seq=memory.noted_seq, limit=TURNS_AT_ONCE)
            newest = max([head.turn_count, *(turn.seq for turn in turns)])
            taken = await asyncio.to_thread(add_turns, memory, turns, newest, self.counter)
            if self.summarizer is None:
                taken = taken.model_copy(update={"summarised_seq": taken.noted_seq})
            if not self._is_worth_writing(stored, taken):
                return memory
            if (written := await self._write(head, taken)) is not None:
                return written
        logger.warning("the memory is updated later: too many concurrent updates")
        return None

    async def _without_replaced(self, head: Head, stored: Memory) -> Memory:
        """The memory without replaced turns; points that covered others too are made again from answers."""
        memory, points = without_replaced(stored, head.replaced), []
        for first, last in gaps(stored, head.replaced):
            most = min(last - first + 1, TURNS_AT_ONCE)
            turns = await self.log.turns(head.owner, after_seq=first - 1, limit=most)
            points += [point_of(turn, self.counter) for turn in turns if _is_remembered(turn)]
        if not points:
            return memory
        summary = sorted([*memory.summary, *filter(None, points)], key=lambda point: point.first_seq)
        return memory.model_copy(update={"summary": bounded(summary, memory.noted_seq, self.counter)})

    async def _with_late_answers(self, head: Head, memory: Memory) -> Memory:
        """The memory with turns that it had passed as failed, and that a retry has answered since."""
        known = {*memory.retried, *memory.without}
        late = [seq for seq in head.retried if seq <= memory.noted_seq and seq not in known]
        notes, summary, added = memory.notes, list(memory.summary), list[int]()
        for seq in late[-LATE_AT_ONCE:]:
            for turn in await self.log.turns(head.owner, after_seq=seq - 1, limit=1):
                if turn.seq == seq and _is_remembered(turn):
                    notes = add_notes_of(notes, turn)
                    summary += filter(None, [point_of(turn, self.counter)])
                    added.append(seq)
        if not added:
            return memory
        points = sorted(summary, key=lambda point: point.first_seq)
        return memory.model_copy(
            update={
                "retried": [*memory.retried, *added],
                "notes": _wanted(notes, memory),
                "summary": bounded(points, memory.noted_seq, self.counter),
            }
        )

    async def _condense(
        self, head: Head, memory: Memory, summarizer: Summarizer, blocked: Sequence[Range]
    ) -> None:
        """Lets the model replace the points it has not seen, once they cover enough tokens."""
        settled = min(head.turn_count - self.limits.history_turns, memory.noted_seq)
        waiting = [
            point
            for point in memory.summary
            if point.first_seq > memory.summarised_seq and point.last_seq <= settled
        ]
        if sum(point.tokens for point in waiting) <= self.limits.summary_threshold_tokens:
            return
        first, last = waiting[0].first_seq, waiting[-1].last_seq
        if covers(blocked, first, last):
            # Nothing is lost: the points stay, and are condensed once all of the turns may be shown.
            return
        most = min(last - first + 1, TURNS_AT_ONCE)
        read = await self.log.turns(head.owner, after_seq=first - 1, limit=most)
        turns = [turn for turn in read if _is_remembered(turn) and turn.seq <= last]
        condensed = await summarizer.condense(turns) if turns else None
        now = await self.log.head(head.owner)
        if now is None or not {turn.seq for turn in turns}.isdisjoint(now.replaced):
            # One of them was replaced while the model read it: the next update asks again.
            return
        for _ in range(RACES):
            present = await self._of_this_life(head)
            if present is None or present.summarised_seq >= last:
                return
            if await self._write(head, self._with_condensed(present, turns, last, condensed)) is not None:
                return

    def _with_condensed(
        self, memory: Memory, turns: Sequence[Turn], last: int, condensed: Condensed | None
    ) -> Memory:
        """The memory with the model's points instead of those of the same turns."""
        notes, points = list(memory.notes), memory.summary
        if condensed is not None:
            new = condensed.points
            others = [
                old
                for old in points
                if not any(old.first_seq <= each.last_seq and old.last_seq >= each.first_seq for each in new)
            ]
            points = sorted([*others, *new], key=lambda point: point.first_seq)
            for note in condensed.notes:
                notes = add_note(notes, note)
        reached = min(last, turns[-1].seq) if turns else last
        summary = bounded(points, memory.noted_seq, self.counter)
        update = {"notes": _wanted(notes, memory), "summary": summary}
        return memory.model_copy(update={"summarised_seq": reached, **update})

    async def _of_this_life(self, head: Head) -> Memory | None:
        """The stored memory of this conversation, or an empty one that replaces the stored one.

        None if the conversation was deleted and created again since: this update is then obsolete.
        """
        stored = await self.store.read(head.owner)
        if stored is None:
            return Memory(life=head.created_at)
        if stored.life == head.created_at:
            return stored
        is_older = stored.life is None or stored.life < head.created_at
        return Memory(life=head.created_at, version=stored.version) if is_older else None

    async def _write(self, head: Head, memory: Memory) -> Memory | None:
        """The written memory; None if another update was written first."""
        if not await self.store.write(head.owner, memory):
            return None
        # A deletion deletes the memory after the conversation, so one of the two sees the other's change.
        present = await self.log.head(head.owner)
        if present is None or present.created_at != head.created_at:
            await self.store.delete(head.owner)
        return memory.model_copy(update={"version": memory.version + 1})

    def _is_worth_writing(self, before: Memory, after: Memory) -> bool:
        most = min(UNWRITTEN_TURNS, max(self.limits.history_turns, 1))
        if (
            after.without != before.without
            or after.retried != before.retried
            or after.notes != before.notes
            or after.noted_seq - before.noted_seq >= most
        ):
            return True
        unwritten = sum(point.tokens for point in after.summary if point.first_seq > before.noted_seq)
        return after.noted_seq > before.noted_seq and unwritten > self.limits.history_tokens // 2
