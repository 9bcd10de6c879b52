"""APIs of several settings over one tools server, on real ports but in this process, to start in no time."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp

from devkit.doubles.openai_double import OpenAIDouble
from devkit.doubles.openai_double import serving as serving_model
from devkit.system import principal_headers
from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app
from mcp_server.settings import Settings as ToolSettings
from orc.api.app import create_app
from orc.bootstrap import Override
from orc.settings import AuthMode, Settings
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.scope import Scope
from orc_core.names import Owner

Values = Mapping[str, Any]
TOKEN_SECONDS = 600


@dataclass(frozen=True)
class Variant:
    """One API: its settings beyond those of all, and what is put in the place of its parts.

    `at` makes the settings that depend on the origin of its page.
    """

    settings: Values = field(default_factory=dict)
    override: Override | None = None
    at: Callable[[str], Values] = lambda _: {}


@dataclass(frozen=True)
class InProcess:
    """What is running: the addresses of the APIs by the variant's name, and what they share."""

    addresses: Mapping[str, str]
    mcp_url: str
    documents: Documents
    portal: BlockingPortal
    folder: Path

    def client(self, variant: str, organization: str, user: str = "ann") -> httpx.Client:
        """An HTTP client of this caller (EasyAuth)."""
        headers = principal_headers(organization, user)
        return httpx.Client(base_url=self.addresses[variant], headers=headers, timeout=60)

    def scope_token(self, organization: str, user: str, conversation: str) -> str:
        """A token for the tools server, over all documents of a conversation."""
        scope = Scope.of_session(Owner(organization, user, conversation))
        return self.documents.tokens.mint(scope, seconds=TOKEN_SECONDS)

    def index(self) -> None:
        """Index and analyse what was uploaded."""
        self.portal.call(self.documents.worker.drain)


@contextmanager
def running_here(
    folder: Path, variants: Mapping[str, Variant], *, common: Values, tools: Values
) -> Iterator[InProcess]:
    """All of it on one thread; `common` are settings of all, `tools` those of the tools server."""
    shared = {"data_dir": folder, "page_analysis": "extractive", **common}
    opened = _opened(variants, shared, tools)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(opened) as (addresses, mcp_url, documents),
    ):
        yield InProcess(addresses, mcp_url, documents, portal, folder)


@contextmanager
def over_model(
    double: OpenAIDouble, folder: Path, variants: Mapping[str, Variant] | None = None, **common: Any
) -> Iterator[InProcess]:
    """All of it over this double of OpenAI, without retries; by default with one API, named ""."""
    with serving_model(double) as address:
        asks = {"model": "openai:gpt-5.1", "openai_base_url": address, "openai_api_key": "none"}
        settings = {**asks, "model_retries": 0, **common}
        with running_here(folder, variants or {"": Variant()}, common=settings, tools={}) as here:
            yield here


@asynccontextmanager
async def _opened(
    variants: Mapping[str, Variant], shared: Values, tools: Values
) -> AsyncIterator[tuple[dict[str, str], str, Documents]]:
    async with AsyncExitStack() as stack:
        tools_at = stack.enter_context(listening())
        settings = ToolSettings(**shared, **tools, mcp_port=_port_of(tools_at))
        services = await stack.enter_async_context(open_app(settings))
        await stack.enter_async_context(serving(build_http_app(services, settings), tools_at))
        documents = await stack.enter_async_context(open_documents(settings, analyser=True))
        addresses = {}
        for name, variant in variants.items():
            listener = stack.enter_context(listening())
            origin = f"http://127.0.0.1:{_port_of(listener)}"
            values = {
                "mcp_server_url": settings.mcp_url,
                "auth_mode": AuthMode.EASYAUTH,
                "azure_auth_enabled": True,
                "messages_per_hour": 0,
                **variant.settings,
                **variant.at(origin),
            }
            app = create_app(Settings(**shared, **values), variant.override)
            await stack.enter_async_context(serving(app, listener))
            addresses[name] = f"{origin}/api"
        yield addresses, settings.mcp_url, documents


@asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the app at the listener, which is closed at the end."""
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", lifespan="on", ws="none", timeout_graceful_shutdown=5)
    )
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
        listener.close()


def listening() -> socket.socket:
    """A socket at a free port of the loopback interface."""
    return socket.create_server(("127.0.0.1", 0))


def _port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])
