"""What is remembered, as a block of a prompt: as what was said, never as instructions of ours."""

import unicodedata

from core.grounding.sources import without_markers
from core.llm.messages import (
    ANSWERED,
    NOT_FOUND_BEFORE,
    USER_SAID,
    USER_WANTS,
    fence_remembered,
    remembered_line,
)
from core.llm.tokens import TokenCounter
from orc.memory.models import Note, NoteKind, Recalled, SummaryPoint

_LABELS = {
    NoteKind.PREFERENCE: USER_WANTS,
    NoteKind.FACT: USER_SAID,
    NoteKind.QUESTION: NOT_FOUND_BEFORE,
}


def remembered(recalled: Recalled, tokens: int, counter: TokenCounter) -> str:
    """The block, within so many tokens: wishes, facts, open questions, then points; empty without any."""
    order = list(_LABELS)
    notes = sorted(recalled.notes, key=lambda note: order.index(note.kind))
    told: list[str] = []
    for line in [*map(line_of, notes), *map(line_of, recalled.summary)]:
        if counter.count(fence_remembered([*told, line])) <= tokens:
            told.append(line)
    return fence_remembered(told) if told else ""


def line_of(item: Note | SummaryPoint) -> str:
    """A note or a point on a line of its own; nothing in it can be a source, a marker or another speaker."""
    label = _LABELS[item.kind] if isinstance(item, Note) else ANSWERED
    visible = "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp") else " " for c in item.text
    )
    return remembered_line(label, without_markers(" ".join(visible.split())))
