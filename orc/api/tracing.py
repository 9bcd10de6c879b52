"""Every request has a trace id, taken from `traceparent` where it is valid, and every response says it."""

import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
TRACE_HEADER = "x-trace-id"
_ZERO = "0" * 32


class TraceIds:
    """ASGI middleware that never touches the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace_id = _incoming(Headers(scope=scope).get("traceparent", "")) or secrets.token_hex(16)
        scope["orc.trace_id"] = trace_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[TRACE_HEADER] = trace_id
            await send(message)

        await self._app(scope, receive, send_with_id)


def _incoming(traceparent: str) -> str | None:
    match = _TRACEPARENT.fullmatch(traceparent)
    return match.group(1) if match and match.group(1) != _ZERO else None
