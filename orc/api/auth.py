"""Authenticates requests by host headers, by a bearer token or in local mode; middleware enforces it."""

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Protocol

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc.api.claims import ClaimNames, principal_of
from orc.api.errors import render
from orc.api.issuer_keys import Issuer
from orc.api.mcp_resource import MCP_PATH, McpResource
from orc.api.origins import (
    SAFE_METHODS,
    bearer_token,
    hosts_of,
    is_loopback,
    is_of_local_page,
    is_of_other_site,
    opens_file,
)
from orc.api.sign_in import SignInFlow
from orc.bootstrap import AppProvider
from orc.credentials import KEY_PREFIX
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.problems import problem_of
from orc.settings import AuthMode, Settings
from orc_core.errors import Forbidden, InvalidInput, NotAuthenticated, OrcError

EASYAUTH_HEADER = "x-ms-client-principal"
_OF_PROXIES = ("forwarded", "via")
OTHER_SITE = "This server takes no requests from pages of other sites."


# Why middleware does it, and what browsers may send: docs/decisions/callers-and-browsers.md.
class Authenticator(Protocol):
    """Turns a request into a principal, or raises NotAuthenticated."""

    async def identify(self, request: Request) -> Principal:
        """Who is calling. Nothing in the request's body has a say."""


def build_authenticator(settings: Settings) -> Authenticator:
    """The authenticator that the settings ask for. Raises InvalidInput if they do not suffice for it."""
    if settings.auth_mode is AuthMode.EASYAUTH:
        return EasyAuth(settings)
    if settings.auth_mode is AuthMode.JWT:
        if not settings.jwt_audience:
            raise InvalidInput("Bearer tokens need ORC_JWT_AUDIENCE.")
        return BearerTokens(settings)
    if settings.auth_mode is AuthMode.OIDC:
        return SignedIn(settings)
    return LocalUser(settings)


class LocalUser:
    """The one user of a laptop; only for requests that never left the machine.

    A page of some other site, or of another server of this machine, can have the browser send requests from
    this machine too; the browser then names that page as their origin, which is Forbidden unless the settings
    name it. Such a page may link to a file that was uploaded: the browser shows it in a tab that the page
    cannot read.
    """

    def __init__(self, settings: Settings) -> None:
        self._on_azure = settings.azure_instance_id is not None
        self._origins = frozenset(settings.allowed_origins)
        self._principal = Principal(LOCAL_ORGANIZATION, LOCAL_USER, frozenset({settings.admin_role}))

    async def identify(self, request: Request) -> Principal:
        is_forwarded = any(name in request.headers for name in _OF_PROXIES)
        if self._on_azure or is_forwarded or not all(map(is_loopback, hosts_of(request))):
            raise NotAuthenticated(
                "This server answers local callers only. Others need ORC_AUTH_MODE oidc, easyauth or jwt."
            )
        is_allowed = request.headers.get("origin") in self._origins
        if not (is_allowed or is_of_local_page(request) or opens_file(request)):
            raise Forbidden(OTHER_SITE)
        return self._principal


class EasyAuth:
    """Trusts what Azure's built-in authentication injects, which strips a caller's own headers.

    The browser sends the session cookie with requests of pages of other sites too, such as a form with a
    file. What such a page asks to change is Forbidden; it cannot read what it asks for.
    """

    def __init__(self, settings: Settings) -> None:
        if not (settings.azure_auth_enabled or settings.trust_principal_header):
            raise InvalidInput(
                f"ORC_AUTH_MODE=easyauth trusts the header {EASYAUTH_HEADER}, and nothing here keeps callers"
                " from sending it: Azure's authentication is off (WEBSITE_AUTH_ENABLED is not true). Turn it"
                " on. If a proxy of yours sets the header and removes that of callers, set"
                ' "trust_principal_header" in ORC_ADVANCED to true.'
            )
        self._names = ClaimNames()

    async def identify(self, request: Request) -> Principal:
        try:
            encoded = request.headers.get(EASYAUTH_HEADER, "")
            content = json.loads(base64.b64decode(encoded, validate=True).decode())
            every = [(claim["typ"], claim["val"]) for claim in content["claims"]]
            given = [(kind, value) for kind, value in every if isinstance(value, str)]
            claims: dict[str, Any] = dict(reversed(given))
            for name in (*self._names.roles, *self._names.groups):
                claims[name] = [value for kind, value in given if kind == name]
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            raise NotAuthenticated("The request carries no usable client principal.") from exc
        principal = principal_of(claims, self._names)
        if is_of_other_site(request):
            raise Forbidden(OTHER_SITE)
        return principal


