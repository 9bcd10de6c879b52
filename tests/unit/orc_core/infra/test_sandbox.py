"""Functions in children: what they may do, when they are ended, and that none is left."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from socket import create_server

import psutil
import pytest

from devkit.processes import children
from devkit.shared_data import ROOT
from orc_core.errors import Unavailable, UnreadableDocument
from orc_core.infra import forks, processes, sandbox
from orc_core.infra.forks import ForkServer
from orc_core.infra.priority import NICENESS
from orc_core.infra.sandbox import Ended, Limits, Reason, Sandbox
from orc_core.infra.sandbox_child import ChildMessage
from tests.unit.orc_core.infra.sandboxed import LOWEST
from tests.unit.orc_core.infra.test_landlock import needs_landlock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_own_children")]

FUNCTIONS = "tests.unit.orc_core.infra.sandboxed"
LIMITS = Limits(2**28)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limits")


@pytest.fixture(autouse=True)
def forked_servers() -> None:
    """Start fork servers as the product does."""


@pytest.fixture(params=["fork", "start"])
async def box(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    """A sandbox that forks its children, or, as on macOS, starts each by itself."""
    if request.param == "start":
        monkeypatch.setattr(ForkServer, "is_possible", lambda: False)
    elif not ForkServer.is_possible():
        pytest.skip("this system has no fork servers")
    opened = Sandbox(FUNCTIONS)
    yield opened
    await opened.close()
    assert children(recursive=True) == []


@pytest.fixture
async def forking() -> AsyncIterator[Sandbox]:
    if not ForkServer.is_possible():
        pytest.skip("this system has no fork servers")
    opened = Sandbox(FUNCTIONS)
    yield opened
    await opened.close()
    assert children(recursive=True) == []


async def messages(
    box: Sandbox, function: str, limits: Limits = LIMITS, *reads: Path, **arguments: object
) -> list[ChildMessage]:
    async with box.run(f"{FUNCTIONS}:{function}", limits, reads, **arguments) as run:
        return [message async for message in run]


async def reason(box: Sandbox, function: str, limits: Limits = LIMITS, **arguments: object) -> Reason:
    with pytest.raises(Ended) as caught:
        await messages(box, function, limits, **arguments)
    return caught.value.reason


async def test_messages_come_with_their_bytes(box: Sandbox) -> None:
    found = await messages(box, "count", upto=3)
    assert [(each.fields["number"], each.content) for each in found] == [(0, b""), (1, b"x"), (2, b"xx")]


@needs_landlock
async def test_a_child_has_its_file_and_libraries_and_nothing_else(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    (tmp_path / "source").write_text("text")
    (tmp_path / "other").write_text("secret")
    with create_server(("127.0.0.1", 0)) as listener:
        port, paths = listener.getsockname()[1], {each: tmp_path / each for each in ("source", "other")}
        names = {name: str(path) for name, path in paths.items()}
        [found] = await messages(box, "look", LIMITS, paths["source"], port=port, **names)
    assert found.fields["free"] == ["source", "library"]
    assert set(found.fields["environment"]) <= {"PYTHONPATH", "LC_CTYPE", *processes.ENVIRONMENT}
    assert found.fields["session"] != os.getsid(0)


@pytest.mark.parametrize(
    ("function", "limits", "arguments", "expected"),
    [
        ("work", Limits(2**28, step=0.2), {"seconds": 60}, Reason.SLOW_STEP),
        ("work", Limits(2**28, step=0.3, share=0.01), {"seconds": 0.1, "messages": 600}, Reason.TOO_SLOW),
        ("wait", Limits(2**28, idle=0.3), {"seconds": 60}, Reason.IDLE),
        ("wait", Limits(2**28, wall=0.3), {"seconds": 60}, Reason.IDLE),
    ],
)
async def test_a_child_beyond_its_time_is_killed(
    box: Sandbox, function: str, limits: Limits, arguments: dict[str, object], expected: Reason
) -> None:
    assert await reason(box, function, limits, **arguments) is expected


async def test_a_child_that_waits_for_the_processor_is_not_late(box: Sandbox) -> None:
    assert len(await messages(box, "wait", Limits(2**28, step=0.4), seconds=0.9)) == 2


async def test_many_messages_may_take_longer_than_one(box: Sandbox) -> None:
    assert len(await messages(box, "work", Limits(2**28, step=0.5, share=0.5), seconds=0.2, messages=4)) == 4


async def test_a_child_whose_messages_are_not_waited_for_is_not_idle(box: Sandbox) -> None:
    async with box.run(f"{FUNCTIONS}:count", Limits(2**28, idle=2), upto=8, each=2**21) as run:
        await anext(run)
        await asyncio.sleep(3)
        assert len([message async for message in run]) == 7


@linux_only
async def test_a_child_cannot_have_more_memory(box: Sandbox) -> None:
    assert (await messages(box, "allocate", size=2**26))[0].fields["size"] == 2**26
    assert await reason(box, "allocate", size=2**29) is Reason.TOO_MUCH_MEMORY


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no such limit")
async def test_the_kernel_ends_a_child_whose_parent_does_not(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "processor_seconds", lambda _: 0.0)
    assert await reason(box, "work", Limits(2**28, most=0.1), seconds=5) is Reason.TOO_SLOW


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("SIGSEGV", Reason.FAILED),
        ("SIGABRT", Reason.TOO_MUCH_MEMORY),
        ("SIGKILL", Reason.KILLED),
        ("SIGXCPU", Reason.TOO_SLOW),
        ("SIGTERM", Reason.STOPPED),
        ("0", Reason.FAILED),
        ("1", Reason.BROKEN),
    ],
)
async def test_each_end_of_a_child_has_a_reason(box: Sandbox, by: str, expected: Reason) -> None:
    assert await reason(box, "end", by=by) is expected


async def test_an_unknown_function_cannot_begin(box: Sandbox) -> None:
    assert await reason(box, "no_such_function") is Reason.BROKEN


async def test_a_rejection_of_a_function_is_raised_and_other_errors_are_reasons(box: Sandbox) -> None:
    with pytest.raises(UnreadableDocument, match="damaged") as caught:
        await messages(box, "fail", kind="ours")
    assert caught.value.code == "corrupt"
    assert await reason(box, "fail", kind="memory") is Reason.TOO_MUCH_MEMORY
    assert await reason(box, "fail", kind="other") is Reason.FAILED


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault\n",
        "[1]\n",
        "x" * 3_000_000,
        "[" * 100_000 + "\n",
        '{"bytes": -1}\n',
        '{"bytes": "9"}\n',
        '{"bytes": 99999999999}\n',
        '{"bytes": 9}\nshort',
        '{"error": "NoSuchError"}\n',
        '{"error": "Unavailable", "message": "x"}\n',
        '{"half',
    ],
)
async def test_invalid_output_is_a_failure(forking: Sandbox, text: str) -> None:
    assert await reason(forking, "write", text=text) is Reason.FAILED


async def test_what_takes_long_gets_a_lower_priority(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "LONG_SECONDS", 0.05)
    first, later = [each.fields["niceness"] for each in await messages(box, "priority")]
    # The run of the tests may have the lowest priority that there is.
    expected = min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, LOWEST)
    assert (first, later) == (expected, min(expected + NICENESS, LOWEST))


async def test_cancelling_ends_the_child(box: Sandbox) -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def use() -> None:
        async with box.run(f"{FUNCTIONS}:wait", LIMITS, seconds=60) as run:
            started.set_result((await anext(run)).fields["pid"])
            await anext(run)

    using = asyncio.create_task(use())
    pid = await started
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("loop_steps", range(0, 30, 3))
async def test_closing_ends_a_child_that_is_just_starting(box: Sandbox, loop_steps: int) -> None:
    using = asyncio.create_task(messages(box, "wait", seconds=60))
    for _ in range(loop_steps):
        await asyncio.sleep(0)
    await box.close()
    assert children(recursive=True) == []
    with pytest.raises(Ended) as caught:
        await using
    assert caught.value.reason is Reason.STOPPED
    assert await reason(box, "count", upto=1) is Reason.STOPPED


@pytest.mark.parametrize("loop_steps", range(0, 40, 3))
async def test_a_cancelled_start_leaves_no_child(box: Sandbox, loop_steps: int) -> None:
    using = asyncio.create_task(messages(box, "wait", seconds=60))
    for _ in range(loop_steps):
        await asyncio.sleep(0)
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert len(children(recursive=True)) <= ForkServer.is_possible()


async def test_no_descriptor_is_left(box: Sandbox) -> None:
    await messages(box, "count", upto=1)
    before = psutil.Process().num_fds()
    for by in ("SIGKILL", "0"):
        await reason(box, "end", by=by)
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            await messages(box, "wait", seconds=60)
    await asyncio.sleep(0)
    assert psutil.Process().num_fds() == before


PARENT = f"""
import asyncio, sys
from orc_core.infra.forks import ForkServer
from orc_core.infra.sandbox import Limits, Sandbox
if sys.argv[1] == "start":
    ForkServer.is_possible = lambda: False
