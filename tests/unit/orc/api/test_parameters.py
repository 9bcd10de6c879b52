"""Valid request parameters: numbers in digits within the range of the store, every parameter once."""

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


@pytest.mark.parametrize("name", ["after_seq", "before_seq"])
@pytest.mark.parametrize("number", ["1.0", "+1", "1_000", " 1", "１", "true", "", str(2**31), "-1"])
async def test_a_number_with_other_characters_or_too_large_is_refused(
    client: httpx.AsyncClient, number: str, name: str
) -> None:
    response = await client.get(CONVERSATION, params={name: number})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == name


@pytest.mark.parametrize("number", ["0", "7", "007", str(2**31 - 1)])
async def test_a_number_in_digits_is_accepted(client: httpx.AsyncClient, number: str) -> None:
    assert (await client.get(CONVERSATION, params={"after_seq": number})).status_code == 404


async def test_a_repeated_parameter_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.get("/conversations?limit=1&limit=2")
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "limit"


@pytest.mark.parametrize("switch", [0, 1, "false", "off", None])
async def test_a_boolean_must_be_true_or_false(client: httpx.AsyncClient, switch: object) -> None:
    response = await client.post("/orc", json={"question": "When?", "tools": {"web_search": switch}})
    assert response.status_code == 422


async def test_no_names_of_documents_are_the_same_as_null(client: httpx.AsyncClient) -> None:
    response = await client.post("/orc", json={"question": "Hello", "blob_names": None})
    assert response.status_code == 200
    assert (await client.post("/orc", json={"question": "Hello", "blob_names": 5})).status_code == 422


@pytest.mark.parametrize("path", ["/orc", "/chat"])
async def test_a_switch_for_an_unknown_tool_is_refused(client: httpx.AsyncClient, path: str) -> None:
    asked: dict[str, object] = {"messages": [{"role": "user", "content": "Hi"}]}
    asked = asked if path == "/chat" else {"question": "Hi"}
    refused = await client.post(path, json={**asked, "tools": {"web_search": False, "websearch": False}})
    assert refused.status_code == 422
    [problem] = refused.json()["errors"]
    assert problem["field"] == "tools"
    assert "'websearch'" in problem["reason"]
    # Web search is not configured here: a tool that is not offered can still be disabled.
    assert (await client.post(path, json={**asked, "tools": {"web_search": False}})).status_code == 200


@pytest.mark.parametrize(
    ("path", "allowed"), [(CONVERSATION, "DELETE, GET, PATCH"), (f"{CONVERSATION}/documents", "GET, POST")]
)
async def test_a_wrong_method_returns_all_allowed_methods(
    client: httpx.AsyncClient, path: str, allowed: str
) -> None:
    response = await client.put(path)
    assert response.status_code == 405
    assert response.headers["allow"] == allowed
    assert response.headers["content-type"] == "application/problem+json"
