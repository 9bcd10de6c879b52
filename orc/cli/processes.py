"""Child processes: started, restarted if they die or hang, and gone when this process is, however it ends."""

import asyncio
import contextlib
import errno
import logging
import random
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from core.errors import DependencyDown
from core.infra.lifeline import HANG_SECONDS
from core.infra.shared_port import NOT_ON_THIS_MACHINE, Dispatcher, listen, members_in
from core.infra.temporary_folders import temporary_folder
from orc.settings import Settings, child_environment

logger = logging.getLogger(__name__)

RESTART_SECONDS = 0.5
STOP_SECONDS = 5.0
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
    stop_seconds: float = STOP_SECONDS,
) -> None:
    """Run Python with these arguments, again whenever it ends or hangs, until cancelled; then it is stopped,
    and killed if that takes longer than `stop_seconds`.

    The child has to call lifeline.hold_on: it answers on its standard input, which ends with this process.
    """
    while True:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, *arguments, env=environment, stdin=theirs.fileno()
                )
            watching = asyncio.create_task(_kill_if_silent(what, process, ours, silent_seconds))
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                await _stop(process, stop_seconds)
                raise
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        await asyncio.sleep(RESTART_SECONDS)  # Ctrl-C reaches the children too, and cancels this
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


async def _stop(process: asyncio.subprocess.Process, seconds: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


UntilUp = Callable[[], Awaitable[None]]

START_SECONDS = 60.0
POLL_SECONDS = 0.05


def free_port(host: str = "127.0.0.1") -> int:
    """A port of the host that nothing listens on now. Raises OSError if the host is not of this machine.

    Systems take the ports of outgoing connections from 32768 upwards. A port below is therefore still free
    when its server starts to listen.
    """
    family, _, _, _, (address, _, *scope) = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family) as probe:
        for port in random.sample(range(20_000, 32_768), 100):
            try:
                probe.bind((address, port, *scope))
            except OSError as exc:
                if exc.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise OSError(errno.EADDRINUSE, "No free port was found", host)


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there, on every address of that name that this machine has."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return False
    errors = {_error_of_binding(family, address) for family, _, _, _, address in found}
    return None in errors and errors <= {None, *NOT_ON_THIS_MACHINE}


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
    if address.port is not None:
        return address.port
    return 443 if address.scheme == "https" else 80


@dataclass(frozen=True)
class Server:
    """A server as child processes: what they are called in the log, their arguments and environment."""

    what: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    stop_seconds: float = STOP_SECONDS

    def running(self, *arguments: str) -> Coroutine[Any, Any, None]:
        """Keeps one process running."""
        return keep_running(
            self.what, [*self.arguments, *arguments], self.environment, stop_seconds=self.stop_seconds
        )


@asynccontextmanager
async def sharing_port(server: Server, count: int, host: str, port: int) -> AsyncIterator[UntilUp]:
    """So many processes of the server at one port, for as long as the context is open.

    They start in the background; the yielded function waits until all of them serve. If one ends, the others
    go on and it is started again. At the end no more connections are accepted before the processes stop.
    """
    with temporary_folder() as folder, contextlib.ExitStack() as stack:
        members = members_in(folder, count)
        listeners = [stack.enter_context(listener) for listener in listen(host, port)]
        dispatcher = Dispatcher(listeners, [member.connections for member in members])
        async with running(server.running("--member", str(member.path)) for member in members):
            try:
                async with running([dispatcher.run()]):
                    yield partial(dispatcher.until_all_serve, FIRST_ANSWER_SECONDS)
            finally:
                stack.close()


@asynccontextmanager
async def running(coroutines: Iterable[Coroutine[Any, Any, None]]) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Tasks that are cancelled, and waited for, when the context ends."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def tools_server(settings: Settings) -> AsyncIterator[UntilUp]:
    """The tools server at `settings.mcp_server_url`, for as long as the context is open.

    It starts in the background; the yielded function waits until it answers.
    """
    address = urlsplit(settings.mcp_server_url)
    host, port = str(address.hostname), port_of(address)
    environment = environment_of(
        settings,
        ORC_MCP_HOST=host,
        ORC_MCP_PORT=str(port),
        ORC_MCP_UNTIL_STDIN_ENDS="true",
    )
    server = Server("the tools server", ["-m", "mcp_server"], environment)
    if settings.processes > 1:
        async with sharing_port(server, settings.processes, host, port) as all_serve:
            yield all_serve
        return
    async with running([server.running()]) as [supervisor]:
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
    environment = environment_of(settings)
    command = ["-m", "orc", "worker", "--until-stdin-ends"]
    async with running(keep_running("a worker", command, environment) for _ in range(settings.workers)):
        yield
