"""Whoever is not known is turned away before the body is read, and nobody's body grows too large."""

from http import HTTPStatus

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import OrcError
from orc.api.auth import Authenticator
from orc.api.errors import render
from orc.problems import problem_of

PRINCIPAL = "orc.principal"


class Door:
    """ASGI middleware over everything below `prefixes`; it leaves the principal in the scope.

    FastAPI's own `max_body_size` answers in plain text as soon as there is a `content-length`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        prefixes: tuple[str, ...],
        max_bytes: int,
        max_upload_bytes: int,
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
            refusal = render(problem_of(exc, scope["orc.trace_id"]))
            await refusal(scope, receive, send)
            return
        await self._app(scope, _within(self._limit(scope["path"]), receive), send)

    def _limit(self, path: str) -> int:
        return self._max_upload_bytes if path.endswith("/documents") else self._max_bytes


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
