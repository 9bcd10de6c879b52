"""Child processes: started, restarted if they die or hang, and gone when this process is, however it ends."""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from orc.cli.ports import port_of
from orc.settings import Settings, child_environment
from orc_core.errors import DependencyDown
from orc_core.infra.processes import HANG_SECONDS

UntilUp = Callable[[], Awaitable[None]]

logger = logging.getLogger(__name__)

START_SECONDS = 60.0
POLL_SECONDS = 0.05
RESTART_SECONDS = 0.5
STOP_SECONDS = 5.0
"""A child that needs longer to stop is killed."""
ASK_SECONDS = 1.0
"""Time between questions to a child whether it still answers."""
SILENT_SECONDS = HANG_SECONDS + 5.0
"""A child that hangs ends by itself before, and writes where it hung."""
FIRST_ANSWER_SECONDS = 120.0
"""Children answer once they are set up; on a busy machine several start at the same time."""


def environment_of(settings: Settings, **overrides: str) -> dict[str, str]:
    """The environment of a child process that uses the same data, with some settings changed."""
    data = str(settings.data_dir.resolve())
    return child_environment(ORC_DATA_DIR=data, ORC_LOG_LEVEL=settings.log_level, **overrides)


async def keep_running(
    what: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    silent_seconds: float = SILENT_SECONDS,
) -> None:
    """Run Python with these arguments, again whenever it ends or hangs, until cancelled; then it is stopped.

    The child has to call lifeline.hold_on: it answers on its standard input, which ends with this process.
    """
    while True:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                # In a separate session: Ctrl-C reaches this process only, which stops its children last.
                process = await asyncio.create_subprocess_exec(
                    sys.executable, *arguments, env=environment, stdin=theirs.fileno(), start_new_session=True
                )
            watching = asyncio.create_task(_kill_if_silent(what, process, ours, silent_seconds))
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                await _stop(process)
                raise
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        await asyncio.sleep(RESTART_SECONDS)
        logger.error("%s ended with code %s; starting it again", what, code)


async def _kill_if_silent(
    what: str, process: asyncio.subprocess.Process, ours: socket.socket, silent_seconds: float
) -> None:
    """Ask the child again and again, and kill it if it does not answer. Returns if it has ended."""
    loop, patience = asyncio.get_running_loop(), FIRST_ANSWER_SECONDS
    ours.setblocking(False)
    while True:
        try:
            async with asyncio.timeout(patience):
                await loop.sock_sendall(ours, b"?")
                if not await loop.sock_recv(ours, 1):
                    return
        except TimeoutError:
            logger.error("%s does not answer; it is killed", what)
            process.kill()
            return
        except OSError:
            return
        patience = silent_seconds
        await asyncio.sleep(ASK_SECONDS)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


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
    async with _running("the tools server", ["-m", "mcp_server"], environment) as [supervisor]:
        yield partial(_until_up, settings, supervisor)


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


@asynccontextmanager
async def workers(settings: Settings) -> AsyncIterator[None]:
    """As many worker processes as the settings ask for, while the context is open."""
    command = ["-m", "orc", "worker", "--until-stdin-ends"]
    async with _running("a worker", command, environment_of(settings), settings.workers):
        yield


@asynccontextmanager
async def _running(
    what: str, arguments: Sequence[str], environment: Mapping[str, str], count: int = 1
) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Keep so many child processes running; they are stopped, and waited for, when the context ends."""
    tasks = [asyncio.create_task(keep_running(what, arguments, environment)) for _ in range(count)]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
