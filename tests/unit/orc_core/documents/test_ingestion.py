"""Ingestion: text is searchable before the record says so, despite concurrent changes and crashes."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.fakes_documents import (
    LEASE_SECONDS,
    DocumentSide,
    Gate,
    break_down,
    open_document_side,
    pass_by,
)
from orc_core.analysis.service import Analyser
from orc_core.documents.ingestion import Ingestion
from orc_core.documents.text_extraction import TextExtraction
from orc_core.errors import DependencyDown, NotFound, Unavailable
from orc_core.models import PROPERTIES, Document, DocumentStatus, JobKind, JobProgress, Passage
from orc_core.names import BlobPath, Owner

OWNER = Owner("acme", "ann", "c1")
PATH = BlobPath(OWNER, "a.txt")
TEXT = "The quay opens at seven.\fThe harbour master has the key."


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[DocumentSide]:
    async with open_document_side(tmp_path) as opened:
        yield opened


async def put(side: DocumentSide, content: str = TEXT) -> Document:
    """A stored blob with a record that has not been processed."""
    await side.blobs.put(PATH, side.file(content))
    [seen] = await side.library.resolve(OWNER, [PATH.file])
    return seen


async def stored(side: DocumentSide) -> Document:
    [document] = await side.catalog.get(OWNER, [PATH.document_id])
    return document


async def ingested(side: DocumentSide, content: str = TEXT) -> Document:
    await put(side, content)
    await side.worker.drain()
    return await stored(side)


async def read(side: DocumentSide, document: Document) -> Document:
    return await side.library.readable(document)


async def test_a_blob_becomes_searchable_text_and_a_completed_record(side: DocumentSide) -> None:
    seen = await put(side)
    assert (seen.status, seen.readable) == (DocumentStatus.UPLOADED, False)
    await side.worker.drain()
    document = await stored(side)
    assert (document.status, document.readable) == (DocumentStatus.COMPLETED, True)
    assert (document.pages, document.pages_without_text, document.tokens) == (2, 0, 11)
    assert (document.media_type, document.etag) == ("text/plain", seen.etag)
    assert document.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert [page.tokens for page in await side.pages.get(document.document_id)] == [5, 6]
    [hit] = await side.index.search("harbour", [document.document_id], 5)
    assert hit.passage.page == 2
    assert document.created_at == seen.created_at
    assert document.updated_at > seen.updated_at


async def test_pages_without_text_are_counted_and_the_rest_is_completed(side: DocumentSide) -> None:
    document = await ingested(side, "Text.\f\f \fMore.")
    assert document.status is DocumentStatus.COMPLETED
    assert (document.pages, document.pages_without_text) == (4, 2)


@pytest.mark.parametrize(("content", "words"), [("\f\f", "None of its 3 pages"), ("", "Its only page")])
async def test_a_document_without_text_fails_with_advice(
    side: DocumentSide, content: str, words: str
) -> None:
    document = await ingested(side, content)
    assert (document.status, document.readable) == (DocumentStatus.FAILED, False)
    assert document.reason_code == "no_text"
    assert document.reason is not None
    assert words in document.reason
    assert "scanned" in document.reason
    assert "OCR" in document.reason


async def test_a_rejected_file_fails_with_the_extractors_reason(side: DocumentSide) -> None:
    document = await ingested(side, "DAMAGED")
    assert (document.status, document.reason_code) == (DocumentStatus.FAILED, "unreadable_document")
    assert document.reason == "a.txt is damaged. Save it again and upload it again."
    assert await read(side, document) == document


async def test_a_completed_document_is_not_processed_again(side: DocumentSide) -> None:
    document = await ingested(side)
    await side.queue.enqueue(document, JobKind.INGEST)
    await side.worker.drain()
    assert await stored(side) == document
    assert (side.extractor.calls, side.index.saves) == (1, ["a.txt"])


@pytest.mark.parametrize("content", ["DAMAGED", "\f"])
async def test_replacing_by_a_file_without_text_removes_the_old_text(
    side: DocumentSide, content: str
) -> None:
    await ingested(side)
    failed = await ingested(side, content)
    assert failed.status is DocumentStatus.FAILED
    assert failed.tokens == 0
    pages, passages = await side.texts(failed)
    assert (pages.strip(), passages) == ("", "")


async def test_reading_a_deleted_document_is_not_found(side: DocumentSide) -> None:
    seen = await put(side)
    await side.blobs.delete(PATH)
    with pytest.raises(NotFound):
        await read(side, seen)
    await side.worker.drain()
    assert await side.catalog.list_in(OWNER) == []


@pytest.mark.parametrize("step", ["pages", "index", "catalog"])
async def test_a_store_outage_at_any_step_only_delays(side: DocumentSide, step: str) -> None:
    seen = await put(side)
    side.before_save(step, break_down)
    assert await side.worker.work_once()
    assert (await stored(side)).status is not DocumentStatus.COMPLETED
    side.before_save(step, pass_by)
    assert not await side.worker.work_once()
    side.clock.now += 60
    await side.worker.drain()
    document = await stored(side)
    assert (document.status, document.etag) == (DocumentStatus.COMPLETED, seen.etag)
    assert "harbour master" in (await side.texts(document))[1]


async def test_concurrent_readers_extract_the_file_once(side: DocumentSide) -> None:
    seen = await put(side)
    documents = await asyncio.gather(*(read(side, seen) for _ in range(5)), side.worker.drain())
    assert side.extractor.calls == 1
    assert all(document.readable for document in documents[:5] if document is not None)


async def test_waiting_for_a_worker_reports_its_progress(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    working = asyncio.create_task(side.worker.drain())
    await gate.reached.wait()
    heard: list[tuple[int, int, str]] = []
    waiting = asyncio.create_task(side.library.readable(seen, lambda *step: heard.append(step)))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    gate.opened.set()
    assert (await waiting).readable
    await working
    assert side.extractor.calls == 1
    assert heard


async def test_a_cancelled_reader_releases_the_job(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    reading = asyncio.create_task(read(side, seen))
    await gate.reached.wait()
    reading.cancel()
    await asyncio.wait([reading])
    side.extractor.during = pass_by
    await side.worker.drain()
    assert (await stored(side)).status is DocumentStatus.COMPLETED


async def test_bytes_replaced_during_extraction_are_extracted_again(side: DocumentSide) -> None:
    seen = await put(side)
    side.extractor.during = gate = Gate()
    working = asyncio.create_task(side.worker.drain())
    await gate.reached.wait()
    side.extractor.during = pass_by
    replaced = await put(side, "Other text.")
    gate.opened.set()
    await working
    await side.worker.drain()
    document = await stored(side)
    assert document.etag == replaced.etag != seen.etag
    assert document.status is DocumentStatus.COMPLETED
    assert await side.texts(document) == ("Other text.", "Other text.")


async def test_constantly_changing_bytes_are_given_up(side: DocumentSide) -> None:
    seen = await put(side)

    async def change() -> None:
        await side.blobs.put(PATH, side.file(f"Version {side.extractor.calls}."))

    side.extractor.during = change
    with pytest.raises(Unavailable, match=r"a\.txt"):
        await read(side, seen)
    assert (await stored(side)).status is not DocumentStatus.COMPLETED


@pytest.mark.parametrize("content", [TEXT, "DAMAGED"])
async def test_a_document_deleted_during_extraction_stays_deleted(side: DocumentSide, content: str) -> None:
    seen = await put(side, content)
    side.extractor.during = gate = Gate()
    working = asyncio.create_task(side.worker.drain())
    await gate.reached.wait()
    await side.library.delete(OWNER, seen.document_id)
    gate.opened.set()
    await working
    assert await side.catalog.list_in(OWNER) == []
    assert await side.texts(seen) == ("", "")
    assert await side.queue.progress(seen.document_id) == {}


async def test_a_document_deleted_during_indexing_stays_deleted(side: DocumentSide) -> None:
    seen = await put(side)
    _, other = side.another_process()

    async def delete_concurrently() -> None:
        # Another process: it does not wait for this one's lock.
        library, _ = side.another_process()
        await library.delete(OWNER, seen.document_id)

    side.before_save("index", delete_concurrently)
    await side.worker.drain()
    await other.drain()
    assert await side.catalog.list_in(OWNER) == []
    assert await side.texts(seen) == ("", "")


async def test_another_process_that_replaces_the_document_between_two_writes_wins(side: DocumentSide) -> None:
    await put(side)
    other, other_worker = side.another_process()

    async def replace_once() -> None:
        side.index.before_save = pass_by
        await other.upload(OWNER, PATH.file, side.file("Other text."))

    side.index.before_save = replace_once
    await side.worker.drain()
    await other_worker.drain()
    document = await stored(side)
    assert document.status is DocumentStatus.COMPLETED
    assert await side.texts(document) == ("Other text.", "Other text.")
    blob = await side.blobs.head(PATH)
    assert blob is not None
    assert blob.etag == document.etag


async def test_a_document_that_kills_its_worker_each_time_is_given_up(side: DocumentSide) -> None:
    seen = await put(side)
    for _ in range(30):
        await side.queue.claim(seen, JobKind.INGEST, LEASE_SECONDS)
        side.clock.now += LEASE_SECONDS + 1
    await side.worker.drain()
    document = await stored(side)
    assert (document.status, document.reason_code) == (DocumentStatus.FAILED, "processing_failed")
    assert "failed repeatedly" in (document.reason or "")


async def test_the_sweep_queues_documents_that_a_crash_left_out(side: DocumentSide) -> None:
    seen = await put(side)
    await side.queue.delete(seen.document_id)
    assert not await side.worker.work_once()
    await side.worker.drain()
    assert (await stored(side)).status is DocumentStatus.COMPLETED


async def test_tokens_are_counted_in_a_thread(side: DocumentSide) -> None:
    await ingested(side)
    assert side.counter.threads
    assert threading.current_thread().name not in side.counter.threads


async def test_what_a_file_says_of_itself_follows_its_pages_and_is_not_counted(side: DocumentSide) -> None:
    side.extractor.properties = "Properties of the file: author Tove Dahl."
    record = await ingested(side, "The quay.\fThe pier.")
    pages = await side.stores.pages.get(record.document_id)
    assert (record.pages, record.status, [page.number for page in pages]) == (2, "completed", [1, 2, 3])
    assert [(page.label, page.text) for page in pages if page.is_of_file] == [
        (PROPERTIES, side.extractor.properties)
    ]
    assert TextExtraction.is_text_of(record, pages)
    assert not TextExtraction.is_text_of(record, pages[:-1])


async def test_a_stopped_worker_releases_its_job_at_once(side: DocumentSide) -> None:
    await put(side)
    side.extractor.during = gate = Gate()
    working = asyncio.create_task(side.worker.run())
    await gate.reached.wait()
    working.cancel()
    await asyncio.wait([working])
    side.extractor.during = pass_by
    await side.worker.drain()
    assert (await stored(side)).status is DocumentStatus.COMPLETED


async def test_identical_bytes_of_a_user_are_processed_once(side: DocumentSide) -> None:
    first = await ingested(side)
    owner = Owner("acme", "ann", "c9")
    await side.blobs.put(BlobPath(owner, "copy.txt"), side.file(TEXT))
    await side.library.resolve(owner, ["copy.txt"])
    await side.worker.drain()
    [second] = await side.library.list_documents(owner)
    assert (side.extractor.calls, side.index.saves) == (1, ["a.txt", "copy.txt"])
    assert (second.status, second.tokens, second.sha256) == (
        DocumentStatus.COMPLETED,
        first.tokens,
        first.sha256,
    )
    assert await side.texts(second) == await side.texts(first)
    await side.library.delete(OWNER, first.document_id)
    assert "harbour" in (await side.texts(second))[1]


async def test_identical_bytes_are_not_shared_across_users_or_formats(side: DocumentSide) -> None:
    """How long an upload takes does not depend on what others have uploaded."""
    await ingested(side)
    others = (Owner("globex", "ann", "c1"), Owner("acme", "bob", "c1"))
    for owner, name in (*((other, "a.txt") for other in others), (OWNER, "a.md")):
        await side.blobs.put(BlobPath(owner, name), side.file(TEXT))
        await side.library.resolve(owner, [name])
    await side.worker.drain()
    assert side.extractor.calls == 4
    assert sorted(side.index.saves) == ["a.md", "a.txt", "a.txt", "a.txt"]


async def test_an_unexpected_error_reaches_the_waiting_caller(side: DocumentSide) -> None:
    seen = await put(side)
    side.before_save("pages", break_down)
    with pytest.raises(DependencyDown):
        await read(side, seen)


async def test_text_of_an_aborted_replacement_is_never_copied_as_text_of_the_old_bytes(
    side: DocumentSide,
) -> None:
    await ingested(side)
    side.before_save("catalog", break_down)
    with pytest.raises(DependencyDown):
        await side.library.upload(OWNER, PATH.file, side.file("A secret of Ann's."))
    side.before_save("catalog", pass_by)
    elsewhere = Owner("acme", "ann", "c9")
    mine = await side.library.upload(elsewhere, "mine.txt", side.file(TEXT, "mine"))
    await side.worker.drain()
    pages, passages = await side.texts(mine)
    assert "secret" not in pages + passages
    assert "harbour master" in pages
    assert "harbour master" in passages


async def test_an_aborted_deletion_does_not_affect_duplicates(side: DocumentSide) -> None:
    document = await ingested(side)
    await side.blobs.delete(PATH)
    await side.pages.delete(document.document_id)
    elsewhere = Owner("acme", "ann", "c9")
    for owner, name in ((elsewhere, "mine.txt"), (OWNER, PATH.file)):
        again = await side.library.upload(owner, name, side.file(TEXT, "again"))
        await side.worker.drain()
        [again] = await side.library.list_documents(owner)
        assert again.status is DocumentStatus.COMPLETED
        pages, passages = await side.texts(again)
        assert "harbour master" in pages
        assert "harbour master" in passages


async def test_uploading_the_same_bytes_again_keeps_queued_work(tmp_path: Path) -> None:
    async with open_document_side(tmp_path) as side:
        side.analyser = Analyser(side.analyses, None)
        side.library, side.worker = side.another_process()
        await side.library.upload(OWNER, PATH.file, side.file(TEXT))
        assert await side.worker.work_once()
        [document] = await side.library.list_documents(OWNER)
        await side.queue.enqueue(document, JobKind.EMBED)
        again = await side.library.upload(OWNER, PATH.file, side.file(TEXT))
        assert JobKind.EMBED in await side.queue.progress(again.document_id)
        await side.worker.drain()
        analysis = (await side.analyses.get([again.document_id]))[again.document_id]
        assert (analysis.is_done, analysis.etag) == (True, again.etag)


@pytest.mark.slow
async def test_a_long_outage_fails_no_document(side: DocumentSide) -> None:
    await put(side)
    side.before_save("index", break_down)
    for _ in range(60):
        await side.worker.work_once()
        side.clock.now += 10
    side.before_save("index", pass_by)
    await side.worker.drain()
    assert (await stored(side)).status is DocumentStatus.COMPLETED


async def test_a_write_after_a_lost_lease_is_undone(side: DocumentSide) -> None:
    await put(side, "Old text.")
    job = await side.queue.lease(LEASE_SECONDS)
    assert job is not None
    await put(side, "New text.")
    await side.worker.drain()
    document = await stored(side)
    # The old worker's last write, which no cancellation could stop any more.
    old = [Passage(document_id=document.document_id, page=1, start=0, end=9, text="Old text.")]
    await side.index.save(document.document_id, PATH.file, old)
    await side.ingestion.after_loss(job)
    await side.worker.drain()
    assert await side.texts(document) == ("New text.", "New text.")


async def test_a_restart_during_indexing_does_not_complete_without_an_index(
    side: DocumentSide,
) -> None:
    await put(side)

    async def restart_concurrently() -> None:
        side.catalog.before_save = pass_by
        await side.stores.restart(PATH)

    async def once_indexed() -> None:
        side.index.before_save = pass_by
        side.catalog.before_save = restart_concurrently

    side.index.before_save = once_indexed
    await side.worker.drain()
    side.clock.now += 60
    await side.worker.drain()
    document = await stored(side)
    assert document.status is DocumentStatus.COMPLETED
    assert "harbour master" in (await side.texts(document))[1]


async def test_an_unreadable_record_does_not_stop_the_worker(side: DocumentSide) -> None:
    async def broken(_connection: object) -> None:
        raise ValueError

    side.catalog.unfinished = broken  # type: ignore[assignment]
    seen = await put(side)
    working = asyncio.create_task(side.worker.run())
    while (await side.library.find(OWNER, seen.document_id)).status is not DocumentStatus.COMPLETED:
        await asyncio.sleep(0.01)
        assert not working.done()
    working.cancel()
    await asyncio.wait([working])


async def test_pages_of_earlier_bytes_are_not_indexed(side: DocumentSide) -> None:
    old = await ingested(side, "Old text of Ann's.")
    pages = await side.pages.get(old.document_id)
    document = await side.library.upload(OWNER, PATH.file, side.file("New text."))
    await side.pages.save(document.document_id, pages)
    await side.worker.drain()
    assert (await stored(side)).status is DocumentStatus.COMPLETED
    assert await side.texts(document) == ("New text.", "New text.")


async def test_pages_of_earlier_bytes_are_not_copied_to_a_duplicate(side: DocumentSide) -> None:
    old = await ingested(side, "Old text of Ann's.")
    pages = await side.pages.get(old.document_id)
    new = await ingested(side, "New text.")
    await side.pages.save(new.document_id, pages)
    elsewhere = Owner("acme", "ann", "c9")
    mine = await side.library.upload(elsewhere, "mine.txt", side.file("New text.", "mine"))
    await side.worker.drain()
    assert await side.texts(mine) == ("New text.", "New text.")


@pytest.mark.parametrize("kind", [JobKind.ANALYSE, JobKind.EMBED])
async def test_later_jobs_wait_for_ingestion(side: DocumentSide, kind: JobKind) -> None:
    await side.queue.enqueue(await ingested(side), kind)
    await side.library.upload(OWNER, PATH.file, side.file("Other text."))
    assert await side.worker.work_on(PATH, kind)
    assert kind in await side.queue.progress(PATH.document_id)
    side.clock.now += 60
    await side.worker.drain()
    assert await side.queue.progress(PATH.document_id) == {}


async def test_later_jobs_of_a_failed_document_do_nothing(side: DocumentSide) -> None:
    failed = await ingested(side, "DAMAGED")
    await side.queue.enqueue(failed, JobKind.ANALYSE)
    assert await side.worker.work_once()
    assert await side.queue.progress(PATH.document_id) == {}


@pytest.mark.slow
async def test_waiting_for_a_worker_polls_less_and_less_often(side: DocumentSide) -> None:
    seen = await put(side)
    assert await side.queue.claim(seen, JobKind.INGEST, LEASE_SECONDS) is not None
    looks, progress = 0, side.queue.progress

    async def counted(document_id: str) -> dict[JobKind, JobProgress]:
        nonlocal looks
        looks += 1
        return await progress(document_id)

    side.queue.progress = counted  # type: ignore[method-assign]
    waiting = asyncio.create_task(read(side, seen))
    await asyncio.sleep(1.0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert 2 <= looks <= 5


async def test_a_question_learns_how_far_the_reading_is(side: DocumentSide) -> None:
    document = await put(side)
    job = await side.queue.claim(document, JobKind.INGEST, 60)
    assert job is not None
    await side.queue.report(job, JobProgress(done=1200, total=3000, what="Reading the text"))
    reader = TextExtraction(side.stores, side.extractor, side.counter)
    waiting = Ingestion(side.stores, reader, reading_wait_seconds=0)
    with pytest.raises(Unavailable, match="1,200 of 3,000 pages so far"):
        await waiting.readable(document, lambda *_: None)
