"""Scope tokens carry the accessible documents; any other token is refused."""

import base64
import json
import time
import uuid
from typing import Any

import jwt
import pytest

from orc_core.documents.places import Place, PlaceType, session_place
from orc_core.documents.scope import AUDIENCE, ISSUER, Scope, ScopeTokens
from orc_core.errors import InvalidInput, NotAuthenticated
from orc_core.infra.keys import ALGORITHM, Keys
from orc_core.models import BlobProperties, Document
from orc_core.names import BlobPath, Owner

KEY = "k" * 64
OWNER = Owner("acme", "ann", "c1")


@pytest.fixture
def tokens() -> ScopeTokens:
    return ScopeTokens(Keys(KEY))


def document(name: str) -> Document:
    return Document.first_seen(BlobProperties(path=BlobPath(OWNER, name), etag="v1", size=3))


def scope() -> Scope:
    return Scope.of_session(OWNER, [document("a.pdf"), document("b.pdf")])


def packed(**changes: object) -> dict[str, Any]:
    """The claim `scope` as a token has it."""
    token = ScopeTokens(Keys(KEY)).mint(scope(), seconds=90)
    return {**jwt.decode(token, options={"verify_signature": False})["scope"], **changes}


def of_version_1(**changes: object) -> dict[str, Any]:
    """The claim `scope` as the release before wrote it."""
    ids = scope().document_ids or ()
    documents = [{"document_id": each, "blob_name": "a.pdf", "etag": "v1"} for each in ids]
    owner = {"organization_id": "acme", "user_id": "ann", "conversation_id": "c1"}
    return {**owner, "documents": documents, **changes}


def claims(**changes: object) -> dict[str, Any]:
    now = int(time.time())
    right = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 3600, "scope": packed()}
    return {name: value for name, value in {**right, **changes}.items() if value is not None}


def signed(key: str = KEY, algorithm: str = ALGORITHM, **changes: object) -> str:
    return jwt.encode(claims(**changes), key, algorithm)


def test_a_verified_token_gives_the_original_scope(tokens: ScopeTokens) -> None:
    before = int(time.time())
    verified, expires_at = tokens.verify(tokens.mint(scope(), seconds=90))
    assert verified == scope()
    assert verified.owner == OWNER
    assert verified.document_ids == (document("a.pdf").document_id, document("b.pdf").document_id)
    assert before + 90 <= expires_at <= int(time.time()) + 90


def many(documents: int = 0, name: str = "運" * 40) -> Scope:
    """The largest scope of a turn: the session, three contexts of the focus and 49 others."""
    contexts = [
        Place(
            type=PlaceType.USECASE,
            id="-".join([f"{number:016}"] * 3),
            deep=number > 3,
            near=number < 3,
            name=name,
        )
        for number in range(52)
    ]
    ids = tuple(str(uuid.uuid4()) for _ in range(documents)) if documents else None
    places = (session_place(OWNER), *contexts)
    owner = {"organization_id": str(uuid.uuid4()), "user_id": str(uuid.uuid4())}
    return Scope(
        **owner, conversation_id=str(uuid.uuid4()), places=places, document_ids=ids, tools_off=("web_search",)
    )


@pytest.mark.parametrize(("documents", "most"), [(0, 12 * 1024), (50, 14 * 1024)])
@pytest.mark.parametrize("name", ["x" * 72, "運" * 24, "é" * 36, "\U0001f600" * 18])
def test_the_largest_scope_fits_into_a_header(
    tokens: ScopeTokens, documents: int, most: int, name: str
) -> None:
    token = tokens.mint(many(documents, name), seconds=90)
    assert len(token) <= most
    assert tokens.verify(token)[0].places == many(documents, name).places


def test_a_scope_that_is_too_large_for_a_header_is_not_minted(tokens: ScopeTokens) -> None:
    with pytest.raises(InvalidInput, match="Too many"):
        tokens.mint(many(documents=400), seconds=90)


