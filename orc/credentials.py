"""Sessions of browsers and keys of users, of whose secrets only hashes are stored; and sealed facts."""

import hashlib
import json
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
from orc.settings import CallerSettings
from orc_core.errors import Conflict, NotAuthenticated
from orc_core.infra.items import (
    Item,
    Items,
    Raced,
    Where,
    create,
    delete,
    equal,
    over,
    repeated_if_raced,
    unraced,
    upsert,
)
from orc_core.infra.keys import Keys

SECRET_BYTES = 32
KEY_PREFIX = "orc_"
"""Programs that look for secrets in published files find keys by it."""
MOST_KEYS = 20
PURPOSE = "sign-in"
SESSION, USER, USED = "session", "user", "used"
"""What a record is of: a session, the latest sign-in of a user with the user's keys, or a mark."""
_PRINCIPAL = TypeAdapter(Principal)


class Session(NamedTuple):
    """Whose session it is, and the ID token that it began with."""

    principal: Principal
    id_token: str


class Key(NamedTuple):
    """A key of a user without its secret; `last_used` is a day, `only` the path that it is for."""

    key_id: str
    name: str
    created_at: datetime
    ends_at: datetime
    last_used: str | None
    only: str | None


# Why they are stored, and by hash: docs/decisions/sign-in.md.
class CredentialStore:
    """Secrets by their hash, for all processes that share the store. `clock` has seconds since the epoch."""

    def __init__(
        self, items: Items, keys: Keys, settings: CallerSettings, clock: Callable[[], float] = time.time
    ) -> None:
        """`keys` seal what browsers keep. What began under other `settings` of the sign-in is refused."""
        self._items = items
        self._keys = keys
        self._clock = clock
        self._sign_in = _hash(settings.sign_in)
        self._key_seconds = settings.key_days * 24 * 60 * 60

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
        """The secret of a new session. Keys of the user get the roles of now, and their whole time."""

        async def work() -> None:
            user = await self._find(_mark(principal), USER)
            latest = self._item(_mark(principal), USER, self._key_seconds) | _owner(principal)
            latest["keys"] = user["keys"] if user else {}
            await self._items.write([latest["id"]], over(user, latest) if user else upsert(latest))

        await unraced(work)
        secret = secrets.token_urlsafe(SECRET_BYTES)
        item = self._item(secret, SESSION, seconds) | _owner(principal) | {"id_token": id_token}
        await self._create(item)
        return secret

    async def session(self, secret: str) -> Session | None:
        """The session of a secret; None if there is none, or none any more."""
        if (item := await self._find(secret, SESSION)) is None:
            return None
        return Session(_principal(item), item["id_token"])

    @repeated_if_raced
    async def end_session(self, secret: str) -> None:
        """End the session of a secret, if there is one, for all processes at once."""
        if await self._find(secret, SESSION) is not None:
            await self._items.write([digest := _hash(secret)], delete(digest))

    async def use_once(self, mark: str, *, seconds: float) -> bool:
        """Whether nothing has used this mark in the last `seconds`."""
        return await self._create(self._item(mark, USED, seconds))

    async def end_all(self, user_id: str | None) -> int:
        """End the sessions and keys of the users with this id, or of everyone; returns how many those are."""
        whose = [] if user_id is None else [equal(user_id=user_id)]
        found = await self._items.query([], Where("kind", "!=", USED), *whose)
        for item in found:
            with suppress(Raced):
                await self._items.write([item["id"]], delete(item["id"]))
        return sum(len(item["keys"]) if item["kind"] == USER else 1 for item in found)

    async def create_key(self, principal: Principal, name: str, only: str | None = None) -> tuple[Key, str]:
        """A new key, and its secret. Raises Conflict, and NotAuthenticated if the sign-in is too long ago."""
        secret = f"{KEY_PREFIX}{_mark(principal)}_{secrets.token_urlsafe(SECRET_BYTES)}"
        # Another id than that of the secret alone: a version that knows no limits refuses the key.
        key_id = _hash((only or "") + secret)
        facts = {"name": name, "began_at": self._clock(), "last_used": None, "only": only}

        async def work() -> Item:
            if (user := await self._find(_mark(principal), USER)) is None:
                raise NotAuthenticated("The latest sign-in is too long ago for a key. Sign in again.")
            if len(user["keys"].keys() - {key_id}) >= MOST_KEYS:
                raise Conflict(f"You have {MOST_KEYS} keys. Revoke one first.", code="too_many_keys")
            await self._write_keys(user, user["keys"] | {key_id: facts})
            return user

        return _key(await unraced(work), key_id, facts), secret

    async def keys_of(self, principal: Principal) -> list[Key]:
        """The valid keys of this user, the latest first."""
        user = await self._find(_mark(principal), USER)
        found = [_key(user, key_id, facts) for key_id, facts in user["keys"].items()] if user else []
        return sorted(found, key=lambda key: key.created_at, reverse=True)

    @repeated_if_raced
    async def revoke_key(self, principal: Principal, key_id: str) -> bool:
        """End a key of this user for all processes at once; whether there was one."""
        user = await self._find(_mark(principal), USER)
        keys = dict(user["keys"]) if user else {}
        if user is None or keys.pop(key_id, None) is None:
            return False
        await self._write_keys(user, keys)
        return True

    async def key_owner(self, secret: str, path: str = "") -> Principal | None:
        """Whose key it is; None if it is none here, or none any more. The day of its last use is noted."""
        user = await self._find(secret.removeprefix(KEY_PREFIX).partition("_")[0], USER)
        keys: Item = user["keys"] if user else {}
        key_id = next((each for each in (_hash(secret), _hash(path + secret)) if each in keys), None)
        if user is None or key_id is None:
            return None
        if (facts := keys[key_id])["last_used"] != (today := _time(self._clock()).date().isoformat()):
            # The next use notes it, if another process writes just now.
            with suppress(Raced):
                await self._write_keys(user, keys | {key_id: facts | {"last_used": today}})
        return _principal(user)

    async def _write_keys(self, user: Item, keys: Item) -> None:
        ttl = max(1, int(user["ends_at"] - self._clock()))
        await self._items.write([user["id"]], over(user, user | {"keys": keys, "ttl": ttl}))

    def _item(self, secret: str, kind: str, seconds: float) -> Item:
        now, digest = self._clock(), _hash(secret)
        stored = {"id": digest, "kind": kind, "sign_in": self._sign_in, "ends_at": now + seconds}
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
        is_now = item and item.get("sign_in") == self._sign_in and self._clock() < item["ends_at"]
        return item if item and is_now and item["kind"] == kind else None


def _hash(secret: str) -> str:
    # A plain hash: 32 random bytes cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _mark(principal: Principal) -> str:
    """What the keys of a user begin with, to find the user's record by."""
    return _hash(json.dumps([principal.organization_id, principal.user_id]))[:32]


def _key(user: Item, key_id: str, facts: Item) -> Key:
    began_at, ends_at = _time(facts["began_at"]), _time(user["ends_at"])
    return Key(key_id, facts["name"], began_at, ends_at, facts["last_used"], facts.get("only"))


def _owner(principal: Principal) -> Item:
    facts = _PRINCIPAL.dump_python(principal, mode="json", exclude={"until"})
    return {"organization_id": principal.organization_id, "user_id": principal.user_id, "principal": facts}


def _principal(item: Item) -> Principal:
    return replace(_PRINCIPAL.validate_python(item["principal"]), until=item["ends_at"])