class BearerTokens:
    """Verifies JWTs of one issuer against the keys that it publishes. `clock` measures how old those are.

    A token is for the API or for MCP clients, by its audience, and is refused at the other one.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        resource = McpResource.of(settings)
        self._audience = settings.jwt_audience
        self._mcp_audience = resource.audience if resource else None
        self._issuer = Issuer(settings, clock)
        self._names = ClaimNames.of(settings)

    async def identify(self, request: Request) -> Principal:
        if (token := bearer_token(request)) is None:
            raise NotAuthenticated("A bearer token is needed.")
        is_of_mcp = request.scope["path"].startswith(MCP_PATH)
        audience = self._mcp_audience if is_of_mcp else self._audience
        if audience is None:
            name = "an https ORC_PUBLIC_URL without a path" if is_of_mcp else "ORC_JWT_AUDIENCE"
            raise NotAuthenticated(f"This server takes no tokens here: it needs {name}.")
        claims = await self._issuer.verify(token, audience)
        return replace(principal_of(claims, self._names), until=float(claims["exp"]))


class SignedIn:
    """The session of a browser by its cookie, and programs by a key of a user or a token of the issuer.

    The browser adds the cookie by itself, so what is to change something has to come from the page of this
    server, and has to say so; else it is Forbidden.
    """

    def __init__(self, settings: Settings) -> None:
        self.flow = SignInFlow(settings)
        self._tokens = BearerTokens(settings)

    async def identify(self, request: Request) -> Principal:
        provider: AppProvider = request.app.state.provider
        if (token := bearer_token(request) or "").startswith(KEY_PREFIX):
            path = request.scope["path"].removeprefix("/api").removeprefix("/").partition("/")[0]
            if (owner := await (await provider.get()).credentials.key_owner(token, path)) is None:
                raise NotAuthenticated("The key is not valid here, or not any more.")
            return owner
        if "authorization" in request.headers:
            return await self._tokens.identify(request)
        secret = request.cookies.get(self.flow.session_cookie, "")
        session = await (await provider.get()).credentials.session(secret) if secret else None
        if session is None:
            raise NotAuthenticated("Sign in on the page, or send a key or a bearer token.")
        if request.method not in SAFE_METHODS and not self.flow.is_of_own_page(request):
            raise Forbidden(OTHER_SITE)
        return session.principal


PRINCIPAL = "orc.principal"


@dataclass(kw_only=True)
class AuthMiddleware:
    """ASGI middleware that authenticates every request but those to `open_paths` and below `open_below`.

    It leaves the principal in the scope. A body may have `max_bytes`; `longer` has the limits of paths with
    these ends.

    FastAPI's own `max_body_size` answers in plain text as soon as there is a `content-length`.
    """

    app: ASGIApp = field(kw_only=False)
    open_paths: frozenset[str]
    open_below: str
    max_bytes: int
    longer: Mapping[str, int]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or path in self.open_paths or path.startswith(self.open_below):
            await self.app(scope, receive, send)
            return
        try:
            authenticator: Authenticator = scope["app"].state.authenticator
            scope[PRINCIPAL] = await authenticator.identify(Request(scope))
        except OrcError as exc:
            response = render(problem_of(exc, scope["orc.trace_id"]))
            resource: McpResource | None = scope["app"].state.mcp_resource
            if resource and path.startswith(MCP_PATH) and isinstance(exc, NotAuthenticated):
                has_token = "authorization" in Headers(scope=scope)
                response.headers["www-authenticate"] = resource.challenge(has_token=has_token)
            await response(scope, receive, send)
            return
        most = next((limit for end, limit in self.longer.items() if path.endswith(end)), self.max_bytes)
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                detail = f"The body may have at most {most:,} bytes."
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            return message

        await self.app(scope, receive_within_limit, send)
