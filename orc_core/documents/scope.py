"""The signed scope token: the documents that one turn may access, decided by the server."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Literal

import jwt
from pydantic import ConfigDict, Field, ValidationError

from orc_core.documents.places import Access, Accessible, Place, PlaceType, session_place
from orc_core.errors import InvalidInput, NotAuthenticated, UnsafeName
from orc_core.infra.keys import CLOCK_SKEW_SECONDS, Keys
from orc_core.models import Document, Record
from orc_core.names import Owner

AUDIENCE = "mcp"
ISSUER = "orc"
MAX_TOKEN_BYTES = 16 * 1024
"""The token is a header, which proxies limit."""
VERSION = 2


# Why a token names places and not documents: docs/decisions/scope.md.
class Scope(Record):
    """What a tool call may access. Its arguments cannot add to it.

    With `document_ids` only these documents of the places are accessible.
    """

    # Unlike other records: a restriction that a newer version put into a token must not be ignored.
    model_config = ConfigDict(extra="forbid")

    organization_id: str
    user_id: str
    conversation_id: str
    places: tuple[Place, ...] = ()
    document_ids: tuple[str, ...] | None = None
    tools_off: tuple[str, ...] = Field(default=(), description="tools that this turn may not call")
    tools_on: tuple[str, ...] = Field(
        default=(), description="tools that change something and that this message switched on"
    )

    @property
    def owner(self) -> Owner:
        return Owner(self.organization_id, self.user_id, self.conversation_id)

    @cached_property
    def accessible(self) -> Accessible:
        """The documents that this scope gives access to."""
        ids = None if self.document_ids is None else frozenset(self.document_ids)
        return Accessible(self.owner, self.places, ids)

    def switched(self, tools: Mapping[str, bool]) -> "Scope":
        """This scope with the tools that a message switches on or off; it cannot switch on what is off."""
        off = {*self.tools_off, *(name for name, is_on in tools.items() if not is_on)}
        on = {name for name, is_on in tools.items() if is_on}
        return self.model_copy(update={"tools_off": tuple(sorted(off)), "tools_on": tuple(sorted(on - off))})

    def allows(self, tool: str, *, only_reads: bool) -> bool:
        """Whether this turn may call a tool.

        One that changes something has to be switched on, and is for those who may change a context of the
        focus, or the session if there is no context.
        """
        if tool in self.tools_off:
            return False
        near = [place for place in self.places if place.near]
        shared = [place for place in near if place.type is not PlaceType.SESSION]
        may_change = any(place.access is not Access.VIEWER for place in shared or near)
        return only_reads or (tool in self.tools_on and may_change)

    @classmethod
    def of_session(cls, owner: Owner, documents: Iterable[Document] | None = None) -> "Scope":
        """The scope of all documents of a session, or of exactly these of them."""
        ids = None if documents is None else tuple(document.document_id for document in documents)
        return cls(**asdict(owner), places=(session_place(owner),), document_ids=ids)


class ScopeTokens:
    """Creates and verifies scope tokens with shared keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def mint(self, scope: Scope, *, seconds: int) -> str:
        """A token for `scope`, valid for `seconds` from now. Raises InvalidInput if it is too large."""
        now = int(time.time())
        fields = scope.model_dump(mode="json", exclude={"places"})
        # A place without names of fields, its type and access by their first letters.
        places = [
            (p.type[0], p.id, int(p.deep), int(p.near), p.access[0], p.name, p.without) for p in scope.places
        ]
        packed = {"version": VERSION, **fields, "places": places}
        claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + seconds, "scope": packed}
        # As bytes of UTF-8: PyJWT would write every other letter than those of ASCII as six characters.
        token = self._keys.sign(json.dumps(claims, ensure_ascii=False, separators=(",", ":")).encode())
        if len(token) > MAX_TOKEN_BYTES:
            raise InvalidInput("Too many contexts and documents for one question.", field="contexts")
        return token

    def verify(self, token: str) -> tuple[Scope, int]:
        """The scope and its expiry (epoch seconds). Raises NotAuthenticated, which says what is wrong."""
        try:
            claims = json.loads(self._keys.signed(token))
            if (expires_at := _expiry_of(claims)) <= time.time():
                raise NotAuthenticated("The scope token has expired.")
            scope = _unpacked(claims["scope"])
            _ = scope.accessible.areas, scope.accessible.hidden_areas
        except (jwt.InvalidTokenError, ValidationError, UnsafeName, KeyError, TypeError, ValueError) as exc:
            raise NotAuthenticated(
                "The scope token is not valid here: it is damaged, or signed with another key."
            ) from exc
        return scope, expires_at


def _expiry_of(claims: Mapping[str, object]) -> int:
    """When a token with these claims expires (epoch seconds). Raises ValueError if it is not one of ours."""
    issued_at, expires_at = claims["iat"], claims["exp"]
    if not isinstance(issued_at, int) or not isinstance(expires_at, int) or "nbf" in claims:
        raise ValueError("no times, or another one that this version does not read")
    if issued_at > time.time() + CLOCK_SKEW_SECONDS:
        raise ValueError("issued in the future")
    if (claims["iss"], claims["aud"]) != (ISSUER, AUDIENCE):
        raise ValueError("of another issuer, or for another audience")
    return expires_at


_TYPES = {kind.value[0]: kind for kind in PlaceType}
_ACCESS = {access.value[0]: access for access in Access}


def _unpacked(content: object) -> Scope:
    """The scope in a token. It is ours: the signature was checked before."""
    if not isinstance(content, dict):
        raise ValueError("no scope")
    if content.get("version") != VERSION:
        return _ScopeOfVersion1.model_validate(content).upgraded()
    fields = {name: value for name, value in content.items() if name != "version"}
    places = [
        Place(
            type=_TYPES[kind],
            id=place_id,
            deep=bool(deep),
            near=bool(near),
            access=_ACCESS[access],
            name=name,
            without=tuple(without),
        )
        for kind, place_id, deep, near, access, name, without in content["places"]
    ]
    return Scope.model_validate({**fields, "places": places})


class _ScopedDocument(Record):
    model_config = ConfigDict(extra="forbid")

    document_id: str
    blob_name: str
    etag: str


class _ScopeOfVersion1(Record):
    """What the tokens of the release before hold: the documents of one session."""

    model_config = ConfigDict(extra="forbid")

    organization_id: str
    user_id: str
    conversation_id: str
    documents: tuple[_ScopedDocument, ...] = ()
    role: Literal["viewer"] = "viewer"

    def upgraded(self) -> Scope:
        owner = Owner(self.organization_id, self.user_id, self.conversation_id)
        ids = tuple(document.document_id for document in self.documents)
        return Scope(**asdict(owner), places=(session_place(owner),), document_ids=ids)
