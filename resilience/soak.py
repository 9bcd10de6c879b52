"""`python -m resilience.soak --minutes 60`: many users for an hour; nothing is lost, and nothing grows.

After the first sixth of the time the processes are warm. From then on the memory of each kind of process,
the number of its processes, its descriptors and its threads stay level, and a turn takes as much of the
database as before. On a busy machine only the answers are judged fairly: processes that wait hold more.
"""

import argparse
import asyncio
import contextlib
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from statistics import median

import httpx
import psutil

from devkit.system import System, interrupted_by_sigterm
from resilience.checks import Tally
from resilience.deployment import conversation_with, product, scripted_model
from resilience.history_check import KINDS, QUAY, Conversation, examine, new_question
from resilience.report import Advance, StepsOf, Verdict, conclude, steps, wide_console

MEMORY, CHILDREN, DESCRIPTORS, THREADS, DATABASE = LEVELS = (
    "memory that grows",
    "processes that grow in number",
    "descriptors that grow in number",
    "threads that grow in number",
    "database that grows faster",
)
WARM_SHARE, LAST_SHARE = 1 / 6, 1 / 6
MEMORY_SHARE, DATABASE_SHARE = 1.10, 1.25
MOST_MORE = 4
"""Descriptors and threads that a process may have more of than when it was warm: pools open them."""
MB = 1024 * 1024
SAMPLE_SECONDS = 2.0
UPLOAD_SHARE = 0.1
TIMEOUT_SECONDS = 240.0


@dataclass(frozen=True)
class Plan:
    """How long, how many users, how long each waits between questions (s), and turns of a conversation."""

    minutes: float = 60.0
    users: int = 64
    think: float = 45.0
    turns: int = 25
    seed: int = 1


@dataclass(frozen=True)
class Sample:
    """All processes of a kind at a moment, and the turns and the bytes of the database by then."""

    processes: int
    memory: int
    descriptors: int
    threads: int


@dataclass
class Watch:
    """What the processes of a system hold, looked at again and again; `turns` is counted by the users."""

    system: System
    samples: dict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))
    database: list[tuple[int, int]] = field(default_factory=list)
    turns: int = 0

    async def look(self, end: float) -> None:
        """Take samples until the end."""
        while time.monotonic() < end:
            for kind, sample in _samples(self.system):
                self.samples[kind].append(sample)
            self.database.append((self.turns, _database_bytes(self.system.data_dir / "orc.db")))
            await asyncio.sleep(SAMPLE_SECONDS)

    def judge(self, tally: Tally) -> None:
        """Compare the last samples with those when the processes were warm."""
        for kind, found in self.samples.items():
            warm, last = _typical(_span(found, WARM_SHARE)), _typical(found[-_count(found, LAST_SHARE) :])
            grown = f"{kind}: {warm} when warm, {last} at the end"
            tally.expect(MEMORY, last.memory <= MEMORY_SHARE * warm.memory + MB, grown)
            tally.expect(CHILDREN, last.processes <= warm.processes, grown)
            tally.expect(DESCRIPTORS, last.descriptors <= warm.descriptors + MOST_MORE, grown)
            tally.expect(THREADS, last.threads <= warm.threads + MOST_MORE, grown)
        middle, last_third = _bytes_per_turn(self.database, 1 / 3), _bytes_per_turn(self.database, 2 / 3)
        said = f"{middle:,.0f} bytes a turn in the middle third, {last_third:,.0f} in the last"
        tally.expect(DATABASE, last_third <= DATABASE_SHARE * middle + 4096, said)

    def figures(self) -> Iterator[tuple[str, str]]:
        """What each kind of process held when it was warm and at the end."""
        for kind, found in self.samples.items():
            warm, last = _typical(_span(found, WARM_SHARE)), _typical(found[-_count(found, LAST_SHARE) :])
            yield kind, f"{_shown(warm)} -> {_shown(last)}"
        turns, size = self.database[-1]
        yield "database", f"{size / MB:.1f} MB after {turns} turns"


