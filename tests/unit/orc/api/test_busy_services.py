"""At each endpoint a service that has too many requests is named so, and is not said to be down."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import httpx
import openai
import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError
from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, models_of, scripted
from orc.api.app import create_app
from orc.conversations.turn_log import TurnLog
from orc.settings import Settings
from orc.turns.running_turn import TurnDependencies
from orc_core.errors import OrcError
from orc_core.llm.openai_errors import translate as of_model
from orc_core.storage.cosmos.client import translate as of_cosmos

MESSAGES = [{"role": "user", "content": "Good morning!"}]
ENDPOINTS: dict[str, dict[str, Any]] = {
    "/api/orc": {"question": "Good morning!"},
    "/api/chat": {"messages": MESSAGES},
    "/v1/chat/completions": {"model": "orc", "messages": MESSAGES},
}
STREAM = {"accept": "text/event-stream"}


def error_of(service: str) -> OrcError:
    """Our error for the 429 of the service."""
    if service == "store":
        throttled = CosmosHttpResponseError(status_code=429, message="Too large")  # type: ignore[no-untyped-call]
        found = of_cosmos(throttled)
    else:
        request = httpx.Request("POST", "http://model")
        headers = {"retry-after": "7"}
        response = httpx.Response(429, request=request, headers=headers)
        found = of_model(openai.RateLimitError("slow down", response=response, body=None))  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.fixture(params=["store", "model"])
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """An API of which this service answers 429 to everything."""

    class Throttled(TurnLog):
        async def begin(self, *_: object, **__: object) -> NoReturn:
            raise error_of("store")

    def answer(_messages: Any, _options: Any) -> AIMessage:
        if request.param == "model":
            raise error_of("model")
        return AIMessage("Hello.")

    model, _ = scripted(answer)

    def change(parts: TurnDependencies) -> TurnDependencies:
        log = Throttled(parts.log._items) if request.param == "store" else parts.log
        return replace(parts, log=log, models=models_of(model), tools=FakeTools())

    app = create_app(Settings(data_dir=tmp_path), change)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 5))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=20) as opened:
        yield opened
    await app.state.provider.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", ENDPOINTS)
async def test_too_many_requests_are_named_at_each_endpoint(
    client: httpx.AsyncClient, path: str, request: pytest.FixtureRequest
) -> None:
    service = request.node.callspec.params["client"]
    code = {"store": "dependency_busy", "model": "model_busy"}[service]
    answer = await client.post(path, json=ENDPOINTS[path])
    said = answer.json().get("error") or answer.json()
    assert (answer.status_code, said["code"]) == (503, code)
    assert "too many requests" in (said.get("detail") or said["message"])
    assert answer.headers["retry-after"] == {"store": "2", "model": "7"}[service]
    if path != "/v1/chat/completions":
        assert said["dependency"] == service
        streamed = await client.post(path, json=ENDPOINTS[path], headers=STREAM)
        assert f'"code":"{code}"' in streamed.text.replace('": "', '":"')
