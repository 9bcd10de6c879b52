"""The API in this process, with a scripted model, fake tools, and traces that tests can look into."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from devkit.fakes import FakeTools, Script, models_of, scripted
from orc.api.app import create_app
from orc.memory.models import ConversationMemory
from orc.settings import Settings
from orc.traces.models import TraceSink, TurnTrace
from orc.turns.running_turn import TurnDependencies
from orc_core.names import Owner


class Kept(TraceSink):
    """A TraceSink that tests look into."""

    def __init__(self) -> None:
        self.traces: list[TurnTrace] = []
        self.deleted: list[Owner] = []
        self.came = asyncio.Event()

    async def save(self, trace: TurnTrace) -> None:
        self.traces.append(trace)
        self.came.set()

    async def delete(self, owner: Owner) -> None:
        self.deleted.append(owner)


@asynccontextmanager
async def api(
    folder: Path,
    sink: TraceSink | None,
    script: Script,
    tools: FakeTools,
    *,
    remembering: ConversationMemory | None = None,
    **settings: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API as the local user; without a `sink` traces go where the settings say, and so
    does what is remembered."""
    model, _ = scripted(script)

    def change(parts: TurnDependencies) -> TurnDependencies:
        kept, memory = sink or parts.traces, remembering or parts.memory
        return replace(parts, models=models_of(model), tools=tools, traces=kept, memory=memory)

    app = create_app(Settings(data_dir=folder, page_analysis="off", **settings), change)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 5))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api", timeout=20) as client:
        yield client
    await app.state.provider.close()
