"""Contexts, members and the audit in Cosmos DB: one partition for each organization."""

import asyncio
import hashlib
import re
from collections.abc import Sequence

from orc.contexts.models import (
    AuditEntry,
    Context,
    Member,
    Rights,
    Role,
    State,
    audit_key,
    fold,
    member_key,
)
from orc_core.errors import ChangedMeanwhile
from orc_core.infra.slices import slices
from orc_core.storage.cosmos.client import (
    ETAG,
    Container,
    Item,
    Operation,
    Raced,
    create,
    delete,
    replace,
    unraced,
    upsert,
)

AUDIT_SECONDS = 365 * 24 * 60 * 60
IDS_PER_QUERY = 500
MEMBERS_PER_BATCH = 90
_PLAIN = re.compile(r"[\w:.@-]{1,200}", re.ASCII)

_RIGHTS = """
SELECT * FROM c WHERE c.organization_id = @organization_id AND ((ARRAY_CONTAINS(@context_ids, c.context_id)
AND (c.kind = 'context' OR (c.kind = 'member' AND ARRAY_CONTAINS(@principals, c.principal)))){below})
"""
_SPECIAL_BELOW = f"""
OR (c.kind = 'context' AND (c.state = '{State.DELETING}' OR c.restricts = true) AND ({{tops}}))
"""
_MEMBERS = """
SELECT TOP @limit * FROM c WHERE c.organization_id = @organization_id AND c.kind = 'member'
AND ARRAY_CONTAINS(@context_ids, c.context_id) AND c.sort_key > @after ORDER BY c.sort_key
"""
_GRANTED = """
SELECT c.context_id FROM c WHERE c.organization_id = @organization_id AND c.kind = 'member'
AND ARRAY_CONTAINS(@principals, c.principal)
"""
_NAMED = """
SELECT TOP @limit * FROM c WHERE c.organization_id = @organization_id AND c.kind = 'context'
AND {among} AND c.sort_key > @after{words} ORDER BY c.sort_key
"""
_DELETING = f"SELECT * FROM c WHERE c.kind = 'context' AND c.state = '{State.DELETING}'"
_BELOW = """
SELECT * FROM c WHERE c.organization_id = @organization_id AND c.kind = 'context'
AND (c.context_id = @id OR STARTSWITH(c.context_id, @below))
"""
_AUDIT = """
SELECT TOP @limit * FROM c WHERE c.organization_id = @organization_id AND c.kind = 'audit'
AND (@context_id = '' OR c.context_id = @context_id) AND (@before = '' OR c.sort_key < @before)
ORDER BY c.sort_key DESC
"""


