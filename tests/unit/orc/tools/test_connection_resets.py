"""A tools server that resets connections as it accepts them is reported as down."""

import asyncio

import pytest
import uvloop

from devkit.reset_server import BACKLOG, resetting
from orc.tools.mcp_client import McpToolGateway
from orc_core.errors import DependencyDown

ROUNDS = 20


@pytest.mark.slow
def test_a_connection_reset_at_once_is_an_outage() -> None:
    """On uvloop, which Orc uses, anyio reports a different error."""

    async def ping_at_once(url: str) -> list[BaseException | None]:
        gateway = McpToolGateway(f"{url}/mcp", timeout_seconds=5)
        try:
            rounds = [
                await asyncio.gather(*(gateway.ping() for _ in range(BACKLOG)), return_exceptions=True)
                for _ in range(ROUNDS)
            ]
            return [outcome for outcomes in rounds for outcome in outcomes]
        finally:
            await gateway.close()

    with resetting() as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcomes = runner.run(ping_at_once(url))
    assert {type(outcome) for outcome in outcomes} == {DependencyDown}
