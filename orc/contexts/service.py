"""Creates, changes and shares contexts: applies the rule of rights.py and writes the audit."""

import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from orc.contexts.ids import derived_id, is_context_id, lineage, new_id
from orc.contexts.models import (
    EVERYONE,
    GROUP,
    USER,
    Action,
    AuditEntry,
    Context,
    ContextType,
    Member,
    Rights,
    Role,
    State,
    audit_key,
    fold,
    from_cursor,
    member_key,
    to_cursor,
)
from orc.contexts.people import People
from orc.contexts.rights import TENANT_ADMIN, Right, allows, principals_of, role_on
from orc.contexts.store import ContextStore
from orc.conversations.models import utc_now
from orc.identity import Principal
from orc_core.errors import ChangedMeanwhile, Conflict, Forbidden, InvalidInput, NotFound
from orc_core.names import Owner

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

MOST_DELETIONS = 20
"""Contexts of an organization that may be being deleted at the same time."""
ATTEMPTS = 5
"""At a change that another request overtakes."""
_PRINCIPAL = re.compile(rf"(?:{USER}|{GROUP})[^\s\x00-\x1f]{{1,255}}|{EVERYONE}")


class ReadableContext(NamedTuple):
    """A context that the caller may see, with the caller's role, and its readable ancestors from the top."""

    context: Context
    role: Role | None
    path: list[Context]


@dataclass(frozen=True)
class Caller:
    """Who changes something. `is_admin`: an administrator of the whole installation."""

    principal: Principal
    is_admin: bool = False
    trace_id: str = ""


def _repeated(
    method: Callable[Arguments, Awaitable[Result]],
) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """The method, as a whole again if another request came in between: it reads, decides and writes."""

    @wraps(method)
    async def repeated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        for _ in range(ATTEMPTS - 1):
            with suppress(ChangedMeanwhile):
                return await method(*args, **kwargs)
        return await method(*args, **kwargs)

    return repeated