async def main():
    async with Sandbox().run("{FUNCTIONS}:work", Limits(2**28), seconds=0.01, messages=10**6) as run:
        async for _ in run:
            print(run._process.pid, flush=True)
async def become():
    async with Sandbox().run_program("/bin/sleep", "600", limits=Limits(2**28), settings={{}}) as run:
        print(run._process.pid, flush=True)
        await run.output()
asyncio.run(become() if sys.argv[1] == "program" else main())
"""


@linux_only
@pytest.mark.parametrize("way", ["fork", "start", "program"])
def test_children_end_when_their_parent_is_killed(way: str) -> None:
    command = [sys.executable, "-c", PARENT, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        time.sleep(0.5)  # a program begins as a child that has yet to set its limits
        family = [child, *psutil.Process(parent.pid).children(recursive=True)]
        parent.kill()
        _, left = psutil.wait_procs(family, 10)
    assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []


async def test_a_program_has_limits(box: Sandbox, tmp_path: Path) -> None:
    script = f'printf "$SETTING$OTHER "; cat; echo text > "{tmp_path}/written"'
    limits, settings = Limits(2**28), {"SETTING": "set"}
    async with box.run_program("/bin/sh", "-c", script, limits=limits, settings=settings) as run:
        run.send(b"given")
        assert await run.output() == b"set given"
        assert await run.returncode() != 0
    assert (tmp_path / "written").read_bytes() == b""
    async with box.run_program(str(tmp_path / "none"), limits=limits, settings={}) as run:
        assert await run.returncode() == 127


async def test_without_free_descriptors_no_child_starts(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(24, "no descriptors")

    monkeypatch.setattr("socket.socketpair", refuse)
    with pytest.raises(Unavailable):
        await messages(box, "count", upto=1)


async def test_forks_have_one_socket_and_no_trace_of_others(forking: Sandbox) -> None:
    for _ in range(2):
        [found] = await messages(forking, "descriptors")
        assert found.fields["session"] == found.fields["pid"]
        assert not found.fields["before"]
        assert set(found.fields["open"]) <= {0, 1, 2, 3}, "3 is for messages"


async def test_a_dead_server_is_replaced_and_its_children_end(forking: Sandbox) -> None:
    await forking.prepare()
    [server] = children()
    async with forking.run(f"{FUNCTIONS}:wait", LIMITS, seconds=60) as run:
        pid = (await anext(run)).fields["pid"]
        server.kill()
        with pytest.raises(Ended) as caught:
            await anext(run)
    assert caught.value.reason is Reason.STOPPED
    await asyncio.to_thread(psutil.wait_procs, [psutil.Process(pid)] if psutil.pid_exists(pid) else [], 10)
    assert len(await messages(forking, "count", upto=1)) == 1
    [another] = children()
    assert another != server


async def test_a_server_has_a_limit_of_children(forking: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "FORKS_PER_SERVER", 2)
    servers = []
    for _ in range(4):
        await messages(forking, "count", upto=1)
        servers.append(children())
    assert servers[0] == servers[1] != servers[2] == servers[3]


async def test_a_server_that_does_not_answer_is_given_up(
    forking: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "ANSWER_SECONDS", 0.05)
    await forking.prepare()
    [server] = children()
    server.suspend()
    assert await reason(forking, "count", Limits(2**28, idle=0.1), upto=1) is Reason.IDLE
    assert len(await messages(forking, "count", upto=1)) == 1


async def test_a_child_is_killed_by_its_number_only(forking: Sandbox) -> None:
    async with forking.run(f"{FUNCTIONS}:wait", LIMITS, seconds=0.3) as one:
        await anext(one)
        async with forking.run(f"{FUNCTIONS}:wait", LIMITS, seconds=60) as other:
            await anext(other)
        assert len([message async for message in one]) == 1
