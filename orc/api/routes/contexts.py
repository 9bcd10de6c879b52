"""Contexts and their members: create, list, read, change, share, delete."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, field_validator

from orc.api.dependencies import DIGITS, AppDep, CallerDep, ContextId
from orc.api.responses import IdempotencyKey, responses
from orc.api.schemas import Body, View, example, visible, without_nul
from orc.contexts.models import EVERYONE, Action, ContextType, OrNewer, Role, State, ToolOff
from orc.contexts.people import Person
from orc.contexts.rights import Right
from orc.contexts.service import ReadableContext
from orc_core.errors import InvalidInput
from orc_core.mcp_contract import TOOLS

ContextName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=120),
    AfterValidator(visible),
    Field(examples=["Rail 2026"]),
]
Description = Annotated[str, StringConstraints(max_length=2000), AfterValidator(without_nul)]


class NewContext(Body):
    """A context to create; a folder needs an organization as its parent, a use case a folder."""

    type: ContextType
    name: ContextName
    description: Description = ""
    parent_id: str | None = None


class ContextChange(Body):
    name: ContextName | None = None
    description: Description | None = None
    tools_off: list[str] | None = Field(
        default=None, max_length=50, description="tools that turns with this context may not use"
    )

    @field_validator("tools_off")
    @classmethod
    def _known_tools(cls, names: list[str] | None) -> list[str] | None:
        if unknown := set(names or ()) - set(TOOLS):
            raise ValueError(f"there is no tool {min(unknown)!r}")
        return names


class ContextAbove(View):
    context_id: str
    type: ContextType
    name: str


class ContextView(View):
    """A context, and what the caller may do with it."""

    context_id: str = Field(examples=["k3v9x2mq7hd4tz1w"])
    type: ContextType
    name: str = Field(examples=["Rail 2026"])
    description: str
    tools_off: list[str]
    switched_off: list[ToolOff] = Field(
        description="tools that it or a readable context above it switches off"
    )
    role: Role | None = Field(description="the caller's; null for administrators of the installation alone")
    path: list[ContextAbove] = Field(description="the contexts above that the caller may see, from the top")
    version: int
    updated_at: datetime

    @classmethod
    def of_readable(cls, readable: ReadableContext) -> "ContextView":
        """The view of what a caller may see."""
        path = [ContextAbove.of(context) for context in readable.path]
        off = [*ToolOff.within([*readable.path, readable.context]).values()]
        return cls.of(readable.context, role=readable.role, path=path, switched_off=off)


class ContextsResponse(BaseModel):
    contexts: list[ContextView]
    next_cursor: str | None = None


class Grant(Body):
    model_config = Body.model_config | example(role="editor", label="Ada Lovelace")

    role: Role
    label: Annotated[str, StringConstraints(max_length=120), AfterValidator(visible)] = Field(
        default="", description="a name or an address to show for the member"
    )


class MemberView(View):
    """A member of a context, or of one above it."""

    context_id: str
    principal: str = Field(examples=["user:ada", "group:3f0d8f5e", "everyone"])
    role: Role
    label: str
    granted_at: datetime


class MembersResponse(BaseModel):
    members: list[MemberView]
    next_cursor: str | None = None


class PeopleResponse(BaseModel):
    people: list[Person]
    is_complete: bool = Field(description="false: the directory of the organization could not be asked")


class AuditView(View):
    """One change of a context or its members, or of a link to a conversation, or the end of a session."""

    at: datetime
    actor: str = Field(examples=["ada"])
    action: OrNewer[Action]
    context_id: str | None = Field(description="null: it is about a conversation")
    conversation_id: str | None = Field(default=None, description="that a link leads to, or that expired")
    principal: str | None
    role_before: OrNewer[Role] | None
    role_after: OrNewer[Role] | None
    document_id: str | None = Field(default=None, description="that was added, taken back or removed")
    trace_id: str


class AuditResponse(BaseModel):
    entries: list[AuditView]
    next_cursor: str | None = None


class Deletion(BaseModel):
    model_config = example(state="deleting")
    state: State


router = APIRouter(tags=["contexts"])


@dataclass
class Page:
    """Which page of a list."""

    limit: Annotated[int, Query(ge=1, le=200), DIGITS] = 50
    cursor: Annotated[str | None, Query(max_length=1000)] = None


PageDep = Annotated[Page, Depends()]
Words = Annotated[str, Query(max_length=200, description="words that the name has to contain")]
NO_NAME = "-"


class PrincipalKind(StrEnum):
    USER = "user"
    GROUP = "group"
    EVERYONE = "everyone"


Kind = Annotated[PrincipalKind, Path(description="the kind of member that the role is for")]
PrincipalName = Annotated[
    str, Path(max_length=255, description=f"the id of the user or group; `{NO_NAME}` for everyone")
]


@router.post("/contexts", status_code=201, responses=responses(400, 404, 409, 413, 415))
async def create_context(
    body: NewContext,
    caller: CallerDep,
    app: AppDep,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> ContextView:
    """Create an organization or a workspace, or a folder or use case below what the caller may edit."""
    given = body.model_dump(exclude={"type"})
    created = await app.contexts.create(caller, body.type, **given, key=idempotency_key)
    return _view(created, response)


@router.get("/contexts", responses=responses(404))
async def list_contexts(
    caller: CallerDep,
    app: AppDep,
    page: PageDep,
    parent_id: Annotated[str | None, Query(max_length=64, description="list what is below it")] = None,
    q: Words = "",
) -> ContextsResponse:
    """The contexts that the caller was granted a role on, or those below one of them, by name.

    A page may have fewer than `limit`, even if more follow.
    """
    if parent_id is None:
        return _shown(*await app.contexts.entry_points(caller, words=q, **vars(page)))
    return _shown(*await app.contexts.children(caller, parent_id, words=q, **vars(page)))


@router.get("/contexts/{context_id}", responses=responses(404))
async def get_context(
    context_id: ContextId, caller: CallerDep, app: AppDep, response: Response
) -> ContextView:
    """A context, and the caller's role on it. Its version is the `ETag`."""
    return _view(await app.contexts.read(caller, context_id), response)


