"""Who is calling: the host's headers, a bearer token, or the local user, as the settings say."""

import asyncio
import base64
import binascii
import ipaddress
import json
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
from fastapi import Request

from core.documents.names import check_segment
from core.errors import NotAuthenticated, UnsafeName
from orc.identity import Principal
from orc.settings import AuthMode, Settings

EASYAUTH_HEADER = "x-ms-client-principal"
_TENANT_CLAIMS = ("tid", "http://schemas.microsoft.com/identity/claims/tenantid")
_USER_CLAIMS = ("oid", "http://schemas.microsoft.com/identity/claims/objectidentifier", "sub")
_ROLE_CLAIMS = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
_LOCAL_HOSTS = {"localhost", "testserver"}


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
    """The one user of a laptop; only for requests that never left the machine."""

    def __init__(self, settings: Settings) -> None:
        self._on_azure = settings.azure_instance_id is not None
        self._principal = Principal(
            settings.local_organization, settings.local_user, frozenset({settings.admin_role})
        )

    async def identify(self, request: Request) -> Principal:
        if self._on_azure or not all(map(_is_loopback, _hosts_of(request))):
            raise NotAuthenticated(
                "This server answers local callers only. Set ORC_AUTH_MODE to easyauth or jwt to open it."
            )
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
            raise NotAuthenticated(
                "ORC_AUTH_MODE=jwt needs ORC_JWT_ISSUER, ORC_JWT_AUDIENCE and ORC_JWT_JWKS_URL."
            )
        self._issuer, self._audience = settings.jwt_issuer, settings.jwt_audience
        self._keys = jwt.PyJWKClient(settings.jwt_jwks_url, cache_keys=True)

    async def identify(self, request: Request) -> Principal:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise NotAuthenticated("A bearer token is needed.")
        try:
            key = await asyncio.to_thread(self._keys.get_signing_key_from_jwt, token)
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256", "ES256"],
                audience=self._audience,
                issuer=self._issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as exc:
            raise NotAuthenticated("The bearer token does not verify.") from exc
        return _principal(claims, claims.get("roles", []))


def _principal(claims: Mapping[str, Any], roles: list[str]) -> Principal:
    organization = next((claims[name] for name in _TENANT_CLAIMS if claims.get(name)), None)
    user = next((claims[name] for name in _USER_CLAIMS if claims.get(name)), None)
    if not isinstance(organization, str) or not isinstance(user, str):
        raise NotAuthenticated("The identity names no tenant or no user.")
    try:
        check_segment(organization)
        check_segment(user)
    except UnsafeName as exc:
        raise NotAuthenticated("The identity holds characters that cannot be used.") from exc
    return Principal(organization, user, frozenset(map(str, roles)))


def _hosts_of(request: Request) -> list[str]:
    """Who calls and whom they think they call, also by the word of a proxy such as the Functions host.

    The name matters too: a page of some other site may have had its name point to this machine.
    """
    hosts = [request.client.host if request.client else "127.0.0.1", request.url.hostname or ""]
    hosts += [_without_port(value) for value in request.headers.getlist("x-forwarded-host")]
    for value in request.headers.getlist("x-forwarded-for"):
        hosts += [_without_port(part.strip()) for part in value.split(",")]
    return hosts


def _without_port(host: str) -> str:
    return urlsplit(f"//{host}").hostname or host


def _is_loopback(host: str) -> bool:
    if host in _LOCAL_HOSTS:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