class CosmosContextStore:
    """A ContextStore over one container with the key [organization_id].

    A change and its audit entry are one batch. A batch whose confirmation was lost is recognised by its
    audit entry.
    """

    def __init__(self, container: Container) -> None:
        self._container = container

    async def rights(
        self,
        organization_id: str,
        context_ids: Sequence[str],
        principals: Sequence[str],
        below: Sequence[str] = (),
    ) -> Rights:
        tops = {f"top{number}": f"{top}-" for number, top in enumerate(below)}
        starts = " OR ".join(f"STARTSWITH(c.context_id, @{name})" for name in tops)
        found = await self._query(
            _RIGHTS.format(below=_SPECIAL_BELOW.format(tops=starts) if tops else ""),
            organization_id,
            context_ids=list(context_ids),
            principals=list(principals),
            **tops,
        )
        granted: dict[str, Role] = {}
        for member in (Member.model_validate(item["item"]) for item in found if item["kind"] == "member"):
            if member.role.rank >= granted.get(member.context_id, member.role).rank:
                granted[member.context_id] = member.role
        contexts = [_context(item) for item in found if item["kind"] == "context"]
        asked = {each.context_id: each for each in contexts if each.context_id in set(context_ids)}
        further = [
            each
            for each in contexts
            if (each.tools_off or each.state is State.DELETING)
            and any(each.context_id.startswith(top) for top in tops.values())
        ]
        return Rights(asked, granted, tuple(further))

    async def create(
        self, context: Context, parent: Context | None, admin: Member | None, entry: AuditEntry
    ) -> bool:
        key, item = [context.organization_id], _context_item(context)
        operations = [create(item), create(_entry_item(entry))]
        if admin is not None:
            operations.append(create(_member_item(admin)))

        async def work() -> bool:
            if await self._container.read(item["id"], key) is not None:
                return await self._is_noted(entry)
            await self._container.batch([*operations, *await self._unchanged(parent)], key)
            return True

        return await unraced(work)

    async def change(self, context: Context, entry: AuditEntry) -> Context:
        return await self._write(context, entry)

    async def grant(self, context: Context, member: Member, entry: AuditEntry) -> None:
        await self._write(context, entry, upsert(_member_item(member)))

    async def withdraw(self, context: Context, principal: str, entry: AuditEntry) -> None:
        await self._write(context, entry, delete(_member_id(context.context_id, principal)))

    async def remove(self, context: Context, entry: AuditEntry) -> None:
        # The context is hidden already: its members are removed in portions first.
        key = [context.organization_id]
        while members := await self.members(
            context.organization_id, [context.context_id], limit=MEMBERS_PER_BATCH
        ):
            ids = [_member_id(member.context_id, member.principal) for member in members]
            await unraced(lambda ids=ids: self._delete(ids, key))  # type: ignore[misc]
        etag = await self._etag_of(context, entry)
        if etag is not None:
            item_id = _context_id(context.context_id)
            await self._batch([delete(item_id, etag), create(_entry_item(entry))], entry)

    async def members(
        self, organization_id: str, context_ids: Sequence[str], *, limit: int, after: str = ""
    ) -> list[Member]:
        found = await self._query(
            _MEMBERS, organization_id, context_ids=list(context_ids), limit=limit, after=after
        )
        return [Member.model_validate(item["item"]) for item in found]

    async def granted(
        self, organization_id: str, principals: Sequence[str], *, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        found = await self._query(_GRANTED, organization_id, principals=list(principals))
        ids = sorted({item["context_id"] for item in found})
        among = "ARRAY_CONTAINS(@among, c.context_id)"
        pages = await asyncio.gather(
            *(
                self._named(organization_id, among, some, words=words, limit=limit, after=after)
                for some in slices(ids, IDS_PER_QUERY)
            )
        )
        every = [context for page in pages for context in page]
        return sorted(every, key=lambda context: context.sort_key)[:limit]

    async def children(
        self, organization_id: str, parent_id: str | None, *, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        among = "c.parent_id = @among"
        return await self._named(
            organization_id, among, parent_id or "", words=words, limit=limit, after=after
        )

    async def deleting(self) -> list[Context]:
        return [_context(item) for item in await self._container.query(_DELETING, {})]

    async def at_or_below(self, organization_id: str, context_id: str) -> list[Context]:
        found = await self._query(_BELOW, organization_id, id=context_id, below=f"{context_id}-")
        return sorted(map(_context, found), key=lambda each: (-len(each.context_id), each.context_id))

    async def audit(
        self, organization_id: str, *, context_id: str | None, limit: int, before: str = ""
    ) -> list[AuditEntry]:
        found = await self._query(
            _AUDIT, organization_id, context_id=context_id or "", limit=limit, before=before
        )
        return [AuditEntry.model_validate(item["item"]) for item in found]

    async def ping(self) -> None:
        await self._container.read("-", ["-"])

    async def _query(self, text: str, organization_id: str, **parameters: object) -> list[Item]:
        known = {"organization_id": organization_id, **parameters}
        return await self._container.query(text, known, [organization_id])

    async def _named(
        self,
        organization_id: str,
        among: str,
        wanted: object,
        *,
        words: Sequence[str],
        limit: int,
        after: str,
    ) -> list[Context]:
        named = {f"word{number}": word for number, word in enumerate(words)}
        condition = "".join(f" AND CONTAINS(c.name_folded, @{name})" for name in named)
        text = _NAMED.format(among=among, words=condition)
        found = await self._query(text, organization_id, among=wanted, limit=limit, after=after, **named)
        return [_context(item) for item in found]

    async def _write(self, context: Context, entry: AuditEntry, *others: Operation) -> Context:
        """Store the next version of the context over its present one, with its entry and other writes."""
        changed = context.model_copy(update={"version": context.version + 1})
        etag = await self._etag_of(context, entry)
        if etag is not None:
            own = [replace(_context_item(changed), etag), create(_entry_item(entry))]
            await self._batch([*own, *others], entry)
        return changed

    async def _unchanged(self, parent: Context | None) -> list[Operation]:
        """A write that fails unless the parent is present by then; ChangedMeanwhile if it is not now."""
        if parent is None:
            return []
        stored = await self._container.read(_context_id(parent.context_id), [parent.organization_id])
        if stored is None or _context(stored).state is not State.PRESENT:
            raise _changed()
        return [replace(_context_item(_context(stored)), stored[ETAG])]

    async def _etag_of(self, context: Context, entry: AuditEntry) -> str | None:
        """The ETag of this version; None if the change with this entry has been made already."""
        key = [context.organization_id]
        stored = await self._container.read(_context_id(context.context_id), key)
        if stored is not None and _context(stored).version == context.version:
            return str(stored[ETAG])
        if await self._is_noted(entry):
            return None
        raise _changed()

    async def _batch(self, operations: Sequence[Operation], entry: AuditEntry) -> None:
        try:
            await self._container.batch(operations, [entry.organization_id])
        except Raced as exc:
            if not await self._is_noted(entry):
                raise _changed() from exc

    async def _is_noted(self, entry: AuditEntry) -> bool:
        """Whether the change with this entry has been made."""
        item_id = _entry_item(entry)["id"]
        return await self._container.read(item_id, [entry.organization_id]) is not None

    async def _delete(self, ids: Sequence[str], partition: Sequence[str]) -> None:
        for item_id in ids:
            await self._container.delete(item_id, partition)


def _context(item: Item) -> Context:
    return Context.model_validate(item["item"])


def _context_id(context_id: str) -> str:
    return f"context:{context_id}"


def _member_id(context_id: str, principal: str) -> str:
    # The service takes neither slashes nor question marks in an id, nor more than 1,023 bytes.
    name = principal if _PLAIN.fullmatch(principal) else f"~{hashlib.sha256(principal.encode()).hexdigest()}"
    return f"member:{context_id}:{name}"


def _context_item(context: Context) -> Item:
    return {
        "id": _context_id(context.context_id),
        "organization_id": context.organization_id,
        "kind": "context",
        "context_id": context.context_id,
        "parent_id": context.parent_id or "",
        "name_folded": fold(context.name),
        "sort_key": context.sort_key,
        "state": context.state.value,
        "restricts": bool(context.tools_off),
        "item": context.model_dump(mode="json"),
    }


def _member_item(member: Member) -> Item:
    return {
        "id": _member_id(member.context_id, member.principal),
        "organization_id": member.organization_id,
        "kind": "member",
        "context_id": member.context_id,
        "principal": member.principal,
        "sort_key": member_key(member),
        "item": member.model_dump(mode="json"),
    }


def _entry_item(entry: AuditEntry) -> Item:
    return {
        "id": f"audit:{entry.entry_id}",
        "organization_id": entry.organization_id,
        "kind": "audit",
        "context_id": entry.context_id,
        "sort_key": audit_key(entry),
        "ttl": AUDIT_SECONDS,
        "item": entry.model_dump(mode="json"),
    }


def _changed() -> ChangedMeanwhile:
    return ChangedMeanwhile("The context was changed in the meantime. Read it again.")
