"""The caller, and the conversation that a chat without a conversation id belongs to."""

import hashlib
import hmac
import json
import math
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass, field

from orc_core.names import Owner

LOCAL_ORGANIZATION = "local"
LOCAL_USER = "me"
"""The one caller of the `local` authentication mode."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller: an organization, a user in it, and the user's roles and groups.

    `groups_complete` is False if the user has more groups than the identity can name; `groups` is then empty.
    `name` and `email` are for showing and finding only. `until` is when the caller has to sign in again, in
    seconds since the epoch.
    """

    organization_id: str
    user_id: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    groups_complete: bool = True
    name: str | None = field(default=None, compare=False)
    email: str | None = field(default=None, compare=False)
    until: float = field(default=math.inf, compare=False)

    def owner_of(self, conversation_id: str) -> Owner:
        """The place of this caller's conversation."""
        return Owner(self.organization_id, self.user_id, conversation_id)


PURPOSE = "sessions"
"""What the key is derived for."""

CONVERSATION_NAME = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$"
"""The id of a conversation, or a name that a client chose for it, such as `conv-789`."""
_CONVERSATION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class SessionIds:
    """Finds conversations by what callers know of their sessions, under a key that no caller knows.

    The same caller gets the same conversation for the same words, on every machine with this key. Without
    the key no one can compute the conversation. The caller is part of the hash, so that the name of another
    caller's session leads to a conversation of the caller.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def named(self, caller: Principal, session_id: str) -> str:
        """The conversation of a session id: the id itself if it is one of a conversation."""
        if _CONVERSATION_ID.fullmatch(session_id):
            return session_id.lower()
        return self._conversation("named", caller, session_id)

    def identified(self, caller: Principal, conversation: str) -> str:
        """The conversation of an id in any form that a UUID has, as 0.2 took it, or else of a name."""
        with suppress(ValueError):
            return str(uuid.UUID(conversation))
        return self.named(caller, conversation)

    def begun_with(self, caller: Principal, words: str, client: str) -> str:
        """The conversation that began with these words of the user's in this client.

        A list of messages that only grows keeps it. Two chats that begin alike share it, unless they are
        named.
        """
        return self._conversation("begun", caller, words, client)

    def _conversation(self, kind: str, caller: Principal, *known: str) -> str:
        message = json.dumps([kind, caller.organization_id, caller.user_id, *known]).encode()
        digest = hmac.digest(self._key, message, hashlib.sha256)
        return str(uuid.UUID(bytes=digest[:16], version=4))
