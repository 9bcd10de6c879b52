"""The signed scope token: the documents that one turn may access, decided by the server."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import tempfile
import time
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jwt
from pydantic import ConfigDict, Field, ValidationError, model_validator

from core.errors import InvalidInput, NotAuthenticated, UnsafeName
from core.models import Document, Record
from core.names import Owner

ALGORITHM = "HS256"
AUDIENCE = "mcp"
ISSUER = "orc"
KEY_BYTES = 48
MIN_KEY_CHARACTERS = 32
PLAIN_DOCUMENTS = 20
"""Scopes of more documents are compressed: the token is a header, which proxies limit to some 60 KB."""


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

    @model_validator(mode="before")
    @classmethod
    def _from_an_earlier_version(cls, values: Any) -> Any:
        """Tokens of earlier versions have a role, which was always the same and restricted nothing."""
        if isinstance(values, dict) and values.get("role") == "viewer":
            return {name: value for name, value in values.items() if name != "role"}
        return values

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
        content: object = scope.model_dump()
        if len(scope.documents) > PLAIN_DOCUMENTS:
            content = base64.b64encode(zlib.compress(scope.model_dump_json().encode())).decode()
        return jwt.encode({**claims, "scope": content}, self._key, ALGORITHM)

    def verify(self, token: str) -> tuple[Scope, int]:
        """The scope and its expiry (epoch seconds). Raises NotAuthenticated, which says what is wrong."""
        try:
            claims = jwt.decode(
                token,
                self._key,
                [ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                options={"require": ["exp", "iat", "aud", "iss"]},
            )
            parsed = _Claims(scope=_unpacked(claims.get("scope")), expires_at=claims["exp"])
            _ = parsed.scope.owner
        except jwt.ExpiredSignatureError as exc:
            raise NotAuthenticated("The scope token has expired.") from exc
        except (jwt.InvalidTokenError, ValidationError, UnsafeName, ValueError, zlib.error) as exc:
            raise NotAuthenticated(
                "The scope token is not valid here: it is damaged, or signed with another key."
            ) from exc
        return parsed.scope, parsed.expires_at


def _unpacked(scope: object) -> object:
    """The content of a scope, as it is or compressed. It is ours: the signature was checked before."""
    return json.loads(zlib.decompress(base64.b64decode(scope))) if isinstance(scope, str) else scope


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
