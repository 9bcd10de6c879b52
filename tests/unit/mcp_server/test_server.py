"""The tools server over HTTP: who may call, what a refusal says, and cancelled calls."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import httpx
import pytest
from mcp.server import MCPServer
from pydantic import Field

from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app
from mcp_server.settings import Settings
from mcp_server.tools.documents_analyze import DocumentsAnalyze
from orc_core import __version__
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.infra.keys import Keys
from orc_core.names import Owner
from tests.unit.mcp_server.stand_ins import ANN, BOB

pytestmark = pytest.mark.slow

PUBLIC = "https://tools.example.org"
HERE = "http://127.0.0.1:7072"
ACCEPT = {"accept": "application/json, text/event-stream"}
VERSION = {"mcp-protocol-version": "2025-11-25"}
MODERN = "2026-07-28"
Json = dict[str, Any]
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class SlowAnalysis:
    """Replaces documents_analyze: each answer takes until the test ends, or until it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = asyncio.Semaphore(0), asyncio.Event()

    async def answer(self, *_: object) -> None:
        self.begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@asynccontextmanager
async def served(
    folder: Path,
    slow: SlowAnalysis | None = None,
    register: Callable[[MCPServer[None]], None] | None = None,
) -> AsyncIterator[tuple[httpx.AsyncClient, ScopeTokens]]:
    """A client of a tools server, with a token of Ann's, and what makes tokens."""
    settings = Settings(data_dir=folder, mcp_public_url=f"{PUBLIC}/mcp")
    async with open_app(settings) as app:
        analyze = app.documents_analyze if slow is None else cast(DocumentsAnalyze, slow)
        http_app = build_http_app(replace(app, documents_analyze=analyze), settings, register=register)
        transport = httpx.ASGITransport(http_app)
        headers = {**ACCEPT, **bearer(app.tokens)}
        async with (
            http_app.router.lifespan_context(http_app),
            httpx.AsyncClient(transport=transport, base_url=HERE, headers=headers) as client,
        ):
            yield client, app.tokens


def bearer(tokens: ScopeTokens, owner: Owner = ANN, seconds: int = 60) -> dict[str, str]:
    return {"authorization": f"Bearer {tokens.mint(Scope.of_session(owner, []), seconds=seconds)}"}


def request(method: str, number: int = 1, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


INITIALIZE = request(
    "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"}
)


def message_of(response: httpx.Response) -> Json:
    """The message of an answer, which is JSON or a stream of one event."""
    text = response.text.partition("data: ")[2] or response.text
    message: Json = json.loads(text)
    return message


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6274", 200),
        ("http://127.0.0.1:7072", 200),
        ("http://[::1]:6274", 200),
        (PUBLIC, 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("https://tools.example.org.evil.example", 403),
        ("null", 403),
    ],
)
async def test_pages_of_this_machine_and_of_the_servers_address_may_call(
    origin: str, status: int, tmp_path: Path
) -> None:
    async with served(tmp_path) as (client, _):
        answer = await client.post("/mcp", json=INITIALIZE, headers={"origin": origin})
        assert answer.status_code == status
        without = await client.post(
            "/mcp", json=INITIALIZE, headers={"origin": origin, "authorization": "Bearer x"}
        )
        assert without.status_code == 401


async def test_the_server_names_its_version_and_offers_tools_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    discover = request("server/discover", _meta=META)
    async with served(tmp_path) as (client, _):
        older = message_of(await client.post("/mcp", json=INITIALIZE))["result"]
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "server/discover"}
        newer = message_of(await client.post("/mcp", json=discover, headers=headers))["result"]
        prompt = request("prompts/get", name="a")
        refused = message_of(await client.post("/mcp", json=prompt, headers=VERSION))["error"]
    assert older["serverInfo"] == {"name": "orc-documents", "version": __version__}
    assert older["capabilities"].keys() - {"experimental"} == {"tools"}
    assert newer["capabilities"].keys() - {"experimental"} == {"tools"}
    assert not newer["capabilities"]["tools"].get("listChanged")
    assert refused["code"] == -32601
    assert "Traceback" not in caplog.text


async def test_an_argument_that_a_tool_repeats_in_a_header_has_to_agree_with_it(tmp_path: Path) -> None:
    def register(server: MCPServer[None]) -> None:
        @server.tool()
        def in_region(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
            return f"in {region}"

    call = request("tools/call", name="in_region", arguments={"region": "north"}, _meta=META)
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "in_region"}
    async with served(tmp_path, register=register) as (client, _):
        for _ in range(2):
            agrees = await client.post("/mcp", json=call, headers={**headers, "mcp-param-region": "north"})
            assert message_of(agrees)["result"]["content"][0]["text"] == "in north"
            differs = await client.post("/mcp", json=call, headers={**headers, "mcp-param-region": "south"})
            assert differs.status_code == 400


