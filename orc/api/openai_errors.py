"""Turns problem documents below some paths into errors of OpenAI's form, whichever layer wrote them."""

import json
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc.api.completions import error_of
from orc.api.errors import MEDIA_TYPE
from orc.problems import Problem


class OpenAIErrors:
    """ASGI middleware around all others, also around the framework's own."""

    def __init__(self, app: ASGIApp, *, prefixes: tuple[str, ...]) -> None:
        self._app = app
        self._prefixes = prefixes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(self._prefixes):
            await self._app(scope, receive, _Translation(send))
        else:
            await self._app(scope, receive, send)


class _Translation:
    """Sends responses on; a problem document is collected and translated first."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if MutableHeaders(raw=message["headers"]).get("content-type", "").startswith(MEDIA_TYPE):
                self._start = message
                return
        elif self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._finish(self._start)
            return
        await self._send(message)

    async def _finish(self, start: Message) -> None:
        problem = Problem.model_validate_json(self._body)
        body = json.dumps(error_of(problem)).encode()
        headers = MutableHeaders(raw=start["headers"])
        headers["content-type"], headers["content-length"] = "application/json", str(len(body))
        if start["status"] == HTTPStatus.UNPROCESSABLE_ENTITY:
            # Clients of this interface know 400 for a request that is wrong.
            start["status"] = int(HTTPStatus.BAD_REQUEST)
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})
