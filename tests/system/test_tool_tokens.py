"""Who may call the tools server: only the bearer of a scope token that verifies."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from devkit.system import System
from orc_core.documents.scope import AUDIENCE, ISSUER, Scope, ScopeTokens
from orc_core.infra.keys import ALGORITHM, Keys
from orc_core.names import Owner
from tests.system.steps import new_id, scope_over, scope_tokens

Claims = dict[str, Any]


def scope_claim(scope: Scope) -> Claims:
    """The claim `scope` as a token has it."""
    token = ScopeTokens(Keys("k" * 64)).mint(scope, seconds=60)
    claim: Claims = jwt.decode(token, options={"verify_signature": False})["scope"]
    return claim


def with_claims(key: str, reach: Scope, /, **changes: Any) -> str:
    """A scope token with other claims; None leaves a claim out."""
    now = int(time.time())
    claims: Claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": now,
        "exp": now + 60,
        "scope": scope_claim(reach),
    }
    claims = {name: value for name, value in {**claims, **changes}.items() if value is not None}
    return jwt.encode(claims, key, ALGORITHM)


def with_another_scope(key: str, scope: Scope) -> str:
    """A token whose claims were changed after it was signed."""
    header, _, signature = with_claims(key, scope).split(".")
    claims = with_claims("k" * 64, scope.model_copy(update={"user_id": "bob"})).split(".")[1]
    return f"{header}.{claims}.{signature}"


BAD_TOKENS: dict[str, Callable[[str, Scope], str | None]] = {
    "none": lambda key, scope: None,
    "empty": lambda key, scope: "",
    "nonsense": lambda key, scope: "a.b.c",
    "tampered": with_another_scope,
    "signed by another": lambda key, scope: with_claims("k" * 64, scope),
    "not signed": lambda key, scope: jwt.encode(
        jwt.decode(with_claims(key, scope), options={"verify_signature": False}), "", "none"
    ),
    "expired": lambda key, scope: with_claims(key, scope, exp=int(time.time()) - 1),
    "of the future": lambda key, scope: with_claims(key, scope, nbf=int(time.time()) + 3600),
    "without expiry": lambda key, scope: with_claims(key, scope, exp=None),
    "for another audience": lambda key, scope: with_claims(key, scope, aud="api"),
    "without audience": lambda key, scope: with_claims(key, scope, aud=None),
    "of another issuer": lambda key, scope: with_claims(key, scope, iss="elsewhere"),
    "without a scope": lambda key, scope: with_claims(key, scope, scope=None),
    "with half a scope": lambda key, scope: with_claims(key, scope, scope={"organization_id": "acme"}),
    "with dots for a user": lambda key, scope: with_claims(
        key, scope, scope={**scope_claim(scope), "user_id": ".."}
    ),
}


def post(orc: System, token: str | None, **headers: str) -> httpx.Response:
    """A list of the tools, asked for without any MCP library."""
    given = {"authorization": f"Bearer {token}".strip()} if token is not None else {}
    accepted = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    return httpx.post(orc.mcp_url, json=body, headers={**accepted, **given, **headers}, timeout=30)


@pytest.mark.parametrize("made", BAD_TOKENS.values(), ids=list(BAD_TOKENS))
def test_a_token_that_does_not_verify_is_refused(
    made: Callable[[str, Scope], str | None], orc: System
) -> None:
    key = (orc.data_dir / "scope.key").read_text()
    response = post(orc, made(key, scope_over(Owner("acme", "ann", new_id()))))
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_good_token_is_taken_and_only_as_a_bearer_header(orc: System) -> None:
    token = scope_tokens(orc).mint(scope_over(Owner("acme", "ann", new_id())), seconds=60)
    assert post(orc, token).status_code == 200
    assert post(orc, None, cookie=f"token={token}").status_code == 401
    assert httpx.post(f"{orc.mcp_url}?access_token={token}", json={}, timeout=30).status_code == 401


def test_a_scope_token_is_no_identity_for_the_api(orc: System) -> None:
    token = scope_tokens(orc).mint(scope_over(Owner("acme", "ann", new_id())), seconds=60)
    response = httpx.get(f"{orc.api}/conversations", headers={"authorization": f"Bearer {token}"})
    assert response.status_code == 401


@pytest.mark.parametrize("header", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
def test_a_rebound_name_or_a_foreign_page_is_turned_away(header: dict[str, str], orc: System) -> None:
    token = scope_tokens(orc).mint(scope_over(Owner("acme", "ann", new_id())), seconds=60)
    assert post(orc, token, **header).status_code in (403, 421)


def test_only_the_owner_of_the_account_can_read_the_key(orc: System) -> None:
    assert (orc.data_dir / "scope.key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("has_key", [True, False])
def test_the_doctor_of_another_machine_needs_the_key_of_the_deployment(
    has_key: bool, orc: System, tmp_path: Path
) -> None:
    settings = {"ORC_DATA_DIR": str(tmp_path), "MCP_SERVER_URL": orc.mcp_url, "COLUMNS": "300"}
    if has_key:
        settings["ORC_SCOPE_SIGNING_KEY"] = (orc.data_dir / "scope.key").read_text()
    doctor = [sys.executable, "-m", "orc", "doctor"]
    said = subprocess.run(
        doctor, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    ).stdout
    mark, others = ("ok", "no") if has_key else ("no", "ok")
    assert f"{mark}  mcp_server: " in said
    assert f"{others}  mcp_server: " not in said
    assert ("The tools server refused the call." in said) is not has_key
