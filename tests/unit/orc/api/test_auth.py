"""Authentication: the local user only locally, EasyAuth by its header, tokens by their signature."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import Request

from devkit.system import principal_headers
from orc.api.auth import BearerTokens, EasyAuth, LocalUser, build_authenticator
from orc.cli.ports import free_port
from orc.settings import AuthMode, Settings
from orc_core.errors import DependencyDown, Forbidden, InvalidInput, NotAuthenticated

ISSUER, AUDIENCE = "https://login.example.com/t/v2.0", "api://orc"


def request(
    host: str = "127.0.0.1:7071",
    client: str | None = "127.0.0.1",
    method: str = "GET",
    path: str = "/",
    **headers: str,
) -> Request:
    named = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "scheme": "http"}
    address = None if client is None else (client, 5)
    return Request({**scope, "headers": raw, "client": address, "server": ("127.0.0.1", 7071)})


@pytest.mark.parametrize("host", ["127.0.0.1:7071", "localhost:7071", "[::1]:7071"])
async def test_a_local_caller_is_the_local_user(host: str) -> None:
    caller = await LocalUser(Settings()).identify(request(host))
    assert (caller.organization_id, caller.user_id) == ("local", "me")


@pytest.mark.parametrize(
    "foreign",
    [
        request(client="10.0.0.7"),
        request(client=None),
        request(client="testclient"),
        request(host="testserver"),
        request(host="[::1"),
        request(host=""),
        request(host="evil.example:7071"),
        request(x_forwarded_host="evil.example:7071"),
        request(x_forwarded_host="evil.example"),
        request(x_forwarded_for="10.0.0.7"),
        request(x_forwarded_for="127.0.0.1, 10.0.0.7:4711"),
        request(x_forwarded_for="2001:db8::1"),
        request(x_real_ip="10.0.0.7"),
        request(forwarded="for=10.0.0.7"),
        request(via="1.1 nginx"),
    ],
    ids=[
        "address",
        "no address",
        "a word for an address",
        "another name",
        "half a name",
        "no name",
        "name",
        "forwarded name",
        "no port",
        "forwarded address",
        "behind another",
        "ipv6",
        "real address",
        "standard header",
        "any proxy",
    ],
)
async def test_a_remote_caller_or_another_host_name_is_not_authenticated(foreign: Request) -> None:
    with pytest.raises(NotAuthenticated):
        await LocalUser(Settings()).identify(foreign)


async def test_a_local_caller_behind_the_local_functions_host_is_the_local_user() -> None:
    forwarded = request(x_forwarded_host="localhost:7071", x_forwarded_for="127.0.0.1:51000")
    assert (await LocalUser(Settings()).identify(forwarded)).user_id == "me"
    forwarded = request(x_forwarded_host="[::1]:7071", x_forwarded_for="::1, [::1]:51000")
    assert (await LocalUser(Settings()).identify(forwarded)).user_id == "me"


@pytest.mark.parametrize(
    "sent",
    [
        request(host="localhost:7071", origin="http://localhost:7071"),
        request(origin="http://127.0.0.1:7071"),
        request(host="[::1]:7071", origin="http://[::1]:7071"),
        request(x_forwarded_host="localhost:7071", origin="http://localhost:7071"),
        request(origin="http://127.0.0.1:7071", sec_fetch_site="same-origin"),
        request(origin="http://localhost:3000", sec_fetch_site="same-origin"),
        request(sec_fetch_site="none"),
    ],
    ids=["name", "address", "ipv6", "forwarded", "own page", "development server", "typed address"],
)
async def test_a_page_of_this_server_is_allowed(sent: Request) -> None:
    assert (await LocalUser(Settings()).identify(sent)).user_id == "me"


@pytest.mark.parametrize(
    "sent",
    [
        request(origin="http://127.0.0.1:9999"),
        request(host="localhost:7071", origin="http://localhost:3000", sec_fetch_site="same-site"),
        request(sec_fetch_site="same-site"),
        request(sec_fetch_site="cross-site"),
        request(sec_fetch_site="", origin="http://127.0.0.1:7071"),
    ],
    ids=["other port", "other port as a browser says it", "no origin", "link elsewhere", "empty"],
)
async def test_a_page_of_another_server_of_this_machine_is_refused(sent: Request) -> None:
    with pytest.raises(Forbidden, match="other sites"):
        await LocalUser(Settings()).identify(sent)


FILE = "/api/conversations/c/documents/d/content"


def link(path: str = FILE, method: str = "GET", **headers: str) -> Request:
    """What a browser sends for a link on a page of another server of this machine."""
    followed = {"sec_fetch_site": "same-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    return request(method=method, path=path, **{**followed, **headers})


@pytest.mark.parametrize(
    "sent", [link(), link(sec_fetch_site="cross-site"), link("/api/contexts/c/documents/d/content")]
)
async def test_a_link_to_a_file_may_be_on_any_page(sent: Request) -> None:
    assert (await LocalUser(Settings()).identify(sent)).user_id == "me"


@pytest.mark.parametrize(
    "sent",
    [
        link("/api/conversations/c"),
        link("/api/conversations/c/documents/d/events"),
        link("/api/admin/telemetry/days"),
        link(f"{FILE}/x"),
        link(method="POST"),
        link(sec_fetch_dest="iframe"),
        link(sec_fetch_dest="image", sec_fetch_mode="no-cors"),
        link(sec_fetch_mode="cors", sec_fetch_dest="empty"),
        link(origin="https://evil.example"),
    ],
)
async def test_a_page_of_another_server_can_only_link_to_files(sent: Request) -> None:
    with pytest.raises(Forbidden, match="other sites"):
        await LocalUser(Settings()).identify(sent)


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1@evil.example",
        "http://evil.com%2f@127.0.0.1",
        "http://evil.example@127.0.0.1:7071",
        "http://127.0.0.1:7071/",
        "null",
        "",
        "http://[",
    ],
)
async def test_a_page_of_another_site_is_refused(origin: str) -> None:
    with pytest.raises(Forbidden, match="other sites"):
        await LocalUser(Settings()).identify(request(origin=origin))


async def test_on_azure_there_is_no_local_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBSITE_INSTANCE_ID", "abc")
    with pytest.raises(NotAuthenticated, match="ORC_AUTH_MODE"):
        await LocalUser(Settings()).identify(request())


def behind_azure() -> EasyAuth:
    return EasyAuth(Settings(azure_auth_enabled=True))


def principal(content: object) -> str:
    return base64.b64encode(json.dumps(content).encode()).decode()


def test_easyauth_is_refused_if_nothing_keeps_callers_from_naming_themselves() -> None:
    settings = Settings(auth_mode=AuthMode.EASYAUTH)
    with pytest.raises(InvalidInput, match=r"WEBSITE_AUTH_ENABLED.*trust_principal_header"):
        build_authenticator(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("WEBSITE_AUTH_ENABLED", "True"), ("ORC_ADVANCED", '{"trust_principal_header": true}')],
)
def test_easyauth_is_for_azure_or_for_those_who_ask_for_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert isinstance(build_authenticator(Settings(auth_mode=AuthMode.EASYAUTH)), EasyAuth)


async def test_easyauth_gives_tenant_user_and_roles() -> None:
    headers = principal_headers("contoso", "ada", "orc.admin")
    caller = await behind_azure().identify(request(x_ms_client_principal=headers["x-ms-client-principal"]))
    assert (caller.organization_id, caller.user_id, caller.roles) == (
        "contoso",
        "ada",
        frozenset({"orc.admin"}),
    )


def signed_in(method: str, **headers: str) -> Request:
    """What a browser with the session cookie of Azure's authentication sends."""
    known = principal_headers("contoso", "ada")["x-ms-client-principal"]
    return request("orc.example", method=method, x_ms_client_principal=known, **headers)


