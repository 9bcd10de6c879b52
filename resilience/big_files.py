"""`python -m resilience.big_files`: a report of 3,000 pages and 20 ordinary files on a busy machine.

None may be refused, each has to become searchable, no process may need more than 600 MiB, and questions
about another document go on.
"""

import argparse
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from bench.ingesting import files_to_ingest
from devkit.long_report import fact, long_report
from devkit.system import System, interrupted_by_sigterm, running
from resilience.checks import Tally
from resilience.deployment import surroundings
from resilience.hostile_text import Member
from resilience.report import Verdict, conclude, wide_console

STORED = "uploads that were refused"
COMPLETED = "documents that did not become searchable"
ANSWERED = "questions about another document without the right answer"
FOUND = "questions about the last page of the report without the right answer"
IN_MEMORY = "processes that needed more than 600 MiB"
IN_TIME = "questions later than three times as long as before"

MOST_BYTES = 600 * 1024 * 1024
FACTOR = 3.0
AT_ONCE = 4
BEFORE_SECONDS = 10.0
UPLOAD_SECONDS, END_SECONDS = 600.0, 3600.0
LOOK_SECONDS = 0.2
SPIN = "while True: pass"
QUESTION, ANSWER = "How many days of annual leave does an employee of the harbour get?", "28 days"
TEXT = "Every employee of the harbour has 28 days of annual leave. Dogs are welcome on the quay."


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keeps processors busy with so many processes."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


@dataclass
class Peaks:
    """The largest memory that each process below another has had, in bytes, by its command."""

    root: psutil.Process
    seen: dict[tuple[int, str], int] = field(default_factory=dict)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Looks several times a second while the context is open."""
        end = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(end,))
        watcher.start()
        try:
            yield
        finally:
            end.set()
            watcher.join()

    def _watch(self, end: threading.Event) -> None:
        while not end.wait(LOOK_SECONDS):
            for process in [self.root, *self.root.children(recursive=True)]:
                try:
                    command = " ".join(process.cmdline()[-3:])
                    used = process.memory_info().rss
                except psutil.Error:
                    continue  # it has ended
                key = process.pid, command
                self.seen[key] = max(self.seen.get(key, 0), used)

    def largest(self) -> Sequence[tuple[str, int]]:
        """Commands with their peaks, the largest first."""
        return sorted(
            ((command, used) for (_, command), used in self.seen.items()), key=lambda each: -each[1]
        )


def ask(member: Member, enough: Callable[[], bool], tally: Tally) -> list[float]:
    """The seconds of each question about an ordinary document, until there are `enough`."""
    seconds: list[float] = []
    while not seconds or not enough():
        took, response = member.ask(QUESTION, "handbook.txt")
        right = response.is_success and ANSWER in response.json()["answer"]
        tally.expect(ANSWERED, right, f"{response.status_code} {response.text[:200]}")
        seconds.append(took)
    return seconds


def later(seconds: float) -> Callable[[], bool]:
    """Whether so many seconds have passed from now on."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def ingest(member: Member, files: Sequence[tuple[str, bytes]], tally: Tally) -> tuple[dict[str, str], int]:
    """Upload files, several at once; their statuses once each has ended, and how many a worker read."""

    def store(name: str, content: bytes) -> bool:
        response = member.store(name, content)
        is_stored = response.status_code == 201
        tally.expect(STORED, is_stored, lambda: f"{name}: {response.text[:300]}")
        return is_stored and not response.json()["documents"][0]["readable"]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        left = sum(pool.map(lambda file: store(*file), files))
    return member.wait_for_end(END_SECONDS), left


def campaign(folder: Path, *, pages: int, files: int, spinning: int) -> Verdict:
    """Ingest a report of so many pages and ordinary files, and ask questions meanwhile."""
    tally = Tally((STORED, COMPLETED, ANSWERED, FOUND, IN_MEMORY, IN_TIME))
    with ExitStack() as stack:
        system = stack.enter_context(running(folder / "product"))
        assert system.process is not None
        ann, ben = (Member(stack.enter_context(client(system))) for _ in range(2))
        ann.store("handbook.txt", TEXT.encode()).raise_for_status()
        ann.wait_for_end(UPLOAD_SECONDS)
        stack.enter_context(busy(spinning))
        before = ask(ann, later(BEFORE_SECONDS), tally)
        peaks = Peaks(psutil.Process(system.process.pid))
        stack.enter_context(peaks.watched())
        sent = [("report.pdf", long_report(pages)), *files_to_ingest(files)[1]]
        begin = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            ingesting = pool.submit(ingest, ben, sent, tally)
            during = ask(ann, ingesting.done, tally)
        seconds = time.monotonic() - begin
        ended, left = ingesting.result()
        for name, status in ended.items():
            tally.expect(COMPLETED, status == "completed", f"{name} is {status}")
        _, response = ben.ask(f"What is the berth fee of quay {pages}?", "report.pdf")
        right = response.is_success and fact(pages).split()[-4] in response.json()["answer"]
        tally.expect(FOUND, right, f"{response.status_code} {response.text[:300]}")
    for command, used in peaks.largest():
        tally.expect(IN_MEMORY, used <= MOST_BYTES, f"{command}: {used // 2**20} MiB")
    late = statistics.median(during) > FACTOR * statistics.median(before)
    tally.expect(IN_TIME, not late, f"{statistics.median(during):.2f} s")
    return Verdict(
        f"A report of {pages:,} pages and {files} files, with {spinning} busy processes",
        tally.checks(),
        [
            ("until all were searchable", f"{seconds:.0f} s"),
            ("files left to the worker", str(left)),
            *shown(peaks, before, during),
        ],
    )


def client(system: System) -> httpx.Client:
    """A client that waits as long as an upload on a busy machine may take."""
    opened = system.client()
    opened.timeout = UPLOAD_SECONDS
    return opened


def shown(peaks: Peaks, before: Sequence[float], during: Sequence[float]) -> list[tuple[str, str]]:
    """The figures of memory and questions."""
    largest, used = peaks.largest()[0]
    return [
        ("largest process", f"{used // 2**20} MiB: {largest}"),
        ("median of a question before", f"{statistics.median(before):.2f} s of {len(before)}"),
        ("median of a question meanwhile", f"{statistics.median(during):.2f} s of {len(during)}"),
    ]


@interrupted_by_sigterm()
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--spinning", type=int, default=8, help="processes that keep the processors busy")
    asked = parser.parse_args()
    console = wide_console()
    with surroundings() as folder:
        verdict = campaign(
            folder,
            pages=asked.pages,
            files=asked.files,
            spinning=asked.spinning,
        )
    return conclude(verdict, console)


if __name__ == "__main__":
    sys.exit(main())
