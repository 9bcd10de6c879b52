"""`orc serve`: the API in this process, and the tools server and the workers as child processes.

With ORC_PROCESSES above 1 the API is in child processes too, and this one passes them its connections.
"""

import asyncio
import contextlib
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from rich.console import Console

from core.errors import InvalidInput
from core.infra.collector import collector_paused
from core.infra.data_directory import announced
from core.infra.http_server import LimitedHttp
from core.infra.http_server import Server as HttpServer
from core.infra.lifeline import hold_on
from core.infra.logs import start_logging
from core.infra.shared_port import Member
from core.infra.siblings import Siblings
from core.infra.sqlite import Database
from orc.cli.processes import (
    Server,
    environment_of,
    free_port,
    port_is_free,
    port_of,
    sharing_port,
    tools_server,
    workers,
)
from orc.settings import AuthMode, Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from orc.bootstrap import App

    Looking = asyncio.Task[list[str]]

ALL_SERVICES = 3
PORT_CHECKS = 20
DRAIN_SECONDS = 10
API_STOP_SECONDS = 2.5 * DRAIN_SECONDS
"""Connections, then turns, have as long as DRAIN_SECONDS to end."""
SAMPLE = Path("examples/harbour-handbook.pdf")
PORT_CHECK_SECONDS = 0.1
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


async def serve(settings: Settings, console: Console) -> None:
    """Serve until a signal arrives, at free ports instead of ports 0.

    Raises InvalidInput for settings that cannot work.
    """
    start_logging(settings)
    await _check(settings)
    settings = _with_free_ports(settings)
    looking = asyncio.create_task(_servers_here(settings))
    with announced(settings.data_dir, settings.mcp_server_url):
        await (_serve_here if settings.processes == 1 else _serve_in_children)(settings, console, looking)


async def _servers_here(settings: Settings) -> list[str]:
    from core.llm.served_models import found_here

    return [] if settings.has_model else await found_here()


def _with_free_ports(settings: Settings) -> Settings:
    changes: dict[str, object] = {"port": settings.port or free_port(settings.host)}
    url = urlsplit(settings.mcp_server_url)
    if port_of(url) == 0:
        host = str(url.hostname)
        changes["mcp_server_url"] = url._replace(netloc=_netloc(host, free_port(host))).geturl()
    return settings.model_copy(update=changes)


