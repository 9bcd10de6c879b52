"""As much of HTTP/1.1 as a proxy needs: heads, and bodies in pieces, as they go over the wire."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

LONGEST_PIECE = 64 * 1024
NO_BODY = {204, 304}


@dataclass(frozen=True)
class Head:
    """The first line of a message and its headers, by lower-case name; `raw` is all of it."""

    raw: bytes
    first: str
    headers: dict[str, str]

    @property
    def method(self) -> str:
        """Of a request."""
        return self.first.split(" ")[0]

    @property
    def target(self) -> str:
        """What a request asks for."""
        return self.first.split(" ")[1]

    @property
    def status(self) -> int:
        """Of a response."""
        return int(self.first.split(" ")[1])

    @property
    def length(self) -> int | None:
        """The body's length in bytes, if the head declares it."""
        declared = self.headers.get("content-length")
        return None if declared is None else int(declared)

    @property
    def chunked(self) -> bool:
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this message."""
        return "close" in self.headers.get("connection", "").lower() or self.first.startswith("HTTP/1.0")

    def with_header(self, name: str, value: str) -> bytes:
        """The raw head with this header replaced."""
        kept = [line for line in self.raw.split(b"\r\n") if not line.lower().startswith(name.encode() + b":")]
        return b"\r\n".join([kept[0], f"{name}: {value}".encode(), *kept[1:]])


@dataclass(frozen=True)
class Request:
    """A whole request."""

    head: Head
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        return self.head.headers


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head; None if the other side sends nothing more."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as exc:
        if exc.partial:
            raise ConnectionResetError("a message ended within its head") from exc
        return None
    first, *lines = raw.decode("latin-1").rstrip().split("\r\n")
    named = (line.partition(":") for line in lines)
    return Head(raw, first, {name.strip().lower(): value.strip() for name, _, value in named})


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request with its body, as it came; None if there is none."""
    head = await read_head(reader)
    if head is None:
        return None
    has_body = head.chunked or head.length
    return Request(head, b"".join([piece async for piece in _framed(reader, head)]) if has_body else b"")


async def response_pieces(reader: asyncio.StreamReader, head: Head, method: str) -> AsyncIterator[bytes]:
    """The body of a response as it arrives, framing included."""
    if method == "HEAD" or head.status in NO_BODY:
        return
    if head.chunked or head.length is not None:
        async for piece in _framed(reader, head):
            yield piece
        return
    while piece := await reader.read(LONGEST_PIECE):
        yield piece


async def _framed(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
    if not head.chunked:
        async for piece in _exactly(reader, head.length or 0):
            yield piece
        return
    size = -1
    while size:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        yield line + await reader.readexactly(size + 2)


async def _exactly(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    while length:
        piece = await reader.read(min(length, LONGEST_PIECE))
        if not piece:
            raise ConnectionResetError("a message ended within its body")
        length -= len(piece)
        yield piece
