"""Small JSON blobs: no process overwrites what it has not read, and each recognizes its own writes."""

from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel

from devkit.azure.storage import Container, behind_proxy, fresh_container
from devkit.azure.targets import Target
from devkit.faults.messages import Request
from devkit.faults.rules import Kind, Rules
from orc_core.storage.blob.account import Storage
from orc_core.storage.queue import JsonBlobs, Version

AFTER = Rules(kinds=(Kind.RESET_AFTER,))


class Note(BaseModel):
    text: str


@pytest.fixture
async def container(storage_target: Target) -> AsyncIterator[Container]:
    async with fresh_container(storage_target) as container:
        yield container


@pytest.fixture
def notes(container: Container) -> JsonBlobs[Note]:
    return notes_in(container.storage, container.name)


def notes_in(storage: Storage, container: str) -> JsonBlobs[Note]:
    return JsonBlobs(storage.container(container), storage.blobs, Note)


async def present(notes: JsonBlobs[Note]) -> Version[Note]:
    found = await notes.read("a")
    assert found is not None
    return found


async def test_a_write_needs_the_version_that_is_there(notes: JsonBlobs[Note]) -> None:
    assert await notes.write("a", Note(text="one"), None)
    assert not await notes.write("a", Note(text="two"), None)
    one = await present(notes)
    assert await notes.write("a", Note(text="two"), one)
    assert not await notes.write("a", Note(text="three"), one)
    assert not await notes.remove("a", one)
    two = await present(notes)
    assert two.value == Note(text="two")
    assert await notes.remove("a", two)
    assert await notes.read("a") is None
    assert not await notes.write("a", Note(text="three"), two)
    assert await notes.remove("a", two)


async def test_a_write_whose_answer_was_lost_is_known_as_our_own(
    notes: JsonBlobs[Note], container: Container, storage_target: Target
) -> None:
    async def well_from_now_on(request: Request) -> None:
        proxy.rate = 0.0

    async with behind_proxy(storage_target, AFTER, on_request=well_from_now_on) as (storage, proxy):
        ours = notes_in(storage, container.name)
        proxy.rate = 1.0
        assert await ours.write("a", Note(text="one"), None)
        one = await present(notes)
        proxy.rate = 1.0
        assert await ours.write("a", Note(text="two"), one)
        two = await present(notes)
        assert two.value == Note(text="two")
        proxy.rate = 1.0
        assert await ours.remove("a", two)
        assert proxy.counts[Kind.RESET_AFTER] == 3
    assert await notes.read("a") is None