class ContextService:
    """The one way from routes to the store of contexts. A context that a caller may not see is NotFound."""

    def __init__(
        self,
        store: ContextStore,
        people: People,
        *,
        everyone_creates: bool,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`everyone_creates`: whether roots are for everyone, or for administrators of the installation."""
        self._store = store
        self.people = people
        self._everyone_creates = everyone_creates
        self._clock = clock

    def may_create_roots(self, caller: Caller) -> bool:
        """Whether this caller may create an organization or a workspace."""
        return self._everyone_creates or caller.is_admin

    async def read(self, caller: Caller, context_id: str, right: Right = Right.SEE) -> ReadableContext:
        """The context, if the caller has the right. Raises NotFound, or Forbidden to those who can see it."""
        if not is_context_id(context_id):
            raise _missing()
        rights = await self._rights(caller, [context_id])
        context, role = rights.contexts.get(context_id), role_on(context_id, rights)
        # An administrator of the installation may do this without a role on the context.
        is_admin = caller.is_admin and right in TENANT_ADMIN
        path = [rights.contexts.get(each) for each in lineage(context_id)]
        is_present = all(each is not None and each.state is State.PRESENT for each in path)
        if context is None or (role is None and not (is_admin and is_present)):
            raise _missing()
        if role is not None and not allows(role, right) and not is_admin:
            raise Forbidden(f"Your role here, {role}, does not allow to {right}.", code="role_too_low")
        return ReadableContext(context, role, _path(context_id, rights))

    async def owner(self, caller: Caller, context_id: str, right: Right) -> Owner:
        """The owner of the context's documents, if the caller has the right."""
        readable = await self.read(caller, context_id, right)
        return Owner.of_context(readable.context.organization_id, context_id)

    async def is_present(self, organization_id: str, context_id: str) -> bool:
        """Whether the context is there and neither it nor one above it is being deleted, for any caller."""
        path = lineage(context_id)
        found = (await self._store.rights(organization_id, path, [])).contexts
        return all(each in found and found[each].state is State.PRESENT for each in path)

    async def create(
        self,
        caller: Caller,
        kind: ContextType,
        name: str,
        *,
        description: str = "",
        parent_id: str | None = None,
        key: str | None = None,
    ) -> ReadableContext:
        """A new context. A repeated request with the same `key` returns the one that the first has made."""
        parent = await self._parent(caller, kind, parent_id)
        who = caller.principal
        known = (who.organization_id, who.user_id, str(key), kind, name)
        context_id = new_id(parent_id) if key is None else derived_id(parent_id, *known)
        now = self._clock()
        context = Context(
            organization_id=who.organization_id,
            context_id=context_id,
            type=kind,
            name=name,
            description=description,
            created_by=who.user_id,
            created_at=now,
            updated_at=now,
        )
        # The creator of a root is its administrator; below one, roles are inherited.
        admin = None if parent_id else self._member(caller, context, USER + who.user_id, Role.ADMIN, who.name)
        await self._store.create(context, parent, admin, self._entry(caller, context, Action.CREATED))
        return await self.read(caller, context_id)

    async def change(
        self,
        caller: Caller,
        context_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        tools_off: Sequence[str] | None = None,
        version: int | None = None,
    ) -> ReadableContext:
        """Change some of the fields. With `version` only that version; else ChangedMeanwhile is raised."""
        fields = {"name": name, "description": description}
        update: dict[str, object] = {field: value for field, value in fields.items() if value is not None}
        rights_needed = [Right.DESCRIBE] if update else []
        if tools_off is not None:
            rights_needed.append(Right.RESTRICT_TOOLS)
            update["tools_off"] = tuple(sorted(set(tools_off)))

        async def work() -> None:
            for right in rights_needed or [Right.SEE]:
                readable = await self.read(caller, context_id, right)
            if version not in (None, readable.context.version):
                raise ChangedMeanwhile(f"The context is of version {readable.context.version} by now.")
            changed = readable.context.model_copy(update={**update, "updated_at": self._clock()})
            if update:
                await self._store.change(changed, self._entry(caller, changed, Action.CHANGED))

        await (work() if version is not None else _repeated(work)())
        return await self.read(caller, context_id)

    @_repeated
    async def delete(self, caller: Caller, context_id: str) -> None:
        """Hide a context and all below it from everybody now; the worker removes their content."""
        context = (await self.read(caller, context_id, Right.DELETE)).context
        under_way = await self._store.deleting()
        if sum(each.organization_id == context.organization_id for each in under_way) >= MOST_DELETIONS:
            message = "Too many contexts are being deleted. Try again in a minute."
            error = Conflict(message, code="deletions_under_way")
            error.retryable, error.retry_after = True, 60
            raise error
        hidden = context.model_copy(update={"state": State.DELETING, "updated_at": self._clock()})
        await self._store.change(hidden, self._entry(caller, hidden, Action.DELETED))

    @_repeated
    async def grant(
        self, caller: Caller, context_id: str, principal: str, role: Role, label: str = ""
    ) -> bool:
        """Give a member this role; returns whether the member is new. Raises Conflict for the last admin."""
        if not _PRINCIPAL.fullmatch(principal):
            raise InvalidInput("A member is a user, a group or everyone.", field="principal")
        context = (await self.read(caller, context_id, Right.GRANT)).context
        before = await self._role_of(context, principal)
        name = "" if before else await self.people.label(caller.principal, principal)
        if before is Role.ADMIN and role is not Role.ADMIN:
            await self._keep_an_admin(caller, context, principal)
        is_own = principal == USER + caller.principal.user_id
        entry = self._entry(
            caller,
            context,
            Action.SELF_GRANT if is_own else Action.GRANTED,
            principal=principal,
            role_before=before,
            role_after=role,
        )
        await self._store.grant(context, self._member(caller, context, principal, role, label or name), entry)
        return before is None

    @_repeated
    async def withdraw(self, caller: Caller, context_id: str, principal: str) -> None:
        """Remove a member; everybody may remove their own grant. Raises Conflict for the last admin."""
        is_own = principal == USER + caller.principal.user_id
        right = Right.SEE if is_own else Right.GRANT
        context = (await self.read(caller, context_id, right)).context
        before = await self._role_of(context, principal)
        if before is None:
            raise NotFound("There is no such member.")
        if before is Role.ADMIN:
            await self._keep_an_admin(caller, context, principal)
        entry = self._entry(caller, context, Action.WITHDRAWN, principal=principal, role_before=before)
        await self._store.withdraw(context, principal, entry)

    async def members(
        self, caller: Caller, context_id: str, *, inherited: bool, limit: int, cursor: str | None
    ) -> tuple[list[Member], str | None]:
        """The members of a context, and with `inherited` those of its ancestors that the caller may see."""
        readable = await self.read(caller, context_id, Right.SEE_MEMBERS)
        above = [context.context_id for context in readable.path] if inherited else []
        wanted = [*above, context_id]
        organization_id = caller.principal.organization_id
        found = await self._store.members(organization_id, wanted, limit=limit + 1, after=from_cursor(cursor))
        return _page(found, limit, member_key)

    async def entry_points(
        self, caller: Caller, *, words: str, limit: int, cursor: str | None
    ) -> tuple[list[ReadableContext], str | None]:
        """The contexts on which the caller has a direct grant, by name; a page may be short."""
        found = await self._store.granted(
            caller.principal.organization_id,
            principals_of(caller.principal),
            words=fold(words).split(),
            limit=limit + 1,
            after=from_cursor(cursor),
        )
        return await self._readable_page(caller, found, limit)

    async def children(
        self, caller: Caller, parent_id: str, *, words: str, limit: int, cursor: str | None
    ) -> tuple[list[ReadableContext], str | None]:
        """The contexts directly below one that the caller may see, by name."""
        await self.read(caller, parent_id)
        return await self._children(caller, parent_id, words, limit, cursor)

    async def roots(
        self, caller: Caller, *, words: str, limit: int, cursor: str | None
    ) -> tuple[list[ReadableContext], str | None]:
        """All organizations and workspaces, for administrators of the installation."""
        _check_admin(caller)
        return await self._children(caller, None, words, limit, cursor)

    async def audit(
        self, caller: Caller, *, context_id: str | None, limit: int, cursor: str | None
    ) -> tuple[list[AuditEntry], str | None]:
        """The changes, latest first, for administrators of the installation."""
        _check_admin(caller)
        organization_id = caller.principal.organization_id
        found = await self._store.audit(
            organization_id, context_id=context_id, limit=limit + 1, before=from_cursor(cursor)
        )
        return _page(found, limit, audit_key)

    async def _children(
        self, caller: Caller, parent_id: str | None, words: str, limit: int, cursor: str | None
    ) -> tuple[list[ReadableContext], str | None]:
        organization, named = caller.principal.organization_id, fold(words).split()
        after = from_cursor(cursor)
        found = await self._store.children(organization, parent_id, words=named, limit=limit + 1, after=after)
        return await self._readable_page(caller, found, limit, sees_all=caller.is_admin)

    async def _readable_page(
        self, caller: Caller, found: list[Context], limit: int, *, sees_all: bool = False
    ) -> tuple[list[ReadableContext], str | None]:
        """`sees_all`: those without a role of the caller's too; what is above them has to be present."""
        page, cursor = _page(found, limit, lambda context: context.sort_key)
        rights = await self._rights(caller, [context.context_id for context in page])
        roles = [(context, role_on(context.context_id, rights)) for context in page]
        readable = [
            ReadableContext(context, role, _path(context.context_id, rights))
            for context, role in roles
            if role is not None or (sees_all and context.state is State.PRESENT)
        ]
        return readable, cursor

    async def _rights(self, caller: Caller, context_ids: Sequence[str]) -> Rights:
        who = caller.principal
        wanted = list(dict.fromkeys(each for context_id in context_ids for each in lineage(context_id)))
        if not wanted:
            return Rights({}, {})
        return await self._store.rights(who.organization_id, wanted, principals_of(who))

    async def _parent(self, caller: Caller, kind: ContextType, parent_id: str | None) -> Context | None:
        if parent_id is None:
            if kind.parent is not None:
                raise InvalidInput(f"A {kind} needs the id of its {kind.parent}.", field="parent_id")
            if not self.may_create_roots(caller):
                raise Forbidden(f"Only administrators create a {kind}.", code="role_too_low")
            return None
        parent = (await self.read(caller, parent_id, Right.CREATE_BELOW)).context
        if parent.type is not kind.parent:
            raise InvalidInput(f"A {kind} cannot be below a {parent.type}.", field="parent_id")
        return parent

    async def _role_of(self, context: Context, principal: str) -> Role | None:
        """The role that this principal was granted directly."""
        rights = await self._store.rights(context.organization_id, [context.context_id], [principal])
        return rights.granted.get(context.context_id)

    async def _keep_an_admin(self, caller: Caller, context: Context, principal: str) -> None:
        """Raise Conflict for the last administrator of a root, but not to those of the installation."""
        if context.parent_id is not None or caller.is_admin:
            return
        after = ""
        while members := await self._store.members(
            context.organization_id, [context.context_id], limit=200, after=after
        ):
            if any(member.role is Role.ADMIN and member.principal != principal for member in members):
                return
            after = member_key(members[-1])
        raise Conflict("This is the last administrator of the context.", code="last_admin")

    def _member(
        self, caller: Caller, context: Context, principal: str, role: Role, label: str | None
    ) -> Member:
        return Member(
            organization_id=context.organization_id,
            context_id=context.context_id,
            principal=principal,
            role=role,
            label=label or "",
            granted_by=caller.principal.user_id,
            granted_at=self._clock(),
        )

    def _entry(
        self,
        caller: Caller,
        context: Context,
        action: Action,
        *,
        principal: str | None = None,
        role_before: Role | None = None,
        role_after: Role | None = None,
    ) -> AuditEntry:
        return AuditEntry(
            organization_id=context.organization_id,
            at=self._clock(),
            actor=caller.principal.user_id,
            action=action,
            context_id=context.context_id,
            principal=principal,
            role_before=role_before,
            role_after=role_after,
            trace_id=caller.trace_id,
        )


def _path(context_id: str, rights: Rights) -> list[Context]:
    """The readable ancestors, from the top; names of others are not shown."""
    return [rights.contexts[each] for each in lineage(context_id)[:-1] if role_on(each, rights) is not None]


def _page(found: list[Result], limit: int, key: Callable[[Result], str]) -> tuple[list[Result], str | None]:
    page = found[:limit]
    return page, to_cursor(key(page[-1])) if len(found) > limit else None


def _check_admin(caller: Caller) -> None:
    if not caller.is_admin:
        raise Forbidden("This is for administrators of the installation.")


def _missing() -> NotFound:
    return NotFound("There is no such context.")
