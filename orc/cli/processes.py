"""Child processes: started, brought back if they die, and gone when this process is, however it ends."""

import asyncio
import contextlib
import errno
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from core.errors import DependencyDown
from orc.settings import Settings, child_environment

logger = logging.getLogger(__name__)

RESTART_SECONDS = 0.5
STOP_SECONDS = 5.0


def environment_of(settings: Settings, **overrides: str) -> dict[str, str]:
    """The environment of a child process that uses the same data, with some settings changed."""
    return child_environment(ORC_DATA_DIR=str(settings.data_dir.resolve()), **overrides)


async def keep_running(what: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run Python with these arguments, again whenever it ends, until cancelled; then it is stopped.

    The child should end when its standard input does: the pipe ends with this process.
    """
    while True:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=environment, stdin=asyncio.subprocess.PIPE
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _stop(process)
            raise
        logger.error("%s ended with code %s; starting it again", what, code)
        await asyncio.sleep(RESTART_SECONDS)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


UntilUp = Callable[[], Awaitable[None]]

START_SECONDS = 20.0
POLL_SECONDS = 0.05

_NOT_ON_THIS_MACHINE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


def free_port() -> int:
    """A port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there, on every address of that name that this machine has."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return False
    errors = {_error_of_binding(family, address) for family, _, _, _, address in found}
    return None in errors and errors <= {None, *_NOT_ON_THIS_MACHINE}


def _error_of_binding(family: int, address: tuple[Any, ...]) -> int | None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as exc:
        return exc.errno
    return None


def port_of(address: SplitResult) -> int:
    """The port that a URL means, named or not."""
    return address.port or (443 if address.scheme == "https" else 80)


@asynccontextmanager
async def tools_server(settings: Settings) -> AsyncIterator[UntilUp]:
    """The tools server at `settings.mcp_server_url`, for as long as the context is open.

    It starts in the background; the yielded function waits until it answers.
    """
    address = urlsplit(settings.mcp_server_url)
    environment = environment_of(
        settings,
        ORC_MCP_HOST=str(address.hostname),
        ORC_MCP_PORT=str(port_of(address)),
        ORC_MCP_UNTIL_STDIN_ENDS="true",
    )
    running = keep_running("the tools server", ["-m", "mcp_server"], environment)
    supervisor = asyncio.create_task(running)
    try:
        yield partial(_until_up, settings, supervisor)
    finally:
        supervisor.cancel()
        await asyncio.gather(supervisor, return_exceptions=True)


async def _until_up(settings: Settings, supervisor: asyncio.Task[None]) -> None:
    # Imported while the server starts: it takes a second.
    from orc.tools.mcp_client import McpToolGateway

    gateway = McpToolGateway(settings.mcp_server_url, timeout_seconds=START_SECONDS)
    try:
        async with asyncio.timeout(START_SECONDS):
            while not supervisor.done():
                with contextlib.suppress(DependencyDown):
                    return await gateway.ping()
                await asyncio.sleep(POLL_SECONDS)
        message = "The tools server cannot be started."
        raise DependencyDown(message, dependency="mcp_server") from supervisor.exception()
    except TimeoutError as exc:
        raise DependencyDown("The tools server did not start.", dependency="mcp_server") from exc
    finally:
        await gateway.close()
