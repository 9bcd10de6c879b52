"""A request is sent in one piece, and nothing else about a client's requests changes."""

import asyncio
from typing import Any

import httpcore2
import httpx2
import pytest

from core.infra.http_client import MOST_UNSENT, JoinedWrites, WholeRequests

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Line(httpcore2.AsyncNetworkStream):
    """A connection that records what is written. If `is_closed`, the other side has closed it."""

    def __init__(self, *, is_closed: bool = False) -> None:
        self.written: list[bytes] = []
        self.limits: list[float | None] = []
        self._is_closed = is_closed

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        if self._is_closed:
            raise httpcore2.WriteError
        self.written.append(buffer)
        self.limits.append(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return ANSWER

    async def aclose(self) -> None:
        """Closes nothing."""

    async def start_tls(self, *args: object, **options: object) -> "Line":
        return Line()


async def post(url: str, *bodies: bytes) -> list[str]:
    """The answers to requests with these bodies, over one connection."""
    async with httpx2.AsyncClient(transport=WholeRequests(httpx2.Limits())) as client:
        return [(await client.post(url, content=body)).text for body in bodies]


async def test_the_headers_and_the_body_of_each_request_are_sent_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = Line()

    async def connect(*_: Any, **__: Any) -> Line:
        return line

    # Whichever backend the library takes: a version of it that ignores ours would write twice.
    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    assert await post("http://127.0.0.1/", b"first", b"again") == ["ok", "ok"]
    assert [sent.partition(b"\r\n\r\n")[2] for sent in line.written] == [b"first", b"again"]


async def test_a_long_body_arrives_whole() -> None:
    body, received = bytes(range(256)) * 8000, bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        received.extend(await reader.readexactly(len(body)))
        writer.write(ANSWER)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert await post(url, body) == ["ok"]
    assert received == body


async def test_an_answer_is_read_even_if_the_server_did_not_read_the_request() -> None:
    stream = JoinedWrites(Line(is_closed=True))
    await stream.write(b"POST", 5)
    assert await stream.read(1000, 60) == ANSWER


async def test_the_time_limit_of_writing_is_that_of_the_request() -> None:
    line = Line()
    stream = JoinedWrites(line)
    await stream.write(b"POST", 5)
    await stream.write(b"{}", 5)
    await stream.read(1000, 60)
    assert (line.written, line.limits) == ([b"POST{}"], [5])


async def test_what_is_too_much_to_keep_is_sent_at_once() -> None:
    line = Line()
    stream = JoinedWrites(line)
    await stream.write(b"x" * MOST_UNSENT)
    assert line.written == []
    await stream.write(b"y")
    assert line.written == [b"x" * MOST_UNSENT + b"y"]


async def test_an_encrypted_connection_joins_what_is_written_too() -> None:
    assert isinstance(await JoinedWrites(Line()).start_tls(), JoinedWrites)


async def test_a_server_that_cannot_be_reached_is_reported_as_before() -> None:
    with pytest.raises(httpx2.ConnectError):
        await post("http://127.0.0.1:1/", b"")
