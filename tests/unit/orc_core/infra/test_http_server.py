"""Connections that never finish their headers, or send too long ones, are closed; others are served."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from orc_core.infra.http_server import LimitedHttp, Server

pytestmark = pytest.mark.slow

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


class WarmAtOnce(Server):
    warm_after_seconds = 0


async def nothing() -> None:
    """What a server without anything to make does in advance."""


@asynccontextmanager
async def serving(warm: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[int]:
    """The port of a server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, http=Strict, ws="none", lifespan="off", log_level="critical")
        server = WarmAtOnce(config, warm=warm)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        yield listener.getsockname()[1]
        server.should_exit = True
        await running


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(nothing) as port:
        yield port


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


async def test_a_request_for_another_protocol_is_answered_in_this_one(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "warning", warned.append)
    asked = b"connection: upgrade\r\nupgrade: websocket\r\n\r\n"
    assert b"200 OK" in await sent(port, REQUEST + asked)
    assert warned == [], "the log names no library to install"


async def test_what_requests_need_is_made_while_requests_are_answered() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def warm() -> None:
        began.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    async with serving(warm) as port:
        await asyncio.wait_for(began.wait(), 5)
        assert b"200 OK" in await sent(port, REQUEST + b"\r\n")
        assert not ended.is_set()
    assert ended.is_set()


async def test_a_server_goes_on_without_what_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    failed = asyncio.Event()

    async def warm() -> None:
        failed.set()
        raise ValueError("no such library")

    async with serving(warm) as port:
        await asyncio.wait_for(failed.wait(), 5)
        assert b"200 OK" in await sent(port, REQUEST + b"\r\n")
    assert "no such library" in caplog.text
