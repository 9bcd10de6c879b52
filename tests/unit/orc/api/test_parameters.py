"""What a request may hold: numbers in digits, every parameter once, no more than the store can count."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from orc.api.app import create_app
from orc.settings import Settings

CONVERSATION = "/conversations/3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(data_dir=tmp_path))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as opened:
        yield opened
    await app.state.provider.close()


@pytest.mark.parametrize("number", ["1.0", "+1", "1_000", " 1", "１", "true", "", str(2**31), "-1"])
async def test_a_number_is_written_in_digits_and_not_too_great(
    client: httpx.AsyncClient, number: str
) -> None:
    response = await client.get(CONVERSATION, params={"after_seq": number})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "after_seq"


@pytest.mark.parametrize("number", ["0", "7", "007", str(2**31 - 1)])
async def test_a_number_in_digits_is_taken(client: httpx.AsyncClient, number: str) -> None:
    assert (await client.get(CONVERSATION, params={"after_seq": number})).status_code == 404


async def test_a_parameter_that_comes_twice_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.get("/conversations?limit=1&limit=2")
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "limit"


@pytest.mark.parametrize("switch", [0, 1, "false", "off", None])
async def test_a_switch_is_true_or_false_and_nothing_like_it(
    client: httpx.AsyncClient, switch: object
) -> None:
    response = await client.post("/orc", json={"question": "When?", "tools": {"web_search": switch}})
    assert response.status_code == 422


@pytest.mark.parametrize("path", ["/orc", "/chat"])
async def test_a_switch_for_a_tool_that_there_never_is_is_refused_and_not_passed_over(
    client: httpx.AsyncClient, path: str
) -> None:
    asked: dict[str, object] = {"messages": [{"role": "user", "content": "Hi"}]}
    asked = asked if path == "/chat" else {"question": "Hi"}
    refused = await client.post(path, json={**asked, "tools": {"web_search": False, "websearch": False}})
    assert refused.status_code == 422
    [problem] = refused.json()["errors"]
    assert problem["field"] == "tools"
    assert "'websearch'" in problem["reason"]
    # There is no web here: a tool that is not offered at present can be switched off all the same.
    assert (await client.post(path, json={**asked, "tools": {"web_search": False}})).status_code == 200


@pytest.mark.parametrize(
    ("path", "allowed"), [(CONVERSATION, "DELETE, GET"), (f"{CONVERSATION}/documents", "GET, POST")]
)
async def test_a_wrong_method_is_told_all_right_ones(
    client: httpx.AsyncClient, path: str, allowed: str
) -> None:
    response = await client.patch(path)
    assert response.status_code == 405
    assert response.headers["allow"] == allowed
    assert response.headers["content-type"] == "application/problem+json"
