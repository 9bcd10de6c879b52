"""What is stored about contexts."""

import base64
import binascii
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, Field

from orc.contexts.ids import parent_of
from orc_core.errors import InvalidInput
from orc_core.models import Record


class ContextType(StrEnum):
    """The kinds of contexts. A workspace is a root that takes no children."""

    ORGANIZATION = "organization"
    FOLDER = "folder"
    USECASE = "usecase"
    WORKSPACE = "workspace"

    @property
    def parent(self) -> "ContextType | None":
        """The type of the context above; None for a root."""
        return _PARENTS.get(self)


_PARENTS = {
    ContextType.FOLDER: ContextType.ORGANIZATION,
    ContextType.USECASE: ContextType.FOLDER,
}


class Role(StrEnum):
    """What a member may do; each role includes the ones before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """The place in the order of roles, from 0."""
        return _RANKS[self]


_RANKS = {role: rank for rank, role in enumerate(Role)}


class State(StrEnum):
    """`deleting`: it is hidden, and its content is being removed."""

    PRESENT = "present"
    DELETING = "deleting"


class Context(Record):
    """A place for shared documents. `version` grows with each change of it or of its members."""

    organization_id: str
    context_id: str
    type: ContextType
    name: str
    description: str = ""
    tools_off: tuple[str, ...] = Field(
        default=(), description="tools that turns with this context may not use"
    )
    state: State = State.PRESENT
    version: int = 1
    created_by: str
    created_at: datetime
    updated_at: datetime

    @property
    def parent_id(self) -> str | None:
        return parent_of(self.context_id)

    @property
    def sort_key(self) -> str:
        """The key of lists: by name, then by id."""
        return f"{fold(self.name)}\n{self.context_id}"


EVERYONE = "everyone"
USER, GROUP = "user:", "group:"


class Member(Record):
    """A role on a context. `principal` is `user:<id>`, `group:<id>` or `everyone`."""

    organization_id: str
    context_id: str
    principal: str
    role: Role
    label: str = Field(default="", description="what the grantor saw: a name or an address, for display only")
    granted_by: str
    granted_at: datetime


class Action(StrEnum):
    """What the audit records; reading is not recorded."""

    CREATED = "context_created"
    CHANGED = "context_changed"
    DELETED = "context_deleted"
    REMOVED = "context_removed"
    GRANTED = "role_granted"
    SELF_GRANT = "self_grant"
    WITHDRAWN = "role_withdrawn"
    ADDED = "document_added"
    TAKEN_BACK = "document_taken_back"
    SHARED = "link_made"
    UNSHARED = "link_withdrawn"
    SESSION_EXPIRED = "session_expired"
    DOCUMENT_EXPIRED = "document_expired"


Kind = TypeVar("Kind")
OrNewer = Annotated[Kind | str, Field(union_mode="left_to_right")]
"""A kind that this version knows, or the word of a newer version for one that it does not."""
BY_ORC = "orc"
"""The actor of the audit if no user is."""


class AuditEntry(Record):
    """One change: who did what, with ids only."""

    organization_id: str
    entry_id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    at: datetime
    actor: str = Field(description="the user's id, or `orc`")
    action: OrNewer[Action]
    context_id: str | None = Field(default=None, description="null: it is about a conversation")
    conversation_id: str | None = Field(default=None, description="that a link leads to, or that expired")
    principal: str | None = None
    role_before: OrNewer[Role] | None = None
    role_after: OrNewer[Role] | None = None
    document_id: str | None = Field(default=None, description="that was added, taken back or removed")
    trace_id: str = ""


class Rights(NamedTuple):
    """Contexts by id, and the highest role that a caller was granted directly on each.

    `below`: contexts further down that are being deleted or switch tools off, if they were asked for.
    """

    contexts: dict[str, Context]
    granted: dict[str, Role]
    below: tuple[Context, ...] = ()


Reason = Literal["not_readable", "unknown", "switched_off", "too_many", "groups_incomplete", "unavailable"]


class ReadableRef(Record):
    """A context that a turn covers, as its caller may see it."""

    type: str
    id: str
    name: str
    role: str


class LeftOut(Record):
    """A context that a turn does not cover, and why."""

    type: str
    id: str
    reason: Reason


class UsedContext(BaseModel):
    """A context with material in the prompts of the turn.

    `cited`: citations of its documents; `shown`: results of tools that had its material.
    """

    type: str
    id: str
    name: str
    focus: bool = Field(description="it is the focus, or belongs to it")
    cited: int = 0
    shown: int = 0


class TurnContexts(BaseModel):
    """The contexts of a turn: what it covered, what it used, and what it left out."""

    focus: ReadableRef | None = None
    active: list[ReadableRef] = []
    historical: list[ReadableRef] = []
    used: list[UsedContext] = []
    left_out: list[LeftOut] = []


class ToolOff(Record):
    """A tool that is switched off, and the context that does it."""

    tool: str
    context_type: str
    context_name: str
    context_id: str = ""

    @classmethod
    def within(cls, path: Iterable[Context]) -> "dict[str, ToolOff]":
        """The tools that these contexts, from the top down, switch off, each with the nearest that does."""
        return {
            tool: cls(tool=tool, context_type=each.type, context_name=each.name, context_id=each.context_id)
            for each in path
            for tool in each.tools_off
        }

    @property
    def by(self) -> str:
        return f'{self.context_type} "{self.context_name}"'


def member_key(member: Member) -> str:
    """The key of lists of members."""
    return f"{member.context_id}\n{member.principal}"


def audit_key(entry: AuditEntry) -> str:
    """The key of the audit: by time, then by id."""
    return f"{entry.at.astimezone(UTC).isoformat(timespec='microseconds')}\n{entry.entry_id}"


def fold(text: str) -> str:
    """A name as it is searched and sorted."""
    return " ".join(text.casefold().split())


def to_cursor(key: str) -> str:
    """A key as callers pass it back."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def from_cursor(cursor: str | None) -> str:
    """The key in a cursor; "" for None. Raises InvalidInput for what no page gave."""
    try:
        return base64.b64decode((cursor or "").encode(), b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as exc:
        raise InvalidInput("The cursor is not one that a page gave.", field="cursor") from exc
