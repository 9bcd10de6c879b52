"""A line for each request, which names no document."""

import logging

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from orc_core.infra.logs import RequestLog


async def answer(request: Request) -> Response:
    if request.method == "POST":
        raise RuntimeError("quokka")
    return PlainTextResponse("fine")


APP = RequestLog(
    Starlette(
        routes=[Route("/api/documents/{name}", answer, methods=["GET", "POST"]), Route("/live", answer)]
    ),
    words={"api", "documents", "live"},
)


async def lines(caplog: pytest.LogCaptureFixture, method: str, path: str) -> list[str]:
    caplog.set_level(logging.DEBUG, "orc_core.infra.logs")
    transport = httpx.ASGITransport(APP, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        await client.request(method, path)
    own = [record for record in caplog.records if record.name == "orc_core.infra.logs"]
    return [f"{record.levelname} {record.getMessage().rpartition(' in ')[0]}" for record in own]


@pytest.mark.parametrize(
    ("method", "path", "line"),
    [
        ("GET", "/api/documents/merger.pdf?q=quokka", "INFO GET /api/documents/{} 200"),
        ("GET", "/merger.pdf/merger/", "INFO GET /{}/{}/ 404"),
        ("PUT", "/api/documents/merger.pdf", "INFO PUT /api/documents/{} 405"),
        ("POST", "/api/documents/merger.pdf", "INFO POST /api/documents/{} 500"),
        ("GET", "/live", "DEBUG GET /live 200"),
    ],
)
async def test_each_request_has_one_line_without_names(
    caplog: pytest.LogCaptureFixture, method: str, path: str, line: str
) -> None:
    assert await lines(caplog, method, path) == [line]


async def test_the_figures_are_fields_too(caplog: pytest.LogCaptureFixture) -> None:
    await lines(caplog, "GET", "/live")
    (record,) = [record for record in caplog.records if record.name == "orc_core.infra.logs"]
    figures = vars(record)["request"]
    assert figures | {"milliseconds": 0} == {
        "method": "GET",
        "path": "/live",
        "status": 200,
        "milliseconds": 0,
    }
