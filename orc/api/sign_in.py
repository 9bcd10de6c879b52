"""Signs a browser in: OpenID Connect's authorization code flow with PKCE, state and nonce."""

import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import httpx2
import jwt
from fastapi import Request

from orc.api.claims import ClaimNames, principal_of
from orc.api.issuer_keys import Description, Issuer
from orc.api.origins import is_loopback
from orc.identity import Principal
from orc.settings import Settings
from orc_core.errors import DependencyDown, InvalidInput, NotAuthenticated
from orc_core.infra.keys import CLOCK_SKEW_SECONDS

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

SIGN_IN, SIGN_OUT, CALLBACK = "/api/sign-in", "/api/sign-out", "/api/sign-in/callback"
ATTEMPT_SECONDS = 600
"""How long a person may take at the identity provider."""
PROVIDER_SECONDS = 10.0
LONGEST_HINT = 4096
"""Characters of an ID token that still go into the address of a sign-out."""
_PLACE = re.compile(r"/(#[!-~]{0,198})?")
"""The page, and a place in it. The address of a sign-in leads nowhere else."""


@dataclass(frozen=True)
class Attempt:
    """What the browser keeps while its user is at the identity provider."""

    state: str
    nonce: str
    verifier: str
    place: str


logger = logging.getLogger(__name__)
ATTEMPT = [each.name for each in fields(Attempt)]