async def test_a_client_can_hold_no_stream_open_on_which_nothing_comes(tmp_path: Path) -> None:
    async with served(tmp_path) as (client, _):
        async with asyncio.timeout(5):
            opened = await client.get("/mcp")
        assert (opened.status_code, opened.headers["allow"]) == (405, "POST")
        # Without a token it is refused for that, and says how to get one.
        del client.headers["authorization"]
        assert (await client.get("/mcp")).status_code == 401


async def test_a_refusal_says_what_is_wrong_with_the_token_and_how_to_get_one(tmp_path: Path) -> None:
    foreign = ScopeTokens(Keys("another key of more than 32 characters"))
    async with served(tmp_path) as (client, tokens):
        said = {}
        for name, headers in {
            "missing": {"authorization": ""},
            "expired": bearer(tokens, seconds=-1),
            "foreign": bearer(foreign),
        }.items():
            refused = await client.post("/mcp", json=INITIALIZE, headers=headers)
            assert refused.status_code == 401
            said[name] = refused.json()["error_description"]
            assert said[name] in refused.headers["www-authenticate"]
            assert "orc token --conversation" in said[name]
    assert "missing" in said["missing"]
    assert "expired" in said["expired"]
    assert "another key" in said["foreign"]


async def test_no_authorization_server_is_named_and_a_registration_is_answered_with_how_to_get_a_token(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as (client, _):
        for path in (
            "oauth-protected-resource/mcp",
            "oauth-protected-resource",
            "oauth-authorization-server",
        ):
            assert (await client.get(f"/.well-known/{path}")).status_code == 404
        refused = await client.post("/mcp", json=INITIALIZE, headers={"authorization": ""})
        assert "resource_metadata" not in refused.headers["www-authenticate"]
        registration = await client.post("/register", json={"redirect_uris": ["http://localhost"]})
    assert registration.status_code == 403
    assert "orc token --conversation" in registration.json()["error_description"]


def slow_call(number: int = 7) -> Json:
    arguments = {"document_id": "a", "question": "When?"}
    return request("tools/call", number, name="documents_analyze", arguments=arguments)


def cancellation(number: int = 7) -> Json:
    params = {"requestId": number}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


async def test_a_client_with_a_session_cancels_its_call_by_a_notification(tmp_path: Path) -> None:
    slow = SlowAnalysis()
    async with served(tmp_path, slow) as (client, _):
        session = (await client.post("/mcp", json=INITIALIZE)).headers["mcp-session-id"]
        headers = {**VERSION, "mcp-session-id": session}
        call = asyncio.create_task(client.post("/mcp", json=slow_call(), headers=headers))
        await slow.begun.acquire()
        notified = await client.post("/mcp", json=cancellation(), headers=headers)
        answer = message_of(await asyncio.wait_for(call, 5))
    assert notified.status_code == 202
    assert slow.cancelled.is_set()
    assert answer["error"]["code"] == -32800


@pytest.mark.parametrize("other", ["caller", "session", "request"])
async def test_a_call_is_not_cancelled_by_another_caller_session_or_request(
    other: str, tmp_path: Path
) -> None:
    slow = SlowAnalysis()
    async with served(tmp_path, slow) as (client, tokens):
        headers = {**VERSION, "mcp-session-id": "one"}
        calls = [asyncio.create_task(client.post("/mcp", json=slow_call(n), headers=headers)) for n in (7, 8)]
        for _ in calls:
            await slow.begun.acquire()
        theirs = dict(headers)
        if other == "caller":
            theirs |= bearer(tokens, BOB)
        elif other == "session":
            theirs["mcp-session-id"] = "two"
        number = 9 if other == "request" else 7
        assert (await client.post("/mcp", json=cancellation(number), headers=theirs)).status_code == 202
        # The same client's own cancellation is handled after the foreign one, which has had no effect.
        await client.post("/mcp", json=cancellation(8), headers=headers)
        await asyncio.wait_for(calls[1], 5)
        assert not calls[0].done()
        calls[0].cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_client_of_the_newest_protocol_gets_no_session(tmp_path: Path) -> None:
    async with served(tmp_path) as (client, _):
        first = await client.post("/mcp", json=INITIALIZE)
        headers = {**VERSION, "mcp-session-id": first.headers["mcp-session-id"]}
        later = await client.post("/mcp", json=request("tools/list"), headers=headers)
        newest = await client.post(
            "/mcp", json=request("tools/list"), headers={"mcp-protocol-version": MODERN}
        )
    assert "mcp-session-id" not in later.headers
    assert "mcp-session-id" not in newest.headers
