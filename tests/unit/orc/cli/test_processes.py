"""Child processes: they are restarted if they hang, and end with their parent."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orc.cli import processes
from orc.cli.ports import free_port, port_is_free
from orc.cli.processes import keep_running, tools_server
from orc.settings import Settings
from orc_core.errors import DependencyDown


async def test_a_server_that_cannot_be_started_is_not_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    settings = Settings(mcp_server_url=f"http://127.0.0.1:{free_port()}/mcp", data_dir=tmp_path)
    async with tools_server(settings) as tools_are_up:
        with pytest.raises(DependencyDown, match="cannot be started") as down:
            await tools_are_up()
    assert down.value.dependency == "mcp_server"
    assert isinstance(down.value.__cause__, FileNotFoundError)


@pytest.mark.slow
async def test_a_started_server_is_up_while_the_context_is_open(tmp_path: Path) -> None:
    port = free_port()
    settings = Settings(mcp_server_url=f"http://127.0.0.1:{port}/mcp", data_dir=tmp_path)
    async with tools_server(settings) as tools_are_up:
        await tools_are_up()
        assert not port_is_free("127.0.0.1", port)
    assert port_is_free("127.0.0.1", port)


CHILD = """
import asyncio, os, re, signal, socket, sys
from orc_core.infra.processes import hold_on

async def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # processes in the background of a shell ignore it
    hold_on(lambda: os._exit(0), hang_seconds=float(sys.argv[3]))
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        connection.sendall(f"{os.getpid()} ".encode())
        await asyncio.sleep(0.3)
        if sys.argv[2] == "hangs":
            re.search(r"(a+)+$", "a" * 60 + "!")
        await asyncio.Event().wait()

asyncio.run(main())
"""
PARENT = """
import asyncio, os, sys
from orc.cli.processes import keep_running

asyncio.run(keep_running("a child", sys.argv[1:], dict(os.environ)))
"""


class Births:
    """Accepts the connection that each child makes when it has started."""

    def __init__(self) -> None:
        self._accepted: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
        self.port = 0

    async def next(self) -> tuple[int, asyncio.StreamReader]:
        """The id of the next child, and a connection that ends with it."""
        async with asyncio.timeout(20):
            connection = await self._accepted.get()
            return int(await connection.readuntil(b" ")), connection

    @asynccontextmanager
    async def served(self) -> AsyncIterator["Births"]:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._accepted.put(reader)
            self._writers.append(writer)

        self._writers: list[asyncio.StreamWriter] = []
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        yield self
        for writer in self._writers:
            writer.close()
        server.close()


def child(births: Births, what: str, hang_seconds: float) -> list[str]:
    return ["-c", CHILD, str(births.port), what, str(hang_seconds)]


def surroundings() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}


@pytest.mark.slow
async def test_a_child_that_hangs_is_started_again() -> None:
    async with Births().served() as births:
        running = asyncio.create_task(keep_running("a child", child(births, "hangs", 0.5), surroundings()))
        first, _ = await births.next()
        second, _ = await births.next()
        assert first != second
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.slow
async def test_a_child_that_does_not_answer_is_killed_and_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine it is stopped before its first answer, which is otherwise waited for longer.
    monkeypatch.setattr(processes, "FIRST_ANSWER_SECONDS", 3.0)
    async with Births().served() as births:
        arguments = child(births, "lives", 60)
        running = asyncio.create_task(keep_running("a child", arguments, surroundings(), silent_seconds=1.5))
        first, _ = await births.next()
        os.kill(first, signal.SIGSTOP)
        second, _ = await births.next()
        assert first != second
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.slow
async def test_a_child_that_is_interrupted_with_its_parent_is_not_said_to_start_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "RESTART_SECONDS", 60.0)
    async with Births().served() as births:
        running = asyncio.create_task(keep_running("a child", child(births, "lives", 60), surroundings()))
        first, connection = await births.next()
        os.kill(first, signal.SIGINT)
        assert await connection.read() == b""
        await asyncio.sleep(0.3)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert caplog.messages == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["hangs", "lives"])
async def test_a_child_ends_with_its_parent(what: str) -> None:
    async with Births().served() as births:
        command = [sys.executable, "-c", PARENT, *child(births, what, 2.0)]
        parent = await asyncio.create_subprocess_exec(*command, env=surroundings(), stderr=subprocess.DEVNULL)
        _, connection = await births.next()
        await asyncio.sleep(0.6)
        parent.kill()
        await parent.wait()
        async with asyncio.timeout(10):
            assert await connection.read() == b""


@pytest.mark.slow
async def test_a_parent_that_dies_before_it_reads_an_answer_leaves_no_traceback() -> None:
    ours, theirs = socket.socketpair()
    async with Births().served() as births:
        with theirs, ours:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *child(births, "lives", 60.0), stdin=theirs.fileno(), stderr=subprocess.PIPE,
                env=surroundings(),
            )  # fmt: skip
            theirs.close()
            await births.next()
            ours.sendall(b"?")
            await asyncio.to_thread(ours.recv, 1, socket.MSG_PEEK)
        async with asyncio.timeout(10):
            _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
