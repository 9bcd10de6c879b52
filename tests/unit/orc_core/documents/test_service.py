"""DocumentService finds, adds and removes documents, for their owner only."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.fakes_documents import DocumentSide, Gate, break_down, open_document_side, pass_by
from orc_core.errors import Conflict, DependencyDown, NotFound, UnreadableDocument, UnsafeName
from orc_core.models import Document, DocumentStatus
from orc_core.names import BlobPath, Owner

OWNER = Owner("acme", "ann", "c1")
NEIGHBOURS = [Owner("globex", "ann", "c1"), Owner("acme", "bob", "c1"), Owner("acme", "ann", "c2")]
TEXT = "The quay opens at seven.\fThe harbour master has the key."


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[DocumentSide]:
    async with open_document_side(tmp_path) as opened:
        yield opened


async def upload(
    side: DocumentSide, name: str = "a.txt", content: str = TEXT, owner: Owner = OWNER
) -> Document:
    """An uploaded and fully processed document."""
    await side.library.upload(owner, name, side.file(content))
    await side.worker.drain()
    return await side.library.find(owner, BlobPath(owner, name).document_id)


async def put_by_hand(side: DocumentSide, name: str, content: str = TEXT, owner: Owner = OWNER) -> None:
    target = side.folder / "blobs" / str(BlobPath(owner, name))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)


async def remains(side: DocumentSide, name: str = "a.txt") -> list[str]:
    """The stores that still have data of a document."""
    path = BlobPath(OWNER, name)
    held = {
        "blob": await side.blobs.head(path),
        "record": await side.catalog.get(OWNER, [path.document_id]),
        "pages": await side.pages.get(path.document_id),
        "passages": side.index.passages.get(path.document_id),
        "jobs": await side.queue.progress(path.document_id),
        "analysis": await side.analyses.get([path.document_id]),
    }
    return [what for what, found in held.items() if found]


async def test_an_upload_is_listed_readable_and_searchable(side: DocumentSide) -> None:
    document = await upload(side)
    assert document.status is DocumentStatus.COMPLETED
    assert await side.library.resolve(OWNER, ["a.txt"]) == [document]
    assert await side.library.list_documents(OWNER) == [document]
    assert await side.library.readable(document) == document
    assert [page.number for page in await side.library.text(document)] == [1, 2]
    assert [page.text for page in await side.library.text(document, [2])] == [
        "The harbour master has the key."
    ]
    assert len(await side.index.search("quay", [document.document_id], 5)) == 1


async def test_an_upload_reports_progress(side: DocumentSide) -> None:
    heard: list[tuple[int, int, str]] = []
    await side.library.upload(OWNER, "a.txt", side.file(TEXT), lambda *step: heard.append(step))
    assert heard == [(2, 2, "Reading pages")]


async def test_an_upload_of_the_same_name_replaces_the_document(side: DocumentSide) -> None:
    first = await upload(side)
    second = await upload(side, content="Other text.")
    assert second.document_id == first.document_id
    assert second.etag != first.etag
    assert await side.library.list_documents(OWNER) == [second]
    assert await side.texts(second) == ("Other text.", "Other text.")


async def test_a_rejected_upload_leaves_nothing(side: DocumentSide) -> None:
    with pytest.raises(UnreadableDocument):
        await upload(side, content="DAMAGED")
    assert await remains(side) == []
    assert await side.library.list_documents(OWNER) == []


async def test_a_rejected_upload_leaves_the_document_it_would_have_replaced(side: DocumentSide) -> None:
    document = await upload(side)
    with pytest.raises(UnreadableDocument):
        await upload(side, content="DAMAGED")
    assert await side.library.resolve(OWNER, ["a.txt"]) == [document]
    assert "harbour" in (await side.texts(document))[1]


async def test_an_upload_without_text_is_stored_as_failed(side: DocumentSide) -> None:
    document = await upload(side, content="\f\f")
    assert (document.status, document.reason_code, document.pages) == (DocumentStatus.FAILED, "no_text", 3)
    assert await side.library.list_documents(OWNER) == [document]


async def test_an_upload_is_readable_at_once_and_searchable_when_completed(
    side: DocumentSide,
) -> None:
    document = await side.library.upload(OWNER, "a.txt", side.file(TEXT))
    assert (document.status, document.readable, document.pages) == (DocumentStatus.UPLOADED, True, 2)
    assert len(await side.library.text(document)) == 2
    assert side.index.passages.get(document.document_id) is None
    assert await side.library.progress(document) is not None
    await side.worker.drain()
    completed = await side.library.find(OWNER, document.document_id)
    assert completed.status is DocumentStatus.COMPLETED
    assert await side.library.progress(completed) is None


async def test_uploading_the_same_bytes_again_keeps_the_document_completed(
    side: DocumentSide,
) -> None:
    first = await upload(side)
    again = await side.library.upload(OWNER, "a.txt", side.file(TEXT))
    assert (again.status, again.created_at) == (DocumentStatus.COMPLETED, first.created_at)
    assert again.etag != first.etag
    assert await side.library.list_documents(OWNER) == [again]
    assert side.extractor.calls == 1
    assert "harbour" in (await side.texts(again))[1]


async def test_during_a_replacement_the_old_text_is_not_found(side: DocumentSide) -> None:
    await upload(side)
    document = await side.library.upload(OWNER, "a.txt", side.file("Other text."))
    assert await side.texts(document) == ("Other text.", "")


@pytest.mark.parametrize("store", ["pages", "catalog"])
async def test_an_upload_that_cannot_be_saved_leaves_nothing(side: DocumentSide, store: str) -> None:
    side.before_save(store, break_down)
    with pytest.raises(DependencyDown):
        await upload(side)
    assert await remains(side) == []


@pytest.mark.parametrize("store", ["pages", "catalog"])
async def test_a_replacement_that_failed_to_save_is_extracted_on_demand(
    side: DocumentSide, store: str
) -> None:
    await upload(side)
    side.before_save(store, break_down)
    with pytest.raises(DependencyDown):
        await upload(side, content="Other text.")
    side.before_save(store, pass_by)
    [document] = await side.library.resolve(OWNER, ["a.txt"])
    assert document.status is DocumentStatus.UPLOADED
    assert (await side.library.readable(document)).readable
    await side.worker.drain()
    assert await side.texts(document) == ("Other text.", "Other text.")


async def test_concurrent_uploads_of_one_name_leave_one_consistent_document(side: DocumentSide) -> None:
    names = [f"version-{number}" for number in range(8)]
    sources = [side.file(f"This is {name}.", name) for name in names]
    await asyncio.gather(*(side.library.upload(OWNER, "a.txt", source) for source in sources))
    await side.worker.drain()
    [document] = await side.library.list_documents(OWNER)
    assert document.status is DocumentStatus.COMPLETED
    async with side.blobs.local_copy(document.path) as local:
        text = local.read_text()
    assert await side.texts(document) == (text, text)


async def test_an_upload_replaced_by_another_process_returns_the_stored_document(side: DocumentSide) -> None:
    other, _ = side.another_process()

    async def replace_once() -> None:
        side.pages.before_save = pass_by
        await other.upload(OWNER, "a.txt", side.file("Other text.", "other"))

    side.pages.before_save = replace_once
    document = await side.library.upload(OWNER, "a.txt", side.file(TEXT))
    assert (await side.texts(document))[0] == "Other text."
    assert await other.resolve(OWNER, ["a.txt"]) == [document]
    await side.worker.drain()
    assert await side.texts(document) == ("Other text.", "Other text.")


@pytest.mark.parametrize("name", ["../a.txt", "acme/ann/c1/a.txt", "a%2f.txt", "", "a\\b.txt", "e\u0301.txt"])
async def test_a_file_with_an_unsafe_name_is_not_extracted(side: DocumentSide, name: str) -> None:
    with pytest.raises(UnsafeName):
        await upload(side, name)
    assert side.extractor.calls == 0


async def test_resolve_keeps_the_order_and_removes_duplicates(side: DocumentSide) -> None:
    first, second = await upload(side, "a.txt"), await upload(side, "b.txt", "Other text.")
    names = ["b.txt", "acme/ann/c1/a.txt", "a.txt", "acme/ann/c1/b.txt"]
    assert await side.library.resolve(OWNER, names) == [second, first]
    assert await side.library.resolve(OWNER, []) == []


async def test_resolve_validates_all_names_before_any_lookup(side: DocumentSide) -> None:
    await put_by_hand(side, "a.txt")
    with pytest.raises(UnsafeName):
        await side.library.resolve(OWNER, ["a.txt", "../b.txt"])
    with pytest.raises(UnsafeName):
        await side.library.resolve(OWNER, ["missing.txt", "../b.txt"])
    assert await remains(side) == ["blob"]


async def test_a_directly_stored_blob_is_found_and_extracted_on_demand(side: DocumentSide) -> None:
    await put_by_hand(side, "a.txt")
    [found] = await side.library.resolve(OWNER, ["a.txt"])
    assert found.status is DocumentStatus.UPLOADED
    assert await side.library.resolve(OWNER, ["a.txt"]) == [found]
    assert await side.library.list_documents(OWNER) == [found]
    assert (await side.library.readable(found)).readable
    await side.worker.drain()
    document = await side.library.find(OWNER, found.document_id)
    assert (document.status, document.created_at) == (DocumentStatus.COMPLETED, found.created_at)
    assert await side.library.resolve(OWNER, ["a.txt"]) == [document]


async def test_a_directly_changed_blob_is_processed_again(side: DocumentSide) -> None:
    document = await upload(side)
    await put_by_hand(side, "a.txt", "Other text, by hand.")
    [found] = await side.library.resolve(OWNER, ["a.txt"])
    assert (found.status, found.etag != document.etag) == (DocumentStatus.UPLOADED, True)
    await side.worker.drain()
    assert (await side.texts(found))[1] == "Other text, by hand."


async def test_a_name_without_a_blob_is_not_found_for_any_user(side: DocumentSide) -> None:
    await upload(side)
    messages = set()
    for owner in (*NEIGHBOURS, Owner("acme", "ann", "c3")):
        for name in ("a.txt", "missing.txt"):
            with pytest.raises(NotFound) as missing:
                await side.library.resolve(owner, [name])
            messages.add(missing.value.message.replace(name, "NAME"))
    for name in ("globex/eve/c9/a.txt", "acme/ann/c1/missing.txt"):
        with pytest.raises(NotFound) as missing:
            await side.library.resolve(OWNER, [name])
        messages.add(missing.value.message.replace(name, "NAME"))
    assert len(messages) == 1


async def test_a_listing_removes_data_of_a_missing_blob(side: DocumentSide) -> None:
    for look in ("resolve", "list"):
        document = await upload(side)
        await side.blobs.delete(document.path)
        if look == "resolve":
            with pytest.raises(NotFound):
                await side.library.resolve(OWNER, ["a.txt"])
        else:
            assert await side.library.list_documents(OWNER) == []
        assert await remains(side) == []


async def test_a_listing_has_one_conversations_documents_oldest_first(side: DocumentSide) -> None:
    await upload(side, "b.txt")
    await put_by_hand(side, "c.txt")
    await side.library.list_documents(OWNER)
    await upload(side, "a.txt")
    for neighbour in NEIGHBOURS:
        await upload(side, "theirs.txt", owner=neighbour)
    listed = await side.library.list_documents(OWNER)
    assert [document.blob_name for document in listed] == ["b.txt", "c.txt", "a.txt"]


async def test_a_deleted_document_is_gone_everywhere(side: DocumentSide) -> None:
    document, kept = await upload(side), await upload(side, "kept.txt")
    await side.library.delete(OWNER, document.document_id)
    assert await remains(side) == []
    assert await side.library.list_documents(OWNER) == [kept]
    with pytest.raises(NotFound):
        await side.library.resolve(OWNER, ["a.txt"])
    with pytest.raises(NotFound):
        await side.library.delete(OWNER, document.document_id)


async def test_a_blob_without_a_record_can_be_deleted(side: DocumentSide) -> None:
    await put_by_hand(side, "a.txt")
    await side.library.delete(OWNER, BlobPath(OWNER, "a.txt").document_id)
    assert await remains(side) == []


@pytest.mark.slow
@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=str)
async def test_documents_of_other_owners_cannot_be_deleted(side: DocumentSide, neighbour: Owner) -> None:
    document = await upload(side)
    await upload(side, owner=neighbour)
    answers = []
    for document_id in (document.document_id, "no-such-id"):
        with pytest.raises(NotFound) as missing:
            await side.library.delete(neighbour, document_id)
        answers.append(missing.value.message)
    assert answers[0] == answers[1]
    await side.library.delete_all(neighbour)
    assert await remains(side) == ["blob", "record", "pages", "passages"]


async def test_delete_all_clears_a_conversation(side: DocumentSide) -> None:
    await upload(side, "a.txt")
    vanished = await upload(side, "vanished.txt")
    await side.blobs.delete(vanished.path)
    await put_by_hand(side, "by-hand.txt")
    assert await side.library.delete_all(OWNER) is True
    assert await side.library.delete_all(OWNER) is False
    for name in ("a.txt", "vanished.txt", "by-hand.txt"):
        assert await remains(side, name) == []


@pytest.mark.parametrize("act", ["retry_failed", "delete_failed"])
async def test_what_replaces_a_failed_document_meanwhile_is_kept(
    side: DocumentSide, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    await put_by_hand(side, "a.txt", "DAMAGED")
    [found] = await side.library.resolve(OWNER, ["a.txt"])
    failed = await side.library.readable(found)
    good = await upload(side)

    async def listed_before(_owner: Owner) -> list[Document]:
        return [failed]

    monkeypatch.setattr(side.catalog, "list_in", listed_before)
    assert await getattr(side.library, act)(OWNER) == 0
    assert await side.library.find(OWNER, good.document_id) == good


@pytest.mark.parametrize(("act", "left"), [("retry_failed", 2), ("delete_failed", 1)])
async def test_documents_that_failed_are_read_again_or_removed(
    side: DocumentSide, act: str, left: int
) -> None:
    await put_by_hand(side, "b.txt", "DAMAGED")
    [found] = await side.library.resolve(OWNER, ["b.txt"])
    await side.library.readable(found)
    await upload(side)
    assert await getattr(side.library, act)(OWNER) == 1
    assert len(await side.library.list_documents(OWNER)) == left


async def test_only_the_bytes_that_are_meant_are_deleted(side: DocumentSide) -> None:
    first = await upload(side)
    second = await upload(side, content="Another text.")
    with pytest.raises(Conflict):
        await side.library.delete(OWNER, first.document_id, etag=first.etag)
    assert await side.library.find(OWNER, first.document_id) == second
    await side.library.delete(OWNER, first.document_id, etag=second.etag)
    assert await remains(side) == []


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_what_another_process_stores_during_a_deletion_is_found_afterwards(
    side: DocumentSide, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    document, delete = await upload(side), side.blobs.delete
    other, worker = side.another_process()

    async def delete_while_replaced(path: BlobPath, etag: str | None = None) -> None:
        if moment == "after":
            await delete(path, etag)
        await other.upload(OWNER, "a.txt", side.file("Other text.", "other"))
        await worker.drain()
        if moment == "before":
            await delete(path, etag)

    monkeypatch.setattr(side.blobs, "delete", delete_while_replaced)
    with pytest.raises(Conflict):
        await side.library.delete(OWNER, document.document_id, etag=document.etag)
    await worker.drain()
    assert await side.texts(document) == ("Other text.", "Other text.")
    assert (await side.library.find(OWNER, document.document_id)).status is DocumentStatus.COMPLETED


async def test_an_upload_that_takes_long_is_read_by_any_worker_later(side: DocumentSide) -> None:
    side.extractor.during = Gate()
    taken = await side.library.upload(OWNER, "a.txt", side.file(TEXT), seconds=0.01)
    assert (taken.status, taken.readable) == (DocumentStatus.PROCESSING, False)
    assert await side.library.list_documents(OWNER) == [taken]
    side.extractor.during = pass_by
    _, worker = side.another_process()
    await worker.drain()
    read = await side.library.find(OWNER, taken.document_id)
    assert (read.status, read.readable, read.pages) == (DocumentStatus.COMPLETED, True, 2)


async def test_an_upload_that_is_damaged_after_a_long_time_fails_with_the_reason(side: DocumentSide) -> None:
    side.extractor.during = Gate()
    taken = await side.library.upload(OWNER, "a.txt", side.file("DAMAGED"), seconds=0.01)
    side.extractor.during = pass_by
    await side.worker.drain()
    failed = await side.library.find(OWNER, taken.document_id)
    assert failed.status is DocumentStatus.FAILED
    assert "damaged" in (failed.reason or "")
