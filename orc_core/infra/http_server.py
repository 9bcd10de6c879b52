"""HTTP servers: what one connection may take, as uvicorn limits neither headers nor connections."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from orc_core.infra.collector import collector_paused

log = logging.getLogger(__name__)


class LimitedHttp(HttpToolsProtocol):
    """Closes a connection whose request line and headers are too long or take too long.

    Too many connections at a time are answered with 503. Bodies are limited by the app, which knows the
    caller.
    """

    header_bytes = 128 * 1024
    header_seconds = 20.0
    most_connections = 2000

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        import resource  # not on Windows, where every command refuses

        self._received = 0
        self._header_timer: asyncio.TimerHandle | None = None
        # At most half of the files that this process may have open.
        of_process = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
        if len(self.connections) > min(self.most_connections, of_process):
            self._refuse(b"503 Service Unavailable\r\nretry-after: 2")
            return
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._have_headers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._header_timer is not None:
            self._received += len(data)
            if self._received > self.header_bytes:
                self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._received = 0
        self._await_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        # The parser leaves spaces after a value in it, which are no part of it (RFC 9110, 5.5).
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self._have_headers()
        super().on_headers_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Logs nothing: any client may ask for another protocol, and is answered in this one."""

    def _await_headers(self) -> None:
        self._have_headers()
        self._header_timer = self.loop.call_later(self.header_seconds, self._refuse, b"408 Request Timeout")

    def _have_headers(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _refuse(self, status: bytes) -> None:
        self._have_headers()
        log.info("a connection was refused: %s", status.partition(b"\r")[0].decode())
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            )
            self.transport.close()


def configured(app: Any, host: str, port: int, *, drain_seconds: int) -> uvicorn.Config:
    """How each process of the product serves. After a signal, responses may go on for so long."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=LimitedHttp,
        ws="none",
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=drain_seconds,
    )


class Server(uvicorn.Server):
    """Serves at the address in its config. `serves` is called as soon as it does.

    `warm` runs in the background soon after that: it makes what requests would otherwise wait for. `ends`
    runs after the last response; the signal that has stopped the server may end the process after that.
    """

    warm_after_seconds = 1.0
    """Other processes of the product may still be starting, and all that a user does waits for them."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        warm: Callable[[], Coroutine[Any, Any, None]],
        serves: Callable[[], None] = lambda: None,
        ends: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        super().__init__(config)
        self._warm, self._serves, self._ends = warm, serves, ends
        self._warming: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve."""
        await super().startup(sockets)
        if self.started:
            self._serves()
            self._warming = asyncio.create_task(self._warm_up())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and wait for the responses under way."""
        if self._warming is not None:
            self._warming.cancel()
        await super().shutdown(sockets)
        if self._ends is not None:
            await self._ends()

    async def _warm_up(self) -> None:
        await asyncio.sleep(self.warm_after_seconds)
        try:
            with collector_paused():
                await self._warm()
        except Exception:  # a request that needs it tries again, and its caller is given the reason
            log.exception("what requests need could not be made in advance")