def _netloc(host: str, port: int | str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _serve_here(settings: Settings, console: Console, looking: "Looking") -> None:
    async with AsyncExitStack() as stack:
        with console.status("Starting ..."), collector_paused():
            tools_are_up = await stack.enter_async_context(tools_server(settings))
            # Both processes import for more than a second: at the same time.
            app = await asyncio.to_thread(_load_app, settings)
            opened, _ = await asyncio.gather(app.state.provider.get(), tools_are_up())
            # Last: workers must not compete with the start of the API and the tools server.
            await stack.enter_async_context(workers(settings))
        greet = partial(_greet, settings, console, looking)
        await _GreetingServer(_config(app, settings), greet, opened.warm).serve()


async def _serve_in_children(settings: Settings, console: Console, looking: "Looking") -> None:
    environment = environment_of(settings, MCP_SERVER_URL=settings.mcp_server_url)
    api = Server("the API", ["-m", "orc", "api"], environment, stop_seconds=API_STOP_SECONDS)
    # The API ends first: its turns need the tools server.
    with _ended_by_signals():
        async with AsyncExitStack() as others, AsyncExitStack() as first:
            with console.status("Starting ..."):
                tools_are_up = await others.enter_async_context(tools_server(settings))
                sharing = sharing_port(api, settings.processes, settings.host, settings.port)
                all_serve = await first.enter_async_context(sharing)
                await asyncio.gather(all_serve(), tools_are_up())
                await others.enter_async_context(workers(settings))
            _greet(settings, console, looking)
            await asyncio.get_running_loop().create_future()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Cancels the block when a signal to end arrives. After the block the signal has its usual effect."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        if not received:
            task.cancel()
        received.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    try:
        yield
    except asyncio.CancelledError:
        if not received:
            raise
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    for number in received[:1]:
        signal.raise_signal(number)


async def serve_member(settings: Settings, member: Member) -> None:
    """Serve what the process that started this one passes, until a signal arrives or that process ends."""
    start_logging(settings)
    with collector_paused():
        app = await asyncio.to_thread(_load_app, settings)
        opened: App = await app.state.provider.get()
    siblings = Siblings(member)
    server = HttpServer(_config(app, settings), passed_at=member.connections, warm=opened.warm)

    def stop() -> None:
        server.should_exit = True

    hold_on(stop)
    async with siblings.answered(opened.turn_service.share(siblings).answer):
        await server.serve()


def _config(app: "FastAPI", settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=LimitedHttp,
        ws="none",
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


def _load_app(settings: Settings) -> "FastAPI":
    from orc.api.app import create_app

    return create_app(settings)


class _GreetingServer(HttpServer):
    """Says that it serves once it does."""

    def __init__(
        self,
        config: uvicorn.Config,
        greet: Callable[[], None],
        warm: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        super().__init__(config, warm=warm)
        self._greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._greet()


async def _check(settings: Settings) -> None:
    if settings.auth_mode is AuthMode.LOCAL and settings.host not in _LOOPBACK:
        raise InvalidInput(
            f"Without authentication Orc listens on a loopback address only, not on {settings.host}. "
            "Set ORC_AUTH_MODE to easyauth or jwt."
        )
    if settings.auth_mode is not AuthMode.LOCAL:
        from orc.api.auth import build_authenticator

        build_authenticator(settings)
    await _check_database(settings)
    await _check_ports(settings)


async def _check_database(settings: Settings) -> None:
    """Raise DataNotUsable now: once they are started, child processes would be restarted for ever."""
    if settings.database_path.exists():
        database = Database(settings.database_path)
        try:
            await database.ping()
        finally:
            await database.close()


@dataclass(frozen=True)
class _Listener:
    """A server, where it listens, the setting of its host, and a template of the setting of its port."""

    what: str
    host: str
    port: int
    host_setting: str
    port_setting: str

    def at_another_port(self) -> str:
        """A value of the setting that works."""
        return self.port_setting.format(port=free_port(self.host))


async def _check_ports(settings: Settings) -> None:
    url = urlsplit(settings.mcp_server_url)
    host, host_setting, port_setting = url.hostname or "", "ORC_MCP_HOST", "ORC_MCP_PORT={port}"
    if settings.names_tools_url:
        host_setting = "MCP_SERVER_URL"
        port_setting = f"MCP_SERVER_URL={url._replace(netloc=_netloc(host, '{port}')).geturl()}"
    api = _Listener("The API", settings.host, settings.port, "ORC_HOST", "ORC_PORT={port}")
    tools = _Listener("The tools server", host, port_of(url), host_setting, port_setting)
    problems = await asyncio.gather(_problem_with(api), _problem_with(tools))
    if any(problems):
        raise InvalidInput("\n".join(filter(None, problems)))
    if api.port and (api.host, api.port) == (tools.host, tools.port):
        raise InvalidInput(
            f"The API and the tools server cannot both listen on port {api.port}. Move one, for example"
            f" with {tools.at_another_port()}"
        )


async def _problem_with(listener: _Listener) -> str:
    """Why the server cannot listen, and what to do about it; "" if it can.

    What a killed Orc leaves behind ends by itself within a second.
    """
    what, host, port = listener.what, listener.host, listener.port
    for _ in range(PORT_CHECKS):
        if port_is_free(host, port):
            return ""
        await asyncio.sleep(PORT_CHECK_SECONDS)
    if not port_is_free(host, 0):
        return (
            f"{what} cannot listen on {host}, which is not an address of this machine. Set"
            f" {listener.host_setting}."
        )
    return (
        f"{what} cannot listen on port {port} of {host}: it is in use, or this user may not use it. Stop the"
        f" program that listens there, or choose another port, for example {listener.at_another_port()}"
    )


def _greet(settings: Settings, console: Console, looking: "Looking | None" = None) -> None:
    from core.llm.factory import describe
    from orc.api import PREFIX

    page = f"http://{settings.host}:{settings.port}/"
    base = f"{page.rstrip('/')}{PREFIX}"
    say = partial(console.print, soft_wrap=True, highlight=False)
    say(f"\nOpen [bold]{page}[/] in a browser to ask your documents.")
    say(f"[bold]Orc[/] serves {base}  (docs: {base}/docs, tools: {settings.mcp_server_url})")
    used = settings.azure_services
    places = used if len(used) == ALL_SERVICES else [f"{settings.data_dir}/", *used]
    say(f"Answers come from {describe(settings)}. Documents and turns are kept in {', '.join(places)}.")
    for line in looking.result() if looking and looking.done() else ():
        say(line)
    say("\nOr try, in another terminal:")
    say(f"  {_example()}")
    say(f"  curl -s {base}/ready\n")


def _program() -> str:
    """The command as a shell here finds it: by its name only if this environment is active."""
    installed = Path(sys.executable).with_name("orc")
    found = shutil.which("orc")
    if found is not None and Path(found).resolve() == installed.resolve():
        return "orc"
    if not installed.is_file():
        return f"{sys.executable} -m orc"
    return str(installed.relative_to(Path.cwd())) if installed.is_relative_to(Path.cwd()) else str(installed)


def _example() -> str:
    """A command that works here: the sample is part of a checkout and not of an installed package."""
    program = _program()
    if SAMPLE.is_file():
        return f'{program} ask {SAMPLE} "How many days of leave are there?"'
    return f'{program} ask report.pdf "What is the report about?"'
