"""Below `/v1` every error has OpenAI's form, whichever layer found it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from orc.api.app import MAX_COMPLETION_BYTES, create_app
from orc.settings import Settings

JSON = {"content-type": "application/json"}


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return create_app(Settings(data_dir=tmp_path))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as opened:
        yield opened
    await app.state.provider.close()


def kind_of(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"error"}
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return str(error["type"])


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["/v1", "/api/v1"])
@pytest.mark.parametrize(
    ("method", "path", "options", "status", "kind"),
    [
        ("GET", "/embeddings", {}, 404, "not_found_error"),
        ("POST", "/responses", {"json": {"model": "orc", "input": []}}, 400, "invalid_request_error"),
        ("DELETE", "/models", {}, 405, "invalid_request_error"),
        ("GET", "/chat/completions", {}, 405, "invalid_request_error"),
        ("POST", "/chat/completions", {"content": "{", "headers": JSON}, 400, "invalid_request_error"),
        (
            "POST",
            "/chat/completions",
            {"content": "[" * 9999, "headers": JSON},
            400,
            "invalid_request_error",
        ),
        ("POST", "/chat/completions", {"content": "hello"}, 400, "invalid_request_error"),
        (
            "POST",
            "/chat/completions",
            {"content": "hello", "headers": {"content-type": "text/plain"}},
            415,
            "invalid_request_error",
        ),
        ("POST", "/chat/completions", {"json": {"messages": []}}, 400, "invalid_request_error"),
        ("GET", "/models", {"headers": {"host": "evil.example"}}, 401, "authentication_error"),
        ("GET", "/models", {"headers": {"origin": "http://evil.example"}}, 403, "permission_error"),
    ],
)
async def test_errors_have_the_form_of_openai(
    client: httpx.AsyncClient,
    prefix: str,
    method: str,
    path: str,
    options: dict[str, Any],
    status: int,
    kind: str,
) -> None:
    response = await client.request(method, prefix + path, **options)
    assert (response.status_code, kind_of(response)) == (status, kind)


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("responses/1/cancel", "Use /v1/responses or /v1/chat/completions."),
        ("audio/speech", "Use /v1/responses or /v1/chat/completions."),
        ("completions", "Use /v1/responses or /v1/chat/completions."),
        ("files", "/api/conversations/ID/documents"),
        ("files/file-1/content", "/api/conversations/ID/documents"),
        ("uploads", "/api/conversations/ID/documents"),
        ("vector_stores/vs_1/search", "/api/conversations/ID/documents"),
        ("containers", "/api/conversations/ID/documents"),
        ("embeddings", "/api/conversations/ID/documents"),
        ("assistants", "previous_response_id"),
        ("threads/runs", "previous_response_id"),
        ("conversations", "previous_response_id"),
    ],
)
async def test_what_is_not_offered_says_what_to_use(
    client: httpx.AsyncClient, path: str, instead: str
) -> None:
    response = await client.post(f"/v1/{path}", json={"model": "orc", "input": "Hello"})
    assert (response.status_code, kind_of(response)) == (404, "not_found_error")
    message = response.json()["error"]["message"]
    assert f"no /v1/{path}. " in message
    assert instead in message


async def test_what_to_use_instead_is_there(client: httpx.AsyncClient) -> None:
    """Each address that the errors name is a route that takes such a request."""
    paths = (await client.get("/api/openapi.json")).json()["paths"]
    assert {"/v1/responses", "/v1/chat/completions", "/api/conversations/{conversation_id}/documents"} <= {
        path for path, methods in paths.items() if "post" in methods
    }


async def test_each_listed_model_is_found_by_its_name_and_no_other(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/v1/models")).json()["data"]
    assert len(listed) > 2
    assert [(await client.get(f"/v1/models/{each['id']}")).json() for each in listed] == listed
    assert (await client.get("/v1/models/")).json()["data"] == listed
    unknown = await client.get("/v1/models/orc/gpt-9")
    assert (unknown.status_code, kind_of(unknown)) == (404, "not_found_error")


async def test_a_body_that_is_too_long_is_refused_in_that_form(client: httpx.AsyncClient) -> None:
    content = b" " * (MAX_COMPLETION_BYTES + 1)
    response = await client.post("/v1/chat/completions", content=content, headers=JSON)
    assert (response.status_code, kind_of(response)) == (413, "invalid_request_error")


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
async def test_a_long_error_has_that_form_too(client: httpx.AsyncClient, accepted: str) -> None:
    """The problem document has each of the 40 messages, and may be compressed."""
    body = {"messages": [{"role": 5}] * 40}
    response = await client.post("/v1/chat/completions", json=body, headers={"accept-encoding": accepted})
    assert (response.status_code, kind_of(response)) == (400, "invalid_request_error")


async def test_an_unexpected_error_has_that_form_too(app: FastAPI, client: httpx.AsyncClient) -> None:
    class Broken:
        async def identify(self, request: object) -> None:
            raise RuntimeError("broken")

    app.state.authenticator = Broken()
    response = await client.get("/v1/models")
    assert (response.status_code, kind_of(response)) == (500, "server_error")
    assert response.headers["x-trace-id"]


async def test_a_task_has_no_more_text_than_a_message(client: httpx.AsyncClient) -> None:
    body = {"messages": [{"role": "user", "content": "### Task: " + "a" * 200_000}]}
    response = await client.post("/v1/chat/completions", json=body)
    assert (response.status_code, kind_of(response)) == (400, "invalid_request_error")


async def test_an_empty_name_of_a_conversation_is_none(client: httpx.AsyncClient) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}], "model": "orc/none"}
    response = await client.post("/v1/chat/completions", json=body, headers={"x-session-id": ""})
    assert response.json()["error"]["param"] == "model"
