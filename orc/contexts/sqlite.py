"""Contexts, members and the audit in SQLite: a row each, which holds its item as JSON."""

import json
import sqlite3
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
from orc_core.infra.sqlite import IN_LIST, Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS contexts (
    organization_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    sort_key TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, context_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS contexts_by_parent ON contexts (organization_id, parent_id, sort_key);
CREATE INDEX IF NOT EXISTS contexts_deleting ON contexts (organization_id) WHERE state = 'deleting';
CREATE INDEX IF NOT EXISTS contexts_restricting ON contexts (organization_id, context_id)
    WHERE json_extract(item, '$.tools_off') <> '[]';
CREATE TABLE IF NOT EXISTS context_members (
    organization_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    sort_key TEXT NOT NULL,
    role TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, context_id, principal)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS context_members_by_principal
    ON context_members (organization_id, principal, context_id);
CREATE TABLE IF NOT EXISTS context_audit (
    organization_id TEXT NOT NULL,
    sort_key TEXT NOT NULL,
    context_id TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, sort_key)
) WITHOUT ROWID
"""

_CONTEXTS = f"SELECT item FROM contexts WHERE organization_id = ? AND context_id {IN_LIST}"
_GRANTS = """
SELECT DISTINCT context_id, role FROM context_members
WHERE organization_id = ? AND context_id {ids} AND {principal} {ids}
"""
_SOUGHT = _GRANTS.format(ids=IN_LIST, principal="principal")
# With "+" all members of these contexts are read.
_READ = _GRANTS.format(ids=IN_LIST, principal="+principal")
_MOST_SEEKS = 2000
# Without statistics SQLite would compare all contexts of the organization.
_SPECIAL_BELOW = f"""
SELECT c.item FROM contexts AS c INDEXED BY contexts_deleting JOIN json_each(:below) AS top
ON c.context_id > top.value || '-' AND c.context_id < top.value || '.'
WHERE c.organization_id = :organization_id AND c.state = '{State.DELETING}'
UNION
SELECT c.item FROM contexts AS c INDEXED BY contexts_restricting JOIN json_each(:below) AS top
ON c.context_id > top.value || '-' AND c.context_id < top.value || '.'
WHERE c.organization_id = :organization_id AND json_extract(c.item, '$.tools_off') <> '[]'
"""
_IS_IN_STATE = "SELECT 1 FROM contexts WHERE organization_id = ? AND context_id = ? AND state = ?"
_CREATE = """
INSERT INTO contexts (organization_id, context_id, parent_id, name_folded, sort_key, state, version, item)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_REPLACE = """
UPDATE contexts SET name_folded = ?, sort_key = ?, state = ?, version = ?, item = ?
WHERE organization_id = ? AND context_id = ? AND version = ?
"""
_PUT_MEMBER = """
INSERT INTO context_members (organization_id, context_id, principal, sort_key, role, item)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (organization_id, context_id, principal) DO UPDATE SET role = excluded.role, item = excluded.item
"""
_DELETE_MEMBER = "DELETE FROM context_members WHERE organization_id = ? AND context_id = ? AND principal = ?"
_DELETE_MEMBERS = "DELETE FROM context_members WHERE organization_id = ? AND context_id = ?"
_DELETE = "DELETE FROM contexts WHERE organization_id = ? AND context_id = ? AND version = ?"
_PUT_ENTRY = """
INSERT INTO context_audit (organization_id, sort_key, context_id, item) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""
_MEMBERS = f"""
SELECT item FROM context_members
WHERE organization_id = ? AND context_id {IN_LIST} AND sort_key > ? ORDER BY sort_key LIMIT ?
"""
_HAS_WORDS = """
NOT EXISTS (SELECT 1 FROM json_each(:words) AS word WHERE instr(c.name_folded, word.value) = 0)
AND c.sort_key > :after ORDER BY c.sort_key LIMIT :limit
"""
_GRANTED = f"""
SELECT c.item FROM contexts AS c
WHERE c.organization_id = :organization_id AND c.context_id IN (
    SELECT context_id FROM context_members
    WHERE organization_id = :organization_id AND principal IN (SELECT value FROM json_each(:principals))
) AND {_HAS_WORDS}
"""
_CHILDREN = f"""
SELECT c.item FROM contexts AS c
WHERE c.organization_id = :organization_id AND c.parent_id = :parent_id AND {_HAS_WORDS}
"""
_DELETING = f"SELECT item FROM contexts WHERE state = '{State.DELETING}'"
# "." follows "-": the ids from `parent-` up to `parent.` are those below it.
_BELOW = """
SELECT item FROM contexts WHERE organization_id = :organization_id
AND (context_id = :id OR (context_id > :id || '-' AND context_id < :id || '.'))
ORDER BY length(context_id) DESC, context_id
"""
_AUDIT = """
SELECT item FROM context_audit
WHERE organization_id = :organization_id AND (:context_id IS NULL OR context_id = :context_id)
AND (:before = '' OR sort_key < :before) ORDER BY sort_key DESC LIMIT :limit
"""


class SqliteContextStore:
    """A ContextStore over a database with SCHEMA."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rights(
        self,
        organization_id: str,
        context_ids: Sequence[str],
        principals: Sequence[str],
        below: Sequence[str] = (),
    ) -> Rights:
        ids, names = json.dumps(list(context_ids)), json.dumps(list(principals))
        # Contexts further up have more members, so each pair with one of them is sought.
        from_the_top = sorted(context_ids, key=len)
        sought = _MOST_SEEKS // max(1, len(principals))
        portions = ((_SOUGHT, from_the_top[:sought]), (_READ, from_the_top[sought:]))
        special = {"organization_id": organization_id, "below": json.dumps(list(below))}

        def work(connection: sqlite3.Connection) -> Rights:
            contexts = [
                Context.model_validate_json(item)
                for (item,) in connection.execute(_CONTEXTS, (organization_id, ids))
            ]
            granted: dict[str, Role] = {}
            for query, some in portions:
                for context_id, name in connection.execute(query, (organization_id, json.dumps(some), names)):
                    role = Role(name)
                    if role.rank >= granted.get(context_id, role).rank:
                        granted[context_id] = role
            found = connection.execute(_SPECIAL_BELOW, special) if below else []
            further = tuple(Context.model_validate_json(item) for (item,) in found)
            return Rights({context.context_id: context for context in contexts}, granted, further)

        return await self._database.read(work)

    async def create(
        self, context: Context, parent: Context | None, admin: Member | None, entry: AuditEntry
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            above = parent and (parent.organization_id, parent.context_id, State.PRESENT.value)
            if above and connection.execute(_IS_IN_STATE, above).fetchone() is None:
                raise _changed()
            if connection.execute(_CREATE, _row(context)).rowcount == 0:
                return False
            if admin is not None:
                connection.execute(_PUT_MEMBER, _member_row(admin))
            _note(connection, entry)
            return True

        return await self._database.write(work)

    async def change(self, context: Context, entry: AuditEntry) -> Context:
        return await self._database.write(lambda connection: _replace(connection, context, entry))

    async def grant(self, context: Context, member: Member, entry: AuditEntry) -> None:
        def work(connection: sqlite3.Connection) -> None:
            _replace(connection, context, entry)
            connection.execute(_PUT_MEMBER, _member_row(member))

        await self._database.write(work)

    async def withdraw(self, context: Context, principal: str, entry: AuditEntry) -> None:
        def work(connection: sqlite3.Connection) -> None:
            _replace(connection, context, entry)
            connection.execute(_DELETE_MEMBER, (context.organization_id, context.context_id, principal))

        await self._database.write(work)

    async def remove(self, context: Context, entry: AuditEntry) -> None:
        key = (context.organization_id, context.context_id)

        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(_DELETE, (*key, context.version)).rowcount == 0:
                raise _changed()
            connection.execute(_DELETE_MEMBERS, key)
            _note(connection, entry)

        await self._database.write(work)

    async def members(
        self, organization_id: str, context_ids: Sequence[str], *, limit: int, after: str = ""
    ) -> list[Member]:
        wanted = (organization_id, json.dumps(list(context_ids)), after, limit)
        rows = await self._database.rows(_MEMBERS, wanted)
        return [Member.model_validate_json(row["item"]) for row in rows]

    async def granted(
        self, organization_id: str, principals: Sequence[str], *, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        return await self._contexts(
            _GRANTED,
            organization_id=organization_id,
            principals=json.dumps(list(principals)),
            words=json.dumps(list(words)),
            limit=limit,
            after=after,
        )

    async def children(
        self, organization_id: str, parent_id: str | None, *, words: Sequence[str], limit: int, after: str
    ) -> list[Context]:
        return await self._contexts(
            _CHILDREN,
            organization_id=organization_id,
            parent_id=parent_id or "",
            words=json.dumps(list(words)),
            limit=limit,
            after=after,
        )

    async def deleting(self) -> list[Context]:
        return await self._contexts(_DELETING)

    async def at_or_below(self, organization_id: str, context_id: str) -> list[Context]:
        return await self._contexts(_BELOW, organization_id=organization_id, id=context_id)

    async def audit(
        self, organization_id: str, *, context_id: str | None, limit: int, before: str = ""
    ) -> list[AuditEntry]:
        wanted = {
            "organization_id": organization_id,
            "context_id": context_id,
            "before": before,
            "limit": limit,
        }
        rows = await self._database.rows(_AUDIT, wanted)
        return [AuditEntry.model_validate_json(row["item"]) for row in rows]

    async def ping(self) -> None:
        await self._database.ping()

    async def _contexts(self, query: str, **parameters: object) -> list[Context]:
        rows = await self._database.rows(query, parameters)
        return [Context.model_validate_json(row["item"]) for row in rows]


def _row(context: Context) -> tuple[object, ...]:
    return (
        context.organization_id,
        context.context_id,
        context.parent_id or "",
        fold(context.name),
        context.sort_key,
        context.state.value,
        context.version,
        context.model_dump_json(),
    )


def _member_row(member: Member) -> tuple[object, ...]:
    return (
        member.organization_id,
        member.context_id,
        member.principal,
        member_key(member),
        member.role.value,
        member.model_dump_json(),
    )


def _replace(connection: sqlite3.Connection, context: Context, entry: AuditEntry) -> Context:
    """Store the next version of the context over its present one."""
    changed = context.model_copy(update={"version": context.version + 1})
    organization_id, context_id, _, *values = _row(changed)
    where = (organization_id, context_id, context.version)
    if connection.execute(_REPLACE, (*values, *where)).rowcount == 0:
        raise _changed()
    _note(connection, entry)
    return changed


def _note(connection: sqlite3.Connection, entry: AuditEntry) -> None:
    row = (entry.organization_id, audit_key(entry), entry.context_id, entry.model_dump_json())
    connection.execute(_PUT_ENTRY, row)


def _changed() -> ChangedMeanwhile:
    return ChangedMeanwhile("The context was changed in the meantime. Read it again.")
