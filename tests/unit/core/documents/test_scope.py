"""Scope tokens carry the accessible documents; any other token is refused."""

import base64
import json
import os
import stat
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest

from core.documents.scope import ALGORITHM, AUDIENCE, ISSUER, Scope, ScopeTokens, load_or_create_key
from core.errors import InvalidInput, NotAuthenticated
from core.models import BlobProperties, Document
from core.names import BlobPath, Owner

KEY = "k" * 64
OWNER = Owner("acme", "ann", "c1")


@pytest.fixture
def tokens() -> ScopeTokens:
    return ScopeTokens(KEY)


def document(name: str) -> Document:
    return Document.first_seen(BlobProperties(path=BlobPath(OWNER, name), etag="v1", size=3))


def scope() -> Scope:
    return Scope.over(OWNER, [document("a.pdf"), document("b.pdf")])


def claims(**changes: object) -> dict[str, Any]:
    now = int(time.time())
    right = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 3600, "scope": scope().model_dump()}
    return {name: value for name, value in {**right, **changes}.items() if value is not None}


def signed(key: str = KEY, algorithm: str = ALGORITHM, **changes: object) -> str:
    return jwt.encode(claims(**changes), key, algorithm)


def test_a_verified_token_gives_the_original_scope(tokens: ScopeTokens) -> None:
    before = int(time.time())
    verified, expires_at = tokens.verify(tokens.mint(scope(), seconds=90))
    assert verified == scope()
    assert verified.owner == OWNER
    assert verified.document_ids == [document("a.pdf").document_id, document("b.pdf").document_id]
    assert before + 90 <= expires_at <= int(time.time()) + 90


def test_the_token_of_many_documents_fits_into_a_header(tokens: ScopeTokens) -> None:
    many = Scope.over(
        OWNER,
        [
            document(f"minutes of the board {n:03}.pdf").model_copy(update={"etag": uuid.uuid4().hex})
            for n in range(500)
        ],
    )
    token = tokens.mint(many, seconds=90)
    assert tokens.verify(token)[0] == many
    assert len(token) < 60_000


@pytest.mark.parametrize("scope", ["", "not base64", "eJwrSczNSVUoTi0qyywBAB1ABOA=", "bm8gemxpYg=="])
def test_a_signed_text_that_is_no_scope_is_refused(tokens: ScopeTokens, scope: str) -> None:
    with pytest.raises(NotAuthenticated):
        tokens.verify(signed(scope=scope))


def test_a_token_of_another_process_with_the_same_key_is_valid(tokens: ScopeTokens) -> None:
    assert ScopeTokens(KEY).verify(tokens.mint(scope(), seconds=90))[0] == scope()
    assert tokens.verify(signed())[0] == scope()


def test_a_token_of_an_earlier_version_is_valid(tokens: ScopeTokens) -> None:
    """They had a role, always the same one, that nothing read. Any other may be a restriction."""
    before = {**scope().model_dump(), "role": "viewer"}
    assert tokens.verify(signed(scope=before))[0] == scope()
    minted = jwt.decode(tokens.mint(scope(), seconds=9), options={"verify_signature": False})
    assert "role" not in minted["scope"]


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("no.token.here", id="garbage"),
        pytest.param(signed(key="x" * 64), id="other-key"),
        pytest.param(signed(algorithm="HS512"), id="other-algorithm"),
        pytest.param(signed(exp=int(time.time()) - 1), id="expired"),
        pytest.param(signed(aud="elsewhere"), id="other-audience"),
        pytest.param(signed(iss="another"), id="other-issuer"),
        pytest.param(signed(exp=None), id="never-expires"),
        pytest.param(signed(iat=None), id="undated"),
        pytest.param(signed(aud=None), id="no-audience"),
        pytest.param(signed(iss=None), id="no-issuer"),
        pytest.param(signed(scope=None), id="no-scope"),
        pytest.param(signed(scope="acme"), id="scope-of-another-shape"),
        pytest.param(signed(scope={**scope().model_dump(), "admin": True}), id="unknown-field"),
        pytest.param(signed(scope={**scope().model_dump(), "role": "none"}), id="unknown-role"),
        pytest.param(signed(scope={**scope().model_dump(), "user_id": ".."}), id="unsafe-owner"),
        pytest.param(signed(scope={**scope().model_dump(), "organization_id": "a/b"}), id="path-in-owner"),
    ],
)
def test_invalid_tokens_are_not_authenticated(tokens: ScopeTokens, token: str) -> None:
    with pytest.raises(NotAuthenticated):
        tokens.verify(token)


def test_an_unsigned_token_is_refused(tokens: ScopeTokens) -> None:
    header = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).rstrip(b"=").decode()
    body = base64.urlsafe_b64encode(json.dumps(claims()).encode()).rstrip(b"=").decode()
    with pytest.raises(NotAuthenticated):
        tokens.verify(f"{header}.{body}.")


def test_a_token_whose_scope_was_widened_is_refused(tokens: ScopeTokens) -> None:
    header, _, signature = tokens.mint(scope(), seconds=90).split(".")
    wider = claims(scope={**scope().model_dump(), "organization_id": "globex"})
    body = base64.urlsafe_b64encode(json.dumps(wider).encode()).rstrip(b"=").decode()
    with pytest.raises(NotAuthenticated):
        tokens.verify(f"{header}.{body}.{signature}")


def test_the_key_is_created_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "scope.key"
    key = load_or_create_key(path)
    assert len(key) >= 64
    assert load_or_create_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_create_key(tmp_path / "other.key") != key


def test_processes_that_start_together_use_one_key(tmp_path: Path) -> None:
    for attempt in range(20):
        path = tmp_path / str(attempt) / "scope.key"
        with ThreadPoolExecutor(8) as pool:
            keys = set(pool.map(load_or_create_key, [path] * 8))
        assert len(keys) == 1
        assert [left.name for left in path.parent.iterdir()] == ["scope.key"]


@pytest.mark.parametrize("left", ["", "\n", "k" * 31, "k" * 31 + "\n"])
def test_a_truncated_key_is_refused_and_not_changed(tmp_path: Path, left: str) -> None:
    path = tmp_path / "scope.key"
    path.write_text(left)
    with pytest.raises(InvalidInput, match=r"scope\.key.* delete the file"):
        load_or_create_key(path)
    assert path.read_text() == left


def test_a_trailing_line_end_is_not_part_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "scope.key"
    key = load_or_create_key(path)
    path.write_text(f"{key}\n")
    assert load_or_create_key(path) == key


def test_a_new_key_is_synced_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scope.key"
    synced: list[tuple[int, bool]] = []

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    key = load_or_create_key(path)
    assert synced == [(len(key), False)]


def test_a_derived_key_is_deterministic_and_does_not_reveal_the_key() -> None:
    secret = ScopeTokens(KEY).sub_key("sessions")
    assert secret == ScopeTokens(KEY).sub_key("sessions")
    assert len({secret, ScopeTokens(KEY).sub_key("other"), ScopeTokens("l" * 64).sub_key("sessions")}) == 3
    assert KEY.encode() not in secret
