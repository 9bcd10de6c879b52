"""The records of documents and of their files at a model provider: items in the partition of their owner."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from orc_core.documents.places import Accessible, Area, DocumentsPage, PlaceCount, Portion, read_page
from orc_core.infra.items import (
    VERSION,
    All,
    Condition,
    Item,
    Items,
    Not,
    Some,
    Where,
    delete,
    equal,
    remove,
    replace,
    unraced,
    upsert,
)
from orc_core.infra.slices import slices
from orc_core.models import Document, DocumentStatus, StoredFile, UnwantedFile, in_order_of
from orc_core.names import CONTEXTS_USER, BlobPath, Owner

IDS_PER_QUERY = 500
DOCUMENT = "document:"
_RECORDS = Where("id", "starts", DOCUMENT)
_NO_OWNER = ("-", "-", "-")
"""The partition of what has no owner."""

log = logging.getLogger(__name__)


class Catalog:
    """Records of documents and of their files at the model provider.

    Items `document:{id}` and `file:{id}` are in the partition of the owner, items `unwanted:{hash}` in a
    separate one. A turn reads single items; `clock` decides which references have expired.
    """

    def __init__(self, items: Items, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._items = items
        self._clock = clock

    async def get(self, owner: Owner, document_ids: Sequence[str]) -> list[Document]:
        """The owner's records with these ids, in this order; unknown ids are left out."""
        found = await self._items.read_some(owner.key, [f"{DOCUMENT}{each}" for each in document_ids])
        return in_order_of(document_ids, map(Document.model_validate, found))

    async def list_in(self, owner: Owner) -> list[Document]:
        """All records of a conversation, oldest first."""
        found = map(Document.model_validate, await self._items.query(owner.key, _RECORDS))
        return sorted(found, key=lambda document: (document.created_at, document.blob_name))

    async def find(self, accessible: Accessible, document_ids: Sequence[str]) -> list[Document]:
        """Those of these documents that are accessible, in this order."""
        ids = [f"{DOCUMENT}{document_id}" for document_id in document_ids]
        # Those of the session one by one, those of all contexts by one query.
        session = accessible.owner
        found = await self._items.read_some(session.key, ids)
        if any(area.owner != session for area in accessible.areas):
            shared = (session.organization_id, CONTEXTS_USER)
            for some in slices(ids, IDS_PER_QUERY):
                found += await self._items.query(shared, Where("id", "in", some))
        documents = map(Document.model_validate, found)
        return in_order_of(document_ids, filter(accessible.holds, documents))

    async def page(
        self,
        accessible: Accessible,
        *,
        after: str,
        limit: int,
        name: str = "",
        status: DocumentStatus | None = None,
    ) -> DocumentsPage:
        """At most `limit` accessible records, place by place in the order of listings, in each by id.

        They follow the cursor `after`, "" for the first page. Only those whose name contains `name`, in lower
        or upper case, and which have this status. Documents that stay are in exactly one page.
        """
        chosen: list[Condition] = [Where("blob_name", "has lower", name.lower())] if name else []
        if status is not None:
            chosen.append(equal(status=status.value))

        async def read(portion: Portion, behind: str, most: int) -> list[Document]:
            follows = Where("id", ">", f"{DOCUMENT}{behind}")
            within = (_RECORDS, _within(portion, accessible.document_ids), follows, *chosen)
            found = await self._items.query(_partition(portion.area), *within, order="id", limit=most)
            return [Document.model_validate(item) for item in found]

        return await read_page(accessible, after, limit, read)

    async def latest(self, accessible: Accessible, limit: int) -> list[Document]:
        """The latest accessible records of readable documents, at most `limit`, oldest first."""

        async def read(portion: Portion) -> list[Item]:
            within = (_RECORDS, _within(portion, accessible.document_ids), equal(readable=True))
            key = _partition(portion.area)
            return await self._items.query(key, *within, order="created_at", descending=True, limit=limit)

        found = [item for items in await asyncio.gather(*map(read, accessible.portions)) for item in items]
        return sorted(map(Document.model_validate, found), key=lambda each: each.created_at)[-limit:]

    async def count(self, accessible: Accessible) -> list[PlaceCount]:
        """How many documents are accessible through each place, in the order of listings."""

        async def counted(portion: Portion) -> PlaceCount:
            within = (_RECORDS, _within(portion, accessible.document_ids))
            fields = ["readable", "status"]
            found = await self._items.query(_partition(portion.area), *within, fields=fields)
            readable = sum(bool(item.get("readable")) for item in found)
            indexed = sum(item["status"] == DocumentStatus.COMPLETED for item in found)
            return PlaceCount(portion.place, len(found), readable, indexed)

        return list(await asyncio.gather(*map(counted, accessible.portions)))

    async def save(self, document: Document) -> None:
        """Insert or replace a record."""
        await self._items.write(document.owner.key, upsert(_document_item(document)))

    async def advance(self, document: Document) -> bool:
        """Replace the record if ETag and generation are unchanged; returns whether it was replaced."""

        async def work() -> bool:
            key, item = document.owner.key, _document_item(document)
            stored = await self._items.read(key, item["id"])
            if stored is None:
                return False
            present = Document.model_validate(stored)
            if present == document:
                # An earlier attempt may have succeeded although its confirmation was lost.
                return True
            if (present.etag, present.generation) != (document.etag, document.generation):
                return False
            await self._items.write(key, replace(item, stored[VERSION]))
            return True

        return await unraced(work)

    async def duplicates(self, owner: Owner, sha256: str) -> list[Document]:
        """All readable documents of the user with these bytes, of any conversation, without those that this
        version cannot parse.
        """
        user = (owner.organization_id, owner.user_id)
        return (await self._parsed(equal(sha256=sha256, readable=True), user))[0]

    async def stored_bytes(self, organization_id: str) -> int:
        """The sizes of all documents of the organization together, in bytes."""
        found = await self._items.query([organization_id], _RECORDS, fields=["size"])
        return sum(item["size"] for item in found)

    async def unfinished(self) -> list[Document]:
        """Records of all owners that are neither completed nor failed, oldest first.

        An item that this version cannot parse is logged and left out, so that it does not block the others.
        """
        return (await self._parsed(Where("status", "in", ["uploaded", "processing"])))[0]

    async def completed(self) -> list[Document]:
        """Completed records of all owners, oldest first, without those that this version cannot parse."""
        return (await self._parsed(equal(status="completed")))[0]

    async def everything(self) -> tuple[list[Document], int]:
        """All records of all owners, oldest first, and how many more this version cannot parse."""
        return await self._parsed(_RECORDS)

    async def _parsed(
        self, condition: Condition, partition: Sequence[str] = ()
    ) -> tuple[list[Document], int]:
        found, unreadable = [], 0
        for item in await self._items.query(partition, condition):
            try:
                found.append(Document.model_validate(item))
            except ValidationError:
                unreadable += 1
                log.error("a record cannot be read id=%s", item.get("id"))
        return sorted(found, key=lambda document: document.created_at), unreadable

    async def delete(self, path: BlobPath) -> None:
        """Remove the record and its file references; a missing record is no error."""
        key, ids = path.owner.key, [f"{DOCUMENT}{path.document_id}", _file_key(path.document_id)]

        async def present() -> list[Item]:
            return [{"id": item["id"]} for item in await self._items.read_some(key, ids)]

        # The last step of a deletion: the database then has nothing of the pages and passages in its log.
        await remove(self._items, key, present)

    async def live_files(self, documents: Sequence[Document]) -> list[StoredFile]:
        """Unexpired file references for the current bytes of exactly these documents."""
        now = self._clock()
        found = await asyncio.gather(*(self.files_of(each.path) for each in documents))
        return [
            file
            for document, files in zip(documents, found, strict=True)
            for file in files
            if file.etag == document.etag and file.expires_at > now
        ]

    async def save_files(self, files: Sequence[StoredFile]) -> None:
        """Insert references; earlier ones of the same documents are replaced."""
        for file in files:
            item = {"id": _file_key(file.document_id), **file.model_dump(mode="json")}
            await self._items.write(_owner_key(file), upsert(item))

    async def files_of(self, path: BlobPath) -> list[StoredFile]:
        """All file references of a document, including expired ones and those of earlier bytes."""
        item = await self._items.read(path.owner.key, _file_key(path.document_id))
        return [] if item is None else [StoredFile.model_validate(item)]

    async def drop_files(self, files: Sequence[StoredFile]) -> None:
        """Remove these references unless they have been replaced."""
        for file in files:
            await self._drop(_owner_key(file), _file_key(file.document_id), file.file_id)

    async def add_unwanted(self, files: Sequence[UnwantedFile]) -> None:
        """Note that these files are to be deleted at their provider."""
        changes = [upsert({"id": _unwanted_key(file), **file.model_dump(mode="json")}) for file in files]
        await self._items.write(_NO_OWNER, *changes)

    async def unwanted(self) -> list[UnwantedFile]:
        """Files of any owner that are still to be deleted, at most a hundred."""
        found = await self._items.query(_NO_OWNER, Where("id", "starts", "unwanted:"), limit=100)
        return sorted(map(UnwantedFile.model_validate, found), key=lambda file: file.expires_at)

    async def drop_unwanted(self, files: Sequence[UnwantedFile]) -> None:
        """Remove the notes about these files; a missing one is no error."""
        for file in files:
            await self._drop(_NO_OWNER, _unwanted_key(file), file.file_id)

    async def ping(self) -> None:
        """Raise DependencyDown if the catalog cannot be used now."""
        await self._items.ping()

    async def _drop(self, partition: Sequence[str], item_id: str, file_id: str) -> None:
        """Remove the item unless it is there for another file by now."""

        async def work() -> None:
            stored = await self._items.read(partition, item_id)
            if stored is not None and stored["file_id"] == file_id:
                await self._items.write(partition, delete(item_id, stored[VERSION]))

        await unraced(work)


