"""Child processes whose task is cancelled while they start or end."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from core.infra.children import end_child, take_child


class Ending:
    """A killed child whose output has not ended yet."""

    pid = 1
    stdin = None

    def __init__(self) -> None:
        self.stdout = asyncio.StreamReader()
        self.returncode: int | None = None
        self.kills = 0
        self._ended = asyncio.Event()

    def kill(self) -> None:
        self.kills += 1

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def end(self) -> None:
        self.returncode = -9
        self.stdout.feed_eof()
        self._ended.set()


async def steps(number: int = 5) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_the_output_is_read_to_its_end_however_often_the_task_is_cancelled() -> None:
    child = Ending()
    ending = asyncio.create_task(end_child(child))
    for _ in range(3):
        await steps()
        ending.cancel()
    await steps()
    assert not ending.done()
    child.stdout.feed_data(b"what it had still written")
    child.end()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert child.kills == 1
    assert child.stdout.at_eof()


async def test_ending_without_a_cancellation_raises_nothing() -> None:
    child = Ending()
    child.end()
    await end_child(child)
    assert child.kills == 0


@pytest.mark.parametrize("cancellations", [1, 2])
async def test_a_child_that_starts_while_its_caller_is_cancelled_is_ended(cancellations: int) -> None:
    starting: asyncio.Future[Process] = asyncio.get_running_loop().create_future()

    async def start() -> Process:
        return await starting

    taking = asyncio.create_task(take_child(asyncio.create_task(start())))
    for _ in range(cancellations):
        await steps()
        taking.cancel()
    await steps()
    assert not taking.done()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=PIPE, stdout=PIPE)
    starting.set_result(child)
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert child.returncode == -9


async def test_a_child_that_has_just_started_is_ended_if_its_caller_is_cancelled() -> None:
    started: asyncio.Future[Process] = asyncio.get_running_loop().create_future()

    async def start() -> Process:
        return await started

    starting = asyncio.create_task(start())
    taking = asyncio.create_task(take_child(starting))
    await steps()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=PIPE, stdout=PIPE)
    started.set_result(child)
    starting.add_done_callback(lambda _: taking.cancel())
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert child.returncode == -9


HOLDER = (
    "import subprocess, sys, time;"
    "subprocess.Popen(['sleep', '0.3'], stdout=subprocess.DEVNULL);"
    "print(flush=True);"
    "time.sleep(60)"
)
"""Its own child holds the pipe of the request for some time, as one that is just starting does."""


async def test_the_pipe_of_an_unread_request_is_closed_when_the_child_has_ended() -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, stdin=PIPE, stdout=PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"x" * 1_000_000)
    await child.stdout.readline()
    await end_child(child)
    pipe = child.stdin.transport.get_extra_info("pipe")
    assert pipe.closed
