"""The product of `devkit.system`, with its three processes as tasks of one thread here: it imports nothing.

For tests that do not look at the processes of the product: a start takes 0.4 s of processor time, not 5.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from anyio.from_thread import start_blocking_portal

from devkit.in_process import listening, serving
from devkit.system import System
from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app
from mcp_server.settings import Settings as ToolSettings
from orc.api.app import create_app
from orc.settings import load
from orc_core.bootstrap import open_documents
from orc_core.infra.settings import load_settings


@contextmanager
def system_here(data_dir: Path, **environment: str) -> Iterator[System]:
    """As `devkit.system.running`, but `process` is None, and the log stays empty."""
    with listening() as api, listening() as tools, start_blocking_portal() as portal:
        ports = [listener.getsockname()[1] for listener in (api, tools)]
        system = System(data_dir, environment, *ports)
        data_dir.mkdir(parents=True, exist_ok=True)
        (data_dir / "serve.log").touch()
        with portal.wrap_async_context_manager(_serving(system.settings, api, tools)):
            system.wait_until_ready()
            yield system


@asynccontextmanager
async def _serving(
    settings: Mapping[str, str], api: socket.socket, tools: socket.socket
) -> AsyncIterator[None]:
    with patch.dict(os.environ, settings):
        for_api, for_tools = load(), load_settings(ToolSettings)
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_app(for_tools))
        await stack.enter_async_context(serving(build_http_app(services, for_tools), tools))
        await stack.enter_async_context(serving(create_app(for_api), api))
        documents = await stack.enter_async_context(open_documents(for_api, analyser=True))
        if for_api.workers:
            await stack.enter_async_context(_working(asyncio.create_task(documents.worker.run())))
        yield


@asynccontextmanager
async def _working(task: asyncio.Task[None]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
