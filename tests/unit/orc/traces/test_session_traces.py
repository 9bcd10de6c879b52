"""A trace is stored after the end of its turn and never delays or fails the turn."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.fakes import FakeTools
from devkit.graph_turns import says
from devkit.traced_turns import Kept, api
from orc.conversations.models import Head
from orc.conversations.session_contexts import Range
from orc.memory.models import ConversationMemory
from orc.traces.models import TraceSink, TurnTrace
from orc_core.errors import DependencyDown

pytestmark = pytest.mark.slow

QUESTION = {"question": "Good morning!"}
TELEMETRY = "/admin/telemetry"


class BlockedSink(TraceSink):
    """A TraceSink that stores traces only after `may_take` is set, or raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked, self.may_take = asyncio.Event(), asyncio.Event()
        self.taken = 0

    async def save(self, trace: TurnTrace) -> None:
        self.asked.set()
        if self.error is not None:
            raise self.error
        await self.may_take.wait()
        self.taken += 1


class HangingTools(FakeTools):
    """Tools whose server does not even answer the listing of tools."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def list_tools(self, token: str) -> Any:
        self.asked.set()
        await asyncio.Event().wait()


class SignallingMemory(ConversationMemory):
    """A memory that signals when it is updated with a turn."""

    def __init__(self) -> None:
        self.updated = asyncio.Event()

    async def update(self, head: Head, blocked: Sequence[Range] = ()) -> None:
        self.updated.set()


def talking(
    folder: Path, sink: TraceSink | None = None, **settings: Any
) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    return api(folder, sink, says("Hello."), FakeTools(), **settings)


async def test_the_answer_does_not_wait_for_its_trace(tmp_path: Path) -> None:
    sink = BlockedSink()
    async with talking(tmp_path, sink) as client:
        response = await client.post("/orc", json=QUESTION)
        await asyncio.wait_for(sink.asked.wait(), 5)
        assert (response.json()["answer"], sink.taken) == ("Hello.", 0)
        sink.may_take.set()


async def test_memory_does_not_wait_for_the_trace(tmp_path: Path) -> None:
    sink, memory = BlockedSink(), SignallingMemory()
    async with api(tmp_path, sink, says("Hello."), FakeTools(), remembering=memory) as client:
        assert (await client.post("/orc", json=QUESTION)).status_code == 200
        await asyncio.wait_for(memory.updated.wait(), 3)
        assert sink.taken == 0
        sink.may_take.set()


@pytest.mark.parametrize("error", [DependencyDown("It is down.", dependency="store"), RuntimeError("a bug")])
async def test_a_trace_that_cannot_be_stored_is_only_logged(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    sink = BlockedSink(error)
    with caplog.at_level(logging.WARNING, "orc.turns.runner"):
        async with talking(tmp_path, sink) as client:
            assert (await client.post("/orc", json=QUESTION)).status_code == 200
            await asyncio.wait_for(sink.asked.wait(), 5)
    [record] = [each.getMessage() for each in caplog.records if each.name == "orc.turns.runner"]
    assert record.endswith(f"was not stored: {type(error).__name__}")


async def test_a_stopped_turn_has_a_trace(tmp_path: Path) -> None:
    kept, tools = Kept(), HangingTools()
    async with api(tmp_path, kept, says("Hello."), tools, turn_deadline_seconds=0.1) as client:
        response = await client.post("/orc", json={"question": "What is the fee for families?"})
        await asyncio.wait_for(kept.came.wait(), 5)
    [trace] = kept.traces
    assert (response.status_code, trace.status, trace.error_code) == (504, "failed", "deadline_exceeded")
    assert trace.duration_ms >= 100


async def test_a_turn_can_be_found_by_the_trace_id_of_its_response(tmp_path: Path) -> None:
    async with talking(tmp_path) as client:
        answered = await client.post("/orc", json=QUESTION)
    # Closing waits for the background work of turns.
    trace_id = answered.headers["x-trace-id"]
    async with talking(tmp_path) as client:
        [turn] = (await client.get(f"{TELEMETRY}/{trace_id}")).json()["turns"]
        [listed] = (await client.get(TELEMETRY)).json()["turns"]
    assert turn["turn_id"] == listed["turn_id"] == answered.json()["turn_id"]
    assert turn["usage"] == answered.json()["metadata"]["usage"]
    assert turn["first_token_ms"] <= answered.json()["metadata"]["timings_ms"]["answer"]


async def test_no_traces_are_stored_if_they_are_disabled(tmp_path: Path) -> None:
    async with talking(tmp_path, store_turn_traces=False) as client:
        assert (await client.post("/orc", json=QUESTION)).status_code == 200
    async with talking(tmp_path) as client:
        assert (await client.get(TELEMETRY)).json()["turns"] == []