OTHER_PAGES = [
    {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
    {"sec_fetch_site": "same-site", "origin": "https://other.orc.example"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "cross-site", "authorization": "Basic YWRhOng="},
    {"sec_fetch_site": ""},
    {"origin": "https://evil.example"},
    {"origin": "https://orc.example.evil.example"},
    {"origin": "null"},
    {"origin": "https://orc.example", "sec_fetch_site": "cross-site"},
]


@pytest.mark.parametrize("headers", OTHER_PAGES)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "ANYTHING"])
async def test_a_page_of_another_site_changes_nothing_for_a_signed_in_user(
    method: str, headers: dict[str, str]
) -> None:
    with pytest.raises(Forbidden, match="other sites"):
        await behind_azure().identify(signed_in(method, **headers))


@pytest.mark.parametrize(
    "sent",
    [
        signed_in("POST"),
        signed_in("POST", origin="https://orc.example"),
        signed_in("POST", origin="https://orc.example", sec_fetch_site="same-origin"),
        signed_in("POST", origin="https://front.example", x_forwarded_host="front.example"),
        signed_in("DELETE", sec_fetch_site="none"),
        signed_in("GET", sec_fetch_site="cross-site"),
        signed_in("POST", origin="https://app.example", authorization="Bearer abc"),
    ],
    ids=["no browser", "old browser", "own page", "behind a proxy", "typed", "reads only", "token"],
)
async def test_an_own_page_and_a_client_act_for_the_user_who_is_signed_in(sent: Request) -> None:
    assert (await behind_azure().identify(sent)).user_id == "ada"


