"""The tools for an MCP client of a user: what may be read is decided by the user's rights at each call."""

import uuid
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp
from pydantic import ConfigDict, Field, ValidationError

from orc.contexts.ids import is_context_id
from orc.contexts.models import ContextType
from orc.contexts.service import Caller, ContextService
from orc.contexts.turn_scope import TurnScope, TurnScopes
from orc.conversations.models import TurnContext
from orc.conversations.search import wanted
from orc.conversations.turn_log import TurnLog
from orc.identity import SessionIds
from orc.limits.models import RateLimit
from orc.tools.mcp_client import McpToolGateway
from orc.tools.ports import DOCUMENT_CHAT, WEB_SEARCH
from orc.turns.contexts import mint_token, scope_of
from orc_core.documents.places import PlaceType
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.errors import InvalidInput, NotFound
from orc_core.models import Record
from orc_core.names import Owner

MOST_TOGETHER = 49
"""Contexts that a call reads together if it names none."""
PAGE = 50
COST_A_MESSAGE = frozenset({DOCUMENT_CHAT, "documents_analyze", WEB_SEARCH})
"""A model writes the result, or a company searches for it."""
TOKEN_SECONDS = 60
"""A token is read as soon as a call begins."""


class PlacesWanted(Record):
    """The arguments of the tool that lists places."""

    model_config = ConfigDict(extra="ignore")

    kind: Literal["contexts", "sessions"] = "contexts"
    name: str = Field(default="", max_length=200, description="words of the name; without any: all")
    within: str | None = Field(
        default=None, max_length=64, description="`place` of a context: those below it"
    )
    cursor: str | None = Field(default=None, max_length=500, description="`next_cursor` of the page before")


class ListedPlace(Record):
    """A session or a context that the user may read. `place` is the argument of the other tools."""

    place: str
    type: PlaceType
    name: str


class Places(Record):
    """One page of places."""

    places: list[ListedPlace]
    next_cursor: str | None = None

    @property
    def text(self) -> str:
        """The same in words: many clients give a model nothing else."""
        lines = [f"{each.type} {each.name} (place {each.place})" for each in self.places] or ["None."]
        return "\n".join([*lines, *([f"next_cursor: {self.next_cursor}"] if self.next_cursor else [])])


@dataclass(frozen=True)
class UserTools:
    """The tools of the tools server, over one session or the contexts of a user."""

    gateway: McpToolGateway
    tokens: ScopeTokens
    sessions: SessionIds
    log: TurnLog
    contexts: ContextService
    scopes: TurnScopes
    messages: RateLimit
    """Counts the calls of the tools that cost one."""

    async def places(self, caller: Caller, arguments: Mapping[str, Any]) -> Places:
        """The sessions of the caller, latest used first, or the contexts that the caller may read."""
        try:
            given = PlacesWanted.model_validate(arguments)
        except ValidationError as exc:
            raise InvalidInput("kind is contexts or sessions; the other arguments are short texts.") from exc
        who, name, at = caller.principal, given.name, given.cursor
        if given.kind == "sessions":
            heads, cursor = await self.log.conversations(
                who.organization_id, who.user_id, limit=PAGE, cursor=at, words=wanted(name)
            )
            found = [(each.conversation_id, PlaceType.SESSION, each.title or "") for each in heads]
        else:
            readable, cursor = await (
                self.contexts.entry_points(caller, words=name, limit=PAGE, cursor=at)
                if given.within is None
                else self.contexts.children(caller, given.within, words=name, limit=PAGE, cursor=at)
            )
            contexts = [each.context for each in readable]
            found = [(each.context_id, PlaceType(each.type), each.name) for each in contexts]
        listed = [ListedPlace(place=place, type=kind, name=name) for place, kind, name in found]
        return Places(places=listed, next_cursor=cursor)

    async def scope_of_call(self, caller: Caller, tool: str, place: str) -> Scope:
        """What a call may read: the place, or all contexts that the caller was given, if it names none.

        Raises NotFound for what is no place of the caller's, and TooMany beyond the user's limit.
        """
        who, owner = caller.principal, _no_session(caller)
        if not place:
            most = MOST_TOGETHER
            given, cursor = await self.contexts.entry_points(caller, words="", limit=most, cursor=None)
            if cursor is not None:
                raise InvalidInput(f"You may read more than {most} contexts. Name one.", field="place")
            covered: TurnScope | None = await self.scopes.together(
                who, [each.context.context_id for each in given]
            )
        elif is_context_id(place):
            asked = [TurnContext(type=ContextType.WORKSPACE, id=place)]
            covered = await self.scopes.of_turn(who, asked, None)
        else:
            owner = who.owner_of(self.sessions.named(who, place))
            if (head := await self.log.head(owner)) is None:
                raise NotFound("There is no such session or context.")
            covered = await self.scopes.of_turn(who, [], head)
        if tool in COST_A_MESSAGE:
            await self.messages.take(who)
        return scope_of(owner, [], covered)

    def forward(
        self, caller: Caller, body: bytes, headers: Mapping[str, str], scope: Scope | None = None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """The answer of the tools server to a message of a client. Without a scope it reads nothing."""
        scope = scope or Scope.of_session(_no_session(caller))
        return self.gateway.forward(body, headers, mint_token(self.tokens, scope, TOKEN_SECONDS))


def _no_session(caller: Caller) -> Owner:
    """A session that has never been: a scope over contexts has none."""
    return caller.principal.owner_of(str(uuid.uuid4()))
