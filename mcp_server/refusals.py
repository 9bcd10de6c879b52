"""Answers to clients without a valid scope token: what is wrong with the token, and how to get one."""

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc_core.documents.scope import ScopeTokens
from orc_core.errors import NotAuthenticated

HOW = "Make one with: orc token --conversation ID"


class ExplainedRefusals:
    """Replaces the answer 401 by one that says whether the token is missing, expired or not valid here."""

    def __init__(self, app: ASGIApp, tokens: ScopeTokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_refused = False

        async def explain(message: Message) -> None:
            nonlocal is_refused
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.UNAUTHORIZED:
                is_refused = True
            if not is_refused:
                await send(message)

        await self._app(scope, receive, explain)
        if is_refused:
            await self._refusal(Headers(scope=scope))(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONResponse:
        kind, _, token = headers.get("authorization", "").partition(" ")
        why = "The scope token is missing."
        if kind.lower() == "bearer" and token:
            try:
                self._tokens.verify(token)
            except NotAuthenticated as exc:
                why = exc.message
        body = {"error": "invalid_token", "error_description": f"{why} {HOW}"}
        challenge = ", ".join(f'{name}="{value}"' for name, value in body.items())
        return JSONResponse(
            body, HTTPStatus.UNAUTHORIZED, headers={"www-authenticate": f"Bearer {challenge}"}
        )


async def _refuse_registration(_request: Request) -> JSONResponse:
    """Clients that are refused try to register with an authorization server, and show its answer."""
    description = f"This server has no login; its clients send a scope token as bearer token. {HOW}"
    return JSONResponse({"error": "access_denied", "error_description": description}, HTTPStatus.FORBIDDEN)


REGISTRATION = Route("/register", _refuse_registration, methods=["POST"])
