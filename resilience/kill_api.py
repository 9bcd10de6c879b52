"""`python -m resilience.kill_api [--count 200]`: kill -9 of the API in mid-work; what it acknowledged stays.

Clients ask and upload until the process is gone, another takes its place as a supervisor would start
it, and every conversation is compared with what its clients received.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from statistics import median

import httpx
import psutil
from rich.console import Console

from devkit.system import System, interrupted_by_sigterm, results, upload
from resilience.checks import Tally
from resilience.clients import FIRST_FILE, NAMES, QUAY, Auditor, Customer, Life
from resilience.deployment import (
    INSTANCE,
    Instance,
    instance,
    product,
    product_here,
    scripted_model,
    surroundings,
)
from resilience.report import Advance, Verdict, conclude, steps, wide_console

LANES = 2
CLIENTS = 3
LONGEST_LIFE_SECONDS = 0.8
SERVING_SECONDS = 5.0
ADVANCED = '{"turn_lease_seconds": 1}'

SERVING = f"restarts that took longer than {SERVING_SECONDS:.0f} s"
OUTLIVING = "processes that outlive their API"


class Lane:
    """One product with a second API instance, which is killed repeatedly."""

    def __init__(self, system: System, tally: Tally, chance: random.Random, command: Sequence[str]) -> None:
        self._system = system
        self._tally = tally
        self._chance = chance
        self._command = command
        self.seconds: list[float] = []

    def run(self, kills: int, advance: Advance) -> int:
        """Kill so many times; how many turns were interrupted."""
        lives = [Life() for _ in range(kills)]
        interrupted = 0
        with ExitStack() as stack:
            api = stack.enter_context(self._instance())
            for life in lives:
                with ThreadPoolExecutor(CLIENTS) as pool:
                    work = self._let_work(api, life, pool)
                    children = api.process.children(recursive=True)
                    api = self._replace(api, stack)
                for each in work:
                    each.result()
                interrupted += len(life.interrupted)
                with _client(api) as http:
                    Auditor(http, self._tally).audit(life)
                for child in children:
                    self._tally.expect(OUTLIVING, not _lives(child), str(child))
                advance()
            with _client(api) as http:
                for life in lives:
                    Auditor(http, self._tally).compare_again(life)
        return interrupted

    def _instance(self) -> AbstractContextManager[Instance]:
        return instance(self._system, self._command, ORC_ADVANCED=ADVANCED)

    def _let_work(self, api: Instance, life: Life, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Put customers to work for a while; they go on until the API is gone."""
        with _client(api) as http:
            life.sent[FIRST_FILE] = len(QUAY)
            upload(http, life.conversation_id, (FIRST_FILE, QUAY.encode())).raise_for_status()
            life.stored.add(FIRST_FILE)
        customers = [
            Customer(life, self._tally, random.Random(self._chance.random())) for _ in range(CLIENTS)
        ]
        work = [pool.submit(customer.work, f"{api.address}/api") for customer in customers]
        time.sleep(self._chance.uniform(0.02, LONGEST_LIFE_SECONDS))
        return work

    def _replace(self, api: Instance, stack: ExitStack) -> Instance:
        """Kill the API, and start another as a supervisor would."""
        api.process.kill()
        killed_at = time.monotonic()
        stack.close()
        api = stack.enter_context(self._instance())
        with _client(api) as http:
            ready = http.get("/ready")
        seconds = time.monotonic() - killed_at
        self.seconds.append(seconds)
        finding = f"{seconds:.1f} s, ready: {ready.status_code}"
        self._tally.expect(SERVING, ready.status_code == 200 and seconds <= SERVING_SECONDS, finding)
        return api


def _client(api: Instance) -> httpx.Client:
    return httpx.Client(base_url=f"{api.address}/api", timeout=30)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def _lane(folder: Path, tally: Tally, seed: int, command: Sequence[str], small: bool) -> Iterator[Lane]:
    with (
        scripted_model("--delay-ms", "15", "--tokens", "8") as model_url,
        (product_here if small else product)(folder, model_url, ORC_ADVANCED=ADVANCED) as system,
    ):
        yield Lane(system, tally, random.Random(seed), command)


def campaign(
    folder: Path,
    kills: int,
    console: Console,
    *,
    lanes: int = LANES,
    seed: int = 1,
    command: Sequence[str] = INSTANCE,
    small: bool = False,
) -> Verdict:
    """Kill the API so many times, on several systems at once. `command` starts it: a test plants bugs.

    `small`: all but the API that is killed runs in this process.
    """
    tally = Tally((*NAMES, SERVING, OUTLIVING))
    # If it is interrupted, the servers stop first, and the lanes that use them end with that.
    with steps(console) as steps_of, ThreadPoolExecutor(lanes) as pool, ExitStack() as stack:
        stage = [
            stack.enter_context(_lane(folder / str(lane), tally, seed + lane, command, small))
            for lane in range(lanes)
        ]
        advance = steps_of("kills", kills)
        shares = [kills // lanes + (lane < kills % lanes) for lane in range(lanes)]
        pairs = zip(stage, shares, strict=True)
        interrupted = sum(results([pool.submit(lane.run, share, advance) for lane, share in pairs]))
    seconds = [second for lane in stage for second in lane.seconds]
    figures = [
        ("kills", str(kills)),
        ("turns interrupted", str(interrupted)),
        ("serving again, p50 / max", f"{median(seconds):.2f} s / {max(seconds):.2f} s"),
    ]
    return Verdict(f"{kills} x kill -9 of the API", tally.checks(), figures)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    parser = argparse.ArgumentParser(prog="python -m resilience.kill_api", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how often the API is killed")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    console = wide_console()
    with surroundings() as folder:
        return conclude(campaign(folder, given.count, console, seed=given.seed), console)


if __name__ == "__main__":
    sys.exit(main())
