"""Before the first use of Cosmos DB its client is entered: once, for all who wait, and not for long."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from orc_core.errors import DependencyDown
from orc_core.infra.resilience import CircuitOpen
from orc_core.storage.cosmos import client as cosmos_sessions
from orc_core.storage.cosmos.client import SESSION_TOKEN, BatchTokens, CosmosBreaker, open_client, open_cosmos
from orc_core.storage.cosmos.items import items_of

pytestmark = pytest.mark.slow

ENTER_SECONDS = 0.3


class SilentServer:
    """Takes connections and never answers."""

    def __init__(self) -> None:
        self.connections = 0
        self.url = ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with closing(writer):
            await reader.read()


@pytest.fixture
async def silent(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SilentServer]:
    monkeypatch.setattr(cosmos_sessions, "ENTER_SECONDS", ENTER_SECONDS)
    silent = SilentServer()
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    silent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield silent
    finally:
        server.close()


async def test_all_calls_to_a_service_that_hangs_fail_together_and_soon(silent: SilentServer) -> None:
    cosmos = open_cosmos(silent.url, "aGVsbG8=", "orc")
    items = items_of(cosmos, "conversations")
    started = time.monotonic()
    failed = await asyncio.gather(*(items.read(["b"], "a") for _ in range(20)), return_exceptions=True)
    assert time.monotonic() - started < 5 * ENTER_SECONDS
    assert {type(each) for each in failed} <= {DependencyDown, CircuitOpen}
    assert silent.connections <= 2
    await cosmos.close()


async def test_the_next_call_tries_again(silent: SilentServer) -> None:
    breaker = CosmosBreaker(open_client(silent.url, "aGVsbG8="))
    for connections in (1, 2):
        with pytest.raises(DependencyDown):
            async with breaker.attempt():
                pass
        assert silent.connections == connections
    await breaker.close()


async def test_a_cancelled_call_leaves_the_others_waiting(silent: SilentServer) -> None:
    breaker = CosmosBreaker(open_client(silent.url, "aGVsbG8="))

    async def wait() -> None:
        async with breaker.attempt():
            pass

    first, second = asyncio.create_task(wait()), asyncio.create_task(wait())
    await asyncio.sleep(ENTER_SECONDS / 3)
    first.cancel()
    with pytest.raises(DependencyDown):
        await second
    assert (first.cancelled(), silent.connections) == (True, 1)
    await breaker.close()


async def test_closing_does_not_wait_for_a_connection(silent: SilentServer) -> None:
    cosmos = open_cosmos(silent.url, "aGVsbG8=", "orc")
    reading = asyncio.create_task(items_of(cosmos, "conversations").read(["b"], "a"))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    await cosmos.close()
    assert time.monotonic() - started < ENTER_SECONDS / 2
    await asyncio.wait([reading])
    assert reading.cancelled()


def noted(*tokens: str) -> BatchTokens:
    batches = BatchTokens()
    for token in tokens:
        batches.note(["a"], {SESSION_TOKEN: token})
    return batches


@pytest.mark.parametrize(
    ("first", "second", "newest"),
    [
        ("0:-1#9", "0:-1#10", "0:-1#10"),
        ("0:-1#10", "0:-1#9", "0:-1#10"),
        ("0:1#10#1=4", "0:2#11#1=5", "0:2#11#1=5"),
        ("0:2#11", "0:1#10", "0:2#11"),
        ("0:-1#10", "1:-1#9", "1:-1#9"),
        ("0:10", "0:9", "0:9"),
    ],
)
def test_of_batches_at_the_same_time_the_newer_token_stays(first: str, second: str, newest: str) -> None:
    with noted(first, second).reading(["a"]) as token:
        assert token == newest


def test_a_token_is_given_to_one_read_of_its_partition() -> None:
    batches = noted("0:-1#5")
    for partition, expected in (("b", None), ("a", "0:-1#5"), ("a", None)):
        with batches.reading([partition]) as token:
            assert token == expected
