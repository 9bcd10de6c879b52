"""The gateway to the tools server: it waits for a restart, and fails fast in an outage that lasts."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from orc.cli.ports import free_port
from orc.tools import mcp_client
from orc.tools.mcp_client import KEPT_OPEN_SECONDS, RESTART_SECONDS, McpToolGateway
from orc.tools.ports import OnProgress
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.infra.resilience import FAILURES_IN_A_ROW, CircuitOpen
from orc_core.mcp_contract import MODEL_META_KEY, STREAM_META_KEY, Progress, TextDelta

pytestmark = pytest.mark.slow

CALL_SECONDS, SOON = 30, 0.5


class FailingApp:
    """ASGI middleware that answers calls in its own way while `answer` is set; health checks go through."""

    def __init__(self, app: ASGIApp, stopped: asyncio.Event) -> None:
        """`stopped` is set when the tool `wait` ends."""
        self._app = app
        self.stopped = stopped
        self.answer: Callable[[Scope, Receive, Send], Any] | None = None
        self.calls = 0
        self.called = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/mcp":
            self.calls += 1
            self.called.set()
            if self.answer is not None:
                await self.answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def hang(_scope: Scope, _receive: Receive, _send: Send) -> None:
    await asyncio.sleep(60)


def tools_app(stopped: asyncio.Event) -> Starlette:
    server: MCPServer[None] = MCPServer("tools", log_level="WARNING")

    @server.tool()
    async def echo(text: str) -> dict[str, str]:
        return {"text": text}

    @server.tool()
    async def return_meta(ctx: Context[None]) -> dict[str, Any]:
        return {"meta": dict(ctx.request_context.meta or {})}

    @server.tool()
    async def write(words: list[str], ctx: Context[None]) -> dict[str, str]:
        for number, word in enumerate(words):
            await ctx.report_progress(number, message=TextDelta(text=word).model_dump_json())
        return {"text": "".join(words)}

    @server.tool()
    async def wait(ctx: Context[None]) -> dict[str, str]:
        try:
            await ctx.report_progress(0, message=TextDelta(text="begun").model_dump_json())
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return {}

    async def health(_request: Request) -> Response:
        return JSONResponse({})

    async def health_elsewhen(request: Request) -> Response:
        at = time.time() + int(request.path_params["seconds"])
        return JSONResponse({}, headers={"date": formatdate(at, usegmt=True)})

    app = server.streamable_http_app(stateless_http=True)
    app.router.routes.append(Route("/health", health))
    app.router.routes.append(Route("/ahead/{seconds}/health", health_elsewhen))
    app.router.routes.append(Route("/moved/health", RedirectResponse("/health")))
    return app


@asynccontextmanager
async def tools(port: int) -> AsyncIterator[FailingApp]:
    """A tools server on this port."""
    app = FailingApp(tools_app(stopped := asyncio.Event()), stopped)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=0, date_header=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", port)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield app
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def gateway_to(
    port: int, *, host: str = "127.0.0.1", timeout_seconds: float = CALL_SECONDS, **how: Any
) -> AsyncIterator[McpToolGateway]:
    gateway = McpToolGateway(f"http://{host}:{port}/mcp", timeout_seconds=timeout_seconds, **how)
    try:
        yield gateway
    finally:
        await gateway.close()


@asynccontextmanager
async def both(**how: Any) -> AsyncIterator[tuple[FailingApp, McpToolGateway]]:
    """A tools server, and a gateway to it."""
    port = free_port()
    async with tools(port) as app, gateway_to(port, **how) as gateway:
        yield app, gateway


async def echo(gateway: McpToolGateway) -> dict[str, Any]:
    return await gateway.call("echo", {"text": "hello"}, "token")


@pytest.mark.slow
async def test_a_hanging_server_does_not_delay_the_listing_of_tools() -> None:
    async with both(listing_seconds=1, kept_seconds=0) as (server, gateway):
        server.answer = hang
        with pytest.raises(DependencyDown, match="within") as slow:
            await asyncio.wait_for(gateway.list_tools("token"), 5)
        assert slow.value.code == "tool_timeout"
        server.answer = None
        listed = await gateway.list_tools("token")
        server.answer = hang
        assert await asyncio.wait_for(gateway.list_tools("token"), 5) == listed
        assert [tool.name for tool in listed] == ["echo", "return_meta", "write", "wait"]


async def test_unencodable_arguments_are_an_error_of_the_call_and_no_outage() -> None:
    async with both() as (_, gateway):
        for _ in range(2 * FAILURES_IN_A_ROW):
            with pytest.raises(InvalidInput):
                await gateway.call("echo", {"text": "\ud800"}, "token")
        assert await echo(gateway) == {"text": "hello"}


async def test_the_callers_meta_is_sent_together_with_the_streaming_request() -> None:
    async with both() as (_, gateway):
        added = {MODEL_META_KEY: "large"}
        plain = await gateway.call("return_meta", {}, "token", meta=added)
        streamed = await gateway.call("return_meta", {}, "token", meta=added, on_progress=lambda _: None)
    assert plain["meta"][MODEL_META_KEY] == streamed["meta"][MODEL_META_KEY] == "large"
    assert [STREAM_META_KEY in each["meta"] for each in (plain, streamed)] == [False, True]


@pytest.mark.slow
async def test_all_calls_during_a_restart_wait_for_it() -> None:
    port = free_port()
    async with gateway_to(port) as gateway:
        calls = [asyncio.create_task(echo(gateway)) for _ in range(3 * FAILURES_IN_A_ROW)]
        await asyncio.sleep(0.3)
        async with tools(port):
            assert await asyncio.gather(*calls) == [{"text": "hello"}] * len(calls)
            assert await echo(gateway) == {"text": "hello"}


@pytest.mark.slow
async def test_calls_fail_at_once_in_a_long_outage_and_work_soon_after_it() -> None:
    port = free_port()
    async with gateway_to(port) as gateway:
        began = time.monotonic()
        with pytest.raises(DependencyDown):
            await echo(gateway)
        assert RESTART_SECONDS <= time.monotonic() - began < 2 * RESTART_SECONDS
        for _ in range(2 * FAILURES_IN_A_ROW):
            began = time.monotonic()
            with pytest.raises(DependencyDown) as down:
                await echo(gateway)
            assert down.value.dependency == "mcp_server"
            assert time.monotonic() - began < RESTART_SECONDS / 2
        assert isinstance(down.value, CircuitOpen)
        async with tools(port):
            returned = time.monotonic()
            while time.monotonic() < returned + 2:
                try:
                    assert await echo(gateway) == {"text": "hello"}
                    break
                except CircuitOpen:
                    await asyncio.sleep(0.02)
            else:
                raise AssertionError("not within two seconds of its return")


async def test_a_server_that_hangs_is_not_asked_twice() -> None:
    async with both(timeout_seconds=SOON) as (server, gateway):
        server.answer = hang
        with pytest.raises(DependencyDown) as slow:
            await echo(gateway)
        assert slow.value.code == "tool_timeout"
        assert server.calls == 1


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_proxy_without_a_server_counts_as_a_restart(status: int) -> None:
    async with both() as (server, gateway):
        server.answer = Response("no healthy upstream", status)
        call = asyncio.create_task(echo(gateway))
        await server.called.wait()
        server.answer = None
        assert await call == {"text": "hello"}


async def test_a_refusal_by_a_tool_is_no_outage() -> None:
    async with both() as (server, gateway):
        for _ in range(2 * FAILURES_IN_A_ROW):
            with pytest.raises(DependencyDown, match="refused"):
                await gateway.call("nothing", {}, "token")
        assert await echo(gateway) == {"text": "hello"}
        assert server.calls == 2 * FAILURES_IN_A_ROW + 1


@pytest.mark.parametrize("on_progress", [None, lambda _: None], ids=["plain", "streamed"])
async def test_a_call_is_one_request(on_progress: OnProgress | None) -> None:
    async with both() as (app, gateway):
        for number in (1, 2):
            assert await gateway.call("echo", {"text": "a"}, "token", on_progress=on_progress) == {
                "text": "a"
            }
            assert app.calls == number


async def test_what_a_call_reports_comes_in_order_and_before_its_result() -> None:
    reported = list[Progress]()
    async with both() as (_, gateway):
        result = await gateway.call(
            "write", {"words": ["a", "b\n\u2028", "c"]}, "t", on_progress=reported.append
        )
    assert reported == [TextDelta(text=text) for text in ("a", "b\n\u2028", "c")]
    assert result == {"text": "ab\n\u2028c"}


async def test_a_call_whose_caller_leaves_is_stopped() -> None:
    async with both() as (app, gateway):
        begun = asyncio.Event()
        call = asyncio.create_task(gateway.call("wait", {}, "token", on_progress=lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), 5)
        call.cancel()
        await asyncio.wait([call])
        await asyncio.wait_for(app.stopped.wait(), 5)


@pytest.mark.parametrize("name", ["größe", " echo", "=?base64?AA==?=", "a\r\nb", ""])
async def test_a_name_that_no_tool_has_is_refused_and_no_outage(name: str) -> None:
    async with both() as (_, gateway):
        with pytest.raises(DependencyDown) as refused:
            await gateway.call(name, {}, "token")
        assert refused.value.code == "tool_refused"
        assert await echo(gateway) == {"text": "hello"}


async def test_a_stream_that_ends_before_its_result_counts_as_a_restart() -> None:
    async with both() as (app, gateway):
        app.answer = Response(": ping\n\n", media_type="text/event-stream")
        call = asyncio.create_task(gateway.call("echo", {"text": "a"}, "token", on_progress=lambda _: None))
        await app.called.wait()
        app.answer = None
        assert await call == {"text": "a"}
        assert app.calls == 2


@pytest.mark.parametrize(
    "response",
    [
        Response("<html>", media_type="text/html"),
        Response("[]", media_type="application/json"),
        JSONResponse({"jsonrpc": "2.0", "id": 1, "result": {"content": 5}}),
        JSONResponse({"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no"}}, 400),
    ],
    ids=["HTML", "no message", "no result", "error"],
)
async def test_a_response_that_is_no_result_is_a_refusal(response: Response) -> None:
    async with both() as (app, gateway):
        app.answer = response
        with pytest.raises(DependencyDown) as raised:
            await echo(gateway)
    assert raised.value.code == "tool_refused"
    assert app.calls == 1


def stream_of(*messages: object, ends: Callable[[], Any] | None = None) -> ASGIApp:
    """Answers with a stream of these messages, which goes on with what `ends` does after them."""

    async def events() -> AsyncIterator[str]:
        for message in messages:
            yield f"data: {json.dumps(message)}\r\n\r\n"
        if ends is not None:
            await ends()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await StreamingResponse(events(), media_type="text/event-stream")(scope, receive, send)

    return answer


def progress(message: object) -> dict[str, object]:
    params = {"progressToken": 1, "progress": 1, "message": message}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"text": "a"}}}


async def never() -> None:
    await asyncio.sleep(60)


async def break_off() -> None:
    raise OSError("lost")


@pytest.mark.parametrize("ends", [never, break_off])
async def test_a_result_counts_however_its_stream_goes_on(ends: Callable[[], Any]) -> None:
    async with both() as (app, gateway):
        app.answer = stream_of(RESULT, ends=ends)
        for _ in range(2 * FAILURES_IN_A_ROW):
            assert await echo(gateway) == {"text": "a"}
        assert app.calls == 2 * FAILURES_IN_A_ROW


@pytest.mark.parametrize("unknown", ["Half of it is done", '{"kind": "newer"}', 5, None])
async def test_a_report_that_is_not_known_is_left_out(unknown: object) -> None:
    reported, known = list[Progress](), TextDelta(text="a")
    async with both() as (app, gateway):
        app.answer = stream_of(progress(unknown), progress(known.model_dump_json()), RESULT)
        assert await gateway.call("echo", {}, "t", on_progress=reported.append) == {"text": "a"}
    assert reported == [known]


@pytest.mark.parametrize(
    "before", ["event: ping\ndata: {}", ": ping", "id: 1\ndata:", "event: ping\ndata: now"]
)
async def test_what_keeps_a_stream_open_is_no_message(before: str) -> None:
    async with both() as (app, gateway):
        text = f"{before}\n\nevent: message\ndata: {json.dumps(RESULT)}\n\n"
        app.answer = Response(text, media_type="Text/Event-Stream")
        assert await echo(gateway) == {"text": "a"}


async def test_a_cookie_of_one_call_is_not_sent_with_the_next() -> None:
    seen = list[str | None]()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(Request(scope).headers.get("cookie"))
        await JSONResponse(RESULT, headers={"set-cookie": "affinity=1; Path=/"})(scope, receive, send)

    # The client keeps no cookies of hosts that have no name.
    async with both(host="localhost") as (app, gateway):
        app.answer = answer
        for _ in range(2):
            await echo(gateway)
    assert seen == [None, None]


async def test_the_log_says_that_the_scope_token_was_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with both() as (app, gateway):
        app.answer = JSONResponse({"error": "invalid_token", "error_description": "of another key"}, 401)
        with pytest.raises(DependencyDown) as raised:
            await echo(gateway)
    assert raised.value.code == "tool_refused"
    assert "signing key or clock differs" in caplog.text


async def test_a_redirect_is_not_followed() -> None:
    port, other_port = free_port(), free_port()
    async with tools(port) as app, tools(other_port) as other, gateway_to(port) as gateway:
        app.answer = RedirectResponse(f"http://127.0.0.1:{other_port}/mcp", 307)
        with pytest.raises(DependencyDown) as raised:
            await echo(gateway)
    assert (raised.value.code, other.calls) == ("tool_refused", 0)


async def test_a_health_check_that_is_redirected_is_no_answer() -> None:
    async with both() as (_, gateway):
        gateway._url = gateway._url.replace("/mcp", "/moved/mcp")
        with pytest.raises(DependencyDown):
            await gateway.ping()


@pytest.mark.parametrize(("seconds", "is_like_ours"), [(-90, False), (-30, True), (30, True), (90, False)])
async def test_a_server_whose_clock_refuses_our_tokens_is_named_so(seconds: int, is_like_ours: bool) -> None:
    async with both() as (_, gateway):
        gateway._url = gateway._url.replace("/mcp", f"/ahead/{seconds}/mcp")
        if is_like_ours:
            await gateway.ping()
            return
        with pytest.raises(DependencyDown, match="Its clock differs from ours by") as raised:
            await gateway.ping()
    assert abs(int(raised.value.message.split()[-2]) - seconds) <= 1


async def test_proxies_and_passwords_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    port, other_port = free_port(), free_port()
    (tmp_path / "netrc").write_text("default login ann password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{other_port}")
    async with tools(port), tools(other_port) as proxy, gateway_to(port) as gateway:
        assert await echo(gateway) == {"text": "hello"}
        assert proxy.calls == 0


@pytest.mark.parametrize("stale", [1, 2, 3])
async def test_a_server_that_moved_is_found_at_its_new_address(
    monkeypatch: pytest.MonkeyPatch, stale: int
) -> None:
    """What a name resolved to is asked for again as long as no connection to it can be made."""
    resolve, old, new = socket.getaddrinfo, free_port(), free_port()
    asked: list[int] = []

    def moving(host: str, port: int, *hints: Any, **named: Any) -> Any:
        if host != "localhost":
            return resolve(host, port, *hints, **named)
        asked.append(old if len(asked) < stale else new)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", asked[-1]))]

    monkeypatch.setattr(socket, "getaddrinfo", moving)
    async with tools(new), gateway_to(7072, host="localhost") as gateway:
        assert await echo(gateway) == {"text": "hello"}
        assert await echo(gateway) == {"text": "hello"}
    assert asked == [old] * stale + [new], "the new address is kept"


async def test_an_answer_that_cannot_be_read_as_http_is_refused_and_no_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with both() as (server, gateway):
        server.answer = Response("{}", headers={"x-of-a-proxy": "a" * 9000}, media_type="application/json")
        with pytest.raises(DependencyDown) as refused:
            await echo(gateway)
        assert (refused.value.code, server.calls) == ("tool_refused", 1)
        assert "a header of more than 8,190 bytes" in caplog.text
        assert "aaaa" not in caplog.text
        server.answer = None
        assert await echo(gateway) == {"text": "hello"}


async def test_a_name_that_is_not_resolved_in_time_is_a_lost_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_words: object, **_options: object) -> list[object]:
        await asyncio.sleep(60)
        return []

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    monkeypatch.setattr(mcp_client, "CONNECT_SECONDS", 0.05)
    async with gateway_to(80, host="tools.invalid") as gateway, asyncio.timeout(5):
        with pytest.raises(DependencyDown, match="Is it running"):
            await gateway.list_tools("token")


def test_a_connection_is_closed_before_the_tools_server_closes_it() -> None:
    assert uvicorn.Config(tools_app(asyncio.Event())).timeout_keep_alive > KEPT_OPEN_SECONDS
