"""A bare HTTP/1.1 client: what measures must cost little of the two cores that are measured."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
END_OF_LINE = b"\r\n"


class Refused(Exception):
    """The server answered with an error, which makes any figure worthless."""


class Connection:
    """One kept-alive connection to a server on this machine; one request at a time.

    Every request raises Refused unless the answer's status is a success.
    """

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._port = port
        self._reader = reader
        self._writer = writer

    async def post_json(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON that answers this JSON."""
        return json.loads(await self.post(path, json.dumps(body).encode(), JSON))

    async def get_json(self, path: str) -> Any:
        """The JSON at this path."""
        return json.loads(b"".join([part async for part in self._exchange("GET", path, b"", JSON, JSON)]))

    async def post_file(self, path: str, name: str, content: bytes) -> Any:
        """The JSON that answers this file, sent as the form field `file`."""
        boundary = uuid.uuid4().hex
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        form = b"".join([head.encode(), content, f"\r\n--{boundary}--\r\n".encode()])
        return json.loads(await self.post(path, form, f"multipart/form-data; boundary={boundary}"))

    async def post(self, path: str, body: bytes, content_type: str) -> bytes:
        """The whole body of the answer."""
        return b"".join([part async for part in self._exchange("POST", path, body, content_type, JSON)])

    def stream(self, path: str, body: bytes) -> AsyncIterator[bytes]:
        """The events that answer this JSON, in the pieces in which they come."""
        return self._exchange("POST", path, body, JSON, EVENT_STREAM)

    async def _exchange(
        self, method: str, path: str, body: bytes, content_type: str, accept: str
    ) -> AsyncIterator[bytes]:
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\naccept: {accept}\r\n"
            f"content-type: {content_type}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        status, length = await self._read_head()
        parts = self._chunks() if length is None else self._fixed(length)
        if status >= 300:
            raise Refused(f"{path}: {status} {b''.join([part async for part in parts]).decode()}")
        async for part in parts:
            yield part

    async def _read_head(self) -> tuple[int, int | None]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        length = headers.get("content-length")
        return int(lines[0].split()[1]), None if length is None else int(length)

    async def _fixed(self, length: int) -> AsyncIterator[bytes]:
        yield await self._reader.readexactly(length)

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(END_OF_LINE), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(END_OF_LINE)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    """A connection to 127.0.0.1, for as long as the context is open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Connection(port, reader, writer)
    finally:
        writer.close()