def test_a_token_of_another_process_with_the_same_key_is_valid(tokens: ScopeTokens) -> None:
    assert ScopeTokens(Keys(KEY)).verify(tokens.mint(scope(), seconds=90))[0] == scope()
    assert tokens.verify(signed())[0] == scope()
    # Its clock may be up to a minute ahead.
    assert tokens.verify(signed(iat=int(time.time()) + 30))[0] == scope()


def test_a_message_switches_tools_but_not_against_a_context() -> None:
    switched = scope().model_copy(update={"tools_off": ("web_search",)})
    switched = switched.switched({"web_search": True, "attach": True, "get_page": False})
    assert (switched.tools_off, switched.tools_on) == (("get_page", "web_search"), ("attach",))
    assert not switched.allows("web_search", only_reads=True)
    assert not switched.allows("get_page", only_reads=True)
    assert switched.allows("semantic_search", only_reads=True)
    # The session is the caller's own.
    assert switched.allows("attach", only_reads=False)
    assert not switched.allows("rename", only_reads=False)


@pytest.mark.parametrize("claim", [of_version_1(), of_version_1(role="viewer")])
def test_a_token_of_the_release_before_is_valid(tokens: ScopeTokens, claim: dict[str, Any]) -> None:
    """It had documents, and at first a role that nothing read."""
    assert tokens.verify(signed(scope=claim))[0] == scope()


NO_SCOPES: list[object] = ["", "acme", [], 5]


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("no.token.here", id="garbage"),
        pytest.param(signed(key="x" * 64), id="other-key"),
        pytest.param(signed(algorithm="HS512"), id="other-algorithm"),
        pytest.param(signed(exp=int(time.time()) - 1), id="expired"),
        pytest.param(signed(exp="soon"), id="expires-at-no-time"),
        pytest.param(signed(exp=float("inf")), id="expires-at-infinity"),
        pytest.param(signed(iat=float("-inf")), id="issued-at-infinity"),
        pytest.param(signed(iat=int(time.time()) + 3600), id="issued-in-the-future"),
        pytest.param(signed(nbf=int(time.time()) + 3600), id="not-yet-valid"),
        pytest.param(jwt.api_jws.encode(b"[]", KEY, ALGORITHM), id="no-claims"),
        pytest.param(jwt.api_jws.encode(b"{", KEY, ALGORITHM), id="no-json"),
        pytest.param(signed(aud="elsewhere"), id="other-audience"),
        pytest.param(signed(iss="another"), id="other-issuer"),
        pytest.param(signed(exp=None), id="never-expires"),
        pytest.param(signed(iat=None), id="undated"),
        pytest.param(signed(aud=None), id="no-audience"),
        pytest.param(signed(iss=None), id="no-issuer"),
        pytest.param(signed(scope=None), id="no-scope"),
        *(pytest.param(signed(scope=each), id=f"scope-{each!r}") for each in NO_SCOPES),
        pytest.param(signed(scope=packed(admin=True)), id="unknown-field"),
        pytest.param(signed(scope=of_version_1(role="none")), id="unknown-role"),
        pytest.param(signed(scope=packed(version=3)), id="unknown-version"),
        pytest.param(signed(scope=packed(places=[["x", "c1", 0, 1, "v", "", []]])), id="unknown-place"),
        pytest.param(signed(scope=packed(places=[["s", "c1"]])), id="place-of-another-shape"),
        pytest.param(signed(scope=packed(places=[["f", "a/b", 1, 1, "v", "", []]])), id="path-in-place"),
        pytest.param(signed(scope=packed(user_id="..")), id="unsafe-owner"),
        pytest.param(signed(scope=packed(organization_id="a/b")), id="path-in-owner"),
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
    wider = claims(scope=packed(organization_id="globex"))
    body = base64.urlsafe_b64encode(json.dumps(wider).encode()).rstrip(b"=").decode()
    with pytest.raises(NotAuthenticated):
        tokens.verify(f"{header}.{body}.{signature}")
