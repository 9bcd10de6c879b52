"""In any order of operations, no user sees what another user said or what was deleted."""

import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devkit.fakes import WordCounter
from devkit.remembered_turns import CITED, answered, ask, begin, commit, memory_service_of
from devkit.store_pairs import items_here
from orc.conversations.models import Head, Started, Turn, TurnStatus
from orc.conversations.turn_log import TurnLog
from orc.memory.models import Memory, Note
from orc.memory.recall import remembered
from orc.memory.service import MemoryService, MemoryStore, add_turns
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from orc_core.storage.sqlite.tables import TABLES

pytestmark = pytest.mark.slow

COUNTER = WordCounter()
OWNERS = [Owner(*names) for names in product(("acme", "umbra"), ("ada", "bob"), ("c-1", "c-2"))]

Operation = tuple[str, int]
names = st.sampled_from(["ask", "start", "finish", "update", "late update", "delete", "half"])
one_operation = st.tuples(names, st.integers(0, 1))
steps = st.tuples(one_operation, st.none() | one_operation)
"""The operation of one of two owners, and perhaps another one during the write of the first to the memory."""
pairs = st.lists(st.sampled_from(OWNERS), min_size=2, max_size=2, unique=True)


class InterruptedStore(MemoryStore):
    """A store that runs another operation right before or after the next write."""

    meanwhile: Callable[[], Awaitable[None]] | None = None
    is_before = True

    async def write(self, owner: Owner, memory: Memory) -> bool:
        if self.is_before:
            await self._interrupt()
        written = await super().write(owner, memory)
        await self._interrupt()
        return written

    async def _interrupt(self) -> None:
        if (meanwhile := self.meanwhile) is not None:
            self.meanwhile = None
            await meanwhile()


class World:
    """The conversations of some owners in one database; each message names its owner and its conversation."""

    def __init__(self, database: Database, owners: list[Owner]) -> None:
        self.owners = owners
        self.log = TurnLog(items_here(database, "conversations"))
        self.store = InterruptedStore(items_here(database, "memory"))
        self.memory_service: MemoryService = memory_service_of(
            database, self.log, store=self.store, history_turns=2
        )
        self.lives = dict.fromkeys(owners, 1)
        self.heads: dict[Owner, list[Head]] = {owner: [] for owner in owners}
        self.pending: dict[Owner, list[Started]] = {owner: [] for owner in owners}
        self.interrupted: set[Owner] = set()
        self.said = 0

    def mark(self, owner: Owner, life: int) -> str:
        names = (owner.organization_id, owner.user_id, owner.conversation_id.replace("-", ""))
        return f"{''.join(names)}life{life}x"

    def message(self, owner: Owner) -> str:
        self.said += 1
        about = ["My code {n} is {mark}.", "What of {mark} {n}?", "Please always answer like {mark} {n}."]
        return about[self.said % 3].format(n=self.said, mark=self.mark(owner, self.lives[owner]))

    async def do(self, step: Operation) -> None:
        name, number = step
        owner = self.owners[number]
        answer = f"It is {self.mark(owner, self.lives[owner])}. {CITED}"
        match name:
            case "ask":
                self.heads[owner].append(await ask(self.log, self.message(owner), answer, owner))
                await self.memory_service.update(self.heads[owner][-1])
            case "start":
                self.pending[owner].append(await begin(self.log, self.message(owner), owner))
                self.heads[owner].append(self.pending[owner][-1].head)
            case "finish" if self.pending[owner]:
                begun = self.pending[owner].pop(0)
                await commit(self.log, begun, answer)
                await self.memory_service.update(begun.head)
            case "update" if self.heads[owner]:
                await self.memory_service.update(self.heads[owner][-1])
            case "late update" if self.heads[owner]:
                await self.memory_service.update(self.heads[owner][0])
            case "delete":
                await self.memory_service.forget(owner)
                await self._end_life(owner)
                await self.memory_service.forget(owner)
                self.interrupted.discard(owner)
            case "half":
                # An update wrote after the first `forget`, and the process stopped before the second.
                await self._end_life(owner)
                self.interrupted.add(owner)

    async def _end_life(self, owner: Owner) -> None:
        await self.log.delete(owner)
        self.lives[owner] += 1
        self.pending[owner].clear()

    async def check(self) -> None:
        for owner in self.owners:
            head, stored = await self.log.head(owner), await self.store.read(owner)
            lives = range(1, self.lives[owner] + 1) if owner in self.interrupted else [self.lives[owner]]
            for text in texts(stored or Memory()):
                assert any(self.mark(owner, life) in text for life in lives), f"kept for {owner}: {text}"
            if head is not None:
                memory = await self.memory_service.read(head)
                recalled = await self.memory_service.recall("What is my code?", memory)
                block = remembered(recalled, 800, COUNTER).splitlines()[2:-1]
                for text in [*texts(memory), *block]:
                    assert self.mark(owner, self.lives[owner]) in text, f"{owner} sees: {text}"


def texts(memory: Memory) -> list[str]:
    return [*(note.text for note in memory.notes), *(point.text for point in memory.summary)]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs, st.lists(steps, min_size=4, max_size=14), st.booleans())
async def test_no_owner_and_no_new_conversation_sees_what_another_said(
    owners: list[Owner], taken: list[tuple[Operation, Operation | None]], is_before: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "orc.db")
        await database.migrate(TABLES["conversations"].schema, TABLES["memory"].schema)
        world = World(database, owners)
        world.store.is_before = is_before
        for step, other in taken:
            if other is not None:
                world.store.meanwhile = partial(world.do, other)
            await world.do(step)
            world.store.meanwhile = None
            await world.check()
        await database.close()


MESSAGES = (
    "My budget is 500 euros.",
    "My budget is 700 euros. No, my budget is 900 euros. We use SAP.",
    "We use SAP.",
    "Who signs the lease?",
    "Please answer in German.",
    "Please answer in French, and my dog is called Rex.",
)
ANSWERS = (CITED, "I could not find this in the attached documents.", "That is good to know, thank you.")
turn_facts = st.tuples(st.sampled_from(MESSAGES), st.sampled_from(ANSWERS), st.sampled_from(list(TurnStatus)))


def turns_of(facts: list[tuple[str, str, TurnStatus]]) -> list[Turn]:
    made = (answered(seq, message, answer) for seq, (message, answer, _) in enumerate(facts, 1))
    return [
        turn.model_copy(update={"status": status}) for turn, (_, _, status) in zip(made, facts, strict=True)
    ]


def said(memory: Memory) -> list[Note]:
    return sorted(memory.notes, key=lambda note: (note.last_seen, note.text))


@settings(max_examples=150, deadline=None)
@given(st.lists(turn_facts, max_size=25), st.data())
def test_turns_processed_together_or_singly_or_twice_give_the_same_memory(
    facts: list[tuple[str, str, TurnStatus]], data: st.DataObject
) -> None:
    turns = turns_of(facts)
    at_once = add_turns(Memory(), turns, len(turns), COUNTER)
    again = add_turns(at_once, turns[at_once.noted_seq :], len(turns), COUNTER)
    assert (said(again), again.summary, again.noted_seq) == (
        said(at_once),
        at_once.summary,
        at_once.noted_seq,
    )
    memory, seen = Memory(), 0
    while seen < len(turns):
        seen = data.draw(st.integers(seen + 1, len(turns)))
        memory = add_turns(memory, turns[memory.noted_seq : seen], seen, COUNTER)
    assert (said(memory), memory.summary, memory.noted_seq) == (
        said(at_once),
        at_once.summary,
        at_once.noted_seq,
    )
