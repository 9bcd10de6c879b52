"""Connections that never finish their headers, or send too long ones, are closed; others are served."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from core.infra.http_server import LimitedHttp

REQUEST = b"GET / HTTP/1.1\r\nhost: a\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Strict(LimitedHttp):
    header_bytes = 10_000
    header_seconds = 0.2
    most_connections = 5


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"2"), *(pair for pair in scope["headers"] if pair[0] == b"x-echo")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, http=Strict, ws="none", lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield listener.getsockname()[1]
        server.should_exit = True
        await serving


async def sent(port: int, *parts: bytes) -> bytes:
    """The answer to these bytes, up to the end of the connection or of a short answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(200), 5)
    except ConnectionError:
        return b"closed"
    finally:
        writer.close()


async def test_an_ordinary_request_is_served_and_so_is_a_large_body(port: int) -> None:
    assert b"200 OK" in await sent(port, REQUEST + b"\r\n")
    length = b"content-length: 50000\r\n\r\n"
    assert b"200 OK" in await sent(port, REQUEST + length, b"x" * 25_000, b"x" * 25_000)


async def test_a_header_without_end_is_refused(port: int) -> None:
    answer = await sent(port, REQUEST + b"x: ", *[b"y" * 4000] * 5)
    assert answer == b"closed" or b" 431 " in answer


@pytest.mark.parametrize("begun", [b"", REQUEST], ids=["nothing", "half"])
async def test_headers_that_do_not_come_end_the_connection(port: int, begun: bytes) -> None:
    assert b" 408 " in await sent(port, begun)


async def test_more_connections_than_allowed_are_refused(port: int) -> None:
    opened: list[Streams] = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
    assert b" 503 " in await sent(port, REQUEST + b"\r\n")
    for _, writer in opened:
        writer.close()
        await writer.wait_closed()
    assert b"200 OK" in await sent(port, REQUEST + b"\r\n")


async def test_spaces_around_a_header_are_no_part_of_its_value(port: int) -> None:
    answer = await sent(port, REQUEST + b"x-echo: \t a b \t \r\n\r\n")
    assert b"x-echo: a b\r\n" in answer
