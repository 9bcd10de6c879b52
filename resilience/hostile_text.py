"""`python -m resilience.hostile_text`: one organization uploads and asks hostile files while another works.

The files are small. Text functions that backtrack, or scan a line again and again, need minutes for them.

Idle and attacked parts alternate, so that other work on the machine is in both of them. After an attack the
next part begins once the product does nothing any more.
"""

import argparse
import io
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from pptx import Presentation
from rich.console import Console

from devkit.system import System, interrupted_by_sigterm, running, upload
from devkit.system_here import system_here
from resilience.checks import Tally
from resilience.deployment import surroundings
from resilience.report import Verdict, conclude, wide_console

ANSWERED = "another organization's question without an answer"
INDEXED = "another organization's upload that was not indexed"
ENDED = "a hostile document without an end"
IN_TIME = "95 % of the questions later than twice the idle time"

SETTINGS = {"ORC_AUTH_MODE": "easyauth", "WEBSITE_AUTH_ENABLED": "True"}
"""Several organizations, by the headers that Azure would inject."""
QUESTION = "How many days of annual leave does an employee of the harbour get?"
TEXT = "Every employee of the harbour has 28 days of annual leave. Dogs are welcome on the quay."
HOSTILE_QUESTION = "Count from 1 to 300, and tell me what the amounts in the table are."
ATTACKER_SECONDS, HURRIED_SECONDS = 60.0, 1.0
"""How long an attacker waits for a response."""
UPLOAD_SECONDS = 60.0
END_SECONDS = 120.0
ATTACKERS = 1
"""More of them ask as fast as they can: then ordinary files alone take twice the idle time."""
FACTOR = 2.0
POLL_SECONDS = 0.05
ROUNDS = 5
QUIET_SECONDS, QUIET_SHARE = 2.0, 0.1
"""The product does nothing if it uses less than this share of a processor for so long."""
MOST_SECONDS_UNTIL_QUIET = 300.0


def slide(text: str) -> bytes:
    """A PPTX of one slide with this text."""
    presentation = Presentation()
    page = presentation.slides.add_slide(presentation.slide_layouts[6])
    # A slide without words would count as a picture.
    page.shapes.add_textbox(0, 0, 100, 100).text_frame.text = f"The amounts of the table: {text}"
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


def hostile_files() -> dict[str, bytes]:
    """Files of which each stopped the tools server or a worker once."""
    return {
        "signs.pptx": slide("$(+-" * 50_000),
        "dots.pptx": slide("." * 300_000),
        "fence.pptx": slide(("[" + 63 * "=") * 6_000),
        "brackets.pptx": slide("[" * 99_000),
        "letters.pptx": slide("a'" * 40_000),
        "gates.txt": b"\n".join([b"gate " + b"-" * 6_000] * 500),
        "numbers.txt": b"1 " * 100_000,
    }


def harmless_files() -> dict[str, bytes]:
    """As many ordinary files, which show what the load alone does."""
    line = "The gate of quay 7 opens at seven, and the fee is 40 euros a day.\n"
    slides = {f"gates {number}.pptx": slide(40 * line) for number in range(5)}
    return {**slides, "gates.txt": (500 * line).encode(), "numbers.txt": (900 * line).encode()}


@dataclass
class Member:
    """A user of an organization, with a conversation."""

    http: httpx.Client
    conversation_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def ask(self, question: str, *names: str) -> tuple[float, httpx.Response]:
        """The seconds of a question about these documents, and its response."""
        body = {"conversation_id": self.conversation_id, "question": question, "blob_names": list(names)}
        begin = time.monotonic()
        response = self.http.post("/orc", json=body)
        return time.monotonic() - begin, response

    def store(self, name: str, content: bytes) -> httpx.Response:
        return upload(self.http, self.conversation_id, (name, content))

    def statuses(self) -> dict[str, str]:
        """The status of each document."""
        listed = self.http.get(f"/conversations/{self.conversation_id}/documents").raise_for_status().json()
        return {document["blob_name"]: document["status"] for document in listed["documents"]}

    def wait_for_end(self, seconds: float) -> dict[str, str]:
        """The statuses once each document is completed or failed, or after that time."""
        deadline = time.monotonic() + seconds
        while True:
            statuses = self.statuses()
            if set(statuses.values()) <= {"completed", "failed"} or time.monotonic() > deadline:
                return statuses
            time.sleep(POLL_SECONDS)


@dataclass
class Figures:
    """Seconds that were measured."""

    idle: list[float] = field(default_factory=list)
    attacked: list[float] = field(default_factory=list)
    idle_uploads: list[float] = field(default_factory=list)
    uploads: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """Of the medians of each round."""


class Attack:
    """Members of one organization that upload and ask hostile files, over and over."""

    def __init__(self, system: System, files: dict[str, bytes], attackers: int) -> None:
        self._stop = threading.Event()
        self._files = files
        self.requests = 0
        self.members = [Member(system.client("evil", f"mallory {number}")) for number in range(attackers)]

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """The attack, until the context ends."""
        self._stop.clear()
        threads = [threading.Thread(target=self._run, args=(member,)) for member in self.members]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _run(self, member: Member) -> None:
        while not self._stop.is_set():
            for name, content in self._files.items():
                if self._stop.is_set():
                    return
                # A refusal or a time-out is theirs; what counts is what others see.
                try:
                    member.store(name, content)
                    member.ask(HOSTILE_QUESTION, name)
                except httpx.HTTPError:
                    pass
                self.requests += 2


