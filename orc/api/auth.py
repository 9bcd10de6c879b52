"""Authenticates requests by host headers, by a bearer token or in local mode; middleware enforces it."""

import base64
import ipaddress
import json
import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc.api.errors import render
from orc.api.issuer_keys import IssuerKeys
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.problems import problem_of
from orc.settings import AuthMode, Settings
from orc_core.errors import Forbidden, InvalidInput, NotAuthenticated, OrcError, UnsafeName
from orc_core.names import check_segment, is_reserved

EASYAUTH_HEADER = "x-ms-client-principal"
_TENANT_CLAIMS = ("tid", "http://schemas.microsoft.com/identity/claims/tenantid")
_USER_CLAIMS = ("oid", "http://schemas.microsoft.com/identity/claims/objectidentifier", "sub")
_ROLE_CLAIMS = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
_GROUPS = "groups"
MOST_GROUPS = 250
"""Entra names at most 200 in a token."""
_OF_PROXIES = ("forwarded", "via")
_NAME_CLAIMS = ("name", "preferred_username")
NAME_CHARACTERS = 200
_ALGORITHMS = ["RS256", "ES256"]
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
        return BearerTokens(settings)
    return LocalUser(settings)


class LocalUser:
    """The one user of a laptop; only for requests that never left the machine.

    A page of some other site, or of another server of this machine, can have the browser send requests from
    this machine too; the browser then names that page as their origin, which is Forbidden. Such a page may
    link to a file that was uploaded: the browser shows it in a tab that the page cannot read.
    """

    def __init__(self, settings: Settings) -> None:
        self._on_azure = settings.azure_instance_id is not None
        self._principal = Principal(LOCAL_ORGANIZATION, LOCAL_USER, frozenset({settings.admin_role}))

    async def identify(self, request: Request) -> Principal:
        is_forwarded = any(name in request.headers for name in _OF_PROXIES)
        if self._on_azure or is_forwarded or not all(map(is_loopback, hosts_of(request))):
            raise NotAuthenticated(
                "This server answers local callers only. Set ORC_AUTH_MODE to easyauth or jwt to open it."
            )
        if not is_of_local_page(request) and not opens_file(request):
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

    async def identify(self, request: Request) -> Principal:
        try:
            encoded = request.headers.get(EASYAUTH_HEADER, "")
            content = json.loads(base64.b64decode(encoded, validate=True).decode())
            claims = [(claim["typ"], claim["val"]) for claim in content["claims"]]
            values = dict(reversed(claims))
            roles = [value for kind, value in claims if kind in _ROLE_CLAIMS]
            groups = [value for kind, value in claims if kind == _GROUPS]
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            raise NotAuthenticated("The request carries no usable client principal.") from exc
        principal = _principal(values, roles, groups)
        if is_of_other_site(request):
            raise Forbidden(OTHER_SITE)
        return principal


class BearerTokens:
    """Verifies JWTs of one issuer against the keys that it publishes. `clock` measures how old those are."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        if not (settings.jwt_issuer and settings.jwt_audience and settings.jwt_jwks_url):
            raise InvalidInput(
                "ORC_AUTH_MODE=jwt needs ORC_JWT_ISSUER, ORC_JWT_AUDIENCE and ORC_JWT_JWKS_URL."
            )
        self._issuer, self._audience = settings.jwt_issuer, settings.jwt_audience
        self._keys = IssuerKeys(settings.jwt_jwks_url, clock)

    async def identify(self, request: Request) -> Principal:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise NotAuthenticated("A bearer token is needed.")
        try:
            claims = jwt.decode(
                token,
                await self._keys.find(_key_id(token)),
                algorithms=_ALGORITHMS,
                audience=self._audience,
                issuer=self._issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as exc:
            raise NotAuthenticated("The bearer token does not verify.") from exc
        roles = claims.get("roles")
        # Some issuers write one role as a text.
        groups = claims.get(_GROUPS, [])
        return _principal(claims, roles if isinstance(roles, list) else [roles], groups)


def _key_id(token: str) -> str:
    """The id of the key that a token names. Raises PyJWTError for what cannot be a token of the issuer."""
    header = jwt.decode_complete(token, options={"verify_signature": False})["header"]
    if header.get("alg") not in _ALGORITHMS or not header.get("kid"):
        raise jwt.InvalidTokenError("no key of an issuer")
    return str(header["kid"])


def _principal(claims: Mapping[str, Any], roles: list[object], groups: object) -> Principal:
    organization = next((claims[name] for name in _TENANT_CLAIMS if claims.get(name)), None)
    user = next((claims[name] for name in _USER_CLAIMS if claims.get(name)), None)
    if not isinstance(organization, str) or not isinstance(user, str):
        raise NotAuthenticated("The identity names no tenant or no user.")
    try:
        check_segment(organization)
        check_segment(user)
    except UnsafeName as exc:
        raise NotAuthenticated("The identity holds characters that cannot be used.") from exc
    if is_reserved(user):
        raise NotAuthenticated("The identity has a user id that is reserved for Orc itself.")
    known = _known_groups(claims, groups)
    return Principal(
        organization,
        user,
        frozenset(role for role in roles if isinstance(role, str)),
        known or frozenset(),
        groups_complete=known is not None,
        name=_name(claims),
    )


def _name(claims: Mapping[str, Any]) -> str | None:
    """The caller's name as a page shows it; None if the identity has none that can be shown."""
    for name in (claims.get(each) for each in _NAME_CLAIMS):
        if isinstance(name, str) and name.strip() and name.isprintable():
            return name.strip()[:NAME_CHARACTERS]
    return None


