"""Which contexts a conversation has used, and which of its turns had material of each in their prompts."""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from orc.conversations.models import Head, SessionContext, TurnContext

MOST_CONTEXTS = 200
"""Above it, the contexts that were used first and never shown to a model are forgotten."""
MOST_RANGES = 500
"""Ranges of turns in one head; with many contexts each has few, of which the nearest are joined."""

Range = tuple[int, int]


def with_used(
    contexts: Sequence[SessionContext], used: Iterable[TurnContext], seq: int
) -> list[SessionContext]:
    """The contexts of a conversation after its turn `seq` has named these."""
    known = {each.context_id: each for each in contexts}
    for each in used:
        known[each.id] = _used(known.get(each.id), each, seq)
    return _bounded(list(known.values()))


def with_shown(
    contexts: Sequence[SessionContext], shown: Iterable[TurnContext], seq: int
) -> list[SessionContext]:
    """The contexts of a conversation after turn `seq`, in whose prompts material of these was."""
    known = {each.context_id: each for each in contexts}
    for each in shown:
        context = known.get(each.id) or _used(None, each, seq).model_copy(update={"named": False})
        ranges: list[Range] = []
        for first, last in sorted([*map(tuple, context.shown), (seq, seq)]):
            if ranges and first <= ranges[-1][1] + 1:
                ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
            else:
                ranges.append((first, last))
        known[each.id] = context.model_copy(update={"shown": ranges})
    return _bounded(list(known.values()))


def latest_first(contexts: Sequence[SessionContext]) -> list[SessionContext]:
    """The contexts that questions named, in the order of their last use."""
    return sorted(
        (each for each in contexts if each.named), key=lambda each: (-each.last_seq, -each.first_seq)
    )


def turns_with(context_ids: Collection[str], head: Head) -> list[Range]:
    """The turns in whose prompts material of any of these contexts was."""
    return [span for each in head.contexts if each.context_id in context_ids for span in each.shown]


def covers(ranges: Iterable[Range], first: int, last: int | None = None) -> bool:
    """Whether any of the turns from `first` to `last` is in the ranges."""
    end = first if last is None else last
    return any(start <= end and first <= stop for start, stop in ranges)


def shown_in(contexts: Sequence[SessionContext], spans: Sequence[Range]) -> list[TurnContext]:
    """The contexts whose material was in the prompts of any of these turns."""
    return [
        TurnContext(type=each.type, id=each.context_id)
        for each in contexts
        if any(covers(each.shown, first, last) for first, last in spans)
    ]


def _used(known: SessionContext | None, named: TurnContext, seq: int) -> SessionContext:
    if known is None:
        return SessionContext(type=named.type, context_id=named.id, first_seq=seq, last_seq=seq)
    return known.model_copy(update={"named": True, "last_seq": max(known.last_seq, seq)})


def _bounded(contexts: list[SessionContext]) -> list[SessionContext]:
    for each in sorted(contexts, key=lambda each: -each.last_seq)[MOST_CONTEXTS:]:
        # What was shown once is never forgotten: its answers have to be withheld if it is revoked.
        if not each.shown:
            contexts.remove(each)
    most = max(1, MOST_RANGES // max(1, len(contexts)))
    bounded = []
    for each in contexts:
        kept = [(first, last) for first, last in each.shown]
        while len(kept) > most:
            gaps = [after[0] - before[1] for before, after in pairwise(kept)]
            at = gaps.index(min(gaps))
            kept[at : at + 2] = [(kept[at][0], kept[at + 1][1])]
        bounded.append(each.model_copy(update={"shown": kept}))
    return bounded
