"""The contract of the memory store, run over every adapter."""

import warnings
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devkit.azure.cosmos import FaultyTransport, database
from devkit.azure.targets import Target
from devkit.remembered_turns import OWNER
from devkit.store_pairs import opened_items
from orc.memory.models import UNKNOWN_FORM, Memory, Note, NoteKind, SummaryPoint
from orc.memory.service import MemoryStore
from orc_core.names import Owner
from orc_core.storage.cosmos.items import items_of

pytestmark = pytest.mark.contract("memory store")

STRANGERS = [Owner("umbra", "ada", "c-1"), Owner("acme", "bob", "c-1"), Owner("acme", "ada", "c-2")]
MEMORY = Memory(
    life=datetime(2025, 1, 1, 12, 30, 15, 123456, tzinfo=UTC),
    noted_seq=4,
    summarised_seq=3,
    summary=[SummaryPoint(text="“Was?” Ja · 是", first_seq=1, last_seq=3, tokens=40, shown=(1, 3))],
    notes=[Note(kind=NoteKind.FACT, text="My name is Ada.", subject="name", first_seen=1, last_seen=4)],
)


@pytest.fixture
async def store(adapter: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore]:
    async with opened_items(adapter, request, tmp_path, "memory") as open_items:
        yield MemoryStore(await open_items())


def version(number: int) -> Memory:
    return MEMORY.model_copy(update={"version": number, "noted_seq": 4 + number})


async def test_what_is_written_is_read_as_the_next_version(store: MemoryStore) -> None:
    assert await store.read(OWNER) is None
    assert await store.write(OWNER, version(0))
    assert await store.read(OWNER) == version(0).model_copy(update={"version": 1})
    assert await store.write(OWNER, version(1))
    assert await store.read(OWNER) == version(1).model_copy(update={"version": 2})


async def test_only_the_stored_version_is_written_over(store: MemoryStore) -> None:
    assert not await store.write(OWNER, version(1))
    assert await store.read(OWNER) is None
    assert await store.write(OWNER, version(0))
    assert await store.write(OWNER, version(1))
    for stale in (version(0), version(1).model_copy(update={"noted_seq": 99}), version(3)):
        assert not await store.write(OWNER, stale)
    assert await store.read(OWNER) == version(1).model_copy(update={"version": 2})


async def test_the_same_write_made_twice_counts_as_written(store: MemoryStore) -> None:
    assert await store.write(OWNER, version(0))
    assert await store.write(OWNER, version(0))
    stored = await store.read(OWNER)
    assert stored is not None and stored.version == 1


async def test_another_owner_cannot_read_overwrite_or_delete_it(store: MemoryStore) -> None:
    assert await store.write(OWNER, version(0))
    for stranger in STRANGERS:
        assert await store.read(stranger) is None
        await store.delete(stranger)
        assert await store.write(stranger, Memory())
    assert await store.read(OWNER) == version(0).model_copy(update={"version": 1})


async def test_a_deleted_memory_can_be_written_again(store: MemoryStore) -> None:
    await store.delete(OWNER)
    assert await store.write(OWNER, version(0))
    await store.delete(OWNER)
    assert await store.read(OWNER) is None
    assert not await store.write(OWNER, version(1))
    assert await store.write(OWNER, version(0))


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_write_whose_confirmation_was_lost_counts_as_written(
    cosmos_target: Target, is_first: bool
) -> None:
    async with database(cosmos_target) as open_database:
        wire = FaultyTransport()
        store = MemoryStore(items_of(open_database(wire), "memory"))
        if not is_first:
            await store.write(OWNER, version(0))
        wire.fail_after_write(408)
        assert await store.write(OWNER, version(0 if is_first else 1))
        stored = await store.read(OWNER)
        assert stored is not None and stored.version == (1 if is_first else 2)


async def test_what_is_of_no_known_form_is_of_no_life_and_can_be_written_over(store: MemoryStore) -> None:
    assert await store.write(OWNER, version(0))
    odd = MEMORY.notes[0].model_copy(update={"kind": "goal"})
    with warnings.catch_warnings():
        # As a later Orc may write it, which knows more kinds of notes.
        warnings.simplefilter("ignore", UserWarning)
        assert await store.write(OWNER, version(1).model_copy(update={"notes": [odd]}))
    assert await store.read(OWNER) == Memory(version=2, unread=UNKNOWN_FORM)
    assert await store.write(OWNER, version(2))
    assert await store.read(OWNER) == version(2).model_copy(update={"version": 3})