async def test_the_name_of_a_caller_is_what_the_identity_says_and_can_be_shown() -> None:
    known = [{"typ": "tid", "val": "contoso"}, {"typ": "oid", "val": "ada"}]
    for name, shown in [
        ("Ada Lovelace", "Ada Lovelace"),
        ("a\u202eb", None),
        ("", None),
        ("x" * 300, "x" * 200),
    ]:
        content = principal({"claims": [*known, {"typ": "name", "val": name}]})
        caller = await behind_azure().identify(request(x_ms_client_principal=content))
        assert caller.name == shown


@pytest.mark.parametrize(
    "header",
    [
        "",
        "not base64!",
        base64.b64encode(b"[]").decode(),
        base64.b64encode(json.dumps({"claims": [{"typ": "oid", "val": "ada"}]}).encode()).decode(),
        principal_headers("../contoso", "ada")["x-ms-client-principal"],
        principal_headers("contoso", "a/b")["x-ms-client-principal"],
        principal_headers("contoso", "~contexts")["x-ms-client-principal"],
        principal({"claims": [{"typ": ["oid"], "val": "ada"}]}),
        principal({"claims": [{"typ": {"oid": 1}, "val": "ada"}]}),
        principal({"claims": [{"typ": "tid", "val": ["contoso"]}, {"typ": "oid", "val": "ada"}]}),
        principal({"claims": {"typ": "tid"}}),
        base64.b64encode(b"[" * 100_000).decode(),
    ],
    ids=[
        "none",
        "garbage",
        "no claims",
        "no tenant",
        "tenant that is a path",
        "user that is a path",
        "reserved user",
        "list as a type",
        "object as a type",
        "list as a value",
        "object of claims",
        "deep",
    ],
)
async def test_an_unusable_principal_is_not_authenticated(header: str) -> None:
    with pytest.raises(NotAuthenticated):
        await behind_azure().identify(request(x_ms_client_principal=header))


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def jwks_url(key: rsa.RSAPrivateKey) -> Iterator[str]:
    """The URL of the issuer's public key."""
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    published = json.dumps({"keys": [{**jwk, "kid": "k1", "use": "sig"}]}).encode()
    with publishing(published) as url:
        yield url


@contextmanager
def publishing(published: bytes, *, status: int = 200, promised: int = 0) -> Iterator[str]:
    """The URL of a server that always returns this body; `promised` may announce a longer one."""

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(promised or len(published)))
            self.end_headers()
            self.wfile.write(published)

        def log_message(self, *args: Any) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/keys"
        server.shutdown()


@pytest.fixture
def tokens(jwks_url: str) -> BearerTokens:
    return verifying_with(jwks_url)


def verifying_with(jwks_url: str) -> BearerTokens:
    settings = Settings(
        auth_mode=AuthMode.JWT, jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_jwks_url=jwks_url
    )
    authenticator = build_authenticator(settings)
    assert isinstance(authenticator, BearerTokens)
    return authenticator


