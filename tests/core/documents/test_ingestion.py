"""Ingestion: text is searchable before a record says so, whoever else does what meanwhile."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.documents.models import Document, DocumentStatus
from core.documents.names import BlobPath, Owner
from core.documents.ports import Progress
from core.errors import DependencyDown, NotFound, Unavailable
from tests.fakes_documents import DocumentSide, Gate, break_down, open_document_side, pass_by

OWNER = Owner("acme", "ann", "c1")
PATH = BlobPath(OWNER, "a.txt")
TEXT = "The quay opens at seven.\fThe harbour master has the key."


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[DocumentSide]:
    async with open_document_side(tmp_path) as opened:
        yield opened


async def put(side: DocumentSide, content: str = TEXT) -> Document:
    return Document.first_seen(await side.blobs.put(PATH, side.file(content)))


async def stored(side: DocumentSide) -> Document | None:
    return next(iter(await side.catalog.get(OWNER, [PATH.document_id])), None)


async def test_a_blob_becomes_searchable_text_and_a_completed_record(side: DocumentSide) -> None:
    seen = await put(side)
    document = await side.ingestion.ingest(seen)
    assert await stored(side) == document
    assert document.status is DocumentStatus.COMPLETED
    assert (document.pages, document.pages_without_text, document.tokens) == (2, 0, 11)
    assert (document.media_type, document.etag, len(document.sha256)) == ("text/plain", seen.etag, 64)
    assert [page.tokens for page in await side.pages.get(document.document_id)] == [5, 6]
    [hit] = await side.index.search("harbour", [document.document_id], 5)
    assert hit.passage.page == 2


async def test_the_record_keeps_when_the_document_was_first_seen(side: DocumentSide) -> None:
    seen = await put(side)
    document = await side.ingestion.ingest(seen)
    assert document.created_at == seen.created_at
    assert document.updated_at > seen.updated_at


async def test_pages_without_text_are_counted_and_the_rest_is_completed(side: DocumentSide) -> None:
    document = await side.ingestion.ingest(await put(side, "Text.\f\f \fMore."))
    assert document.status is DocumentStatus.COMPLETED
    assert (document.pages, document.pages_without_text) == (4, 2)


@pytest.mark.parametrize(("content", "words"), [("\f\f", "None of its 3 pages"), ("", "Its only page")])
async def test_no_text_at_all_is_a_failure_that_names_the_remedy(
    side: DocumentSide, content: str, words: str
) -> None:
    document = await side.ingestion.ingest(await put(side, content))
    assert await stored(side) == document
    assert (document.status, document.reason_code) == (DocumentStatus.FAILED, "no_text")
    assert document.reason is not None
    assert words in document.reason
    assert "scanned" in document.reason
    assert "OCR" in document.reason


async def test_a_scan_with_a_stray_stamp_is_not_searchable(side: DocumentSide) -> None:
    side.extractor.media_type = "application/pdf"
    document = await side.ingestion.ingest(await put(side, "Page 7\f"))
    assert document.reason_code == "no_text"
    assert side.index.passages[document.document_id] == []


async def test_a_rejected_file_is_a_failure_with_the_reason_of_the_extractor(side: DocumentSide) -> None:
    document = await side.ingestion.ingest(await put(side, "DAMAGED"))
    assert await stored(side) == document
    assert (document.status, document.reason_code) == (DocumentStatus.FAILED, "unreadable_document")
    assert document.reason == "a.txt is damaged. Save it anew and upload it again."


async def test_what_is_completed_is_not_done_again(side: DocumentSide) -> None:
    seen = await put(side)
    document = await side.ingestion.ingest(seen)
    assert await side.ingestion.ingest(seen) == document
    assert await side.ingestion.ingest(document) == document
    assert side.extractor.calls == 1


async def test_changed_bytes_are_read_again(side: DocumentSide) -> None:
    first = await side.ingestion.ingest(await put(side))
    await put(side, "Other text.")
    second = await side.ingestion.ingest(first)
    assert second.etag != first.etag
    assert await side.texts(second) == ("Other text.", "Other text.")


@pytest.mark.parametrize("content", ["DAMAGED", "\f"])
async def test_nothing_of_the_old_text_survives_bytes_that_have_none(
    side: DocumentSide, content: str
) -> None:
    first = await side.ingestion.ingest(await put(side))
    await put(side, content)
    failed = await side.ingestion.ingest(first)
    assert failed.status is DocumentStatus.FAILED
    assert (failed.tokens, failed.etag != first.etag) == (0, True)
    pages, passages = await side.texts(failed)
    assert (pages.strip(), passages) == ("", "")


async def test_a_blob_that_is_not_there_is_not_found(side: DocumentSide) -> None:
    seen = await put(side)
    await side.blobs.delete(PATH)
    with pytest.raises(NotFound):
        await side.ingestion.ingest(seen)


@pytest.mark.parametrize("step", ["pages", "index", "catalog"])
async def test_a_failure_at_any_step_is_simply_redone(side: DocumentSide, step: str) -> None:
    old = await side.ingestion.ingest(await put(side, "Old text."))
    seen = await put(side)
    side.before_save(step, break_down)
    with pytest.raises(DependencyDown):
        await side.ingestion.ingest(seen)
    assert await stored(side) == old
    assert old.etag != seen.etag
    side.before_save(step, pass_by)
    document = await side.ingestion.ingest(seen)
    assert document.status is DocumentStatus.COMPLETED
    assert "harbour master" in (await side.texts(document))[1]


async def test_calls_at_the_same_time_share_one_run(side: DocumentSide) -> None:
    seen = await put(side)
    documents = await asyncio.gather(*(side.ingestion.ingest(seen) for _ in range(10)))
    assert side.extractor.calls == 1
    assert documents == [await stored(side)] * 10


async def test_calls_at_the_same_time_share_one_failure(side: DocumentSide) -> None:
    seen = await put(side)
    side.before_save("index", break_down)
    ended = await asyncio.gather(*(side.ingestion.ingest(seen) for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in ended] == [DependencyDown] * 3
    assert side.extractor.calls == 1


async def test_a_cancelled_caller_does_not_stop_the_others(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    first, second = (asyncio.create_task(side.ingestion.ingest(seen)) for _ in range(2))
    await gate.reached.wait()
    first.cancel()
    await asyncio.wait([first])
    gate.opened.set()
    assert (await second).status is DocumentStatus.COMPLETED
    assert first.cancelled()
    assert side.extractor.calls == 1


async def test_a_run_goes_on_when_its_only_caller_is_cancelled(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    caller = asyncio.create_task(side.ingestion.ingest(seen))
    await gate.reached.wait()
    caller.cancel()
    await asyncio.wait([caller])
    gate.opened.set()
    assert (await side.ingestion.ingest(seen)).status is DocumentStatus.COMPLETED
    assert side.extractor.calls == 1


async def test_all_callers_hear_the_progress_until_they_leave(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    heard: dict[str, list[tuple[int, int]]] = {"first": [], "second": [], "gone": []}

    def listener(name: str) -> Progress:
        return lambda done, total, _: heard[name].append((done, total))

    calls = {name: asyncio.create_task(side.ingestion.ingest(seen, listener(name))) for name in heard}
    await gate.reached.wait()
    calls["gone"].cancel()
    await asyncio.wait([calls["gone"]])
    gate.opened.set()
    await asyncio.gather(calls["first"], calls["second"])
    assert heard == {"first": [(2, 2), (2, 2)], "second": [(2, 2), (2, 2)], "gone": []}


async def test_bytes_replaced_while_they_are_read_are_read_again(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    call = asyncio.create_task(side.ingestion.ingest(seen))
    await gate.reached.wait()
    replaced = await put(side, "Other text.")
    gate.opened.set()
    document = await call
    assert document.etag == replaced.etag
    assert await side.texts(document) == ("Other text.", "Other text.")
    assert await stored(side) == document


async def test_bytes_that_never_stay_the_same_are_given_up(side: DocumentSide) -> None:
    seen = await put(side)

    async def change() -> None:
        await put(side, f"Version {side.extractor.calls}.")

    side.extractor.during = change
    with pytest.raises(Unavailable, match=r"a\.txt"):
        await side.ingestion.ingest(seen)
    record = await stored(side)
    assert record is not None
    assert record.status is DocumentStatus.UPLOADED


@pytest.mark.parametrize("content", [TEXT, "DAMAGED"])
async def test_a_document_deleted_while_it_is_read_does_not_come_back(
    side: DocumentSide, content: str
) -> None:
    seen = await put(side, content)
    side.extractor.during = gate = Gate()
    call = asyncio.create_task(side.ingestion.ingest(seen))
    await gate.reached.wait()
    await side.library.delete(OWNER, seen.document_id)
    gate.opened.set()
    with pytest.raises(NotFound):
        await call
    assert await stored(side) is None
    assert await side.texts(seen) == ("", "")


async def test_another_process_that_replaces_the_document_between_two_writes_wins(side: DocumentSide) -> None:
    seen = await put(side)
    _, other = side.another_process()

    async def replace_once() -> None:
        side.index.before_save = pass_by
        await other.upload(OWNER, PATH.file, side.file("Other text."))

    side.index.before_save = replace_once
    document = await side.ingestion.ingest(seen)
    assert document.etag != seen.etag
    assert await side.texts(document) == ("Other text.", "Other text.")
    assert await stored(side) == document
    blob = await side.blobs.head(PATH)
    assert blob is not None
    assert blob.etag == document.etag


async def test_counting_and_splitting_keep_off_the_event_loop(side: DocumentSide) -> None:
    await side.ingestion.ingest(await put(side))
    assert side.counter.threads
    assert threading.current_thread().name not in side.counter.threads
