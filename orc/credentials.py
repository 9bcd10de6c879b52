"""Sessions of browsers and keys of users, of whose secrets only hashes are stored; and sealed facts."""

import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import jwt
from pydantic import TypeAdapter

from orc.identity import Principal
from orc_core.errors import Conflict, NotAuthenticated
from orc_core.infra.items import Item, Items, Raced, create, delete, equal, over, unraced
from orc_core.infra.keys import Keys

SECRET_BYTES = 32
KEY_PREFIX = "orc_"
"""Programs that look for secrets in published files find keys by it."""
KEY_SECONDS = 90 * 24 * 60 * 60
"""How long a key is valid after the latest sign-in of its user."""
MOST_KEYS = 20
PURPOSE = "sign-in"
SESSION, KEY, USED = "session", "key", "used"
"""What a secret is for. One of one kind is not accepted as one of another."""
_PRINCIPAL = TypeAdapter(Principal)


class Session(NamedTuple):
    """Whose session it is, and the ID token that it began with."""

    principal: Principal
    id_token: str


class Key(NamedTuple):
    """A key of a user without its secret. `last_used` is a day; None: it never was."""

    key_id: str
    name: str
    created_at: datetime
    ends_at: datetime
    last_used: str | None


# Why they are stored, and by hash: docs/decisions/sign-in.md.
class CredentialStore:
    """Secrets by their hash, for all processes that share the store. `clock` has seconds since the epoch."""

    def __init__(self, items: Items, keys: Keys, clock: Callable[[], float] = time.time) -> None:
        """`keys` seal what browsers keep."""
        self._items = items
        self._keys = keys
        self._clock = clock

    def seal(self, facts: Mapping[str, str], *, seconds: float) -> str:
        """Facts that a browser keeps for so long, and cannot change."""
        # 0.3.0 asks for the audience.
        claims = {**facts, "aud": PURPOSE, "exp": int(self._clock() + seconds)}
        return self._keys.sign(json.dumps(claims).encode(), PURPOSE)

    def unseal(self, text: str, names: Iterable[str]) -> dict[str, str]:
        """The facts of these names. Raises NotAuthenticated if they are changed, too old or incomplete."""
        with suppress(jwt.PyJWTError):
            facts: dict[str, Any] = json.loads(self._keys.signed(text, PURPOSE))
            is_whole = facts.keys() >= {"aud", "exp", *names}
            if is_whole and facts["aud"] == PURPOSE and self._clock() < facts["exp"]:
                return facts
        raise NotAuthenticated("This was not begun in this browser, or long ago.")

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

    async def create_key(self, principal: Principal, name: str) -> tuple[Key, str]:
        """A new key of this user, with the roles and groups of now, and its secret. Raises Conflict."""
        if len(await self._items_of(principal)) >= MOST_KEYS:
            raise Conflict(f"You have {MOST_KEYS} keys. Revoke one first.", code="too_many_keys")
        secret = KEY_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        item = self._item(secret, KEY, KEY_SECONDS) | _owner(principal) | {"name": name, "last_used": None}
        await self._create(item)
        return _key(item), secret

    async def keys_of(self, principal: Principal) -> list[Key]:
        """The valid keys of this user, the latest first."""
        found = map(_key, await self._items_of(principal))
        return sorted(found, key=lambda key: key.created_at, reverse=True)

    async def revoke_key(self, principal: Principal, key_id: str) -> bool:
        """End a key of this user for all processes at once; whether there was one."""

        async def work() -> bool:
            if key_id not in (item["id"] for item in await self._items_of(principal)):
                return False
            await self._items.write([key_id], delete(key_id))
            return True

        return await unraced(work)

    async def renew_keys(self, principal: Principal) -> None:
        """Give the keys of this user the roles and groups of now, and their whole time again."""
        for item in await self._items_of(principal):
            await self._change(item, **_owner(principal), ends_at=self._clock() + KEY_SECONDS)

    async def key_owner(self, secret: str) -> Principal | None:
        """Whose key it is; None if it is none, or none any more. The day of its last use is noted."""
        if (item := await self._find(secret, KEY)) is None:
            return None
        if item["last_used"] != (today := _time(self._clock()).date().isoformat()):
            await self._change(item, last_used=today)
        return replace(_principal(item), until=math.inf)

    async def _items_of(self, principal: Principal) -> list[Item]:
        owner = {"organization_id": principal.organization_id, "user_id": principal.user_id}
        found = await self._items.query([], equal(kind=KEY, **owner))
        return [item for item in found if self._clock() < item["ends_at"]]

    async def _change(self, item: Item, **changes: object) -> None:
        """Write an item over what was read, unless another process has changed or removed it since."""
        changed = {**item, **changes}
        changed["ttl"] = max(1, int(changed["ends_at"] - self._clock()))
        with suppress(Raced):
            await self._items.write([item["id"]], over(item, changed))

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


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _key(item: Item) -> Key:
    return Key(item["id"], item["name"], _time(item["began_at"]), _time(item["ends_at"]), item["last_used"])


def _owner(principal: Principal) -> Item:
    facts = _PRINCIPAL.dump_python(principal, mode="json", exclude={"until"})
    return {
        "organization_id": principal.organization_id,
        "user_id": principal.user_id,
        "principal": facts,
    }


def _principal(item: Item) -> Principal:
    return replace(_PRINCIPAL.validate_python(item["principal"]), until=item["ends_at"])
