"""The signed scope token: the documents that one turn may access, decided by the server."""

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import jwt
from pydantic import ConfigDict, Field, ValidationError

from core.errors import InvalidInput, NotAuthenticated, UnsafeName
from core.models import Document, Record
from core.names import Owner

ALGORITHM = "HS256"
AUDIENCE = "mcp"
ISSUER = "orc"
KEY_BYTES = 48
MIN_KEY_CHARACTERS = 32


class ScopedDocument(Record):
    """An accessible document, with its version at the time the scope was created."""

    model_config = ConfigDict(extra="forbid")

    document_id: str
    blob_name: str
    etag: str


class Scope(Record):
    """What a tool call may access. Its arguments cannot add to it."""

    # Unlike other records: a restriction that a newer version put into a token must not be ignored.
    model_config = ConfigDict(extra="forbid")

    organization_id: str
    user_id: str
    conversation_id: str
    documents: tuple[ScopedDocument, ...] = ()
    role: str = "viewer"

    @property
    def owner(self) -> Owner:
        return Owner(self.organization_id, self.user_id, self.conversation_id)

    @property
    def document_ids(self) -> list[str]:
        return [document.document_id for document in self.documents]

    @classmethod
    def over(cls, owner: Owner, documents: list[Document]) -> "Scope":
        """The scope of `owner` with exactly these documents."""
        return cls(
            **asdict(owner),
            documents=tuple(
                ScopedDocument(document_id=d.document_id, blob_name=d.blob_name, etag=d.etag)
                for d in documents
            ),
        )


class _Claims(Record):
    scope: Scope
    expires_at: int = Field(description="seconds since the epoch")


class ScopeTokens:
    """Creates and verifies scope tokens with one shared secret."""

    def __init__(self, key: str) -> None:
        self._key = key

    def sub_key(self, purpose: str) -> bytes:
        """A derived secret for another purpose, which does not reveal the key. Deterministic."""
        return hmac.digest(self._key.encode(), f"orc/{purpose}".encode(), hashlib.sha256)

    def mint(self, scope: Scope, *, seconds: int) -> str:
        """A token for `scope`, valid for `seconds` from now."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + seconds}
        return jwt.encode({**claims, "scope": scope.model_dump()}, self._key, ALGORITHM)

    def verify(self, token: str) -> tuple[Scope, int]:
        """The scope and its expiry (epoch seconds). Raises NotAuthenticated for an invalid token."""
        try:
            claims = jwt.decode(
                token,
                self._key,
                [ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                options={"require": ["exp", "iat", "aud", "iss"]},
            )
            parsed = _Claims(scope=claims.get("scope"), expires_at=claims["exp"])
            _ = parsed.scope.owner
        except (jwt.InvalidTokenError, ValidationError, UnsafeName) as exc:
            raise NotAuthenticated("The scope token is missing, expired or invalid.") from exc
        return parsed.scope, parsed.expires_at


def load_or_create_key(path: Path) -> str:
    """The secret in `path`, created on first use and readable by its owner only.

    Processes that start at the same time use the same secret, because the file is created atomically.
    Raises InvalidInput for a truncated file.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".key-") as file:
            file.write(secrets.token_urlsafe(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(file.name)
    key = path.read_text().strip()
    if len(key) < MIN_KEY_CHARACTERS:
        raise InvalidInput(
            f"The key in {path} is damaged: it has fewer than {MIN_KEY_CHARACTERS} characters. Stop Orc and "
            "delete the file; a new key is made at the next start."
        )
    return key