def work(member: Member, questions: int, uploads: int, tally: Tally, seconds: list[float]) -> list[float]:
    """Ask so many questions, and upload so many documents in between; the seconds until each is indexed."""
    indexed = []
    for number in range(questions):
        took, response = member.ask(QUESTION, "handbook.txt")
        is_right = response.is_success and "28 days" in response.json()["answer"]
        tally.expect(ANSWERED, is_right, f"{response.status_code} {response.text[:200]}")
        seconds.append(took)
        if number < uploads:
            begin, name = time.monotonic(), f"note {uuid.uuid4()}.txt"
            member.store(name, f"{TEXT} {number}".encode()).raise_for_status()
            status = member.wait_for_end(UPLOAD_SECONDS)[name]
            tally.expect(INDEXED, status == "completed", f"{name} is {status}")
            indexed.append(time.monotonic() - begin)
    return indexed


def campaign(
    folder: Path,
    questions: int,
    uploads: int,
    *,
    attackers: int = ATTACKERS,
    rounds: int = 1,
    strict: bool = True,
    files: dict[str, bytes] | None = None,
) -> Verdict:
    """Measure idle questions and those during the attack, in so many rounds of both.

    `strict`: check the times too, which needs a product with separate processes, and wait until each
    hostile document has ended.
    """
    tally = Tally((ANSWERED, INDEXED, *((ENDED, IN_TIME) if strict else ())))
    figures, files = Figures(), files or hostile_files()
    with ExitStack() as stack:
        system = stack.enter_context((running if strict else system_here)(folder / "product", **SETTINGS))
        ann = Member(stack.enter_context(system.client("acme", "ann")))
        ann.store("handbook.txt", TEXT.encode()).raise_for_status()
        ann.wait_for_end(UPLOAD_SECONDS)
        ann.ask(QUESTION, "handbook.txt")
        attack = Attack(system, files, attackers)
        for each in attack.members:
            each.http.timeout = ATTACKER_SECONDS if strict else HURRIED_SECONDS
            stack.enter_context(each.http)
        each_time = -(-questions // rounds), -(-uploads // rounds)
        for _ in range(rounds):
            if strict:
                wait_until_quiet(system)
            idle, attacked = list[float](), list[float]()
            figures.idle_uploads += work(ann, each_time[0], each_time[1] if strict else 0, tally, idle)
            with attack.going_on():
                time.sleep(1 if strict else 0)
                figures.uploads += work(ann, *each_time, tally, attacked)
            figures.idle += idle
            figures.attacked += attacked
            figures.ratios.append(statistics.median(attacked) / statistics.median(idle))
        for each in attack.members if strict else ():
            ends = each.wait_for_end(END_SECONDS)
            stuck = {name: status for name, status in ends.items() if status not in ("completed", "failed")}
            tally.expect(ENDED, not stuck, str(stuck))
    if strict:
        in_time = p95(figures.attacked) <= FACTOR * p95(figures.idle)
        tally.expect(IN_TIME, in_time, f"{p95(figures.attacked):.3f} s, idle {p95(figures.idle):.3f} s")
    return Verdict(f"{questions} questions during an attack", tally.checks(), shown(figures, attack.requests))


def wait_until_quiet(system: System) -> None:
    """Return once the product has finished what it was asked for."""
    assert system.process is not None
    served, end = psutil.Process(system.process.pid), time.monotonic() + MOST_SECONDS_UNTIL_QUIET
    while time.monotonic() < end:
        before = processor_seconds(served)
        time.sleep(QUIET_SECONDS)
        after = processor_seconds(served)
        if sum(after.get(pid, 0) - before.get(pid, 0) for pid in after) < QUIET_SHARE * QUIET_SECONDS:
            return
    raise AssertionError("The product goes on working without being asked.")


def processor_seconds(process: psutil.Process) -> dict[int, float]:
    """The processor time of a process and its descendants by their numbers."""
    found: dict[int, float] = {}
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            used = each.cpu_times()
            found[each.pid] = used.user + used.system
    return found


def p95(seconds: Sequence[float]) -> float:
    """The time within which 95 % of the questions were answered."""
    if len(seconds) == 1:  # before Python 3.13 one value has no quantiles
        return seconds[0]
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1]


def shown(figures: Figures, requests: int) -> list[tuple[str, str]]:
    """The figures of a verdict."""

    def times(seconds: Sequence[float]) -> str:
        if not seconds:
            return "not measured"
        middle = statistics.median(seconds)
        return f"median {middle:.3f} s, 95 % {p95(seconds):.3f} s, longest {max(seconds):.3f} s"

    return [
        ("hostile requests", str(requests)),
        ("idle questions", times(figures.idle)),
        ("questions during the attack", times(figures.attacked)),
        ("95 %, to that of idle questions", f"{p95(figures.attacked) / p95(figures.idle):.2f}"),
        ("medians of each round, to idle ones", ", ".join(f"{ratio:.2f}" for ratio in figures.ratios)),
        ("until an idle upload is indexed", times(figures.idle_uploads)),
        ("until an upload is indexed", times(figures.uploads)),
    ]


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    parser = argparse.ArgumentParser(prog="python -m resilience.hostile_text", description=__doc__)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--uploads", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="idle and attacked parts, in turn")
    parser.add_argument("--attackers", type=int, default=ATTACKERS, help="users who attack at the same time")
    parser.add_argument("--harmless", action="store_true", help="upload and ask ordinary files instead")
    given = parser.parse_args(arguments)
    console: Console = wide_console()
    files = harmless_files() if given.harmless else None
    with surroundings() as folder:
        verdict = campaign(
            folder,
            given.questions,
            given.uploads,
            attackers=given.attackers,
            rounds=given.rounds,
            files=files,
        )
        return conclude(verdict, console)


if __name__ == "__main__":
    sys.exit(main())
