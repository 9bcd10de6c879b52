"""Authenticates requests by host headers, by a bearer token or in local mode; middleware enforces it."""

import asyncio
import base64
import binascii
import ipaddress
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import DependencyDown, Forbidden, InvalidInput, NotAuthenticated, OrcError, UnsafeName
from core.names import check_segment
from orc.api.errors import render
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.problems import problem_of
from orc.settings import AuthMode, Settings

EASYAUTH_HEADER = "x-ms-client-principal"
_TENANT_CLAIMS = ("tid", "http://schemas.microsoft.com/identity/claims/tenantid")
_USER_CLAIMS = ("oid", "http://schemas.microsoft.com/identity/claims/objectidentifier", "sub")
_ROLE_CLAIMS = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
KEYS_SECONDS = 5.0
"""How long the issuer may take to give its keys."""


class Authenticator(Protocol):
    """Turns a request into a principal, or raises NotAuthenticated."""

    async def identify(self, request: Request) -> Principal:
        """Who is calling. Nothing in the request's body has a say."""


def build_authenticator(settings: Settings) -> Authenticator:
    """The authenticator that the settings ask for."""
    if settings.auth_mode is AuthMode.EASYAUTH:
        return EasyAuth()
    if settings.auth_mode is AuthMode.JWT:
        return BearerTokens(settings)
    return LocalUser(settings)


class LocalUser:
    """The one user of a laptop; only for requests that never left the machine.

    A page of some other site can have the browser send requests from this machine too; the browser
    then names that site as their origin, which is Forbidden.
    """

    def __init__(self, settings: Settings) -> None:
        self._on_azure = settings.azure_instance_id is not None
        self._principal = Principal(LOCAL_ORGANIZATION, LOCAL_USER, frozenset({settings.admin_role}))

    async def identify(self, request: Request) -> Principal:
        if self._on_azure or not all(map(_is_loopback, _hosts_of(request))):
            raise NotAuthenticated(
                "This server answers local callers only. Set ORC_AUTH_MODE to easyauth or jwt to open it."
            )
        for origin in request.headers.getlist("origin"):
            if not _is_loopback(_host_of(origin)):
                raise Forbidden("This server takes no requests from pages of other sites.")
        return self._principal


class EasyAuth:
    """Trusts what Azure's built-in authentication injects, which strips a caller's own headers."""

    async def identify(self, request: Request) -> Principal:
        encoded = request.headers.get(EASYAUTH_HEADER, "")
        try:
            content = json.loads(base64.b64decode(encoded, validate=True))
            claims = [(claim["typ"], claim["val"]) for claim in content["claims"]]
        except (ValueError, KeyError, TypeError, binascii.Error) as exc:
            raise NotAuthenticated("The request carries no usable client principal.") from exc
        roles = [value for kind, value in claims if kind in _ROLE_CLAIMS]
        return _principal(dict(reversed(claims)), roles)


class BearerTokens:
    """Verifies JWTs of one issuer against the keys that it publishes."""

    def __init__(self, settings: Settings) -> None:
        if not (settings.jwt_issuer and settings.jwt_audience and settings.jwt_jwks_url):
            raise InvalidInput(
                "ORC_AUTH_MODE=jwt needs ORC_JWT_ISSUER, ORC_JWT_AUDIENCE and ORC_JWT_JWKS_URL."
            )
        self._issuer, self._audience = settings.jwt_issuer, settings.jwt_audience
        try:
            self._keys = jwt.PyJWKClient(settings.jwt_jwks_url, cache_keys=True, timeout=KEYS_SECONDS)
        except jwt.PyJWKClientError as exc:
            raise InvalidInput("ORC_JWT_JWKS_URL must be an http or https address.") from exc

    async def identify(self, request: Request) -> Principal:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise NotAuthenticated("A bearer token is needed.")
        try:
            claims = jwt.decode(
                token,
                await self._key_of(token),
                algorithms=["RS256", "ES256"],
                audience=self._audience,
                issuer=self._issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as exc:
            raise NotAuthenticated("The bearer token does not verify.") from exc
        roles = claims.get("roles")
        # Some issuers write one role as a text.
        return _principal(claims, roles if isinstance(roles, list) else [roles])

    async def _key_of(self, token: str) -> jwt.PyJWK:
        try:
            return await asyncio.to_thread(self._keys.get_signing_key_from_jwt, token)
        # A connection error is a PyJWTError too; the others are an answer cut short, or no JSON.
        except (jwt.PyJWKClientConnectionError, OSError, ValueError) as exc:
            raise DependencyDown(
                "The keys that bearer tokens are verified with cannot be fetched.", dependency="identity"
            ) from exc


def _principal(claims: Mapping[str, Any], roles: list[object]) -> Principal:
    organization = next((claims[name] for name in _TENANT_CLAIMS if claims.get(name)), None)
    user = next((claims[name] for name in _USER_CLAIMS if claims.get(name)), None)
    if not isinstance(organization, str) or not isinstance(user, str):
        raise NotAuthenticated("The identity names no tenant or no user.")
    try:
        check_segment(organization)
        check_segment(user)
    except UnsafeName as exc:
        raise NotAuthenticated("The identity holds characters that cannot be used.") from exc
    return Principal(organization, user, frozenset(role for role in roles if isinstance(role, str)))


def _hosts_of(request: Request) -> list[str]:
    """The hosts of the caller and of the request, also as reported by a proxy such as the Functions host.

    The name matters too: a page of some other site may have had its name point to this machine.
    """
    hosts = [request.client.host if request.client else "", _host_of(f"//{request.headers.get('host', '')}")]
    hosts += [_host_of(f"//{value}") for value in request.headers.getlist("x-forwarded-host")]
    for value in request.headers.getlist("x-forwarded-for"):
        hosts += [_without_port(part.strip()) for part in value.split(",")]
    return hosts


def _without_port(address: str) -> str:
    """The address alone; an IPv6 one may come bare, as no URL has it."""
    return address if address.count(":") > 1 and "[" not in address else _host_of(f"//{address}")


def _host_of(url: str) -> str:
    """The host that a URL names; empty if none, or not in a way that can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


PRINCIPAL = "orc.principal"


class AuthMiddleware:
    """ASGI middleware over everything below `prefixes`; it leaves the principal in the scope.

    FastAPI's own `max_body_size` answers in plain text as soon as there is a `content-length`.
    """

    def __init__(
        self, app: ASGIApp, *, prefixes: tuple[str, ...], max_bytes: int, max_upload_bytes: int
    ) -> None:
        self._app = app
        self._prefixes = prefixes
        self._max_bytes = max_bytes
        self._max_upload_bytes = max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._prefixes):
            await self._app(scope, receive, send)
            return
        try:
            authenticator: Authenticator = scope["app"].state.authenticator
            scope[PRINCIPAL] = await authenticator.identify(Request(scope))
        except OrcError as exc:
            await render(problem_of(exc, scope["orc.trace_id"]))(scope, receive, send)
            return
        limit = self._max_upload_bytes if scope["path"].endswith("/documents") else self._max_bytes
        await self._app(scope, _within(limit, receive), send)


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