def _database_bytes(path: Path) -> int:
    """The size of the database with what its log has not written to the file yet."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        sizes = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    return int(sizes[0] * sizes[1])


def _shown(sample: Sample) -> str:
    return (
        f"{sample.processes} x {sample.memory / MB:.0f} MB, {sample.descriptors} descriptors,"
        f" {sample.threads} threads"
    )


def _count(found: Sequence[object], share: float) -> int:
    return max(1, int(len(found) * share))


def _span(found: Sequence[Sample], share: float) -> Sequence[Sample]:
    """The samples that follow the first share of them, as many as that share."""
    first = min(_count(found, share), len(found) - 1)
    return found[first : 2 * first + 1]


def _typical(found: Sequence[Sample]) -> Sample:
    """The median of each figure."""
    values = {each.name: [getattr(sample, each.name) for sample in found] for each in fields(Sample)}
    return Sample(**{name: int(median(each)) for name, each in values.items()})


def _bytes_per_turn(database: Sequence[tuple[int, int]], share: float) -> float:
    """How much a turn took, in the third of the turns that begins at this share."""
    first = int(len(database) * share)
    (turns, size), (later, larger) = (
        database[first],
        database[min(first + len(database) // 3, len(database) - 1)],
    )
    return max(larger - size, 0) / max(later - turns, 1)


def _samples(system: System) -> Iterator[tuple[str, Sample]]:
    """One sample for each kind of process; memory, descriptors and threads are those of the largest."""
    assert system.process is not None
    kinds: dict[str, list[Sample]] = defaultdict(list)
    for process in _family(psutil.Process(system.process.pid)):
        with contextlib.suppress(psutil.Error):
            kind = _kind(process.cmdline())
            memory = process.memory_info().rss
            kinds[kind].append(Sample(1, memory, process.num_fds(), process.num_threads()))
    for kind, found in kinds.items():
        largest = [
            max(getattr(each, name) for each in found) for name in ("memory", "descriptors", "threads")
        ]
        yield kind, Sample(len(found), *largest)


def _family(root: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return [root, *root.children(recursive=True)]
    return []


def _kind(command: Sequence[str]) -> str:
    """What a process runs: the words after `python -m`, or its program."""
    words = list(command)
    if "-m" in words:
        return " ".join(words[words.index("-m") + 1 :][:2])
    return Path(words[1] if len(words) > 1 else words[0]).name if words else "gone"


async def _user(
    plan: Plan, watch: Watch, random: Random, until: float, said: list[Conversation], answered: Advance
) -> None:
    """One user: a conversation after the other, with a file, questions, and now and then an upload."""
    async with httpx.AsyncClient(base_url=watch.system.api, timeout=TIMEOUT_SECONDS) as http:
        await asyncio.sleep(random.uniform(0, min(plan.think, plan.minutes * 6)))
        while time.monotonic() < until:
            conversation = Conversation(await asyncio.to_thread(conversation_with, watch.system, QUAY))
            said.append(conversation)
            for _ in range(plan.turns):
                if time.monotonic() >= until:
                    return
                if random.random() < UPLOAD_SHARE:
                    files = [("file", (f"note{random.randrange(9)}.txt", QUAY[1] * random.randrange(1, 40)))]
                    path = f"/conversations/{conversation.conversation_id}/documents"
                    (await http.post(path, files=files)).raise_for_status()
                await _ask(http, conversation, random)
                watch.turns += 1
                answered()
                await asyncio.sleep(min(random.expovariate(1 / plan.think), max(until - time.monotonic(), 0)))


async def _ask(http: httpx.AsyncClient, conversation: Conversation, random: Random) -> None:
    question, names = random.choice(KINDS)
    asked = new_question(question)
    conversation.asked.append(asked)
    body = {
        "question": asked.question,
        "conversation_id": conversation.conversation_id,
        "blob_names": list(names),
    }
    response = await http.post("/orc", json=body, headers={"idempotency-key": asked.key})
    if response.status_code == httpx.codes.OK:
        asked.result = response.json()


async def _read(system: System, said: Sequence[Conversation]) -> None:
    """What is stored of each conversation."""
    async with httpx.AsyncClient(base_url=system.api, timeout=TIMEOUT_SECONDS) as http:
        for each in said:
            whole = {"full": "true", "limit": "200"}
            found = await http.get(f"/conversations/{each.conversation_id}", params=whole)
            stored = found.raise_for_status().json() if found.status_code != httpx.codes.NOT_FOUND else {}
            each.turns, each.history = stored.get("turns", []), stored.get("history", [])


async def soak(plan: Plan, system: System, steps_of: StepsOf) -> Verdict:
    """Let the users work, and judge what is stored and what the processes hold."""
    watch, said, random = Watch(system), list[Conversation](), Random(plan.seed)
    until = time.monotonic() + plan.minutes * 60
    advance = steps_of("turns", int(plan.users * plan.minutes * 60 / max(plan.think, 1)))
    users = [_user(plan, watch, Random(random.random()), until, said, advance) for _ in range(plan.users)]
    await asyncio.gather(watch.look(until), *users)
    await _read(system, said)
    tally = Tally(LEVELS)
    watch.judge(tally)
    title = f"{plan.users} users for {plan.minutes:g} minutes"
    return Verdict(
        title, [*examine([each for each in said if each.asked]), *tally.checks()], list(watch.figures())
    )


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m resilience.soak", description=__doc__)
    for each in fields(Plan):
        parser.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    plan, console = Plan(**vars(parser.parse_args(arguments))), wide_console()
    with (
        tempfile.TemporaryDirectory() as folder,
        scripted_model() as model,
        product(Path(folder), model) as system,
        steps(console) as steps_of,
    ):
        verdict = asyncio.run(soak(plan, system, steps_of))
    return conclude(verdict, console)


if __name__ == "__main__":
    sys.exit(main())
