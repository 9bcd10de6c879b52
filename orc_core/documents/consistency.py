"""Compares the records of documents with their files, texts and index entries, and repairs what it can."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pydantic import ValidationError

from orc_core.documents.stores import Stores
from orc_core.documents.text_extraction import TextExtraction, sha256_of
from orc_core.infra.slices import slices
from orc_core.models import BlobProperties, Document, DocumentStatus, JobKind
from orc_core.names import BlobPath

AT_ONCE, IDS_PER_QUERY = 8, 500
NAMED = 3
"""How many documents a finding names."""
RESTORE = "Stop Orc and restore a backup: orc restore FILE --force."
REPAIR = "`orc check --repair` has them read again."
NO_WORKER = "Is a worker running? `orc serve` starts as many as ORC_WORKERS says; its log has their errors."
WAITED = timedelta(minutes=30)


class Finding(NamedTuple):
    """What is wrong and what to do about it. `blocks`: the database cannot be used."""

    problem: str
    advice: str
    is_damage: bool = True
    blocks: bool = False


# What can differ after a restore, and what is done about it: docs/decisions/files-and-backups.md.
@dataclass(frozen=True)
class Differences:
    """What does not fit, as it was when it was looked at.

    `lost`: records without a file. `new`: files without a record. `changed`: files with another ETag than
    their record. `textless`: without all of their pages. `unindexed`: not in the search index. `unreadable`:
    how many records this version cannot parse. `known`: all other records.
    """

    known: list[Document]
    lost: list[Document]
    new: list[BlobPath]
    changed: list[Document]
    textless: list[Document]
    unindexed: list[Document]
    unreadable: int = 0

    @property
    def findings(self) -> Iterator[Finding]:
        """A sentence for each kind of difference."""
        if self.lost:
            advice = "Restore these files, or upload them again. Listing a conversation removes such records."
            yield Finding(f"{_named(self.lost)} in the records, of which there is no file.", advice)
        if self.textless:
            yield Finding(f"{_named(self.textless)} without some of the extracted pages.", REPAIR)
        if self.unindexed:
            yield Finding(f"{_named(self.unindexed)} not in the search index.", REPAIR)
        by_itself = f"Nothing: they are read when their conversation is listed or asked about. {REPAIR}"
        if self.new:
            yield Finding(f"{_named(self.new)} in the files but not in the records.", by_itself, False)
        if self.changed:
            yield Finding(f"{_named(self.changed)} changed since they were read.", by_itself, False)
        since = datetime.now(UTC) - WAITED
        if waiting := [each for each in self.known if not each.status.is_final and each.updated_at < since]:
            yield Finding(f"{_named(waiting)} waiting for half an hour or longer.", NO_WORKER, False)
        if self.unreadable:
            yield Finding(f"{self.unreadable} records of documents cannot be read.", RESTORE)


async def compare(stores: Stores) -> Differences:
    """Compare everything. It reads all texts, but no file."""
    documents, unreadable = await stores.catalog.everything()
    records = {document.path: document for document in documents}
    # Files after records, as an upload stores them before.
    blobs = {blob.path: blob for blob in await stores.blobs.list_all()}
    odd = {path for path, blob in blobs.items() if path not in records or records[path].etag != blob.etag}
    odd |= records.keys() - blobs.keys()
    # Looked at again one by one: they may have been written or deleted in between.
    again = []
    for path in sorted(odd, key=str):
        # A record that this version cannot parse is one all the same: its file is not new.
        with suppress(ValidationError):
            again.append((path, await stores.get(path), await stores.blobs.head(path)))
    same = [document for document in documents if document.path not in odd]
    changed = [document for _, document, blob in again if blob and document and document.etag != blob.etag]
    textless: list[Document] = []
    for some in slices([document for document in same if document.readable], AT_ONCE):
        whole = await asyncio.gather(*(_has_text(stores, document) for document in some))
        textless += [document for document, is_whole in zip(some, whole, strict=True) if not is_whole]
    without = {document.path for document in textless}
    known = [document for document in same if document.path not in without]
    searched = [each for each in (*known, *changed) if each.status is DocumentStatus.COMPLETED]
    unindexed: list[Document] = []
    for some in slices(searched, IDS_PER_QUERY):
        indexed = await stores.index.indexed([document.document_id for document in some])
        unindexed += [document for document in some if document.document_id not in indexed]
    lost = [document for _, document, blob in again if document and not blob]
    new = [path for path, document, blob in again if blob and not document]
    return Differences(known, lost, new, changed, textless, unindexed, unreadable)


async def repair(stores: Stores, found: Differences, *, everything: bool = False) -> list[Document]:
    """Queue what can be made again from the files; returns these documents.

    A file that has the bytes of its record keeps all that was made of it. What has another record by now is
    left alone. With `everything` every file is read again.
    """
    queued = []
    read_again = {each.path: each for each in (*found.changed, *found.textless)}
    if everything:
        read_again |= {each.path: each for each in found.known}
    for path, document in {**dict.fromkeys(found.new), **read_again}.items():
        async with stores.write_lock(path.document_id):
            blob = await stores.blobs.head(path)
            if blob is None or not await _is_as_compared(stores, path, document):
                continue
            if document and not everything and await _has_adopted(stores, document, blob):
                continue
            queued.append(await stores.begin(blob, created_at=document.created_at if document else None))
    begun = {document.path for document in queued}
    for path in (document.path for document in found.unindexed if document.path not in begun):
        if (document := await stores.get(path)) and document.status is DocumentStatus.COMPLETED:
            processing = document.model_copy(update={"status": DocumentStatus.PROCESSING})
            if await stores.catalog.advance(processing):
                await stores.queue.enqueue(processing, JobKind.INGEST)
                queued.append(processing)
    return queued


async def _is_as_compared(stores: Stores, path: BlobPath, compared: Document | None) -> bool:
    """Whether the record, or its absence, is still what was compared."""
    try:
        return await stores.get(path) == compared
    except ValidationError:
        return False


async def _has_text(stores: Stores, document: Document) -> bool:
    return TextExtraction.is_text_of(document, await stores.pages.get(document.document_id))


async def _has_adopted(stores: Stores, document: Document, blob: BlobProperties) -> bool:
    """Whether the record has taken the ETag of a file with the same bytes, such as one that was restored."""
    if not (document.status.is_final and document.sha256 and await _has_text(stores, document)):
        return False
    async with stores.blobs.local_copy(document.path) as file:
        if await asyncio.to_thread(sha256_of, file) != document.sha256:
            return False
    # Again: reading a long file takes a while.
    if await _is_as_compared(stores, document.path, document):
        adopted = document.model_copy(update={"etag": blob.etag})
        await stores.catalog.save(adopted)
        await stores.analyses.keep_for(adopted)
    return True


def _named(documents: Sequence[Document] | Sequence[BlobPath]) -> str:
    """The number of documents, with the paths of the first."""
    paths = [str(each.path if isinstance(each, Document) else each) for each in documents[:NAMED]]
    more = ", ..." if len(documents) > NAMED else ""
    noun = "document" if len(documents) == 1 else "documents"
    return f"{len(documents)} {noun} ({', '.join(paths)}{more})"
