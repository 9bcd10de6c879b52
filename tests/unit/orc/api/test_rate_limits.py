"""Messages and uploads of a user are limited at every endpoint that begins a turn or stores a file."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, models_of, scripted
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from orc.turns.running_turn import TurnDependencies

pytestmark = pytest.mark.slow

Post = Callable[..., Awaitable[httpx.Response]]
CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Callable[..., Post]]:
    """Starts an API with these settings; gives a function that posts to it as a user."""
    model, _ = scripted(lambda _messages, _options: AIMessage("Hello."))

    def change(parts: TurnDependencies) -> TurnDependencies:
        return replace(parts, models=models_of(model), tools=FakeTools())

    async with AsyncExitStack() as stack:

        def start(**settings: Any) -> Post:
            known: dict[str, Any] = {
                "data_dir": tmp_path,
                "auth_mode": AuthMode.EASYAUTH,
                "azure_auth_enabled": True,
            }
            app = create_app(Settings(**(known | settings)), change)
            stack.push_async_callback(app.state.provider.close)
            client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1/api")

            async def post(path: str, user: str = "ann", **options: Any) -> httpx.Response:
                headers = principal_headers("acme", user) | options.pop("headers", {})
                return await client.post(path, headers=headers, **options)

            return post

        yield start


def ask(post: Post, user: str = "ann", **headers: str) -> Awaitable[httpx.Response]:
    return post("/orc", user, json={"question": "Hello"}, headers=headers)


async def test_a_message_above_the_limit_is_refused_with_the_time_to_wait(serve: Callable[..., Post]) -> None:
    post = serve(messages_per_hour=3)
    for left in (2, 1, 0):
        answered = await ask(post)
        assert answered.status_code == 200
        assert answered.headers["ratelimit-policy"] == '"messages";q=3;w=3600'
        assert answered.headers["ratelimit"] == f'"messages";r={left}'
    refused = await ask(post)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert 3500 < int(refused.headers["retry-after"]) <= 3660
    assert int(refused.headers["retry-after"]) == refused.json()["retry_after"]
    assert (await ask(post, "bob")).status_code == 200


async def test_every_endpoint_that_asks_counts(serve: Callable[..., Post]) -> None:
    post, message = serve(messages_per_hour=5), {"role": "user", "content": "Hello"}
    asked = [
        await ask(post),
        await post("/orc/stream", json={"question": "Hello"}),
        await post("/chat", json={"messages": [message]}),
        await post("/chat/stream", json={"messages": [message]}),
        await post("/v1/chat/completions", json={"model": "orc", "messages": [message]}),
    ]
    assert [each.headers["ratelimit"] for each in asked] == [
        f'"messages";r={left}' for left in (4, 3, 2, 1, 0)
    ]
    for path, body in [
        ("/orc", {"question": "Hello"}),
        ("/orc/stream", {"question": "Hello"}),
        ("/chat", {"messages": [message]}),
        ("/v1/chat/completions", {"model": "orc", "messages": [message]}),
    ]:
        assert (await post(path, json=body)).status_code == 429


async def test_a_retry_and_a_refused_request_do_not_count(serve: Callable[..., Post]) -> None:
    post = serve(messages_per_hour=2)
    assert (await ask(post, **{"idempotency-key": "k"})).status_code == 200
    for _ in range(3):
        assert (await ask(post, **{"idempotency-key": "k"})).status_code == 200
        absent = {"question": "Hello", "conversation_id": CONVERSATION, "blob_names": ["absent.pdf"]}
        assert (await post("/orc", json=absent)).status_code == 404
        assert (await post("/orc", json={})).status_code == 422
    assert (await ask(post)).headers["ratelimit"] == '"messages";r=0'


async def test_uploads_are_limited_by_their_bytes(serve: Callable[..., Post]) -> None:
    post = serve(upload_bytes_per_day=100)

    async def upload(name: str, size: int, word: bytes = b"word ") -> httpx.Response:
        path = f"/conversations/{CONVERSATION}/documents"
        return await post(path, files=[("file", (name, word * (size // 5)))])

    assert (await upload("a.txt", 60)).status_code == 201
    refused = await upload("b.txt", 45)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert (await upload("c.bin", 40, b"\x00\x01\x02\x03\xff")).status_code == 415
    assert (await upload("d.txt", 40)).status_code == 201
    assert (await upload("e.txt", 5)).status_code == 429
