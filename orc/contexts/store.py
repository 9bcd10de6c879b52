"""Stores contexts, their members and the audit: items of one partition for each organization."""

import asyncio
from collections.abc import Sequence

from orc.contexts.models import AuditEntry, Context, Member, Rights, Role, State, audit_key, fold, member_key
from orc_core.errors import ChangedMeanwhile
from orc_core.infra.items import (
    MOST_CHANGES,
    VERSION,
    All,
    Change,
    Condition,
    Item,
    Items,
    Raced,
    Some,
    Where,
    create,
    delete,
    equal,
    id_part,
    remove,
    repeated_if_raced,
    replace,
    upsert,
)
from orc_core.infra.slices import slices

AUDIT_SECONDS = 365 * 24 * 60 * 60
IDS_PER_QUERY = 500
PLAIN_PRINCIPAL = r"[\w:.@-]{1,200}"


class ContextStore:
    """Contexts, their members and the audit, one organization at a time. It applies no rule by itself.

    A write is made over `context.version` together with its audit entry, or raises ChangedMeanwhile. A write
    whose confirmation was lost is recognised by its audit entry.
    """

    def __init__(self, items: Items) -> None:
        self._items = items

    async def rights(
        self,
        organization_id: str,
        context_ids: Sequence[str],
        principals: Sequence[str],
        below: Sequence[str] = (),
    ) -> Rights:
        """One consistent read of these contexts and of what these principals were granted on them.

        Also of the contexts below those in `below` that are being deleted or switch tools off.
        """
        among = Where("context_id", "in", list(context_ids))
        of_principals = All([equal(kind="member"), among, Where("principal", "in", list(principals))])
        wanted: list[Condition] = [All([equal(kind="context"), among]), of_principals]
        tops = tuple(f"{top}-" for top in below)
        if tops:
            inside = Some([Where("context_id", "starts", top) for top in tops])
            wanted.append(All([equal(kind="context", state=State.DELETING.value), inside]))
            wanted.append(All([equal(kind="context", restricts=True), inside]))
        found = await self._items.query([organization_id], Some(wanted))
        granted: dict[str, Role] = {}
        for member in (Member.model_validate(item["item"]) for item in found if item["kind"] == "member"):
            if member.role.rank >= granted.get(member.context_id, member.role).rank:
                granted[member.context_id] = member.role
        contexts = [_context(item) for item in found if item["kind"] == "context"]
        asked = {each.context_id: each for each in contexts if each.context_id in set(context_ids)}
        further = [
            each
            for each in contexts
            if (each.tools_off or each.state is State.DELETING) and each.context_id.startswith(tops)
        ]
        return Rights(asked, granted, tuple(further))

    @repeated_if_raced
    async def create(
        self, context: Context, parent: Context | None, admin: Member | None, entry: AuditEntry
    ) -> bool:
        """Store a new context and its first member; False if there is one with this id.

        Raises ChangedMeanwhile unless `parent` is still present: what is deleted gets no new children.
        """
        key, item = [context.organization_id], _context_item(context)
        changes = [create(item), create(entry_item(entry))]
        if admin is not None:
            changes.append(create(_member_item(admin)))
        if await self._items.read(key, item["id"]) is not None:
            return await self._is_noted(entry)
        if parent is not None:
            # The write fails unless the parent is present by then.
            stored = await self._items.read([parent.organization_id], _context_id(parent.context_id))
            if stored is None or _context(stored).state is not State.PRESENT:
                raise _changed()
            changes.append(replace(_context_item(_context(stored)), stored[VERSION]))
        await self._items.write(key, *changes)
        return True

    async def change(self, context: Context, entry: AuditEntry) -> Context:
        """Replace the context; returns it with its new version."""
        return await self._write(context, entry)

    async def grant(self, context: Context, member: Member, entry: AuditEntry) -> None:
        """Add the member, or change the member's role."""
        await self._write(context, entry, upsert(_member_item(member)))

    async def withdraw(self, context: Context, principal: str, entry: AuditEntry) -> None:
        """Remove a member."""
        await self._write(context, entry, delete(_member_id(context.context_id, principal)))

    async def remove(self, context: Context, entry: AuditEntry) -> None:
        """Remove a context and its members permanently."""
        # The context is hidden already: its members are removed in portions first.
        key, members = [context.organization_id], equal(kind="member", context_id=context.context_id)
        await remove(self._items, key, lambda: self._items.query(key, members, limit=MOST_CHANGES))
        version = await self._version_of(context, entry)
        if version is not None:
            changes = [delete(_context_id(context.context_id), version), create(entry_item(entry))]
            await self._write_noted(changes, entry)

    async def members(
        self, organization_id: str, context_ids: Sequence[str], *, limit: int, after: str = ""
    ) -> list[Member]:
        """Members of these contexts, ordered by `member_key`, from the first behind the key `after`."""
        found = await self._items.query(
            [organization_id],
            equal(kind="member"),
            Where("context_id", "in", list(context_ids)),
            Where("sort_key", ">", after),
            order="sort_key",
            limit=limit,
        )
        return [Member.model_validate(item["item"]) for item in found]

    async def granted(
        self, organization_id: str, principals: Sequence[str], *, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        """Contexts on which one of the principals has a direct grant and whose folded names hold all words.

        Ordered by `sort_key`, from the first behind `after`.
        """
        theirs = Where("principal", "in", list(principals))
        found = await self._items.query(
            [organization_id], equal(kind="member"), theirs, fields=["context_id"]
        )
        ids = sorted({item["context_id"] for item in found})
        pages = await asyncio.gather(
            *(
                self._named(organization_id, Where("context_id", "in", list(some)), words, limit, after)
                for some in slices(ids, IDS_PER_QUERY)
            )
        )
        every = [context for page in pages for context in page]
        return sorted(every, key=lambda context: context.sort_key)[:limit]

    async def children(
        self, organization_id: str, parent_id: str | None, *, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        """The contexts directly below one, or the roots, in the same order."""
        return await self._named(organization_id, equal(parent_id=parent_id or ""), words, limit, after)

    async def deleting(self) -> list[Context]:
        """What is being deleted, of all organizations."""
        found = await self._items.query([], equal(kind="context", state=State.DELETING.value))
        return list(map(_context, found))

    async def at_or_below(self, organization_id: str, context_id: str) -> list[Context]:
        """A context and all below it, the deepest first."""
        below = Some([equal(context_id=context_id), Where("context_id", "starts", f"{context_id}-")])
        found = await self._items.query([organization_id], equal(kind="context"), below)
        return sorted(map(_context, found), key=lambda each: (-len(each.context_id), each.context_id))

    async def audit(
        self, organization_id: str, *, context_id: str | None, limit: int, before: str = ""
    ) -> list[AuditEntry]:
        """Entries, latest first, from the first that is older than the key `before`."""
        wanted: list[Condition] = [equal(kind="audit")]
        if context_id is not None:
            wanted.append(equal(context_id=context_id))
        if before:
            wanted.append(Where("sort_key", "<", before))
        found = await self._items.query(
            [organization_id], *wanted, order="sort_key", descending=True, limit=limit
        )
        return [AuditEntry.model_validate(item["item"]) for item in found]

    async def note(self, entry: AuditEntry) -> None:
        """Add an entry about something that is no context."""
        await self._items.write([entry.organization_id], upsert(entry_item(entry)))

    async def _named(
        self, organization_id: str, among: Condition, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        found = await self._items.query(
            [organization_id],
            equal(kind="context"),
            among,
            Where("sort_key", ">", after),
            *(Where("name_folded", "has", word) for word in words),
            order="sort_key",
            limit=limit,
        )
        return list(map(_context, found))

    async def _write(self, context: Context, entry: AuditEntry, *others: Change) -> Context:
        """Store the next version of the context over its present one, with its entry and other writes."""
        changed = context.model_copy(update={"version": context.version + 1})
        version = await self._version_of(context, entry)
        if version is not None:
            own = [replace(_context_item(changed), version), create(entry_item(entry))]
            await self._write_noted([*own, *others], entry)
        return changed

    async def _version_of(self, context: Context, entry: AuditEntry) -> str | None:
        """The stored version; None if the change with this entry has been made already."""
        stored = await self._items.read([context.organization_id], _context_id(context.context_id))
        if stored is not None and _context(stored).version == context.version:
            return str(stored[VERSION])
        if await self._is_noted(entry):
            return None
        raise _changed()

    async def _write_noted(self, changes: Sequence[Change], entry: AuditEntry) -> None:
        try:
            await self._items.write([entry.organization_id], *changes)
        except Raced as exc:
            if not await self._is_noted(entry):
                raise _changed() from exc

    async def _is_noted(self, entry: AuditEntry) -> bool:
        """Whether the change with this entry has been made."""
        return await self._items.read([entry.organization_id], entry_item(entry)["id"]) is not None


def _context(item: Item) -> Context:
    return Context.model_validate(item["item"])


def _context_id(context_id: str) -> str:
    return f"context:{context_id}"


def _member_id(context_id: str, principal: str) -> str:
    return f"member:{context_id}:{id_part(principal, PLAIN_PRINCIPAL)}"


def _context_item(context: Context) -> Item:
    return {
        "id": _context_id(context.context_id),
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
        "kind": "member",
        "context_id": member.context_id,
        "principal": member.principal,
        "sort_key": member_key(member),
        "item": member.model_dump(mode="json"),
    }


def entry_item(entry: AuditEntry) -> Item:
    """An entry of the audit as it is stored, in the partition of its organization."""
    return {
        "id": f"audit:{entry.entry_id}",
        "kind": "audit",
        "context_id": entry.context_id,
        "sort_key": audit_key(entry),
        "ttl": AUDIT_SECONDS,
        "item": entry.model_dump(mode="json"),
    }


def _changed() -> ChangedMeanwhile:
    return ChangedMeanwhile("The context was changed in the meantime. Read it again.")