def _known_groups(claims: Mapping[str, Any], groups: object) -> frozenset[str] | None:
    """The groups of a user; None if they are too many for the identity, which then names where to ask."""
    named = groups if isinstance(groups, list) else [groups]
    # Easy Auth passes a claim that is an object on as text.
    elsewhere = _GROUPS in str(claims.get("_claim_names", "")) or claims.get("hasgroups")
    if elsewhere or len(named) > MOST_GROUPS or not all(isinstance(group, str) for group in named):
        return None
    return frozenset(named)


PRINCIPAL = "orc.principal"


class AuthMiddleware:
    """ASGI middleware that authenticates every request but those to `open_paths` and below `open_below`.

    It leaves the principal in the scope. A body may have `max_bytes`; `longer` has the limits of paths with
    these ends.

    FastAPI's own `max_body_size` answers in plain text as soon as there is a `content-length`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        open_paths: frozenset[str],
        open_below: str,
        max_bytes: int,
        longer: Mapping[str, int],
    ) -> None:
        self._app = app
        self._open_paths = open_paths
        self._open_below = open_below
        self._max_bytes = max_bytes
        self._longer = longer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or path in self._open_paths or path.startswith(self._open_below):
            await self._app(scope, receive, send)
            return
        try:
            authenticator: Authenticator = scope["app"].state.authenticator
            scope[PRINCIPAL] = await authenticator.identify(Request(scope))
        except OrcError as exc:
            await render(problem_of(exc, scope["orc.trace_id"]))(scope, receive, send)
            return
        limits = (limit for end, limit in self._longer.items() if scope["path"].endswith(end))
        await self._app(scope, _within(next(limits, self._max_bytes), receive), send)


def _within(limit: int, receive: Receive) -> Receive:
    received = 0

    async def receive_within_limit() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            detail = f"The body may have at most {limit:,} bytes."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
        return message

    return receive_within_limit


_FILE = re.compile(r"/api/(conversations|contexts)/[^/]+/documents/[^/]+/content")
_ORIGIN = re.compile(r"https?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(:[0-9]+)?")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def is_of_other_site(request: Request) -> bool:
    """Whether a page of another site, or of another server of this site, asks to change something.

    Clients that are no browsers send neither header. A page can send a bearer token to another site only if
    that site has allowed it, and no browser adds one by itself.
    """
    if request.method in _SAFE or _has_bearer_token(request):
        return False
    sites, origins = request.headers.getlist("sec-fetch-site"), request.headers.getlist("origin")
    if sites:
        return not set(sites) <= {"same-origin", "none"}
    return any(origin.partition("//")[2] not in _own_addresses(request) for origin in origins)


def _has_bearer_token(request: Request) -> bool:
    return request.headers.get("authorization", "").lower().startswith("bearer ")


def hosts_of(request: Request) -> list[str]:
    """The hosts of the caller and of the request, also as reported by a proxy such as the Functions host.

    The name matters too: a page of some other site may have had its name point to this machine.
    """
    hosts = [request.client.host if request.client else ""]
    hosts += [_host_of(f"//{value}") for value in _own_addresses(request)]
    for value in request.headers.getlist("x-forwarded-for") + request.headers.getlist("x-real-ip"):
        hosts += [_without_port(part.strip()) for part in value.split(",")]
    return hosts


def _own_addresses(request: Request) -> list[str]:
    """What the caller takes this server for: host, and port if it is not the usual one."""
    return [request.headers.get("host", ""), *request.headers.getlist("x-forwarded-host")]


def is_of_local_page(request: Request) -> bool:
    """Whether no page sent the request, or one that this machine serves at the same address.

    A browser says how the page is related; a development server that passes requests on passes that on too.
    """
    sites, origins = request.headers.getlist("sec-fetch-site"), request.headers.getlist("origin")
    if sites:
        return set(sites) <= {"same-origin", "none"} and all(map(_is_local_origin, origins))
    return all(
        _is_local_origin(origin) and origin.partition("//")[2] in _own_addresses(request)
        for origin in origins
    )


def opens_file(request: Request) -> bool:
    """Whether a person followed a link to an uploaded file. It changes nothing, and no page gets to see it.

    No page can set these headers. A frame, an image or a script has another destination.
    """
    is_file = request.method == "GET" and _FILE.fullmatch(request.url.path) is not None
    modes, destinations = map(request.headers.getlist, ("sec-fetch-mode", "sec-fetch-dest"))
    return (
        is_file and (modes, destinations) == (["navigate"], ["document"]) and "origin" not in request.headers
    )


def _is_local_origin(origin: str) -> bool:
    return _ORIGIN.fullmatch(origin) is not None and is_loopback(_host_of(origin))


def _without_port(address: str) -> str:
    """The address alone; an IPv6 one may come bare, as no URL has it."""
    return address if address.count(":") > 1 and "[" not in address else _host_of(f"//{address}")


def _host_of(url: str) -> str:
    """The host that a URL names; empty if none, or not in a way that can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
