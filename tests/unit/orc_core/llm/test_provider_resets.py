"""A provider that resets connections as it accepts them is down, and nothing worse."""

import asyncio

import httpx2
import pytest
import uvloop

from devkit.reset_server import BACKLOG, resetting
from orc_core.infra.settings import CoreSettings
from orc_core.llm.provider import open_provider

ROUNDS = 20


@pytest.mark.slow
def test_a_connection_reset_on_connect_is_a_transport_error() -> None:
    """On uvloop, on which Orc runs, anyio takes it for something else."""

    async def ask_at_once(url: str) -> list[BaseException | httpx2.Response]:
        provider = open_provider(CoreSettings.model_validate({"openai_base_url": url}))
        assert provider is not None
        try:
            rounds = [
                await asyncio.gather(
                    *(provider.http.get(url) for _ in range(BACKLOG)), return_exceptions=True
                )
                for _ in range(ROUNDS)
            ]
            return [outcome for outcomes in rounds for outcome in outcomes]
        finally:
            await provider.aclose()

    with resetting() as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcomes = runner.run(ask_at_once(url))
    assert [outcome for outcome in outcomes if not isinstance(outcome, httpx2.TransportError)] == []
