"""A memory has nothing of turns that were replaced, whenever that was, and keeps everything else."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random

import pytest

from devkit.remembered_turns import CITED, OWNER, begin, commit, memory_service_of
from devkit.store_pairs import items_here
from orc.conversations.models import Head, Started, Turn
from orc.conversations.turn_log import TurnLog
from orc.memory.models import Memory, Note, NoteKind, SummaryPoint, gaps, without_replaced
from orc.memory.service import MemoryStore
from orc.memory.summary import Condensed, Summarizer
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.tables import TABLES


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "orc.db")
    await opened.migrate(TABLES["conversations"].schema, TABLES["memory"].schema)
    yield opened
    await opened.close()


def note(first: int, last: int, kind: NoteKind = NoteKind.FACT) -> Note:
    return Note(kind=kind, text="The badge is blue.", first_seen=first, last_seen=last)


def point(first: int, last: int) -> SummaryPoint:
    return SummaryPoint(text=f"{first} to {last}", first_seq=first, last_seq=last)


@pytest.mark.parametrize(
    ("stored", "replaced", "kept"),
    [
        (note(2, 2), [2], None),
        (note(2, 5), [2, 5], None),
        (note(2, 5), [5], note(2, 2)),
        (note(2, 5), [2], note(5, 5)),
        (note(2, 5), [3], note(2, 5)),
        (note(2, 5, NoteKind.QUESTION), [5], None),
    ],
)
def test_a_note_stays_if_another_turn_says_it_too(
    stored: Note, replaced: list[int], kept: Note | None
) -> None:
    memory = without_replaced(Memory(notes=[stored]), replaced)
    assert memory.notes == ([] if kept is None else [kept])


def test_points_of_replaced_turns_go_and_those_of_others_are_to_be_made_again() -> None:
    memory = Memory(summary=[point(1, 4), point(5, 5), point(6, 6)], without=[3])
    assert gaps(memory, [2, 3, 5]) == [(1, 4)]
    after = without_replaced(memory, [2, 3, 5])
    assert ([each.first_seq for each in after.summary], after.without) == ([6], [2, 3, 5])
    assert without_replaced(after, [2, 3, 5]) is after


def test_a_point_goes_with_any_turn_that_its_model_was_shown() -> None:
    made = SummaryPoint(text="The secret of turn 5.", first_seq=1, last_seq=1, shown=(1, 8))
    memory = Memory(noted_seq=9, summary=[made, point(9, 9)])
    assert [each.first_seq for each in without_replaced(memory, [5]).summary] == [9]
    assert gaps(memory, [5]) == [(1, 1)]
    assert gaps(memory, [1]) == []


@pytest.mark.slow
async def test_nothing_of_a_replaced_turn_is_remembered_and_all_of_the_others(database: Database) -> None:
    """Each question has its own word; turns are replaced at random, and the memory updated at random."""
    log, random = TurnLog(items_here(database, "conversations")), Random(7)
    service = memory_service_of(database, log, history_turns=4)
    words: dict[str, str] = {}
    gone: set[str] = set()
    for number in range(60):
        replaced = random.choice([*words]) if words and random.random() < 0.3 else None
        word = f"canary{number}"
        begun = await begin(log, f"My word is {word}. What is the notice?", replaces=replaced)
        if replaced is not None:
            gone.add(words.pop(replaced))
        words[begun.turn.turn_id] = word
        read = (await service.read(begun.head)).model_dump_json()
        assert not any(f"{each}." in read for each in gone)
        await commit(log, begun, f"Noted, {word}. {CITED}")
        if random.random() < 0.7:
            await service.update(begun.head)
    await service.update(begun.head)
    stored = await MemoryStore(items_here(database, "memory")).read(OWNER)
    assert stored is not None
    said = " ".join(each.text for each in stored.notes)
    assert not any(f"{each}." in stored.model_dump_json() for each in gone)
    assert [each for each in words.values() if f"{each}." not in said] == []
    assert gone


async def _asked(log: TurnLog, number: int, replaces: str | None = None) -> Started:
    begun = await begin(log, f"What is the fee of canary{number}?", replaces=replaces)
    await commit(log, begun, f'The fee of canary{number} is {number} euros. [Page 5 of Document "a.pdf"]')
    return begun


async def test_a_point_of_several_turns_is_made_again_without_the_replaced_one(database: Database) -> None:
    log, store = TurnLog(items_here(database, "conversations")), MemoryStore(items_here(database, "memory"))
    service = memory_service_of(database, log)
    begun = [await _asked(log, number) for number in (1, 2, 3)]
    merged = SummaryPoint(text="canary1, canary2 and canary3", first_seq=1, last_seq=3)
    await store.write(OWNER, Memory(life=begun[0].head.created_at, noted_seq=3, summary=[merged]))
    new = await _asked(log, 4, replaces=begun[1].turn.turn_id)
    await service.update(new.head)
    stored = await store.read(OWNER)
    assert stored is not None
    texts = " ".join(each.text for each in stored.summary)
    assert ["canary1" in texts, "canary2" in texts, "canary3" in texts] == [True, False, True]


class _Replacing(Summarizer):
    """While it reads, the user replaces one of the turns."""

    def __init__(self, log: TurnLog) -> None:
        self.log = log
        self.read: list[int] = []

    async def condense(self, turns: Sequence[Turn]) -> Condensed | None:
        self.read = [turn.seq for turn in turns]
        await begin(self.log, "Never mind.", replaces=turns[0].turn_id)
        text = " ".join(turn.question for turn in turns)
        return Condensed([SummaryPoint(text=text, first_seq=turns[0].seq, last_seq=turns[-1].seq)], [])


async def test_a_model_does_not_condense_what_is_replaced_meanwhile(database: Database) -> None:
    log, store = TurnLog(items_here(database, "conversations")), MemoryStore(items_here(database, "memory"))
    summarizer = _Replacing(log)
    service = memory_service_of(
        database, log, summarizer=summarizer, history_turns=1, summary_threshold_tokens=1
    )
    head: Head | None = None
    for number in range(1, 6):
        head = (await _asked(log, number)).head
    assert head is not None
    await service.update(head)
    assert summarizer.read
    begun = await begin(log, "And now?")
    for memory in (await service.read(begun.head), await store.read(OWNER)):
        assert memory is not None
        shown = without_replaced(memory, begun.head.replaced).model_dump_json()
        assert f"canary{summarizer.read[0]}" not in shown
    assert f"canary{summarizer.read[-1]}" in (await service.read(begun.head)).model_dump_json()
