"""What differs between records, files, texts and index is named, and repaired from the files."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.consistency import Differences, compare, repair
from orc_core.documents.places import Accessible
from orc_core.infra.items import VERSION, Item, upsert
from orc_core.infra.settings import CoreSettings
from orc_core.models import BlobProperties, Document, DocumentStatus
from orc_core.names import BlobPath, Owner

pytestmark = [pytest.mark.contract("consistency"), pytest.mark.slow]

ANN, TEAM = Owner("acme", "ann", "c1"), Owner.of_context("acme", "k3v9x2mq7hd4tz1w")
OWNERS = (ANN, Owner("globex", "bob", "c2"), TEAM)
FEES, TIDES = "The mooring fee is 410 euros. ", "The tide is high at noon. "


@pytest.fixture(params=["embedded", "azure"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def opened(stored_in: CoreSettings, tmp_path: Path) -> AsyncIterator[Documents]:
    """The documents of two users and of a context, read and indexed, and one that could not be read."""
    async with open_documents(stored_in, analyser=True) as documents:
        for owner in OWNERS:
            await documents.library.upload(owner, "fees.txt", source(tmp_path, FEES * 200))
        await documents.stores.blobs.put(BlobPath(ANN, "broken.pdf"), source(tmp_path, "%PDF-1.7"))
        await documents.library.list_documents(ANN)
        await documents.worker.drain()
        yield documents


def source(folder: Path, text: str) -> Path:
    (file := folder / "source.txt").write_text(text)
    return file


async def fees(documents: Documents, owner: Owner = ANN) -> Document:
    found = await documents.stores.get(BlobPath(owner, "fees.txt"))
    assert found is not None
    return found


async def is_found(documents: Documents, owner: Owner = ANN, words: str = "mooring fee") -> bool:
    found = await documents.retriever.search_places(words, Accessible.of_owner(owner), 5)
    return bool(found.hits)


async def repaired(documents: Documents, *, everything: bool = False) -> list[Document]:
    """What was queued to be made again. Nothing is missing afterwards."""
    queued = await repair(documents.stores, await compare(documents.stores), everything=everything)
    await documents.worker.drain()
    left = await compare(documents.stores)
    assert list(left.findings) == []
    assert all([await is_found(documents, owner) for owner in OWNERS])
    return queued


async def lose_index(documents: Documents) -> None:
    for owner in OWNERS:
        await documents.stores.index.delete((await fees(documents, owner)).document_id)


async def lose_text(documents: Documents) -> None:
    await documents.stores.pages.delete((await fees(documents)).document_id)


async def lose_record(documents: Documents) -> None:
    await documents.stores.forget((await fees(documents)).path)


async def lose_file(documents: Documents) -> None:
    await documents.stores.blobs.delete((await fees(documents)).path)


@pytest.mark.parametrize(
    ("lose", "kind", "count", "is_damage"),
    [
        (lose_index, "unindexed", 3, True),
        (lose_text, "textless", 1, True),
        (lose_record, "new", 1, False),
        (lose_file, "lost", 1, True),
    ],
)
async def test_what_is_missing_is_named_and_made_again_if_there_is_the_file(
    opened: Documents,
    tmp_path: Path,
    lose: Callable[[Documents], Awaitable[None]],
    kind: str,
    count: int,
    is_damage: bool,
) -> None:
    assert list((await compare(opened.stores)).findings) == []
    await lose(opened)
    different = await compare(opened.stores)
    assert {name: len(each) for name, each in kinds(different).items() if each} == {kind: count}
    [finding] = different.findings
    assert (finding.is_damage, "fees.txt" in finding.problem) == (is_damage, True)
    if kind == "lost":
        assert await repair(opened.stores, different) == []
        assert len((await compare(opened.stores)).lost) == 1, "the record says what to restore"
        await opened.stores.blobs.put(BlobPath(ANN, "fees.txt"), source(tmp_path, FEES * 200))
    assert len(await repaired(opened)) == (0 if kind == "lost" else count)


async def test_documents_that_wait_for_long_are_named(opened: Documents) -> None:
    found = await compare(opened.stores)
    for minutes, problems in ((29, 0), (31, 1)):
        at = datetime.now(UTC) - timedelta(minutes=minutes)
        waits = found.known[0].model_copy(update={"status": DocumentStatus.UPLOADED, "updated_at": at})
        named = [each for each in replace(found, known=[waits]).findings if not each.is_damage]
        assert len(named) == problems


def kinds(different: Differences) -> dict[str, list[object]]:
    return {name: each for name, each in vars(different).items() if name not in ("known", "unreadable")}


async def test_a_lost_index_is_made_from_the_stored_text_while_documents_can_be_read(
    opened: Documents,
) -> None:
    before = await fees(opened)
    await lose_index(opened)
    [queued, *_] = await repair(opened.stores, await compare(opened.stores))
    assert (queued.readable, queued.status) == (True, DocumentStatus.PROCESSING)
    await opened.stores.blobs.delete(BlobPath(ANN, "broken.pdf"))
    await opened.worker.drain()
    after = await fees(opened)
    assert (after.generation, after.created_at) == (before.generation, before.created_at)


async def test_a_restored_file_with_the_same_bytes_keeps_what_was_made_of_it(
    opened: Documents, tmp_path: Path
) -> None:
    before = await fees(opened)
    blob = await opened.stores.blobs.put(before.path, source(tmp_path, FEES * 200))
    assert blob.etag != before.etag
    assert [each.document_id for each in (await compare(opened.stores)).changed] == [before.document_id]
    assert await repaired(opened) == []
    assert await fees(opened) == before.model_copy(update={"etag": blob.etag})
    assert await opened.stores.analyses.finished([await fees(opened)]) == {before.document_id}


async def test_a_restored_file_is_indexed_again_if_the_index_was_lost_too(
    opened: Documents, tmp_path: Path
) -> None:
    await opened.stores.blobs.put(BlobPath(ANN, "fees.txt"), source(tmp_path, FEES * 200))
    await lose_index(opened)
    assert len(await repaired(opened)) == len(OWNERS)


async def test_a_file_with_other_bytes_is_read_again(opened: Documents, tmp_path: Path) -> None:
    before = await fees(opened, TEAM)
    await opened.stores.blobs.put(before.path, source(tmp_path, TIDES * 200 + FEES))
    assert len(await repaired(opened)) == 1
    after = await fees(opened, TEAM)
    assert (after.sha256 != before.sha256, after.created_at) == (True, before.created_at)
    assert await is_found(opened, TEAM, "tide noon")


async def test_everything_is_made_again_from_the_files_on_request(opened: Documents) -> None:
    before = [await fees(opened, owner) for owner in OWNERS]
    assert len(await repaired(opened, everything=True)) == len(OWNERS) + 1
    after = [await fees(opened, owner) for owner in OWNERS]
    assert all(one.generation != other.generation for one, other in zip(before, after, strict=True))
    assert [each.created_at for each in before] == [each.created_at for each in after]


async def test_what_is_written_or_deleted_meanwhile_is_no_difference(
    opened: Documents, tmp_path: Path
) -> None:
    stores, deleted = opened.stores, await fees(opened)

    class Meanwhile:
        """The files, listed after another process has uploaded a document and deleted one."""

        head, get = stores.blobs.head, stores.get

        async def list_all(self) -> list[BlobProperties]:
            await opened.library.upload(ANN, "tides.txt", source(tmp_path, TIDES))
            await opened.library.delete(ANN, deleted.document_id)
            return await stores.blobs.list_all()

    different = await compare(replace(stores, blobs=Meanwhile()))  # type: ignore[arg-type]
    assert kinds(different) == {name: [] for name in kinds(different)}


async def test_a_record_of_a_newer_version_is_left_alone(opened: Documents) -> None:
    """Only that version knows what it says: its file is neither new nor read again."""
    items, path = await opened.clients.items("documents"), (await fees(opened)).path

    async def record() -> Item:
        [found] = [each for each in await items.query(ANN.key) if each["id"].endswith(path.document_id)]
        return {name: value for name, value in found.items() if name != VERSION and name[0] != "_"}

    await items.write(ANN.key, upsert({**await record(), "status": "of-a-newer-version"}))
    before, different = await record(), await compare(opened.stores)
    assert (different.new, different.unreadable) == ([], 1)
    assert await repair(opened.stores, different, everything=True) != []
    assert await record() == before


@pytest.mark.parametrize("lose", [lose_record, lose_text])
async def test_what_was_read_again_since_the_comparison_is_not_begun_again(
    opened: Documents, lose: Callable[[Documents], Awaitable[None]]
) -> None:
    path = (await fees(opened)).path
    await lose(opened)
    different = await compare(opened.stores)
    # Another process has it read meanwhile.
    if (blob := await opened.stores.blobs.head(path)) is not None:
        await opened.stores.begin(blob)
    await opened.worker.drain()
    before = await fees(opened)
    assert await repair(opened.stores, different) == []
    assert (await fees(opened), before.readable) == (before, True)
