"""The graph against fake tools and scripted models: routing, reuse of files, and what is shown."""

import json
from typing import Any

import pytest

from devkit.fakes import FakeTools
from devkit.graph_turns import (
    CHAT_TOOL,
    HISTORY,
    Turn,
    document_chat_result,
    ref,
    says,
)
from orc.conversations.models import ChatMessage
from orc.events import Context, Tool
from orc.memory.models import Memory, Note, NoteKind, Recalled
from orc_core.mcp_contract import WISHES_META_KEY

SIX_TURNS = [
    ChatMessage.model_validate({"role": role, "content": f"w{n} " * 5})
    for n in range(6)
    for role in ("user", "assistant")
]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_tool_event_counts_the_steps_of_a_tool_that_reports_them(stream: bool) -> None:
    turn = Turn(FakeTools(document_chat=document_chat_result(ref("a.pdf"))), stream=stream)
    await turn.run(blob_names=["a.pdf"])
    seen = [(event.status, event.progress, event.total) for event in turn.of(Tool)]
    reading = [("progress", 1, 2)] if stream else []
    assert seen == [("started", None, None), *reading, ("finished", None, None)]


async def test_a_conversation_without_documents_just_talks_with_its_history() -> None:
    turn = Turn(FakeTools())
    state = await turn.run(history=HISTORY)
    [(messages, options)] = turn.model.calls
    assert [message.text for message in messages[1:]] == ["What is the fee?", "10.", "And the fee?"]
    assert "tools" not in options
    assert state.answer == turn.streamed
    assert turn.tools.calls == []


async def test_the_newest_turns_that_fit_are_in_the_prompt_and_counted_in_the_event() -> None:
    turn = Turn(FakeTools(), says("It is 10."), history_tokens=25, retrieval_tokens=0)
    await turn.run(history=SIX_TURNS)
    [context] = turn.of(Context)
    assert context.history_turns == 2
    assert len(turn.model.calls[-1][0]) == 1 + 2 * 2 + 1
    named = Turn(FakeTools([CHAT_TOOL], document_chat=document_chat_result(ref("a.pdf"))))
    await named.run(blob_names=["a.pdf"], history=HISTORY)
    assert [event.history_turns for event in named.of(Context)] == [0], "document_chat reads none"


async def test_a_turn_without_its_memory_reports_why() -> None:
    turn = Turn(FakeTools())
    await turn.run(memory=Memory(unread="The store is down."))
    [context] = turn.of(Context)
    assert context.summary_selection["reason"] == "The store is down."


async def test_events_hold_no_identifiers() -> None:
    turn = Turn(FakeTools(document_chat=document_chat_result(ref("a.pdf", "file-secret"))))
    await turn.run(blob_names=["a.pdf"])
    assert "file-secret" not in json.dumps([event.data() for event in turn.events])


WISH = "Please answer in short sentences."
REMEMBERED = Note(kind=NoteKind.PREFERENCE, text=WISH, first_seen=1, last_seen=1)


@pytest.mark.parametrize(
    "given",
    [
        {"history": [ChatMessage(role="user", content=WISH), ChatMessage(role="assistant", content="OK.")]},
        {"memory": Memory(notes=[REMEMBERED])},
    ],
    ids=["from the history", "from memory"],
)
async def test_a_wish_reaches_turns_about_named_documents(given: dict[str, Any]) -> None:
    tools = FakeTools(document_chat=document_chat_result(ref("a.pdf")))
    turn = Turn(tools, says("{}"), recalled=Recalled(notes=[REMEMBERED]))
    await turn.run(blob_names=["a.pdf"], **given)
    assert tools.metas[0][WISHES_META_KEY] == [WISH]


async def test_without_a_wish_nothing_is_sent_on() -> None:
    tools = FakeTools(document_chat=document_chat_result(ref("a.pdf")))
    await Turn(tools, says("{}")).run(blob_names=["a.pdf"], history=HISTORY)
    assert WISHES_META_KEY not in tools.metas[0]
