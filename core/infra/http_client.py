"""HTTP clients that send each request in one piece."""

from contextlib import suppress
from typing import Any

import httpcore2
import httpx2

MOST_UNSENT = 64 * 1024
"""Bytes of a request that wait for the rest of it."""


class JoinedWrites(httpcore2.AsyncNetworkStream):
    """A connection that sends what was written when something is to be read."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._unsent = bytearray()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self._unsent += buffer
        self._timeout = timeout
        if len(self._unsent) > MOST_UNSENT:
            await self._send()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._unsent:
            # A server may answer, and close the connection, before it has read all.
            with suppress(httpcore2.WriteError):
                await self._send()
        return await self._stream.read(max_bytes, timeout)

    async def _send(self) -> None:
        unsent = bytes(self._unsent)
        self._unsent.clear()
        await self._stream.write(unsent, self._timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *args: Any, **options: Any) -> "JoinedWrites":
        return JoinedWrites(await self._stream.start_tls(*args, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Network(httpcore2.AnyIOBackend):
    async def connect_tcp(self, *args: Any, **options: Any) -> JoinedWrites:
        return JoinedWrites(await super().connect_tcp(*args, **options))


class WholeRequests(httpx2.AsyncHTTPTransport):
    """Sends the headers and the body of a request together.

    The library sends them one after the other and gives other tasks a turn in between: 0.3 ms of a request
    to a model. It takes no other network, so its pool is replaced.
    """

    def __init__(self, limits: httpx2.Limits) -> None:
        context = httpx2.create_ssl_context()
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Network(),
        )
