"""The server that forks the children which read files: what they have of it, and when all end."""

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psutil
import pytest

from core.extraction import forked
from core.extraction.forked import ForkedChild, ForkServer, Gone
from devkit.shared_data import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems start each child by itself")

PROBE = """
import json, os, socket, sys, time
from core.extraction.fork_server import serve

files_read = 0
opened = os.open("/dev/null", os.O_RDONLY)

def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True

def read():
    global files_read
    files_read += 1
    asked = sys.stdin.readline()
    if asked == "sleep\\n":
        time.sleep(600)
    if asked == "fail\\n":
        raise ValueError
    facts = {"descriptors": list(filter(is_open, range(64))), "read": files_read}
    print(json.dumps(facts | {"session": os.getsid(0), "asked": asked}), flush=True)
    os._exit(7)

serve(socket.socket(fileno=os.dup(0)), read)
"""

Start = Callable[[], Awaitable[ForkServer]]


async def spawn(stdin: int) -> Process:
    environment = {"PYTHONPATH": str(ROOT)}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROBE, stdin=stdin, stdout=DEVNULL, env=environment
    )


@pytest.fixture
async def server() -> AsyncIterator[ForkServer]:
    server = await ForkServer.start(spawn)
    yield server
    await server.close()


async def ask(child: ForkedChild, request: str) -> bytes:
    assert child.stdin is not None
    child.stdin.write(request.encode())
    child.stdin.close()
    return await rest(child)


async def rest(child: ForkedChild) -> bytes:
    """What it writes until its end; a pipe that is not read to its end is never closed."""
    assert child.stdout is not None
    return await child.stdout.read()


async def test_each_child_has_two_pipes_a_separate_session_and_no_trace_of_others(
    server: ForkServer,
) -> None:
    children = [await server.fork() for _ in range(3)]
    for number, child in enumerate(children):
        found = json.loads(await ask(child, f"{number}\n"))
        assert found == {
            "descriptors": [0, 1, 2],
            "read": 1,
            "session": child.pid,
            "asked": f"{number}\n",
        }
        assert await child.wait() == child.returncode == 7


async def test_a_child_that_fails_ends_alone(server: ForkServer) -> None:
    failing, next_one = await server.fork(), await server.fork()
    assert await ask(failing, "fail\n") == b""
    assert await failing.wait() == 1
    assert await ask(next_one, "go\n")


async def test_a_killed_child_says_so_and_can_be_killed_again(server: ForkServer) -> None:
    child = await server.fork()
    child.kill()
    assert await child.wait() == -9
    assert await rest(child) == b""
    child.kill()


@pytest.mark.slow
async def test_children_end_with_their_server(server: ForkServer) -> None:
    child = await server.fork()
    running = psutil.Process(child.pid)
    assert child.stdin is not None
    child.stdin.write(b"sleep\n")
    psutil.Process(running.ppid()).kill()
    assert await child.wait() == -9
    assert await rest(child) == b""
    await asyncio.to_thread(running.wait, 60)
    assert not server.is_alive
    with pytest.raises(Gone):
        await server.fork()


async def test_a_caller_that_waits_for_a_child_gets_an_error_if_the_server_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PROBE", "import sys; sys.exit(1)")
    server = await ForkServer.start(spawn)
    with pytest.raises(Gone):
        await server.fork()
    await server.close()


async def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PROBE", "import time; time.sleep(600)")
    monkeypatch.setattr(forked, "ANSWER_SECONDS", 0.05)
    server = await ForkServer.start(spawn)
    with pytest.raises(Gone):
        await server.fork()
    await server.close()


async def test_a_server_has_a_limit_of_children(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "FILES_PER_SERVER", 1)
    child = await server.fork()
    assert not server.is_used_up
    await ask(child, "go\n")
    await child.wait()
    assert server.is_used_up


async def test_children_end_with_the_server_even_if_they_were_reaped_before(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_such_process(*_: object) -> None:
        raise ProcessLookupError

    sleeping = [await server.fork() for _ in range(2)]
    monkeypatch.setattr(signal, "pidfd_send_signal", no_such_process)
    await server.close()
    async with asyncio.timeout(30):
        assert [await child.wait() for child in sleeping] == [-9, -9]
        await asyncio.gather(*map(rest, sleeping))


async def test_a_child_whose_descriptor_is_lost_is_no_other_callers(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeping = await server.fork()
    receive = socket.recv_fds

    def without_handles(*arguments: Any) -> Any:
        message, handles, flags, address = receive(*arguments)
        for handle in handles:
            os.close(handle)
        return message, [], flags, address

    monkeypatch.setattr(socket, "recv_fds", without_handles)
    asked = await asyncio.gather(server.fork(), server.fork(), return_exceptions=True)
    assert [type(each) for each in asked] == [Gone, Gone]
    async with asyncio.timeout(30):
        assert await sleeping.wait() == -9
        assert await rest(sleeping) == b""
    assert not server.is_alive
