"""The contexts of a conversation: none that was shown is forgotten, and the head stays small."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc.conversations.models import TurnContext
from orc.conversations.session_contexts import (
    MOST_CONTEXTS,
    covers,
    latest_first,
    shown_in,
    turns_with,
    with_shown,
    with_used,
)
from orc.conversations.transitions import first_head
from orc_core.names import Owner

pytestmark = pytest.mark.slow

HEAD = first_head(Owner("acme", "ada", "c-1"), datetime(2025, 1, 1, tzinfo=UTC))
turns = st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=60)


def named(context_id: str) -> TurnContext:
    return TurnContext(type="workspace", id=context_id)


@given(turns)
def test_every_turn_that_was_shown_material_is_found_by_its_context(history: list[tuple[str, bool]]) -> None:
    head, shown = HEAD, list[tuple[str, int]]()
    for seq, (context_id, has_material) in enumerate(history, 1):
        contexts = with_used(head.contexts, [named(context_id)], seq)
        if has_material:
            contexts = with_shown(contexts, [named(context_id)], seq)
            shown.append((context_id, seq))
        head = head.model_copy(update={"contexts": contexts, "turn_count": seq})
    for context_id, seq in shown:
        assert covers(turns_with({context_id}, head), seq)
        assert context_id in {each.id for each in shown_in(head.contexts, [(seq, seq)])}
    used_last = {context_id: seq for seq, (context_id, _) in enumerate(history, 1)}
    order = [each.context_id for each in latest_first(head.contexts)]
    assert order == sorted(used_last, key=lambda each: -used_last[each])


def test_a_head_with_fifty_contexts_and_a_hundred_turns_is_small() -> None:
    head = HEAD
    ids = ["-".join([f"{number:016d}"] * 3) for number in range(50)]
    for seq in range(1, 101):
        used = with_used(head.contexts, [named(ids[seq % 50])], seq)
        some = [named(each) for each in ids[seq % 2 :: 2]]
        head = head.model_copy(update={"contexts": with_shown(used, some, seq)})
    assert len(head.model_dump_json()) <= 16 * 1024
    assert all(covers(turns_with({each}, head), 100 - place % 2) for place, each in enumerate(ids))


def test_contexts_that_were_only_named_are_forgotten_before_those_that_were_shown() -> None:
    contexts = with_shown(with_used([], [named("kept")], 1), [named("kept")], 1)
    for seq in range(2, MOST_CONTEXTS + 20):
        contexts = with_used(contexts, [named(f"c{seq}")], seq)
    assert len(contexts) <= MOST_CONTEXTS + 1
    assert contexts[0].context_id == "kept"
    assert "c2" not in {each.context_id for each in contexts}


def test_a_place_that_was_only_read_is_no_context_of_later_turns() -> None:
    contexts = with_shown([], [named("below")], 1)
    assert latest_first(contexts) == []
    assert covers(contexts[0].shown, 1)
