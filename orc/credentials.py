"""Sessions of browsers: random secrets, of which only hashes are stored, and what a browser cannot change."""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jwt
from pydantic import TypeAdapter

from orc.identity import Principal
from orc_core.errors import NotAuthenticated
from orc_core.infra.items import Item, Items, Raced, create, delete, unraced

SECRET_BYTES = 32
PURPOSE, ALGORITHM = "sign-in", "HS256"
SESSION, USED = "session", "used"
"""What a secret is for. One of one kind is not accepted as one of another."""
_PRINCIPAL = TypeAdapter(Principal)


class Session(NamedTuple):
    """Whose session it is, and the ID token that it began with."""

    principal: Principal
    id_token: str


# Why they are stored, and by hash: docs/decisions/sign-in.md.
class CredentialStore:
    """Secrets by their hash, for all processes that share the store. `clock` has seconds since the epoch."""

    def __init__(self, items: Items, key: bytes, clock: Callable[[], float] = time.time) -> None:
        """`key` seals what browsers keep."""
        self._items = items
        self._key = key
        self._clock = clock

    def seal(self, facts: Mapping[str, str], *, seconds: float) -> str:
        """Facts that a browser keeps for so long, and cannot change."""
        claims = {**facts, "aud": PURPOSE, "exp": int(self._clock() + seconds)}
        return jwt.encode(claims, self._key, ALGORITHM)

    def unseal(self, text: str, names: Iterable[str]) -> dict[str, str]:
        """The facts of these names. Raises NotAuthenticated if they are changed, too old or incomplete."""
        options: Any = {"require": ["exp", "aud", *names]}
        try:
            return jwt.decode(text, self._key, [ALGORITHM], audience=PURPOSE, options=options)
        except jwt.PyJWTError as exc:
            raise NotAuthenticated("This was not begun in this browser, or long ago.") from exc

    async def begin_session(self, principal: Principal, *, seconds: float, id_token: str = "") -> str:
        """The secret of a new session."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        item = self._item(secret, SESSION, seconds) | _owner(principal) | {"id_token": id_token}
        await self._create(item)
        return secret

    async def session(self, secret: str) -> Session | None:
        """The session of a secret; None if there is none, or none any more."""
        if (item := await self._find(secret, SESSION)) is None:
            return None
        return Session(_principal(item), item["id_token"])

    async def end_session(self, secret: str) -> None:
        """End the session of a secret, if there is one, for all processes at once."""

        async def work() -> None:
            if await self._find(secret, SESSION) is not None:
                await self._items.write([digest := _hash(secret)], delete(digest))

        await unraced(work)

    async def use_once(self, mark: str, *, seconds: float) -> bool:
        """Whether nothing has used this mark in the last `seconds`."""
        return await self._create(self._item(mark, USED, seconds))

    def _item(self, secret: str, kind: str, seconds: float) -> Item:
        now, digest = self._clock(), _hash(secret)
        stored = {"id": digest, "kind": kind, "began_at": now, "ends_at": now + seconds}
        return stored | {"ttl": max(1, int(seconds))}

    async def _create(self, item: Item) -> bool:
        """Whether it was not stored yet. A random secret never was, unless a confirmation got lost."""
        try:
            await self._items.write([item["id"]], create(item))
        except Raced:
            return False
        return True

    async def _find(self, secret: str, kind: str) -> Item | None:
        item = await self._items.read([(digest := _hash(secret))], digest)
        # Databases remove what has expired in their own time.
        return item if item and item["kind"] == kind and self._clock() < item["ends_at"] else None


def _hash(secret: str) -> str:
    # A plain hash: 32 random bytes cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


def _owner(principal: Principal) -> Item:
    facts = _PRINCIPAL.dump_python(principal, mode="json", exclude={"until"})
    return {
        "organization_id": principal.organization_id,
        "user_id": principal.user_id,
        "principal": facts,
    }


def _principal(item: Item) -> Principal:
    return replace(_PRINCIPAL.validate_python(item["principal"]), until=item["ends_at"])
