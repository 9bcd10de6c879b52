"""A proxy in front of any HTTP server, which makes faults at random, or takes the server away altogether."""

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import urlsplit

from devkit.faults.messages import Head, Request, read_head, read_request, response_pieces
from devkit.faults.rules import PLAIN, Fault, Kind, Rules

LINE_LIMIT = 16 * 1024 * 1024
AT_ONCE = struct.pack("ii", 1, 0)
OnRequest = Callable[[Request], Awaitable[None]]


class Proxy:
    """Forwards to the server at `upstream`; its own address is `url`, with the same path.

    `rate` is the share of requests that have a fault; it may be changed at any time. The n-th request has
    the n-th fault of the seed, from any client. `counts` says what was done; `on_request` sees every
    request before it goes on.
    """

    def __init__(
        self,
        upstream: str,
        rules: Rules = PLAIN,
        *,
        seed: int = 0,
        rate: float = 0.0,
        on_request: OnRequest | None = None,
    ) -> None:
        self.rate = rate
        self.requests = 0
        self.counts: Counter[Kind] = Counter()
        self._upstream = urlsplit(upstream)
        self._rules = rules
        self._on_request = on_request
        self._port = 0
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.restart(seed)

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The upstream's URL, by way of this proxy."""
        return self.address + self._upstream.path

    def restart(self, seed: int) -> None:
        """Go on with the faults of this seed, from the first."""
        self._connections, self._requests = Random(f"connections {seed}"), Random(f"requests {seed}")

    async def come_back(self) -> None:
        """Listen, always on the same port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def black_out(self) -> None:
        """Refuse connections until `come_back`, and reset those that there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._open)
        for writer in self._open.values():
            reset(writer)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(_Reader(limit=LINE_LIMIT), self._serve)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, for as long as it has requests."""
        assert isinstance(reader, _Reader)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            if self._refuses_connection():
                reset(writer)
            while (request := await read_request(reader)) is not None:
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            reset(writer)
        except asyncio.CancelledError:
            pass  # a blackout
        finally:
            del self._open[task]
            writer.close()

    def _refuses_connection(self) -> bool:
        refused = Kind.REFUSE in self._rules.kinds and self._connections.random() < self.rate
        self.counts[Kind.REFUSE] += refused
        return refused

    async def _answer(self, request: Request, reader: "_Reader", writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection can be used for another."""
        self.requests += 1
        fault = self._rules.draw(self._requests, self.rate, request.headers)
        if fault is not None:
            self.counts[fault.kind] += 1
        match fault:
            case Fault(kind=Kind.RESET_BEFORE):
                reset(writer)
                return False
            case Fault(kind=Kind.STATUS, refusal=refusal) if refusal is not None:
                writer.write(refusal.as_response())
                return not request.head.closes
            case Fault(kind=Kind.DELAY, seconds=seconds):
                await asyncio.sleep(seconds)
        if self._on_request is not None:
            await self._on_request(request)
        return await _unless_gone(self._forward(request, fault, writer), reader)

    async def _forward(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        """Have the server answer, and pass on as much of its answer as the fault allows."""
        async with self._to_server() as (server, to_server):
            to_server.write(request.head.with_header("host", self._upstream.netloc) + request.body)
            head = await read_head(server)
            if head is None:
                raise ConnectionResetError("the server has gone")
            if fault is not None and fault.kind is Kind.RESET_AFTER:
                reset(writer)
                return False
            pieces = response_pieces(server, head, request.head.method)
            writer.write(head.raw)
            if fault is not None and fault.kind is Kind.CUT:
                return await _cut(pieces, fault.pieces, writer)
            async for piece in pieces:
                writer.write(piece)
                await writer.drain()
            return _goes_on(request.head, head)

    @asynccontextmanager
    async def _to_server(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A new connection for every request, because an idle one could have been closed meanwhile."""
        host, port = self._upstream.hostname, self._upstream.port
        reader, writer = await asyncio.open_connection(host, port, limit=LINE_LIMIT)
        try:
            yield reader, writer
        finally:
            writer.close()


@asynccontextmanager
async def proxied(
    upstream: str,
    rules: Rules = PLAIN,
    *,
    seed: int = 0,
    rate: float = 0.0,
    on_request: OnRequest | None = None,
) -> AsyncIterator[Proxy]:
    """A proxy that listens for as long as the context is open."""
    proxy = Proxy(upstream, rules, seed=seed, rate=rate, on_request=on_request)
    await proxy.come_back()
    try:
        yield proxy
    finally:
        await proxy.black_out()


class _Reader(asyncio.StreamReader):
    """Detects that its client disconnected while no data is read."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(limit=limit)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


async def _unless_gone(answering: Awaitable[bool], reader: _Reader) -> bool:
    """What `answering` gives; it is given up when the client goes, as the server would see it go."""
    answer, gone = asyncio.ensure_future(answering), asyncio.ensure_future(reader.gone.wait())
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else False
    finally:
        for task in (answer, gone):
            task.cancel()
        await asyncio.gather(answer, gone, return_exceptions=True)


async def _cut(pieces: AsyncIterator[bytes], passing: int, writer: asyncio.StreamWriter) -> bool:
    """Pass on so many pieces and half of another, never the whole response."""
    held = b""
    async for piece in pieces:
        writer.write(held)
        held = piece
        if not passing:
            break
        passing -= 1
    writer.write(held[: len(held) // 2])
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    reset(writer)
    return False


def _goes_on(request: Head, response: Head) -> bool:
    framed = response.chunked or response.length is not None or request.method == "HEAD"
    return not (request.closes or response.closes) and framed


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a crash does: the other side gets a reset, not an end."""
    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    writer.transport.abort()
