"""Contexts and their members: create, list, read, change, share, delete."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response

from orc.api.context_schemas import (
    AuditResponse,
    AuditView,
    ContextChange,
    ContextsResponse,
    ContextView,
    Deletion,
    Grant,
    MembersResponse,
    MemberView,
    NewContext,
)
from orc.api.dependencies import DIGITS, AppDep, CallerDep, ContextId
from orc.api.responses import IdempotencyKey, responses
from orc.contexts.models import EVERYONE, State
from orc.contexts.service import ReadableContext
from orc_core.errors import InvalidInput

router = APIRouter(tags=["contexts"])

Limit = Annotated[int, Query(ge=1, le=200), DIGITS]
Cursor = Annotated[str | None, Query(max_length=1000)]
NO_NAME = "-"


class PrincipalKind(StrEnum):
    """The kind of member that a role is for."""

    USER = "user"
    GROUP = "group"
    EVERYONE = "everyone"


Kind = Annotated[PrincipalKind, Path(description="the kind of member that the role is for")]
PrincipalName = Annotated[
    str, Path(max_length=255, description=f"the id of the user or group; `{NO_NAME}` for everyone")
]


@router.post(
    "/contexts", status_code=201, response_model=ContextView, responses=responses(400, 404, 409, 413, 415)
)
async def create_context(
    body: NewContext,
    caller: CallerDep,
    app: AppDep,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> ContextView:
    """Create an organization or a workspace, or a folder or use case below what the caller may edit."""
    created = await app.contexts.create(
        caller,
        body.type,
        body.name,
        description=body.description,
        parent_id=body.parent_id,
        key=idempotency_key,
    )
    return _view(created, response)


@router.get("/contexts", response_model=ContextsResponse, responses=responses(404))
async def list_contexts(
    caller: CallerDep,
    app: AppDep,
    parent_id: Annotated[str | None, Query(max_length=64, description="list what is below it")] = None,
    q: Annotated[str, Query(max_length=200, description="words that the name has to contain")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ContextsResponse:
    """The contexts that the caller was granted a role on, or those below one of them, by name.

    A page may have fewer than `limit`, even if more follow.
    """
    if parent_id is None:
        page, next_cursor = await app.contexts.entry_points(caller, words=q, limit=limit, cursor=cursor)
    else:
        page, next_cursor = await app.contexts.children(
            caller, parent_id, words=q, limit=limit, cursor=cursor
        )
    return ContextsResponse(
        contexts=[ContextView.of_readable(each) for each in page], next_cursor=next_cursor
    )


@router.get("/contexts/{context_id}", response_model=ContextView, responses=responses(404))
async def get_context(
    context_id: ContextId, caller: CallerDep, app: AppDep, response: Response
) -> ContextView:
    """A context, and the caller's role on it. Its version is the `ETag`."""
    return _view(await app.contexts.read(caller, context_id), response)


@router.patch(
    "/contexts/{context_id}", response_model=ContextView, responses=responses(400, 404, 412, 413, 415)
)
async def change_context(
    context_id: ContextId,
    body: ContextChange,
    caller: CallerDep,
    app: AppDep,
    response: Response,
    if_match: Annotated[str | None, Header(description="change this version only: the `ETag`")] = None,
) -> ContextView:
    """Change the name or description (editors), or the tools that are switched off (admins)."""
    changed = await app.contexts.change(
        caller,
        context_id,
        name=body.name,
        description=body.description,
        tools_off=body.tools_off,
        version=_version(if_match),
    )
    return _view(changed, response)


@router.delete(
    "/contexts/{context_id}", status_code=202, response_model=Deletion, responses=responses(404, 409)
)
async def delete_context(context_id: ContextId, caller: CallerDep, app: AppDep) -> Deletion:
    """Delete a context, all below it and their documents. They are hidden from now on."""
    await app.contexts.delete(caller, context_id)
    return Deletion(state=State.DELETING)


@router.get("/contexts/{context_id}/members", response_model=MembersResponse, responses=responses(404))
async def list_members(
    context_id: ContextId,
    caller: CallerDep,
    app: AppDep,
    inherited: Annotated[bool, Query(description="with those of the contexts above")] = True,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> MembersResponse:
    """Who has a role on the context."""
    members, next_cursor = await app.contexts.members(
        caller, context_id, inherited=inherited, limit=limit, cursor=cursor
    )
    return MembersResponse(members=[MemberView.of(each) for each in members], next_cursor=next_cursor)


@router.put(
    "/contexts/{context_id}/members/{kind}/{principal}",
    status_code=204,
    responses=responses(400, 404, 409, 413, 415),
)
async def grant_role(
    context_id: ContextId, kind: Kind, principal: PrincipalName, body: Grant, caller: CallerDep, app: AppDep
) -> None:
    """Grant a role, or change the one that a member has. It counts from the next request on."""
    await app.contexts.grant(caller, context_id, _principal(kind, principal), body.role, body.label)


@router.delete(
    "/contexts/{context_id}/members/{kind}/{principal}", status_code=204, responses=responses(404, 409)
)
async def withdraw_role(
    context_id: ContextId, kind: Kind, principal: PrincipalName, caller: CallerDep, app: AppDep
) -> None:
    """Withdraw a member's role; anyone may withdraw their own. It counts from the next request on."""
    await app.contexts.withdraw(caller, context_id, _principal(kind, principal))


@router.get("/admin/contexts", response_model=ContextsResponse, responses=responses())
async def list_roots(
    caller: CallerDep,
    app: AppDep,
    q: Annotated[str, Query(max_length=200, description="words that the name has to contain")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ContextsResponse:
    """All organizations and workspaces of the installation, by name, for its administrators."""
    page, next_cursor = await app.contexts.roots(caller, words=q, limit=limit, cursor=cursor)
    return ContextsResponse(
        contexts=[ContextView.of_readable(each) for each in page], next_cursor=next_cursor
    )


@router.get("/admin/audit", response_model=AuditResponse, responses=responses())
async def list_audit(
    caller: CallerDep,
    app: AppDep,
    context_id: Annotated[str | None, Query(max_length=64, description="of this context only")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> AuditResponse:
    """The changes of contexts and members, latest first, for administrators of the installation."""
    entries, next_cursor = await app.contexts.audit(caller, context_id=context_id, limit=limit, cursor=cursor)
    return AuditResponse(entries=[AuditView.of(each) for each in entries], next_cursor=next_cursor)


def _view(readable: ReadableContext, response: Response) -> ContextView:
    response.headers["etag"] = f'"{readable.context.version}"'
    return ContextView.of_readable(readable)


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    digits = if_match.strip().strip('"')
    if not digits.isdecimal():
        raise InvalidInput("If-Match takes the ETag that the context was read with.", field="if-match")
    return int(digits)


def _principal(kind: PrincipalKind, name: str) -> str:
    if kind is PrincipalKind.EVERYONE:
        if name != NO_NAME:
            raise InvalidInput(f"For everyone the last part is {NO_NAME}.", field="principal")
        return EVERYONE
    return f"{kind}:{name}"
