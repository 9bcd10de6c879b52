"""The memory of a conversation over a real turn log: updates, delayed and concurrent updates, deletion."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call

from devkit.fakes import Script, ScriptedModel, WordCounter, scripted
from devkit.remembered_turns import CITED, OWNER, answered, ask, begin, commit, memory_service_of
from devkit.store_pairs import items_here
from orc.conversations.models import Head, NewTurn, Retry, Started, Turn
from orc.conversations.turn_log import TurnLog
from orc.memory.models import UNKNOWN_FORM, ConversationMemory, Memory, Note, Recalled
from orc.memory.notes import MAX_NOTES
from orc.memory.service import (
    LATE_AT_ONCE,
    RETRIED_TURNS,
    UNREADABLE,
    UNWRITTEN_TURNS,
    MemoryService,
    MemoryStore,
)
from orc.memory.summary import MAX_POINTS, Summarizer
from orc_core.errors import DependencyDown, NotFound
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from orc_core.storage.sqlite.tables import TABLES

pytestmark = pytest.mark.slow


class Store(MemoryStore):
    """A store that counts its calls and can run another operation before the next write."""

    def __init__(self, database: Database) -> None:
        super().__init__(items_here(database, "memory"))
        self.writes = 0
        self.error: Exception | None = None
        self.silent = False
        self.before_write: list[Callable[[], Awaitable[object]]] = []
        self.after_write: list[Callable[[], Awaitable[object]]] = []

    async def read(self, owner: Owner) -> Memory | None:
        if self.silent:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return await super().read(owner)

    async def write(self, owner: Owner, memory: Memory) -> bool:
        if self.before_write:
            await self.before_write.pop()()
        written = await super().write(owner, memory)
        self.writes += written
        if self.after_write:
            await self.after_write.pop()()
        return written


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "orc.db")
    await opened.migrate(TABLES["conversations"].schema, TABLES["memory"].schema)
    yield opened
    await opened.close()


@pytest.fixture
def log(database: Database) -> TurnLog:
    return TurnLog(items_here(database, "conversations"))


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest.fixture
def memory_service(database: Database, log: TurnLog, store: Store) -> MemoryService:
    return memory_service_of(database, log, store=store)


async def stored(store: Store) -> Memory:
    memory = await store.read(OWNER)
    assert memory is not None
    return memory


def notes_of(memory: Memory | Recalled) -> list[str]:
    return [note.text for note in memory.notes]


async def test_what_a_user_says_is_recalled_in_later_turns(
    log: TurnLog, memory_service: MemoryService
) -> None:
    await memory_service.update(await ask(log, "Our project is called Halberd."))
    begun = await begin(log, "What is our project called?")
    recalled = await memory_service.recall(
        "What is our project called?", await memory_service.read(begun.head)
    )
    assert notes_of(recalled) == ["Our project is called Halberd."]


async def test_a_withdrawn_wish_is_gone_until_it_is_said_again(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    wish = "Please answer in German."
    await memory_service.update(head := await ask(log, f"My name is Ada. {wish}"))
    assert [note.text for note in await memory_service.notes(head)] == ["My name is Ada.", wish]
    [wished] = [note for note in await memory_service.notes(head) if note.text == wish]
    await memory_service.withdraw(head, wished.note_id)
    with pytest.raises(NotFound):
        await memory_service.withdraw(head, wished.note_id)
    for question in ("We use SAP.", "We use Jira."):
        await memory_service.update(await ask(log, question))
    assert notes_of(await stored(store)) == ["My name is Ada.", "We use SAP.", "We use Jira."]
    await memory_service.update(await ask(log, "please answer in German"))
    assert notes_of(await stored(store))[-1] == "please answer in German"


async def test_turns_without_statements_are_written_only_occasionally(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    for turn in range(1, 4 * UNWRITTEN_TURNS + 1):
        await memory_service.update(await ask(log, f"What does section {turn} say?", CITED))
    assert store.writes == 4
    memory = await stored(store)
    assert memory.noted_seq == memory.summarised_seq == 4 * UNWRITTEN_TURNS
    assert len(memory.summary) == 4 * UNWRITTEN_TURNS
    await memory_service.update(await ask(log, "My name is Ada."))
    assert store.writes == 5


FACTS = 16


@pytest.mark.parametrize("turns", range(1, 13))
@pytest.mark.parametrize("late", [0, 1, 5], ids=["at once", "a turn later", "five turns later"])
async def test_every_turn_is_in_the_history_or_in_memory(
    log: TurnLog, database: Database, turns: int, late: int
) -> None:
    memory_service = memory_service_of(database, log, history_turns=turns)
    heads: list[Head] = []
    for turn in range(1, FACTS + 1):
        begun = await begin(log, f"What does section {turn} say?", history_limit=turns)
        memory = await memory_service.read(begun.head)
        shown = {each.seq for each in begun.history}
        kept = {seq for p in memory.summary for seq in range(p.first_seq, p.last_seq + 1)}
        assert shown | kept == set(range(1, turn)), f"before turn {turn}"
        await commit(log, begun, CITED)
        heads.append(begun.head)
        if len(heads) > late:
            await memory_service.update(heads[-1 - late])


async def test_long_answers_are_stored_before_they_leave_the_history(
    log: TurnLog, database: Database, store: Store
) -> None:
    memory_service = memory_service_of(database, log, store=store, history_tokens=100)
    await memory_service.update(
        await ask(log, "What does section 1 say?", f"{'It says a lot. ' * 20}{CITED}")
    )
    assert store.writes == 1


async def test_only_points_that_the_history_may_not_hold_are_read(
    log: TurnLog, database: Database, store: Store
) -> None:
    heads = [await ask(log, f"What does section {turn} say?", CITED) for turn in range(1, 21)]
    await memory_service_of(database, log, store=store).update(heads[-1])
    assert len((await stored(store)).summary) == 20
    begun = (await begin(log, "And now?")).head

    async def read(sent: int | None = None, **limits: Any) -> list[int]:
        memory = await memory_service_of(database, log, **limits).read(begun, sent)
        return [point.first_seq for point in memory.summary]

    assert await read(history_turns=12) == list(range(1, 9))
    assert await read(history_turns=0) == list(range(1, 21))
    assert await read(history_turns=50, history_tokens=2 * 3 * 15) == list(range(1, 18))
    assert await read(sent=2, history_turns=12) == list(range(1, 19))


def condensing_service(
    database: Database, log: TurnLog, store: Store, script: Script, *, turns: int, tokens: int
) -> tuple[MemoryService, ScriptedModel]:
    """A memory whose model condenses what has left so many turns, from so many tokens on."""
    model, calls = scripted(script)
    summarizer = Summarizer(model, "Condense.", WordCounter())
    memory_service = memory_service_of(
        database,
        log,
        store=store,
        summarizer=summarizer,
        history_turns=turns,
        summary_threshold_tokens=tokens,
    )
    return memory_service, calls


async def test_points_of_blocked_turns_are_not_read_and_no_model_condenses_them(
    log: TurnLog, database: Database, store: Store
) -> None:
    heads = [await ask(log, f"What does section {turn} say?", CITED) for turn in range(1, 21)]
    memory_service, calls = condensing_service(database, log, store, condensing(), turns=2, tokens=10)
    await memory_service.update(heads[-1], [(3, 4)])
    assert calls.calls == []
    begun = (await begin(log, "And now?")).head
    shown = await memory_service.read(begun, None, [(3, 4), (7, 7)])
    assert [point.first_seq for point in shown.summary] == [1, 2, 5, 6, *range(8, 19)]
    assert len((await memory_service.read(begun)).summary) == 18
    await memory_service.update(heads[-1])
    assert calls.calls


async def test_a_turn_that_was_never_processed_is_processed_later(
    log: TurnLog, memory_service: MemoryService
) -> None:
    for said in ("My name is Ada.", "We use SAP."):
        await ask(log, said)
    head = await ask(log, "I live in Leeds.")
    await memory_service.update(head)
    assert notes_of(await memory_service.read(head)) == ["My name is Ada.", "We use SAP.", "I live in Leeds."]
    before = await memory_service.read(head)
    await memory_service.update(head)
    assert await memory_service.read(head) == before


async def test_a_turn_in_progress_delays_the_memory(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    slow = await begin(log, "My budget is 500 euros.")
    late = await begin(log, "My boss is called Bo.")
    await memory_service.update(await ask(log, "My budget is 700 euros."))
    assert notes_of(await stored(store)) == ["My budget is 700 euros."]
    assert (await stored(store)).noted_seq == 0
    await commit(log, slow)
    await memory_service.update(slow.head)
    budgets = ["My budget is 500 euros.", "My budget is 700 euros."]
    assert notes_of(await stored(store)) == budgets
    await commit(log, late)
    await memory_service.update(late.head)
    assert sorted(notes_of(await stored(store))) == ["My boss is called Bo.", *budgets]


async def test_notes_of_an_earlier_version_are_still_recalled(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    head = await ask(log, "Our project is called Halberd.")
    text, about = "My badge number is 7431-K.", {"topic": "badge number", "subject": "badge number"}
    old = Note.model_validate({"kind": "fact", "text": text, "first_seen": 1, "last_seen": 1, **about})
    assert await store.write(OWNER, Memory(life=head.created_at, notes=[old]))
    await memory_service.update(head)
    later = (await begin(log, "What is my badge number?")).head
    recalled = await memory_service.recall("What is my badge number?", await memory_service.read(later))
    assert notes_of(recalled) == [old.text]
    assert len((await stored(store)).notes) == 2


async def test_a_turn_that_failed_may_be_asked_again_for_a_while(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    failed = await begin(log, "My name is Ada.")
    await log.fail(OWNER, failed.turn.turn_id, failed.turn.attempt, "model", "It was down.")
    for turn in range(2 * UNWRITTEN_TURNS):
        await memory_service.update(await ask(log, f"What does section {turn} say?"))
    assert (await stored(store)).noted_seq >= UNWRITTEN_TURNS > 1
    head = await ask(log, "We use SAP.")
    await memory_service.update(head)
    assert (await stored(store)).noted_seq >= head.turn_count - RETRIED_TURNS


async def test_two_updates_at_once_lose_nothing(log: TurnLog, database: Database, store: Store) -> None:
    first, second = memory_service_of(database, log, store=store), memory_service_of(database, log)
    one = await ask(log, "My name is Ada.")

    async def meanwhile() -> None:
        await second.update(await ask(log, "We use SAP."))

    store.before_write.append(meanwhile)
    await first.update(one)
    assert notes_of(await stored(store)) == ["My name is Ada.", "We use SAP."]
    heads = [await ask(log, f"My part {n} is red.") for n in range(6)]
    await asyncio.gather(*(memory_service_of(database, log).update(head) for head in heads))
    assert len(notes_of(await stored(store))) == 8


async def test_a_deletion_while_an_update_writes_leaves_nothing(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    async def delete() -> None:
        await memory_service.forget(OWNER)
        await log.delete(OWNER)
        await memory_service.forget(OWNER)

    async def delete_in_part() -> None:
        # As if the process stopped between the two: then only the update itself forgets.
        await memory_service.forget(OWNER)
        await log.delete(OWNER)

    for before, deletion in [
        (True, delete),
        (False, delete),
        (True, delete_in_part),
        (False, delete_in_part),
    ]:
        (store.before_write if before else store.after_write).append(deletion)
        await memory_service.update(await ask(log, "My name is Ada."))
        assert await store.read(OWNER) is None


async def test_a_recreated_conversation_remembers_nothing_of_the_deleted_one(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    old = await ask(log, "My name is Ada.")
    await memory_service.update(old)
    await log.delete(OWNER)
    new = await ask(log, "We use SAP.")
    read = await memory_service.read(new)
    assert (read.notes, read.summary) == ([], [])
    await memory_service.update(new)
    assert notes_of(await stored(store)) == ["We use SAP."]
    await memory_service.update(old)
    assert notes_of(await stored(store)) == ["We use SAP."]
    assert (await stored(store)).life == new.created_at


async def test_a_turn_without_an_available_store_lacks_only_its_memory(
    log: TurnLog, database: Database, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    memory_service = memory_service_of(database, log, store=store, read_seconds=0.01)
    await memory_service.update(await ask(log, "My name is Ada."))
    head = await ask(log, "And who are you?")
    with caplog.at_level(logging.WARNING):
        store.silent = True
        assert await memory_service.read(head) == Memory(unread=UNREADABLE)
        store.silent, store.error = False, DependencyDown("The store is down.", dependency="store")
        assert await memory_service.read(head) == Memory(unread=UNREADABLE)
        await memory_service.update(head)
    assert "continues without it: TimeoutError" in caplog.text
    assert "updated later: DependencyDown" in caplog.text
    assert "Ada" not in caplog.text


async def test_an_unexpected_error_is_logged_and_ignored(
    log: TurnLog, memory_service: MemoryService, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.error = ZeroDivisionError("unforeseen")
    await memory_service.update(await ask(log, "My name is Ada."))
    assert "could not be updated" in caplog.text


def condensing(text: str = "All of it.") -> Script:
    def fill(messages: object, options: object) -> AIMessage:
        shown = str(messages[-1].text)  # type: ignore[index]
        numbers = [int(line.split()[1]) for line in shown.splitlines() if line.startswith("Turn ")]
        point = {"first_turn": numbers[0], "last_turn": numbers[-1], "text": text}
        note = {"turn": numbers[0], "kind": "fact", "quote": "What does section"}
        arguments = {"points": [point], "notes": [note]}
        return AIMessage("", tool_calls=[tool_call(name="CondensedTurns", args=arguments, id="1")])

    return fill


async def test_a_model_condenses_the_turns_that_left_the_history_if_there_are_many(
    log: TurnLog, database: Database, store: Store
) -> None:
    memory_service, calls = condensing_service(database, log, store, condensing(), turns=4, tokens=150)
    for turn in range(1, 33):
        await memory_service.update(await ask(log, f"What does section {turn} say?", CITED))
    memory = await stored(store)
    assert (memory.summarised_seq, memory.noted_seq) == (22, 32)
    assert [(point.first_seq, point.last_seq) for point in memory.summary[:2]] == [(1, 11), (12, 22)]
    assert {point.text for point in memory.summary if point.last_seq <= memory.summarised_seq} == {
        "All of it."
    }
    assert len(calls.calls) == 2
    assert sum(point.tokens for point in memory.summary) == 32 * 14


async def test_a_condensed_point_is_blocked_with_any_turn_that_its_model_was_shown(
    log: TurnLog, database: Database, store: Store
) -> None:
    def misattribute(messages: object, options: object) -> AIMessage:
        point = {"first_turn": 1, "last_turn": 1, "text": "The secret of turn 5."}
        return AIMessage(
            "", tool_calls=[tool_call(name="CondensedTurns", args={"points": [point], "notes": []}, id="1")]
        )

    memory_service, _ = condensing_service(database, log, store, misattribute, turns=2, tokens=10)
    for turn in range(1, 11):
        head = await ask(log, f"What does section {turn} say?", CITED)
    await memory_service.update(head)
    begun = (await begin(log, "And now?")).head

    async def shown(*blocked: tuple[int, int]) -> list[str]:
        return [point.text for point in (await memory_service.read(begun, None, blocked)).summary]

    assert "The secret of turn 5." in await shown()
    assert "The secret of turn 5." not in await shown((5, 5))
    assert "The secret of turn 5." in await shown((10, 10))


def _without_shown(connection: sqlite3.Connection) -> None:
    """Make the stored memories those of the version that did not store what a model was shown."""
    for (item,) in connection.execute("SELECT body ->> '$.item' FROM items_memory").fetchall():
        memory = json.loads(item)
        for point in memory["summary"]:
            del point["shown"]
        stored = (json.dumps(memory),)
        connection.execute("UPDATE items_memory SET body = json_set(body, '$.item', json(?))", stored)


async def test_a_condensed_point_of_an_earlier_version_is_blocked_with_every_condensed_turn(
    log: TurnLog, database: Database, store: Store
) -> None:
    memory_service, _ = condensing_service(
        database, log, store, condensing("The secret of turn 5."), turns=2, tokens=10
    )
    for turn in range(1, 11):
        head = await ask(log, f"What does section {turn} say?", CITED)
        if turn in (5, 10):
            await memory_service.update(head)
    assert [(point.first_seq, point.last_seq) for point in (await stored(store)).summary] == [
        (1, 3),
        (4, 8),
        (9, 9),
        (10, 10),
    ]
    await database.write(_without_shown)
    begun = (await begin(log, "And now?")).head

    async def shown(*blocked: tuple[int, int]) -> list[int]:
        return [point.first_seq for point in (await memory_service.read(begun, None, blocked)).summary]

    everything = await shown()
    assert everything[:2] == [1, 4]
    assert not {1, 4}.intersection(await shown((8, 8)))
    assert not {1, 4}.intersection(await shown((1, 1)))
    # Nothing but the answer of turn 9 is in its point.
    assert await shown((10, 10)) == [each for each in everything if each != 10]


async def test_a_point_of_an_answer_is_blocked_with_its_own_turn_only(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    for turn in range(1, 2 * UNWRITTEN_TURNS + 1):
        await memory_service.update(await ask(log, f"What does section {turn} say?", CITED))
    memory = await stored(store)
    assert memory.summarised_seq > 2
    assert [point.origin for point in memory.summary] == [
        (seq, seq) for seq in range(1, 2 * UNWRITTEN_TURNS + 1)
    ]


async def test_if_the_model_fails_the_sentences_remain_and_it_is_not_called_again(
    log: TurnLog, database: Database, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    memory_service, calls = condensing_service(
        database,
        log,
        store,
        lambda _messages, _options: AIMessage("I would rather talk."),
        turns=4,
        tokens=100,
    )
    for turn in range(1, 18):
        await memory_service.update(await ask(log, f"What does section {turn} say?", CITED))
    memory = await stored(store)
    assert len(memory.summary) == 16
    assert all("three months" in point.text for point in memory.summary)
    # The second call shows it what was wrong with its reply.
    assert len(calls.calls) == 2
    assert "ModelOutputInvalid" in caplog.text


@pytest.mark.slow
async def test_after_five_hundred_turns_memory_is_bounded_and_old_names_are_known(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    head = await ask(log, "Our project is called Halberd.")
    for n in range(2, 501):
        # Processing every turn separately is slow on a busy machine's disk and has the same result.
        question = f"My part {n} is number {n * 7}." if n % 2 else f"What does section {n} say?"
        head = await ask(log, question, CITED)
        if n % 45 == 0:
            await memory_service.update(head)
    await memory_service.update(head)
    await memory_service.update(head)
    memory = await stored(store)
    assert memory.noted_seq > 490
    assert len(memory.notes) <= MAX_NOTES
    assert len(memory.summary) <= MAX_POINTS
    assert len(memory.model_dump_json()) < 100_000
    asked = "What is our project called?"
    recalled = await memory_service.recall(asked, await memory_service.read(head))
    assert notes_of(recalled) == ["Our project is called Halberd."]
    assert recalled.coverage == 1.0


async def test_without_a_memory_nothing_is_remembered() -> None:
    turn = answered(1, "My name is Ada.")
    head = Head(**OWNER_FIELDS, created_at=turn.created_at, updated_at=turn.created_at)
    memory = ConversationMemory()
    await memory.update(head)
    assert await memory.read(head) == Memory()
    assert await memory.recall("What is my name?", Memory()) == Recalled()
    await memory.forget(OWNER)


OWNER_FIELDS = {"organization_id": "acme", "user_id": "ada", "conversation_id": "c-1"}


async def test_a_memory_of_an_unknown_format_fails_no_turn_and_is_rebuilt(
    log: TurnLog, memory_service: MemoryService, store: Store, database: Database
) -> None:
    await memory_service.update(await ask(log, "My name is Ada."))

    def spoil(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE items_memory SET body = replace(body, '\"fact\"', '\"goal\"')")

    await database.write(spoil)
    begun = await begin(log, "What is my name?")
    assert await memory_service.read(begun.head) == Memory(unread=UNKNOWN_FORM)
    await memory_service.update(begun.head)
    assert notes_of(await stored(store)) == ["My name is Ada."]
    assert notes_of(await memory_service.read(begun.head)) == ["My name is Ada."]


async def test_the_first_turn_of_a_conversation_reads_no_memory(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    store.error = DependencyDown("The store is down.", dependency="store")
    head = await ask(log, "My name is Ada.")
    assert await memory_service.read(head) == Memory(life=head.created_at)


async def test_a_store_that_fails_unexpectedly_fails_no_turn(
    log: TurnLog, memory_service: MemoryService, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await ask(log, "My name is Ada.")
    head = await ask(log, "And who are you?")
    store.error = ValueError("a bug")
    assert await memory_service.read(head) == Memory(unread=UNREADABLE)
    assert "the turn continues without it" in caplog.text


async def test_a_retry_of_a_turn_that_the_memory_has_passed_is_remembered_once(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    old = await begin(log, "Our project is called Halberd.")
    await log.fail(OWNER, old.turn.turn_id, old.turn.attempt, "model_down", "Away.")
    for number in range(2 * RETRIED_TURNS):
        head = await ask(log, f"What does section {number} say?", CITED)
    await memory_service.update(head)
    assert (await stored(store)).noted_seq > old.turn.seq
    retried = await begin_again(log, old)
    await commit(log, retried, CITED)
    for _ in range(2):
        await memory_service.update(retried.head)
        memory = await stored(store)
        assert notes_of(memory) == ["Our project is called Halberd."]
        assert [point.first_seq for point in memory.summary].count(old.turn.seq) == 1
        assert memory.summary[0].first_seq == old.turn.seq
    last = await ask(log, "And now?", CITED)
    await memory_service.update(last)
    assert [point.first_seq for point in (await stored(store)).summary].count(old.turn.seq) == 1


async def test_a_retry_within_the_newest_turns_is_remembered_once(
    log: TurnLog, memory_service: MemoryService, store: Store
) -> None:
    old = await begin(log, "Our project is called Halberd.")
    await log.fail(OWNER, old.turn.turn_id, old.turn.attempt, "model_down", "Away.")
    retried = await begin_again(log, old)
    await commit(log, retried, CITED)
    for number in range(3 * UNWRITTEN_TURNS):
        await memory_service.update(await ask(log, f"What does section {number} say?", CITED))
    memory = await stored(store)
    assert memory.noted_seq > old.turn.seq
    assert [point.first_seq for point in memory.summary].count(old.turn.seq) == 1


async def begin_again(log: TurnLog, earlier: Started) -> Started:
    """Retry the turn."""
    turn = earlier.turn
    again = NewTurn(key=turn.turn_id, request_hash="h", question=turn.question, retry=Retry())
    retried = await log.begin(OWNER, again, lease_seconds=60)
    assert isinstance(retried, Started)
    return retried


async def test_a_late_answer_is_remembered_in_spite_of_many_retries_that_failed_again(
    log: TurnLog, memory_service: MemoryService, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = [await begin(log, f"My badge {number} is blue.") for number in range(LATE_AT_ONCE + 3)]
    for each in begun:
        await log.fail(OWNER, each.turn.turn_id, each.turn.attempt, "model_down", "Away.")
    for number in range(2 * RETRIED_TURNS):
        head = await ask(log, f"What does section {number} say?", CITED)
    await memory_service.update(head)
    for each in begun[:-1]:
        retried = await begin_again(log, each)
        await log.fail(OWNER, each.turn.turn_id, retried.turn.attempt, "model_down", "Away.")
    last = await begin_again(log, begun[-1])
    await commit(log, last, CITED)
    reads: list[int] = []
    turns = log.turns

    async def counted(owner: Owner, *, after_seq: int = 0, limit: int = 100) -> list[Turn]:
        reads.append(after_seq)
        return await turns(owner, after_seq=after_seq, limit=limit)

    monkeypatch.setattr(log, "turns", counted)
    await memory_service.update(last.head)
    assert begun[-1].turn.seq in [point.first_seq for point in (await stored(store)).summary]
    assert len(reads) <= LATE_AT_ONCE + 1
