"""Where a browser signs in and out, in `oidc` mode."""

import logging
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse

from orc.api.auth import OTHER_SITE, SignedIn
from orc.api.dependencies import AppDep
from orc.api.sign_in import ATTEMPT, ATTEMPT_SECONDS, CALLBACK, SIGN_IN, SIGN_OUT, Attempt, SignInFlow
from orc_core.errors import Forbidden, NotAuthenticated, NotFound, OrcError

FAILED = "/?sign-in=failed"
"""The address at which the page says so."""
MOST_ATTEMPTS = 4
"""Sign-ins that a browser can have begun: servers refuse requests with longer headers."""
PATHS = frozenset({SIGN_IN, SIGN_OUT, CALLBACK})
router = APIRouter(include_in_schema=False)
logger = logging.getLogger(__name__)


@router.get(SIGN_IN)
async def begin_sign_in(
    request: Request, app: AppDep, place: Annotated[str, Query(alias="post_login_redirect_uri")] = "/"
) -> RedirectResponse:
    """Send the browser to the identity provider; it comes back to this place in the page."""
    flow = _flow(request)
    try:
        address, attempt = await flow.begin(place)
    except OrcError as exc:
        return _failed(flow, exc)
    response = RedirectResponse(address, HTTPStatus.FOUND)
    sealed = app.credentials.seal(asdict(attempt), seconds=ATTEMPT_SECONDS)
    # Browsers send the earliest first.
    begun = [name for name in request.cookies if name.startswith(flow.attempt_prefix)]
    for earlier in begun[: 1 - MOST_ATTEMPTS]:
        _set_cookie(response, flow, earlier, "", 0)
    _set_cookie(response, flow, flow.attempt_cookie(attempt.state), sealed, ATTEMPT_SECONDS)
    return response


@router.get(CALLBACK)
async def finish_sign_in(request: Request, app: AppDep) -> RedirectResponse:
    """Begin a session of the user that the identity provider names. An answer of it counts once."""
    flow, answer = _flow(request), dict(request.query_params)
    cookie = flow.attempt_cookie(answer.get("state", ""))
    try:
        kept = app.credentials.unseal(request.cookies.get(cookie, ""), ATTEMPT)
        attempt = Attempt(*(kept[name] for name in ATTEMPT))
        principal, id_token = await flow.finish(answer, attempt)
        if not await app.credentials.use_once(attempt.state, seconds=ATTEMPT_SECONDS):
            raise NotAuthenticated("This answer was used before.")
    except OrcError as exc:
        return _failed(flow, exc)
    if earlier := request.cookies.get(flow.session_cookie):
        await app.credentials.end_session(earlier)
    seconds = flow.session_seconds
    secret = await app.credentials.begin_session(principal, seconds=seconds, id_token=id_token)
    response = RedirectResponse(flow.origin + attempt.place, HTTPStatus.SEE_OTHER)
    _set_cookie(response, flow, cookie, "", 0)
    _set_cookie(response, flow, flow.session_cookie, secret, int(seconds))
    return response


@router.get(SIGN_OUT)
async def sign_out(request: Request, app: AppDep) -> RedirectResponse:
    """End the session of this browser, and send it to the identity provider to sign out there."""
    flow = _flow(request)
    if not set(request.headers.getlist("sec-fetch-site")) <= {"same-origin", "none"}:
        raise Forbidden(OTHER_SITE)
    address = f"{flow.origin}/"
    if secret := request.cookies.get(flow.session_cookie):
        if session := await app.credentials.session(secret):
            address = await flow.leave(session.id_token)
        await app.credentials.end_session(secret)
    response = RedirectResponse(address, HTTPStatus.SEE_OTHER)
    _set_cookie(response, flow, flow.session_cookie, "", 0)
    return response


def _flow(request: Request) -> SignInFlow:
    authenticator = request.app.state.authenticator
    if not isinstance(authenticator, SignedIn):
        raise NotFound("Browsers do not sign in at this server.")
    return authenticator.flow


def _failed(flow: SignInFlow, exc: OrcError) -> RedirectResponse:
    """Back to the page, which says so. The reason is for the operator."""
    cause = f" ({type(exc.__cause__).__name__})" if exc.__cause__ else ""
    logger.warning("a sign-in failed: %s%s", exc.message, cause)
    return RedirectResponse(flow.origin + FAILED, HTTPStatus.SEE_OTHER)


def _set_cookie(response: RedirectResponse, flow: SignInFlow, name: str, value: str, seconds: int) -> None:
    """A cookie that no script reads and no other host gets; with 0 seconds it is removed."""
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=flow.is_secure, httponly=True, samesite="lax"
    )
