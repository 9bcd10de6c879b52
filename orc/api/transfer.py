"""How responses travel: JSON is compressed, streams of events never are, and caches keep nothing."""

import asyncio
import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST_BYTES = 1024
"""A shorter body fits into one packet as it is."""
INLINE_BYTES = 32 * 1024
"""More is compressed in a thread, so that other requests do not wait."""
LEVEL = 5
_JSON = ("application/json", "application/problem+json")


class Transfer:
    """ASGI middleware that compresses JSON for callers who take gzip, and forbids caches to keep responses.

    A response that says itself how it is cached or encoded stays as it is. Whatever comes in parts, such as
    a stream of events or a file, is passed on at once.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Response(send, takes_gzip=_takes_gzip(scope)).send)


class _Response:
    """Sends one response; the start of what may be compressed waits for its body."""

    def __init__(self, send: Send, *, takes_gzip: bool) -> None:
        self._send = send
        self._takes_gzip = takes_gzip
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("cache-control", "no-store")
            if _is_json(headers):
                headers.add_vary_header("accept-encoding")
                if self._takes_gzip:
                    self._start = message
                    return
        elif self._start is not None:
            start, self._start = self._start, None
            if not message.get("more_body") and len(message.get("body", b"")) >= SMALLEST_BYTES:
                message = await _compressed(start, message)
            await self._send(start)
        await self._send(message)


async def _compressed(start: Message, message: Message) -> Message:
    """The body in gzip; its headers are changed to that in `start`."""
    body: bytes = message["body"]
    if len(body) <= INLINE_BYTES:
        packed = gzip.compress(body, LEVEL, mtime=0)
    else:
        packed = await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
    headers = MutableHeaders(scope=start)
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(len(packed))
    return {**message, "body": packed}


def _is_json(headers: Headers) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in _JSON and "content-encoding" not in headers


def _takes_gzip(scope: Scope) -> bool:
    """Whether the caller accepts gzip; `gzip;q=0` refuses it."""
    accepted = Headers(scope=scope).get("accept-encoding", "").lower()
    for part in accepted.split(","):
        coding, *parameters = (piece.strip() for piece in part.split(";"))
        if coding in ("gzip", "*"):
            return not any(p.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for p in parameters)
    return False
