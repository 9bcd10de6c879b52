"""A memory without the turns that have newer versions."""

from collections.abc import Collection, Sequence

from orc.memory.models import Memory, Note, NoteKind, SummaryPoint


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