@router.patch("/contexts/{context_id}", responses=responses(400, 404, 412, 413, 415))
async def change_context(
    context_id: ContextId,
    body: ContextChange,
    caller: CallerDep,
    app: AppDep,
    response: Response,
    if_match: Annotated[str | None, Header(description="change this version only: the `ETag`")] = None,
) -> ContextView:
    """Change the name or description (editors), or the tools that are switched off (admins)."""
    version = None
    if if_match is not None and if_match.strip() != "*":
        digits = if_match.strip().strip('"')
        if not digits.isdecimal():
            raise InvalidInput("If-Match takes the ETag that the context was read with.", field="if-match")
        version = int(digits)
    changed = await app.contexts.change(caller, context_id, **body.model_dump(), version=version)
    return _view(changed, response)


@router.delete("/contexts/{context_id}", status_code=202, responses=responses(404, 409))
async def delete_context(context_id: ContextId, caller: CallerDep, app: AppDep) -> Deletion:
    """Delete a context, all below it and their documents. They are hidden from now on."""
    await app.contexts.delete(caller, context_id)
    return Deletion(state=State.DELETING)


@router.get("/contexts/{context_id}/members", responses=responses(404))
async def list_members(
    context_id: ContextId,
    caller: CallerDep,
    app: AppDep,
    page: PageDep,
    inherited: Annotated[bool, Query(description="with those of the contexts above")] = True,
) -> MembersResponse:
    """Who has a role on the context."""
    members, next_cursor = await app.contexts.members(caller, context_id, inherited=inherited, **vars(page))
    return MembersResponse(members=[MemberView.of(each) for each in members], next_cursor=next_cursor)


@router.get("/contexts/{context_id}/people", responses=responses(404))
async def find_people(context_id: ContextId, caller: CallerDep, app: AppDep, q: Words = "") -> PeopleResponse:
    """Who could be given a role, for those who may do so: who has opened the page, or is in the directory."""
    await app.contexts.read(caller, context_id, Right.GRANT)
    people, is_complete = await app.contexts.people.find(caller.principal.organization_id, q)
    return PeopleResponse(people=people, is_complete=is_complete)


@router.put(
    "/contexts/{context_id}/members/{kind}/{principal:path}",
    status_code=204,
    responses=responses(400, 404, 409, 413, 415),
)
async def grant_role(
    context_id: ContextId, kind: Kind, principal: PrincipalName, body: Grant, caller: CallerDep, app: AppDep
) -> None:
    """Grant a role, or change the one that a member has. It counts from the next request on."""
    await app.contexts.grant(caller, context_id, _principal(kind, principal), body.role, body.label)


@router.delete(
    "/contexts/{context_id}/members/{kind}/{principal:path}", status_code=204, responses=responses(404, 409)
)
async def withdraw_role(
    context_id: ContextId, kind: Kind, principal: PrincipalName, caller: CallerDep, app: AppDep
) -> None:
    """Withdraw a member's role; anyone may withdraw their own. It counts from the next request on."""
    await app.contexts.withdraw(caller, context_id, _principal(kind, principal))


@router.get("/admin/contexts", responses=responses())
async def list_roots(caller: CallerDep, app: AppDep, page: PageDep, q: Words = "") -> ContextsResponse:
    """All organizations and workspaces of the installation, by name, for its administrators."""
    return _shown(*await app.contexts.roots(caller, words=q, **vars(page)))


@router.get("/admin/audit", responses=responses())
async def list_audit(
    caller: CallerDep,
    app: AppDep,
    page: PageDep,
    context_id: Annotated[str | None, Query(max_length=64, description="of this context only")] = None,
) -> AuditResponse:
    """The changes of contexts and members, latest first, for administrators of the installation."""
    entries, next_cursor = await app.contexts.audit(caller, context_id=context_id, **vars(page))
    return AuditResponse(entries=[AuditView.of(each) for each in entries], next_cursor=next_cursor)


def _shown(found: list[ReadableContext], next_cursor: str | None) -> ContextsResponse:
    return ContextsResponse(contexts=[*map(ContextView.of_readable, found)], next_cursor=next_cursor)


def _view(readable: ReadableContext, response: Response) -> ContextView:
    response.headers["etag"] = f'"{readable.context.version}"'
    return ContextView.of_readable(readable)


def _principal(kind: PrincipalKind, name: str) -> str:
    if kind is PrincipalKind.EVERYONE:
        if name != NO_NAME:
            raise InvalidInput(f"For everyone the last part is {NO_NAME}.", field="principal")
        return EVERYONE
    return f"{kind}:{name}"
