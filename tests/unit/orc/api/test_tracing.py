"""Requests as spans: in the caller's trace, by their route, without content of paths and queries."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from devkit.recorded_telemetry import Recorded
from orc.api.app import create_app
from orc.settings import Settings

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CONVERSATION = str(uuid.UUID(int=7))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(data_dir=tmp_path))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as opened:
        yield opened
    await app.state.provider.close()


async def test_a_response_names_the_trace_of_its_spans(recorded: Recorded, client: httpx.AsyncClient) -> None:
    began = await client.get("/conversations")
    went_on = await client.get("/conversations", headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
    spans = [span for span in recorded.spans if span.name == "GET /api/conversations"]
    traces = [f"{span.context.trace_id:032x}" for span in spans]
    assert traces == [began.headers["x-trace-id"], TRACE]
    assert went_on.headers["x-trace-id"] == TRACE


@pytest.mark.parametrize(
    ("method", "path", "name", "status"),
    [
        ("GET", f"/conversations/{CONVERSATION}?quokka=1", "GET /api/conversations/{conversation_id}", 404),
        ("GET", "/quokka", "GET", 404),
        ("QUOKKA", "/conversations", "_OTHER /api/conversations", 405),
        ("POST", "/orc", "POST /api/orc", 422),
    ],
)
async def test_a_span_is_named_after_the_route(
    recorded: Recorded, client: httpx.AsyncClient, method: str, path: str, name: str, status: int
) -> None:
    response = await client.request(method, path, json={"quokka": "quokka"})
    assert response.status_code == status
    span = recorded.span(name)
    assert (span.attributes or {})["http.response.status_code"] == status
    assert span.status.is_unset
    assert "quokka" not in "".join(span.to_json().lower() for span in recorded.spans)


@pytest.mark.parametrize("prefix", ["/v1", "/api/v1"])
async def test_a_span_names_the_address_that_was_called(
    recorded: Recorded, client: httpx.AsyncClient, prefix: str
) -> None:
    await client.get(f"http://127.0.0.1{prefix}/models")
    assert (recorded.span(f"GET {prefix}/models").attributes or {})["http.route"] == f"{prefix}/models"


async def test_an_internal_error_is_recorded_by_its_type_only(recorded: Recorded, tmp_path: Path) -> None:
    class Broken:
        def identify(self, request: object) -> None:
            raise RuntimeError("quokka")

    app = create_app(Settings(data_dir=tmp_path))
    app.state.authenticator = Broken()
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as client:
        response = await client.get("/conversations")
    failed = recorded.span("GET")
    assert f"{failed.context.trace_id:032x}" == response.headers["x-trace-id"]
    assert (failed.attributes or {})["error.type"] == "RuntimeError"
    assert not failed.status.is_ok
    assert "quokka" not in failed.to_json()


async def test_probes_have_a_trace_id_and_no_span(recorded: Recorded, client: httpx.AsyncClient) -> None:
    response = await client.get("/health")
    assert int(response.headers["x-trace-id"], 16) > 0
    assert recorded.names == []