def _partition(area: Area) -> Sequence[str]:
    """The partition of an area, or the first parts of the keys of its partitions."""
    return area.owner.key[:2] if area.deep else area.owner.key


def _within(portion: Portion, document_ids: frozenset[str] | None) -> Condition:
    """The condition that a record is in a portion, and has one of these ids if there are any."""
    conditions: list[Condition] = [_in_area(portion.area), *(Not(_in_area(each)) for each in portion.outside)]
    if document_ids is not None:
        conditions.append(Where("id", "in", [f"{DOCUMENT}{each}" for each in sorted(document_ids)]))
    return All(conditions)


def _in_area(area: Area) -> Condition:
    organization_id, user_id, conversation_id = area.owner.key
    itself = equal(conversation_id=conversation_id)
    below = Where("conversation_id", "starts", f"{conversation_id}-")
    place = Some([itself, below]) if area.deep else itself
    return All([equal(organization_id=organization_id, user_id=user_id), place])


def _owner_key(file: StoredFile) -> tuple[str, str, str]:
    return file.organization_id, file.user_id, file.conversation_id


def _file_key(document_id: str) -> str:
    return f"file:{document_id}"


def _unwanted_key(file: UnwantedFile) -> str:
    return f"unwanted:{hashlib.sha256(f'{file.provider} {file.file_id}'.encode()).hexdigest()}"


def _document_item(document: Document) -> Item:
    return {"id": f"{DOCUMENT}{document.document_id}", **document.model_dump(mode="json")}
