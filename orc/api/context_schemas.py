"""The bodies of requests about contexts, and of responses."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, JsonValue, StringConstraints, field_validator

from orc.api.schemas import Body, DocumentView, View, example, visible, without_nul
from orc.contexts.models import Action, ContextType, Role, State
from orc.contexts.service import ReadableContext
from orc.problems import FieldProblem
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
    """The fields to change."""

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
    """A context above another one."""

    context_id: str
    type: ContextType
    name: str


_CONTEXT: dict[str, JsonValue] = {
    "context_id": "k3v9x2mq7hd4tz1w",
    "type": "workspace",
    "name": "Rail 2026",
    "description": "",
    "tools_off": [],
    "role": "editor",
    "path": [],
    "version": 1,
    "updated_at": "2026-01-31T12:00:00Z",
}


class ContextView(View):
    """A context, and what the caller may do with it."""

    model_config = example(**_CONTEXT)

    context_id: str
    type: ContextType
    name: str
    description: str
    tools_off: list[str]
    role: Role | None = Field(description="the caller's; null for administrators of the installation alone")
    path: list[ContextAbove] = Field(description="the contexts above that the caller may see, from the top")
    version: int
    updated_at: datetime

    @classmethod
    def of_readable(cls, readable: ReadableContext) -> "ContextView":
        """The view of what a caller may see."""
        path = [ContextAbove.of(context) for context in readable.path]
        return cls.of(readable.context, role=readable.role, path=path)


class ContextsResponse(BaseModel):
    """A page of contexts, by name."""

    model_config = example(contexts=[_CONTEXT], next_cursor=None)

    contexts: list[ContextView]
    next_cursor: str | None = None


class Grant(Body):
    """The role that a member gets."""

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
    """A page of members."""

    members: list[MemberView]
    next_cursor: str | None = None


class AuditView(View):
    """One change of a context or its members, or of a link to a conversation, or the end of a session."""

    at: datetime
    actor: str
    action: Action
    context_id: str | None = Field(description="null: it is about a conversation")
    conversation_id: str | None = Field(default=None, description="that a link leads to, or that expired")
    principal: str | None
    role_before: Role | None
    role_after: Role | None
    document_id: str | None = Field(default=None, description="that was added, taken back or removed")
    trace_id: str


class AuditResponse(BaseModel):
    """A page of the audit, latest first."""

    model_config = example(
        entries=[
            {
                "at": "2026-01-31T12:00:00Z",
                "actor": "ada",
                "action": "role_granted",
                "context_id": "k3v9x2mq7hd4tz1w",
                "principal": "group:crew",
                "role_before": "viewer",
                "role_after": "editor",
                "trace_id": "0af7651916cd43dd8448eb211c80319c",
            }
        ],
        next_cursor=None,
    )

    entries: list[AuditView]
    next_cursor: str | None = None


class Deletion(BaseModel):
    """A deletion that has begun."""

    model_config = example(state="deleting")
    state: State


class ContextUploadResponse(BaseModel):
    """The stored documents and the refused files. Nothing of a refused file is stored."""

    context_id: str
    documents: list[DocumentView]
    errors: list[FieldProblem] = Field(default=[], description="one per refused file; `field` is its name")


class ContextDocumentsResponse(BaseModel):
    """A page of the documents of a context."""

    context_id: str
    documents: list[DocumentView]
    next_cursor: str | None = None