# Why this library, and what is stored where: docs/decisions/sign-in.md.
class SignInFlow:
    """How browsers sign in here. Raises InvalidInput if the settings do not suffice for it."""

    def __init__(self, settings: Settings) -> None:
        if not (settings.oidc_client_id and settings.public_url):
            raise InvalidInput("ORC_AUTH_MODE=oidc needs ORC_JWT_ISSUER, ORC_OIDC_CLIENT_ID, ORC_PUBLIC_URL.")
        self.origin = origin_of(settings.public_url)
        self.session_seconds = settings.session_hours * 3600
        self._client_id, self._scope = settings.oidc_client_id, settings.oidc_scope
        self._secret = settings.oidc_client_secret
        # The issuer describes itself: its sign-in has more addresses than that of its keys.
        self._issuer = Issuer(settings.model_copy(update={"jwt_jwks_url": None}))
        self._names = ClaimNames.of(settings)
        # Browsers send cookies of this prefix, which are secure, to no other host.
        self.is_secure = self.origin.startswith("https:")
        prefix = "__Host-orc-" if self.is_secure else "orc-"
        self.session_cookie, self.attempt_prefix = f"{prefix}session", f"{prefix}sign-in-"

    def attempt_cookie(self, state: str) -> str:
        """The cookie of an attempt; each has its own, so that two tabs can sign in at the same time."""
        return self.attempt_prefix + re.sub("[^A-Za-z0-9_-]", "", state)[:16]

    def is_of_own_page(self, request: Request) -> bool:
        """Whether the browser says that the page of this server sent the request."""
        sites, origins = request.headers.getlist("sec-fetch-site"), request.headers.getlist("origin")
        return set(sites) == {"same-origin"} if sites else origins == [self.origin]

    async def begin(self, place: str) -> tuple[str, Attempt]:
        """Where the browser goes to sign in. Raises DependencyDown if the identity provider is away."""
        description = await self._issuer.keys.description()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        attempt = Attempt(state, nonce, verifier, place if _PLACE.fullmatch(place) else "/")
        async with await self._client(description) as client:
            address, _ = client.create_authorization_url(
                _endpoint(description, "authorization_endpoint"),
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
        return str(address), attempt

    async def finish(self, answer: Mapping[str, str], attempt: Attempt) -> tuple[Principal, str]:
        """Who has signed in, and the ID token, from what the provider added to the address of the callback.

        Raises NotAuthenticated if the answer does not belong to the attempt, or names no user.
        """
        description = await self._issuer.keys.description()
        says_issuer = description.get("authorization_response_iss_parameter_supported") is True
        if answer.get("iss", None if says_issuer else self._issuer.name) != self._issuer.name:
            raise NotAuthenticated("The answer is of another identity provider.")
        if not secrets.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise NotAuthenticated("The answer belongs to another sign-in.")
        if "code" not in answer or "error" in answer:
            said = answer.get("error", "")[:80]
            raise NotAuthenticated(f"The identity provider refused the sign-in: {said!r}")
        from authlib.integrations.base_client import OAuthError

        code, verifier = answer["code"], attempt.verifier
        try:
            async with await self._client(description) as client:
                endpoint = _endpoint(description, "token_endpoint")
                tokens = await client.fetch_token(
                    endpoint, grant_type="authorization_code", code=code, code_verifier=verifier
                )
                claims = await self._identity(tokens, attempt)
                address = description.get("userinfo_endpoint")
                if address and not self._names.are_in(claims):
                    claims = _joined(claims, await client.get(address))
        except (OAuthError, ValueError) as exc:
            raise NotAuthenticated("The identity provider did not confirm the sign-in.") from exc
        except httpx2.HTTPError as exc:
            raise DependencyDown("The identity provider cannot be asked.", dependency="identity") from exc
        return principal_of(claims, self._names), tokens["id_token"]

    async def _identity(self, tokens: Mapping[str, Any], attempt: Attempt) -> dict[str, Any]:
        """The claims of the ID token, which has to be for this client and this attempt."""
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        token = str(tokens.get("id_token", ""))
        claims = await self._issuer.verify(token, self._client_id, "iat", "sub", "nonce")
        expected: dict[str, Any] = {"client_id": self._client_id, "nonce": attempt.nonce}
        expected["access_token"] = tokens.get("access_token")
        try:
            header = jwt.get_unverified_header(token)
            CodeIDToken(claims, header, {}, expected).validate(leeway=CLOCK_SKEW_SECONDS)
        except JoseError as exc:
            raise NotAuthenticated("The ID token does not belong to this sign-in.") from exc
        return claims

    async def leave(self, id_token: str) -> str:
        """Where the browser goes to sign out at the provider; the page, if that has no address for it."""
        try:
            address = (await self._issuer.keys.description()).get("end_session_endpoint")
        except DependencyDown:
            address = None
        if address is None:
            return f"{self.origin}/"
        hint = {"id_token_hint": id_token} if 0 < len(id_token) <= LONGEST_HINT else {}
        query = {"client_id": self._client_id, "post_logout_redirect_uri": f"{self.origin}/", **hint}
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def _client(self, description: Description) -> "AsyncOAuth2Client":
        # Only installations with this sign-in wait for its import.
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        secret = self._secret.get_secret_value() if self._secret else None
        methods = description.get("token_endpoint_auth_methods_supported") or []
        # In the body it is encoded as a form; in a header the library does not encode it.
        method = "client_secret_post" if "client_secret_post" in methods else "client_secret_basic"
        return AsyncOAuth2Client(
            self._client_id,
            secret,
            token_endpoint_auth_method=method if secret else "none",
            scope=self._scope,
            redirect_uri=self.origin + CALLBACK,
            code_challenge_method="S256",
            verify=await self._issuer.keys.tls(),
            timeout=PROVIDER_SECONDS,
            # A token that lasts for a minute is used at once, and not renewed.
            leeway=0,
        )


def _joined(claims: dict[str, Any], response: httpx2.Response) -> dict[str, Any]:
    """The claims, and what only the user's page at the provider says. ValueError for another user's."""
    if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        # Its access token can be for another interface, such as one of the operator's.
        logger.warning("the identity provider's userinfo answered %s", response.status_code)
        return claims
    response.raise_for_status()
    if "json" not in response.headers.get("content-type", ""):
        return claims
    more = response.json()
    if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
        raise ValueError("another user")
    return more | claims


def _endpoint(description: Description, name: str) -> str:
    if (address := description.get(name)) is None:
        raise DependencyDown(f"The identity provider names no {name}.", dependency="identity")
    return str(address)


def origin_of(url: str) -> str:
    """Scheme, host and port of the page. InvalidInput if its cookies would travel unprotected."""
    parts = urlsplit(url)
    is_protected = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    is_bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
    if not (is_protected and is_bare and parts.hostname):
        raise InvalidInput(
            "ORC_PUBLIC_URL must be an https address without a path, or an http address of this machine."
        )
    usual = {"https": ":443", "http": ":80"}[parts.scheme]
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(usual)}"
