"""Reading some of a partition's items, as the document side's stores in Cosmos DB do."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from orc_core.documents.places import Accessible, Area, DocumentsPage, PlaceCount, Portion, read_page
from orc_core.infra.slices import slices
from orc_core.models import Document, DocumentStatus, StoredFile, UnwantedFile, in_order_of
from orc_core.names import CONTEXTS_USER, BlobPath, Owner
from orc_core.storage.cosmos.client import ETAG, Container, Item, PartitionKey, delete, repeated_if_raced

MOST_POINT_READS = 8
"""A point read of 1 KB costs 1 RU and one round trip, a query at least 2.3 RU, and more for each result."""
IDS_PER_QUERY = 500

_FIT = re.compile(r"[\w:-]{1,255}", re.ASCII)
_AMONG = "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"


async def read_some(container: Container, partition: PartitionKey, ids: Sequence[str]) -> list[Item]:
    """The items of one partition among these ids, in any order; ids may be any strings."""
    # The SDK puts an id into a path as it is: a slash in it would lead to something else.
    fit = [item_id for item_id in dict.fromkeys(ids) if _FIT.fullmatch(item_id)]
    if len(fit) <= MOST_POINT_READS:
        found = await asyncio.gather(*(container.read(item_id, partition) for item_id in fit))
        return [item for item in found if item is not None]
    return [
        item
        for some in slices(fit, IDS_PER_QUERY)
        for item in await container.query(_AMONG, {"ids": some}, partition)
    ]


log = logging.getLogger(__name__)

_LISTING = "SELECT * FROM c WHERE STARTSWITH(c.id, 'document:')"
_PAGE = """
SELECT TOP @limit * FROM c WHERE STARTSWITH(c.id, 'document:') AND {within} AND c.id > @after
AND CONTAINS(LOWER(c.blob_name), @name) AND (@status = '' OR c.status = @status) ORDER BY c.id
"""
_COUNT = "SELECT c.readable, c.status FROM c WHERE STARTSWITH(c.id, 'document:') AND {within}"
_FIND = """
SELECT * FROM c WHERE c.organization_id = @organization_id AND c.user_id = @user_id
AND ARRAY_CONTAINS(@ids, c.id)
"""
_COMPLETED = "SELECT * FROM c WHERE c.status = 'completed'"
_UNFINISHED = "SELECT * FROM c WHERE c.status IN ('uploaded', 'processing')"
# A prefix of the key does not scope a query by itself: WHERE has to.
_DUPLICATES = (
    "SELECT * FROM c WHERE c.organization_id = @organization_id AND c.user_id = @user_id"
    " AND c.sha256 = @sha256 AND c.readable = true"
)
_SIZES = "SELECT c.size FROM c WHERE c.organization_id = @organization_id AND STARTSWITH(c.id, 'document:')"

_UNWANTED = "SELECT TOP 100 * FROM c WHERE STARTSWITH(c.id, 'unwanted:')"
_NO_OWNER = ("-", "-", "-")
"""The partition of what has no owner."""


class CosmosCatalog:
    """Items `document:{id}` and `file:{id}` in the partition [organization, user, conversation].

    Items `unwanted:{hash}` are in a separate partition.
    A turn uses point reads; `list_in` reads one partition, `duplicates` those of an organization,
    `unfinished` all of them. `clock` decides which references have expired.
    """

    def __init__(
        self, container: Container, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._container = container
        self._clock = clock

    async def get(self, owner: Owner, document_ids: Sequence[str]) -> list[Document]:
        ids = [_document_key(document_id) for document_id in document_ids]
        found = await read_some(self._container, owner.key, ids)
        return in_order_of(document_ids, map(Document.model_validate, found))

    async def list_in(self, owner: Owner) -> list[Document]:
        found = map(Document.model_validate, await self._container.query(_LISTING, {}, owner.key))
        return sorted(found, key=lambda document: (document.created_at, document.blob_name))

    async def find(self, accessible: Accessible, document_ids: Sequence[str]) -> list[Document]:
        ids = [_document_key(document_id) for document_id in document_ids]
        # Those of the session by point reads, those of all contexts by one query.
        session = accessible.owner
        found = await read_some(self._container, session.key, ids)
        if any(area.owner != session for area in accessible.areas):
            shared = [session.organization_id, CONTEXTS_USER]
            known = {"organization_id": shared[0], "user_id": shared[1]}
            for some in slices(ids, IDS_PER_QUERY):
                found += await self._container.query(_FIND, {**known, "ids": some}, shared)
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
        chosen = {"name": name.lower(), "status": status.value if status else ""}

        async def read(portion: Portion, behind: str, most: int) -> list[Document]:
            within, values = _within(portion, accessible.document_ids)
            values |= {**chosen, "after": _document_key(behind), "limit": most}
            found = await self._container.query(_PAGE.format(within=within), values, _partition(portion.area))
            return [Document.model_validate(item) for item in found]

        return await read_page(accessible, after, limit, read)

    async def count(self, accessible: Accessible) -> list[PlaceCount]:
        async def counted(portion: Portion) -> PlaceCount:
            within, values = _within(portion, accessible.document_ids)
            query = _COUNT.format(within=within)
            found = await self._container.query(query, values, _partition(portion.area))
            readable = sum(item.get("readable", False) for item in found)
            indexed = sum(item["status"] == DocumentStatus.COMPLETED for item in found)
            return PlaceCount(portion.place, len(found), readable, indexed)

        return list(await asyncio.gather(*map(counted, accessible.portions)))

    async def save(self, document: Document) -> None:
        await self._container.upsert(_document_item(document))

    @repeated_if_raced
    async def advance(self, document: Document) -> bool:
        stored = await self._container.read(_document_key(document.document_id), document.owner.key)
        if stored is None:
            return False
        present = Document.model_validate(stored)
        if present == document:
            # An earlier attempt may have succeeded although its response was lost.
            return True
        if (present.etag, present.generation) != (document.etag, document.generation):
            return False
        await self._container.replace(_document_item(document), stored[ETAG])
        return True

    async def duplicates(self, owner: Owner, sha256: str) -> list[Document]:
        asked = {"organization_id": owner.organization_id, "user_id": owner.user_id, "sha256": sha256}
        items = await self._container.query(_DUPLICATES, asked, [owner.organization_id, owner.user_id])
        return [Document.model_validate(item) for item in items]

    async def stored_bytes(self, organization_id: str) -> int:
        items = await self._container.query(_SIZES, {"organization_id": organization_id}, [organization_id])
        return sum(item["size"] for item in items)

    async def unfinished(self) -> list[Document]:
        return await self._parsed(_UNFINISHED)

    async def completed(self) -> list[Document]:
        return await self._parsed(_COMPLETED)

    async def _parsed(self, query: str) -> list[Document]:
        found = []
        for item in await self._container.query(query, {}):
            try:
                found.append(Document.model_validate(item))
            except ValidationError:
                log.error("a record cannot be read id=%s", item["id"])
        return sorted(found, key=lambda document: document.created_at)

    @repeated_if_raced
    async def delete(self, path: BlobPath) -> None:
        ids = [_document_key(path.document_id), _file_key(path.document_id)]
        if present := await read_some(self._container, path.owner.key, ids):
            await self._container.batch([delete(item["id"]) for item in present], path.owner.key)

    async def live_files(self, documents: Sequence[Document]) -> list[StoredFile]:
        now = self._clock()
        found = await asyncio.gather(*(self._file(each.owner, each.document_id) for each in documents))
        return [
            file
            for document, file in zip(documents, found, strict=True)
            if file is not None and file.etag == document.etag and file.expires_at > now
        ]

    async def save_files(self, files: Sequence[StoredFile]) -> None:
        for file in files:
            item = {"id": _file_key(file.document_id), **file.model_dump(mode="json")}
            await self._container.upsert(item)

    async def files_of(self, path: BlobPath) -> list[StoredFile]:
        found = await self._file(path.owner, path.document_id)
        return [] if found is None else [found]

    async def drop_files(self, files: Sequence[StoredFile]) -> None:
        for file in files:
            await self._drop(file)

    async def add_unwanted(self, files: Sequence[UnwantedFile]) -> None:
        for file in files:
            await self._container.upsert(_unwanted_item(file))

    async def unwanted(self) -> list[UnwantedFile]:
        found = await self._container.query(_UNWANTED, {}, _NO_OWNER)
        return sorted(map(UnwantedFile.model_validate, found), key=lambda file: file.expires_at)

    async def drop_unwanted(self, files: Sequence[UnwantedFile]) -> None:
        for file in files:
            await self._container.delete(_unwanted_key(file), _NO_OWNER)

    async def ping(self) -> None:
        await self._container.query("SELECT TOP 1 c.id FROM c", {}, _NO_OWNER)

    @repeated_if_raced
    async def _drop(self, file: StoredFile) -> None:
        key = _file_key(file.document_id)
        partition = (file.organization_id, file.user_id, file.conversation_id)
        stored = await self._container.read(key, partition)
        if stored is not None and stored["file_id"] == file.file_id:
            await self._container.batch([delete(key, stored[ETAG])], partition)

    async def _file(self, owner: Owner, document_id: str) -> StoredFile | None:
        item = await self._container.read(_file_key(document_id), owner.key)
        return None if item is None else StoredFile.model_validate(item)


def _partition(area: Area) -> list[str]:
    """The partition of an area, or the first parts of the keys of its partitions."""
    return list(area.owner.key[:2]) if area.deep else list(area.owner.key)


def _within(portion: Portion, document_ids: frozenset[str] | None) -> tuple[str, Item]:
    """The condition that a record is in a portion, and has one of these ids if there are any."""
    values: Item = {}
    condition = _in_area(portion.area, values)
    for area in portion.outside:
        condition += f" AND NOT {_in_area(area, values)}"
    if document_ids is not None:
        values["ids"] = sorted(map(_document_key, document_ids))
        condition += " AND ARRAY_CONTAINS(@ids, c.id)"
    return condition, values


def _in_area(area: Area, values: Item) -> str:
    """The condition that a record is in an area; its values are added to `values`."""
    names = [f"area{len(values) + number}" for number in range(4 if area.deep else 3)]
    keys = list(area.owner.key)
    values |= dict(zip(names, [*keys, f"{keys[-1]}-"], strict=False))
    organization_id, user_id, conversation_id, *below = names
    itself = f"c.conversation_id = @{conversation_id}"
    either = f"({itself} OR STARTSWITH(c.conversation_id, @{below[0]}))" if below else itself
    return f"(c.organization_id = @{organization_id} AND c.user_id = @{user_id} AND {either})"


def _document_key(document_id: str) -> str:
    return f"document:{document_id}"


def _file_key(document_id: str) -> str:
    return f"file:{document_id}"


def _unwanted_key(file: UnwantedFile) -> str:
    return f"unwanted:{hashlib.sha256(f'{file.provider} {file.file_id}'.encode()).hexdigest()}"


def _unwanted_item(file: UnwantedFile) -> Item:
    names = ("organization_id", "user_id", "conversation_id")
    return {
        "id": _unwanted_key(file),
        **dict(zip(names, _NO_OWNER, strict=True)),
        **file.model_dump(mode="json"),
    }


def _document_item(document: Document) -> Item:
    return {"id": _document_key(document.document_id), **document.model_dump(mode="json")}
