"""The keys of a deployment: two that sign, which can be changed, and one that ids are derived from."""

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import jwt
from pydantic import SecretStr

from orc_core.errors import InvalidInput
from orc_core.infra.settings import StorageSettings

ALGORITHM = "HS256"
KEY_BYTES = 48
MIN_KEY_CHARACTERS = 32
CLOCK_SKEW_SECONDS = 60
"""How far the clock of who signs may differ from that of who verifies."""
PRESENT, SECOND, LASTING = KEY_FILES = ("scope.key", "second.key", "derivation.key")
"""Files of the data directory."""
_SIGNED = jwt.PyJWS([ALGORITHM])


# What depends on which key, and how they are changed: docs/decisions/keys.md.
@dataclass(frozen=True)
class Keys:
    """Signs with the present key, and accepts what the present or the second one has signed.

    `lasting` is for what never may change; without one, that is derived from the present key.
    """

    present: str = field(repr=False)
    second: str | None = field(default=None, repr=False)
    lasting: str | None = field(default=None, repr=False)

    def sign(self, content: bytes, purpose: str = "") -> str:
        """A token with this content, which is accepted for this purpose alone."""
        return _SIGNED.encode(content, _key(self.present, purpose), ALGORITHM, headers={"typ": "JWT"})

    def signed(self, token: str, purpose: str = "") -> bytes:
        """The content of a token that one of the keys signed for this purpose.

        Raises jwt.InvalidTokenError for any other.
        """
        content: bytes
        try:
            content = _SIGNED.decode(token, _key(self.present, purpose), [ALGORITHM])
        except jwt.InvalidSignatureError:
            if self.second is None:
                raise
            content = _SIGNED.decode(token, _key(self.second, purpose), [ALGORITHM])
        return content

    def derived(self, purpose: str) -> bytes:
        """A secret for another purpose, which does not reveal the key. It stays if the others change."""
        return _key(self.lasting or self.present, purpose)


def _key(key: str, purpose: str) -> bytes:
    """The key itself, or its own one for a purpose."""
    return hmac.digest(key.encode(), f"orc/{purpose}".encode(), hashlib.sha256) if purpose else key.encode()


def load_keys(settings: StorageSettings) -> Keys:
    """The keys of the settings, and those in the data directory that the settings do not have.

    A present key is made if there is none. Raises InvalidInput for a second key without a derivation key.
    """
    folder = settings.data_dir
    present = _given(settings.scope_signing_key) or load_or_create_key(folder / PRESENT)
    second = _given(settings.second_signing_key) or _read(folder / SECOND)
    lasting = _given(settings.derivation_key) or _read(folder / LASTING)
    if second and not lasting:
        raise InvalidInput(
            "A second signing key needs a derivation key, or the names of sessions lead to new conversations:"
            f" set ORC_DERIVATION_KEY, or the file {LASTING}, to the key with which Orc has signed so far."
        )
    return Keys(present, second, lasting)


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
    made_again = "delete the file; a new key is made at the next start."
    return _read(path, made_again) or ""


def _read(path: Path, advice: str = "restore it from a backup.") -> str | None:
    """The key in a file; None if there is no file. Raises InvalidInput with advice for a truncated one."""
    if not path.exists():
        return None
    key = path.read_text().strip()
    if len(key) < MIN_KEY_CHARACTERS:
        raise InvalidInput(
            f"The key in {path} is damaged: it has fewer than {MIN_KEY_CHARACTERS} characters."
            f" Stop Orc and {advice}"
        )
    return key


def _given(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None
