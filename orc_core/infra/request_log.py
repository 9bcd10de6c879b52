"""Which requests came in, how they were answered, and how long that took."""

import logging
import time
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

QUIET = frozenset({"assets", "health", "live", "ready"})
"""Parts of paths that machines and pages ask for all the time: logged at the level debug."""
LINE = "%(method)s %(path)s %(status)d in %(milliseconds)d ms"

log = logging.getLogger(__name__)


class RequestLog:
    """ASGI middleware: a line for each request when its response has ended, refused ones included.

    Parts of the path that are not among `words` are left out, as they may name a document.
    """

    def __init__(self, app: ASGIApp, words: Collection[str]) -> None:
        self._app = app
        self._words = frozenset(words)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._write(scope, status, round(1000 * (time.perf_counter() - began)))

    def _write(self, scope: Scope, status: int, milliseconds: int) -> None:
        parts = scope["path"].split("/")
        path = "/".join(part if part in self._words else part and "{}" for part in parts)
        request = {"method": scope["method"], "path": path, "status": status, "milliseconds": milliseconds}
        level = logging.DEBUG if QUIET.intersection(parts) else logging.INFO
        log.log(level, LINE, request, extra={"request": request})
