"""A tools server that hangs, and one that stays away: failures come at once, and end soon after."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

import httpx
import psutil

from devkit.system import START_SECONDS, System
from orc.cli.ports import free_port
from orc.tools.mcp_client import RESTART_SECONDS
from resilience.checks import Tally
from resilience.clients import Outcome, ask
from resilience.deployment import instance
from resilience.report import Advance

FILE = "quay.txt"
FAIL_FAST_SECONDS = 1.0
RETURN_SECONDS = 2.0
FAST_FAILURES = 10
IMPATIENT_SECONDS = "1.5"
OVERRUN_SECONDS = 2.0

HANGING = "turns over a hung server without a typed error in time"
UNTYPED = "failures that do not name the tools server"
SLOW_FAILURES = f"failures in a long outage that take more than {FAIL_FAST_SECONDS:.0f} s"
SLOW_RETURNS = f"returns of the server that take more than {RETURN_SECONDS:.0f} s to be noticed"
NAMES = (HANGING, SLOW_FAILURES, SLOW_RETURNS)


@contextmanager
def client_of(address: str) -> Iterator[httpx.Client]:
    """A client of the API at this address."""
    with httpx.Client(base_url=f"{address}/api", timeout=30) as http:
        yield http


def hang(
    system: System, tools: psutil.Process, conversation_id: str, tool_seconds: float, tally: Tally
) -> None:
    """Suspend the server and ask: a call may take so long, a turn no longer than allowed."""
    with (
        instance(system, ORC_ADVANCED=f'{{"turn_deadline_seconds": {IMPATIENT_SECONDS}}}') as impatient,
        client_of(impatient.address) as hurried,
        system.client() as patient,
    ):
        os.kill(tools.pid, signal.SIGSTOP)
        try:
            for streaming in (False, True):
                timeout = ask(patient, conversation_id, FILE, streaming=streaming)
                in_time = timeout.seconds < tool_seconds + OVERRUN_SECONDS
                typed = timeout.body.get("code") == "tool_timeout" and timeout.blames("mcp_server")
                tally.expect(HANGING, in_time and typed, str(timeout))
                late = ask(hurried, conversation_id, FILE, streaming=streaming)
                in_time = late.seconds < float(IMPATIENT_SECONDS) + OVERRUN_SECONDS
                tally.expect(HANGING, in_time and late.status == 504, str(late))
        finally:
            os.kill(tools.pid, signal.SIGCONT)


class Absence:
    """A separate API over a separate tools server that is not restarted."""

    def __init__(self, system: System, conversation_id: str, tally: Tally) -> None:
        self._system = system
        self._conversation_id = conversation_id
        self._tally = tally
        self.failures: list[float] = []
        self.returns: list[float] = []

    def run(self, times: int, advance: Advance) -> None:
        """Take the server away so many times, for longer than a restart takes."""
        port = free_port()
        url = f"http://127.0.0.1:{port}/mcp"
        with ExitStack() as tools:
            tools.enter_context(_tools_server(self._system, port))
            with instance(self._system, MCP_SERVER_URL=url) as api, client_of(api.address) as http:
                self._ask(http)
                for _ in range(times):
                    tools.close()
                    self._fail(http)
                    tools.enter_context(_tools_server(self._system, port))
                    self._return(http)
                    advance()

    def _fail(self, http: httpx.Client) -> None:
        """The first turn waits for a restart; those after that fail at once."""
        away_since = time.monotonic()
        while time.monotonic() < away_since + RESTART_SECONDS:
            self._ask(http)
        for _ in range(FAST_FAILURES):
            failure = self._ask(http)
            self.failures.append(failure.seconds)
            fast = not failure.answered and failure.seconds <= FAIL_FAST_SECONDS
            self._tally.expect(SLOW_FAILURES, fast, str(failure))

    def _return(self, http: httpx.Client) -> None:
        """Ask until there is an answer: counted from when the server answers by itself."""
        returned = time.monotonic()
        while not self._ask(http).answered and time.monotonic() < returned + START_SECONDS:
            time.sleep(0.02)
        seconds = time.monotonic() - returned
        self.returns.append(seconds)
        self._tally.expect(SLOW_RETURNS, seconds <= RETURN_SECONDS, f"{seconds:.1f} s")

    def _ask(self, http: httpx.Client) -> Outcome:
        outcome = ask(http, self._conversation_id, FILE)
        self._tally.expect(UNTYPED, outcome.answered or outcome.blames("mcp_server"), str(outcome))
        return outcome

    def figures(self) -> list[tuple[str, str]]:
        """What was measured."""
        if not self.returns:
            return []
        return [
            ("in a long outage a turn fails after", _median_and_max(self.failures)),
            ("turns are answered after its return", _median_and_max(self.returns)),
        ]


def _median_and_max(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s (p50), {max(seconds):.2f} s (max)"


@contextmanager
def _tools_server(system: System, port: int) -> Iterator[None]:
    """The tools server on this port, over the system's documents; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_server"],
        env={**os.environ, **system.settings, "ORC_MCP_PORT": str(port)},
        stderr=subprocess.DEVNULL,
    )
    try:
        _until_healthy(f"http://127.0.0.1:{port}/health")
        yield
    finally:
        process.kill()
        process.wait()


def _until_healthy(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError("the tools server did not start")