def bearer(key: Any, algorithm: str = "RS256", **claims: Any) -> Request:
    given = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": int(time.time()) + 60,
        "tid": "contoso",
        "oid": "ada",
        **claims,
    }
    token = jwt.encode(given, key, algorithm, headers={"kid": "k1"})
    return request(authorization=f"Bearer {token}")


async def test_a_valid_token_identifies_its_user(tokens: BearerTokens, key: rsa.RSAPrivateKey) -> None:
    caller = await tokens.identify(bearer(key, roles=["reader"]))
    assert (caller.organization_id, caller.user_id, caller.roles) == ("contoso", "ada", frozenset({"reader"}))


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ("reader", {"reader"}),
        (["a", "b"], {"a", "b"}),
        (None, set()),
        (7, set()),
        (["a", 7], {"a"}),
        ({"a": 1}, set()),
    ],
)
async def test_roles_may_be_a_list_or_a_string(
    tokens: BearerTokens, key: rsa.RSAPrivateKey, given: Any, roles: set[str]
) -> None:
    assert (await tokens.identify(bearer(key, roles=given))).roles == roles


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "api://other"},
        {"exp": 1},
        {"oid": None},
        {"tid": "a/b"},
        {"oid": "~a"},
    ],
    ids=["issuer", "audience", "expired", "no user", "tenant that is a path", "reserved user"],
)
async def test_a_token_with_a_wrong_claim_is_not_authenticated(
    tokens: BearerTokens, key: rsa.RSAPrivateKey, claims: dict[str, Any]
) -> None:
    with pytest.raises(NotAuthenticated):
        await tokens.identify(bearer(key, **claims))


async def test_a_token_signed_with_another_key_is_not_authenticated(tokens: BearerTokens) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with pytest.raises(NotAuthenticated):
        await tokens.identify(bearer(other))
    with pytest.raises(NotAuthenticated):
        await tokens.identify(bearer("a shared secret of at least 32 bytes", algorithm="HS256"))
    with pytest.raises(NotAuthenticated):
        await tokens.identify(request())


@pytest.mark.slow
async def test_keys_that_cannot_be_fetched_are_a_failed_dependency(key: rsa.RSAPrivateKey) -> None:
    with (
        publishing(b"down for maintenance") as no_json,
        publishing(b'{"keys"', promised=500) as cut_short,
        publishing(b"{}", status=500) as failing,
    ):
        for url in (no_json, cut_short, failing, f"http://127.0.0.1:{free_port()}/keys"):
            with pytest.raises(DependencyDown) as down:
                await verifying_with(url).identify(bearer(key))
            assert down.value.dependency == "identity"
            assert url not in down.value.message


async def test_an_unreadable_token_is_not_authenticated_even_if_the_keys_are_unavailable() -> None:
    unreachable = verifying_with(f"http://127.0.0.1:{free_port()}/keys")
    for header in ("Bearer no.token.here", "Bearer x", "Bearer", "Basic YTpi"):
        with pytest.raises(NotAuthenticated):
            await unreachable.identify(request(authorization=header))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"jwt_issuer": ISSUER}, "ORC_JWT_AUDIENCE"),
        ({"jwt_audience": AUDIENCE}, "ORC_JWT_ISSUER"),
        ({"jwt_issuer": "login.example.com", "jwt_audience": AUDIENCE}, "ORC_JWT_ISSUER"),
        (
            {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_jwks_url": "file:///etc/keys"},
            "ORC_JWT_JWKS_URL",
        ),
        (
            {
                "jwt_issuer": ISSUER,
                "jwt_audience": "https://orc.example.com/mcp",
                "public_url": "https://orc.example.com:443/",
            },
            "one interface",
        ),
    ],
    ids=[
        "no audience",
        "no issuer",
        "issuer without an address",
        "address that is not of the web",
        "one audience for the API and for MCP clients",
    ],
)
def test_settings_that_cannot_verify_any_token_are_named(settings: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        build_authenticator(Settings(auth_mode=AuthMode.JWT).model_copy(update=settings))
