"""Progress notifications of one call: each step, and a sign of life while a step takes long."""

import asyncio
import itertools
from types import SimpleNamespace
from typing import Any, cast

from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from mcp_server.tools.registration import SILENT_SECONDS, CallProgress, offer
from orc_core.mcp_contract import STREAM_META_KEY, StatusLine, ToolFacts, tool_progress


class Heard:
    """A caller's side of a call: when each notification came, by a clock that only sleeping advances."""

    def __init__(self, meta: dict[str, Any] | None = None, until: float = 20) -> None:
        self.request_context = SimpleNamespace(meta=meta)
        self.now, self.until = 0.0, until
        self.messages: list[tuple[float, str]] = []
        self.counts: list[float] = []
        self.ended = asyncio.Event()

    async def report_progress(self, count: float, message: str) -> None:
        self.counts.append(count)
        self.messages.append((self.now, message))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        if self.now >= self.until:
            self.ended.set()
            await asyncio.Event().wait()
        self.now += max(seconds, 0.001)  # no clock is exact

    def progress(self) -> CallProgress:
        return CallProgress(cast("Context[None]", self), clock=lambda: self.now, sleep=self.sleep)


async def test_a_description_has_no_indentation_of_its_source() -> None:
    """Below Python 3.13 the docstring of a function has it, and models would read it."""

    async def search() -> CallToolResult:
        raise AssertionError

    search.__doc__ = "Find pages.\n\n        Best first.\n        "
    server = MCPServer[None]("test")
    offer(server, facts=ToolFacts("search", "Search", "Searches."))(search)
    async with Client(server) as client:
        (tool,) = (await client.list_tools()).tools
    assert tool.description == "Find pages.\n\nBest first."


async def test_a_call_that_takes_long_is_never_silent_for_more_than_5_seconds() -> None:
    heard = Heard()
    async with heard.progress() as progress:
        progress.working(0, 3, "Reading the document in parts")
        await heard.ended.wait()
    times = [0.0, *(time for time, _ in heard.messages), heard.now]
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) <= 5
    assert heard.messages[0][1] == "Reading the document in parts (0 of 3)"
    assert heard.messages[1][1] == f"Reading the document in parts (0 of 3) ({SILENT_SECONDS:.0f} s)"
    assert heard.counts == sorted(set(heard.counts))


async def test_a_caller_that_does_not_stream_hears_that_the_answer_is_being_written() -> None:
    heard = Heard()
    async with heard.progress() as progress:
        await progress.text("The quay")
        await heard.ended.wait()
    assert heard.messages[-1][1] == "Writing the answer (20 s)"


async def test_a_caller_that_streams_gets_signs_of_life_as_status_lines() -> None:
    heard = Heard({STREAM_META_KEY: True}, until=8)
    async with heard.progress():
        await heard.ended.wait()
    pieces = [tool_progress.validate_json(message) for _, message in heard.messages]
    assert pieces == [StatusLine(message="Working (4 s)"), StatusLine(message="Working (8 s)")]


async def test_nothing_is_sent_after_the_call_has_ended() -> None:
    heard = Heard()
    async with heard.progress():
        pass
    await asyncio.sleep(0)
    assert heard.messages == []


class Asleep(Heard):
    """A caller whose clock is stopped: what sleeps does not wake up. `slept` has the seconds."""

    def __init__(self) -> None:
        super().__init__({STREAM_META_KEY: True})
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.Event().wait()


async def test_a_status_line_comes_before_text_that_does_not_wait_so_long() -> None:
    heard = Asleep()
    async with heard.progress() as progress:
        progress.working(1, 2, "Reading 7 pages")
        await progress.text("The quay")
    kinds = [tool_progress.validate_json(message).kind for _, message in heard.messages]
    assert kinds == ["status", "text"]


async def test_a_call_that_ends_sooner_sends_its_status_line_first() -> None:
    heard = Asleep()
    async with heard.progress() as progress:
        progress.working(1, 2, "Reading 7 pages")
    assert len(heard.messages) == 1
