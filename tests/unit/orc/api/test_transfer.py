"""Texts travel compressed, events as they come, and no cache keeps what is of one caller."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from sse_starlette import EventSourceResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Message

from orc.api.middleware import TraceIds, compressed

SMALLEST_BYTES, INLINE_BYTES = 1024, 128 * 1024
WORDS = {"text": "words " * INLINE_BYTES}
SHORT = {"text": "words"}


def app_answering(response: Response) -> GZipMiddleware:
    app = FastAPI()
    app.add_api_route("/", lambda: response, response_model=None)
    return compressed(TraceIds(app, prefixes=()))


async def get(response: Response, accept: str = "gzip, br") -> httpx.Response:
    transport = httpx.ASGITransport(app_answering(response))
    async with httpx.AsyncClient(transport=transport, base_url="http://orc") as client:
        return await client.get("/", headers={"accept-encoding": accept})


@pytest.mark.parametrize("times", [SMALLEST_BYTES, INLINE_BYTES])
@pytest.mark.parametrize("media_type", ["application/json", "application/problem+json"])
async def test_json_is_compressed(times: int, media_type: str) -> None:
    content = {"text": "é" * times}
    answered = await get(JSONResponse(content, media_type=media_type))
    assert answered.headers["content-encoding"] == "gzip"
    assert answered.headers["vary"] == "Accept-Encoding"
    assert int(answered.headers["content-length"]) < times / 5
    assert answered.json() == content


@pytest.mark.parametrize("accept", ["", "identity", "br"])
async def test_a_caller_who_takes_no_gzip_gets_none(accept: str) -> None:
    answered = await get(JSONResponse(WORDS), accept)
    assert "content-encoding" not in answered.headers
    assert (answered.headers["vary"], answered.json()) == ("Accept-Encoding", WORDS)


@pytest.mark.parametrize(
    "response",
    [
        JSONResponse(SHORT),
        Response(b"x" * 9000, media_type="application/pdf"),
        Response(gzip.compress(b"x" * 9000), headers={"content-encoding": "gzip"}, media_type="text/css"),
    ],
    ids=["short", "file", "compressed before"],
)
async def test_other_responses_stay_as_they_are(response: Response) -> None:
    before = len(response.body)
    answered = await get(response)
    assert int(answered.headers["content-length"]) == before
    assert "vary" not in answered.headers or answered.json() == SHORT


async def test_no_cache_keeps_a_response_unless_it_says_so() -> None:
    assert (await get(JSONResponse(SHORT))).headers["cache-control"] == "no-store"
    kept = JSONResponse(SHORT, headers={"cache-control": "private, immutable"})
    assert (await get(kept)).headers["cache-control"] == "private, immutable"


async def test_each_event_is_sent_as_soon_as_it_is_there() -> None:
    written, arrived = asyncio.Queue[str](), asyncio.Queue[Message]()

    async def events() -> AsyncIterator[dict[str, Any]]:
        while text := await written.get():
            yield {"data": text}

    async def send(message: Message) -> None:
        await arrived.put(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [(b"accept-encoding", b"gzip")],
    }
    forever = asyncio.Event()

    async def receive() -> Message:
        await forever.wait()
        return {"type": "http.disconnect"}

    serving = asyncio.create_task(app_answering(EventSourceResponse(events()))(scope, receive, send))
    async with asyncio.timeout(60):
        start = await arrived.get()
        assert b"content-encoding" not in dict(start["headers"])
        for text in ("first " * SMALLEST_BYTES, "second"):
            await written.put(json.dumps(text))
            assert text.encode() in (await arrived.get())["body"]
        await written.put("")
        await serving
