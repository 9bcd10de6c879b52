"""MCP clients sign in at a real OpenID provider, and read the sessions and contexts of their user only."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from mcp_types import CallToolResult, TextContent

from devkit.doubles import openid_provider
from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.doubles.openid_provider import AUDIENCE, Provider
from devkit.in_process import InProcess, Variant
from devkit.node import from_npm
from devkit.signing_in import Person
from devkit.visits import page_running
from orc.cli.ports import free_port
from orc.settings import AuthMode
from orc.turns.user_tools import MOST_TOGETHER
from orc_core.mcp_contract import (
    ADD_TO_CONTEXT,
    CAP_META_KEY,
    HISTORY_META_KEY,
    IMAGES_META_KEY,
    MODEL_META_KEY,
    STREAM_META_KEY,
    WHOLE_META_KEY,
    WISHES_META_KEY,
)
from tests.system.steps import PROTOCOL, Json, document_chat_arguments, new_id, wait_until

QUAY, FERRY = "The quay opens at seven.", "The ferry costs ten crowns."
ADA, BOB, EVE = "ada@acme", "bob@acme", "eve@globex"


@dataclass(frozen=True)
class World:
    """An Orc at a provider, and the same over the same data for the user of this machine."""

    here: InProcess
    model: OpenAIDouble
    provider: Provider
    origin: str
    back: str = field(default_factory=lambda: f"http://127.0.0.1:{free_port()}/callback")

    @property
    def mcp(self) -> str:
        return f"{self.origin}/mcp"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        providers = []

        def settings(origin: str) -> dict[str, Any]:
            providers.append(stack.enter_context(openid_provider.running(origin)))
            return {"context_creators": "everyone", **providers[0].settings(origin)}

        local = Variant({"auth_mode": AuthMode.LOCAL})
        lost = Variant({"mcp_server_url": f"http://127.0.0.1:{free_port()}/mcp"})
        limited = Variant({"messages_per_hour": 1, "context_creators": "everyone"})
        variants = {"oidc": Variant({}, at=settings), "local": local, "limited": limited, "lost": lost}
        folder = tmp_path_factory.mktemp("mcp")
        here, model = stack.enter_context(page_running(folder, variants))
        yield World(here, model, providers[0], here.addresses["oidc"].removesuffix("/api"))


@dataclass
class Kept:
    """What a client keeps of a sign-in."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info

    @property
    def token(self) -> str:
        assert self.tokens is not None
        return self.tokens.access_token


def signing_in(world: World, name: str, kept: Kept) -> OAuthClientProvider:
    """The library's own sign-in; `name` agrees in a browser."""
    answers: list[dict[str, list[str]]] = []
    person = Person(None, world.back, name)

    async def open_browser(address: str) -> None:
        kept.asked.append(parse_qs(urlsplit(address).query))
        answers.append(parse_qs(urlsplit(await person.agree(address)).query))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate({key: each[0] for key, each in answers.pop().items()})

    about = OAuthClientMetadata.model_validate({"client_name": "A client", "redirect_uris": [world.back]})
    return OAuthClientProvider(world.mcp, about, kept, open_browser, come_back)


@asynccontextmanager
async def client_of(
    world: World, name: str, kept: Kept | None = None, mode: str = PROTOCOL
) -> AsyncIterator[Client]:
    """An MCP client of this person, who signs in with the first request."""
    async with (
        httpx2.AsyncClient(auth=signing_in(world, name, kept or Kept()), timeout=30) as http,
        Client(streamable_http_client(world.mcp, http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def browser_of(world: World, name: str) -> AsyncIterator[httpx.AsyncClient]:
    """The page of this person, who is signed in."""
    person = Person(None, world.origin, name)
    async with person.orc:
        await person.sign_in()
        yield person.orc


@dataclass(frozen=True)
class Owned:
    """A session and a context of a user, each with one document."""

    session: str
    context: str


async def with_documents(world: World, name: str) -> Owned:
    async with browser_of(world, name) as orc:
        session = new_id()
        made = await orc.post("/api/contexts", json={"type": "workspace", "name": f"Pier of {name}"})
        assert made.status_code == 201, made.text
        context = made.json()["context_id"]
        for where, text in ((f"conversations/{session}", QUAY), (f"contexts/{context}", FERRY)):
            files = {"file": ("notes.txt", text.encode())}
            uploaded = await orc.post(f"/api/{where}/documents", files=files)
            assert uploaded.status_code in (201, 202), uploaded.text
    await asyncio.to_thread(world.here.index)
    return Owned(session, context)


def texts(result: CallToolResult) -> str:
    return "\n".join(each.text for each in result.content if isinstance(each, TextContent))


def code(result: CallToolResult) -> str:
    assert result.is_error, result
    return str(json.loads(texts(result))["code"])


@pytest.mark.parametrize("mode", [PROTOCOL, "legacy"])
async def test_a_client_finds_the_issuer_signs_in_and_reads_what_its_user_names(
    world: World, mode: str
) -> None:
    kept, owned = Kept(), await with_documents(world, ADA)
    async with client_of(world, ADA, kept, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        [asked] = kept.asked
        assert (asked["resource"], asked["code_challenge_method"]) == ([world.mcp], ["S256"])
        claims = jwt.decode(kept.token, options={"verify_signature": False})
        assert (claims["aud"], claims["iss"]) == (world.mcp, world.provider.issuer)
        assert tools.keys() >= {"places_list", "semantic_search", "documents_list"}
        assert ADD_TO_CONTEXT not in tools
        assert all(
            "place" in tool.input_schema["properties"]
            for name, tool in tools.items()
            if name != "places_list"
        )
        contexts = (await client.call_tool("places_list", {"name": "pier"})).structured_content
        assert contexts is not None
        assert owned.context in [each["place"] for each in contexts["places"]]
        sessions = await client.call_tool("places_list", {"kind": "sessions"})
        assert f"(place {owned.session})" in texts(sessions)
        for place, found in ((owned.session, {QUAY}), (owned.context, {FERRY}), ("", {FERRY})):
            result = await client.call_tool("semantic_search", {"query": "quay ferry", "place": place})
            assert not result.is_error, texts(result)
            said = json.dumps(result.structured_content)
            assert {each for each in (QUAY, FERRY) if each in said} == found, place
    assert len(kept.asked) == 1


async def test_progress_comes_while_a_call_runs_and_a_client_that_leaves_ends_the_call(
    world: World,
) -> None:
    owned, heard = await with_documents(world, ADA), asyncio.Event()
    world.model.script = Script(text=QUAY, tokens=400, delay_ms=50)
    world.model.requests.clear()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.set()

    def written() -> int:
        return sum(each.emitted for each in world.model.requests)

    def has_ended(seen: list[int]) -> bool:
        """Whether nothing was written for as long as ten pieces take."""
        seen.append(written())
        return len(seen) > 25 and seen[-1] == seen[-25]

    async with client_of(world, ADA) as client, asyncio.timeout(30):
        ask = document_chat_arguments("notes.txt", place=owned.session)
        call = asyncio.create_task(client.call_tool("document_chat", ask, progress_callback=hear))
        await heard.wait()
        await asyncio.to_thread(wait_until, lambda: written() > 0, "the model writes")
        call.cancel()
        # Otherwise the model writes on for 20 s.
        seen = [-1]
        await asyncio.to_thread(wait_until, lambda: has_ended(seen), "the model is left")
        assert not any(each.finished for each in world.model.requests if each.emitted)
    world.model.script = Script()


async def test_people_read_nothing_of_others_whatever_they_name(world: World) -> None:
    owned, _ = await with_documents(world, ADA), await with_documents(world, EVE)
    async with client_of(world, ADA) as client:
        listed = (await client.call_tool("documents_list", {"place": owned.session})).structured_content
        assert listed is not None
        document = listed["documents"][0]["document_id"]
    for name in (BOB, EVE):
        async with client_of(world, name) as client:
            # What is another user's answers like what there is not.
            for place, refusal in (
                (owned.session, "not_found"),
                (owned.session.upper(), "not_found"),
                ("../ada", "not_found"),
                (owned.context, "no_such_context"),
                ("0" * len(owned.context), "no_such_context"),
                (f"{owned.context}-x", "not_found"),
            ):
                for tool, arguments in (
                    ("documents_list", {}),
                    ("semantic_search", {"query": "quay"}),
                    ("document_chat", {"question": "When does the quay open?"}),
                ):
                    assert code(await client.call_tool(tool, {**arguments, "place": place})) == refusal
            assert code(await client.call_tool("places_list", {"within": owned.context})) == "not_found"
            for more in ({}, {"context": owned.context}, {"scope": owned.context, "user_id": ADA}):
                found = await client.call_tool("semantic_search", {"query": "quay ferry", **more})
                assert owned.context not in json.dumps(found.structured_content), more
            content = await client.call_tool("documents_get_content", {"document_id": document})
            assert code(content) == "not_found"
            for kind in ("contexts", "sessions"):
                seen = texts(await client.call_tool("places_list", {"kind": kind}))
                assert not {owned.context, owned.session} & set(re.findall(r"place (\S+)\)", seen))


async def test_a_right_ends_with_the_next_call_of_a_client_that_is_signed_in(world: World) -> None:
    owned = await with_documents(world, ADA)
    member = f"/api/contexts/{owned.context}/members/user/{BOB}"
    search = ("semantic_search", {"query": "ferry", "place": owned.context})
    async with browser_of(world, ADA) as orc, client_of(world, BOB) as client:
        assert code(await client.call_tool(*search)) == "no_such_context"
        assert (await orc.put(member, json={"role": "viewer"})).status_code == 204
        found = await client.call_tool(*search)
        assert FERRY in json.dumps(found.structured_content)
        seen = texts(await client.call_tool("places_list"))
        assert owned.context in seen
        # A change has to be switched on by a message, whatever the role.
        change = {"document_id": "notes.txt", "context": "c1", "place": owned.context}
        assert code(await client.call_tool(ADD_TO_CONTEXT, change)) == "tool_off"
        assert (await orc.delete(member)).status_code == 204
        assert code(await client.call_tool(*search)) == "no_such_context"


async def test_tokens_of_one_interface_are_none_at_the_others(world: World) -> None:
    kept = Kept()
    async with client_of(world, ADA, kept) as client:
        await client.list_tools()
    for_api = await asyncio.to_thread(world.provider.token_of_a_program)
    scope = world.here.scope_token("acme", ADA, new_id())
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    async with httpx.AsyncClient(headers=accept, timeout=30) as http:

        async def status(url: str, token: str) -> int:
            return (await http.post(url, json=body, headers={"authorization": f"Bearer {token}"})).status_code

        assert await status(world.mcp, kept.token) == 200
        assert {await status(world.mcp, each) for each in (for_api, scope, "a.b.c")} == {401}
        assert await status(world.here.mcp_url, scope) == 200
        assert {await status(world.here.mcp_url, each) for each in (kept.token, for_api)} == {401}
        me = f"{world.origin}/api/me"
        for token, expected in ((for_api, 200), (kept.token, 401)):
            answer = await http.get(me, headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == expected, answer.text
        claims = jwt.decode(for_api, options={"verify_signature": False})
        assert claims["aud"] == AUDIENCE


async def test_a_refusal_names_the_metadata_and_the_metadata_the_issuer(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.origin) as http:
        plain = await http.post("/mcp", json={})
        assert plain.status_code == 401
        challenge = plain.headers["www-authenticate"]
        address = f"{world.origin}/.well-known/oauth-protected-resource/mcp"
        assert challenge == f'Bearer scope="openid", resource_metadata="{address}"'
        wrong = await http.post("/mcp", json={}, headers={"authorization": "Bearer a.b.c"})
        assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
        assert "www-authenticate" not in (await http.get("/api/me")).headers
        assert (await http.get(address)).json() == {
            "resource": world.mcp,
            "resource_name": "Orc",
            "authorization_servers": [world.provider.issuer],
            "scopes_supported": ["openid"],
            "bearer_methods_supported": ["header"],
        }


@asynccontextmanager
async def inspecting(
    world: World, folder: Path, *words: str, url: str = "", key: str = ""
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The inspector's command line in a home without sign-ins."""
    header = ("--header", f"Authorization: Bearer {key}") if key else ()
    given = (
        "--cli",
        url or world.mcp,
        "--transport",
        "http",
        "--callback-url",
        world.back,
        "--connect-timeout",
        "60000",
    )
    process = await asyncio.create_subprocess_exec(
        from_npm(".bin/mcp-inspector"),
        *given,
        *header,
        *words,
        # It opens a browser, which there is none of, and prints the address.
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "MCP_AUTO_OPEN_ENABLED": "true"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(90):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def searching(place: str) -> tuple[str, ...]:
    arguments = ("--tool-arg", "query=ferry", "--tool-arg", f"place={place}")
    return ("--method", "tools/call", "--tool-name", "semantic_search", *arguments)


async def test_the_inspector_signs_its_user_in(world: World, tmp_path: Path) -> None:
    owned = await with_documents(world, ADA)
    for name, finds in ((ADA, True), (EVE, False)):
        folder = tmp_path / name
        folder.mkdir()
        async with inspecting(world, folder, *searching(owned.context)) as process:
            assert process.stderr is not None and process.stdout is not None
            said = ""
            while "Please navigate to: " not in said:
                said = (await process.stderr.readline()).decode()
                assert said, "the inspector did not ask its user to sign in"
            address = await Person(None, world.back, name).agree(said.partition(": ")[2].strip())
            async with httpx.AsyncClient() as browser:
                assert (await browser.get(address)).status_code == 200
            found: Json = json.loads(await process.stdout.read())
            assert (FERRY in json.dumps(found)) is finds, found
            assert bool(found.get("isError")) is not finds


async def test_the_inspector_reads_with_a_key_and_on_the_own_machine_without(
    world: World, tmp_path: Path
) -> None:
    owned = await with_documents(world, ADA)
    async with browser_of(world, ADA) as orc:
        key = (await orc.post("/api/keys", json={"name": "inspector"})).json()["key"]
    async with inspecting(world, tmp_path, *searching(owned.context), key=key) as process:
        found = json.loads((await process.communicate())[0])
        assert FERRY in json.dumps(found["structuredContent"])
    wrong = ("--stored-auth-only", *searching(owned.context))
    async with inspecting(world, tmp_path, *wrong, key=f"{key}x") as process:
        output, error = await process.communicate()
        assert (output, json.loads(error)["error"]["code"]) == (b"", "auth_required")
    local = world.here.addresses["local"].removesuffix("/api") + "/mcp"
    async with inspecting(world, tmp_path, "--method", "tools/list", url=local) as process:
        listed = json.loads((await process.communicate())[0])
        assert listed["tools"][0]["name"] == "places_list"


def called(client: httpx.Client, tool: str, *, meta: Json | None = None, **arguments: Any) -> Json:
    """The result of a call without any library of MCP."""
    params = {"name": tool, "arguments": arguments, "_meta": meta or {}}
    answer = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params},
        headers={"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"},
    )
    assert answer.status_code == 200, answer.text
    lines = [
        each.removeprefix("data: ") for each in answer.text.splitlines() if each.startswith(("{", "data: {"))
    ]
    result: Json = next(each for each in map(json.loads, lines) if each.get("id") == 7)["result"]
    return result


def page_of(world: World, variant: str, organization: str) -> httpx.Client:
    client = world.here.client(variant, organization)
    client.base_url = httpx.URL(world.here.addresses[variant].removesuffix("/api"))
    return client


def test_calls_that_a_model_answers_count_as_messages_and_others_do_not(world: World) -> None:
    with page_of(world, "limited", f"org-{new_id()}") as ann:
        ask: Json = {"question": "When does the quay open?"}
        codes = [
            json.loads(result["content"][0]["text"])["code"] if result.get("isError") else ""
            for result in (
                called(ann, "semantic_search", query="quay"),
                called(ann, "document_chat", **ask),
                called(ann, "semantic_search", query="quay"),
                called(ann, "documents_analyze", document_id="d", **ask),
            )
        ]
        assert codes[0] == codes[2] == ""
        assert codes[1] != "rate_limited"
        assert codes[3] == "rate_limited"


@pytest.mark.parametrize(
    ("encoding", "more"), [("utf-16", {}), ("utf-8", {"x": float("nan")}), ("utf-8", {"x": "\ud800"})]
)
def test_no_way_to_write_a_call_spares_its_message(world: World, encoding: str, more: Json) -> None:
    """The parser of the tools server reads some messages that the API does not read."""
    arguments: Json = {"document_id": "d", "question": "When does the quay open?"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": PROTOCOL,
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "documents_analyze", "arguments": {**arguments, **more}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": PROTOCOL,
        "mcp-method": "tools/call",
        "mcp-name": "documents_analyze",
    }
    with page_of(world, "limited", f"org-{new_id()}") as ann:
        called(ann, "documents_analyze", **arguments)
        answer = ann.post("/mcp", content=json.dumps(body).encode(encoding), headers=headers)
        assert answer.status_code == 400 or "rate_limited" in answer.text, answer.text


def test_options_of_the_orchestrator_have_no_effect(world: World) -> None:
    """The tools server would refuse these values, so it gets none of them."""
    with page_of(world, "limited", f"org-{new_id()}") as ann:
        session = new_id()
        files = {"file": ("notes.txt", QUAY.encode())}
        assert ann.post(f"/api/conversations/{session}/documents", files=files).status_code in (201, 202)
        world.here.index()
        options = {
            CAP_META_KEY: 0,
            IMAGES_META_KEY: 0,
            WHOLE_META_KEY: 0,
            MODEL_META_KEY: 0,
            WISHES_META_KEY: 0,
            HISTORY_META_KEY: 0,
        }
        ask = document_chat_arguments("notes.txt", place=session)
        answered = called(ann, "document_chat", meta=options | {STREAM_META_KEY: True}, **ask)
        assert not answered.get("isError"), answered


def test_contexts_inside_of_others_are_listed_below_them(world: World) -> None:
    with page_of(world, "limited", f"org-{new_id()}") as ann:
        top = ann.post("/api/contexts", json={"type": "organization", "name": "Harbour"}).json()["context_id"]
        below = {"type": "folder", "name": "Quays", "parent_id": top}
        inner = ann.post("/api/contexts", json=below).json()["context_id"]
        for more, expected in (({}, top), ({"within": top}, inner), ({"within": top, "name": "quay"}, inner)):
            listed = called(ann, "places_list", **more)["structuredContent"]["places"]
            assert [each["place"] for each in listed] == [expected]
        assert called(ann, "places_list", within=top, name="pier")["structuredContent"]["places"] == []


def test_messages_that_cannot_be_read_and_a_lost_tools_server_are_answered(world: World) -> None:
    accept = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    call = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": %s}'
    with page_of(world, "limited", f"org-{new_id()}") as ann:
        for body in ("", "[", "[]", "7", "[" * 100_000, call % (1, "[]"), call % (1, '{"arguments": 7}')):
            status = ann.post("/mcp", content=body, headers={**accept, "content-type": "application/json"})
            assert status.status_code in (200, 400), body[:80]
        for strange in ("NaN", '"\\ud800"', "null", "{}", "1e400"):
            body = call % (strange, '{"name": "places_list"}')
            answer = ann.post("/mcp", content=body, headers={**accept, "content-type": "application/json"})
            assert answer.status_code in (200, 202, 400), (strange, answer.text)
        assert ann.get("/mcp").status_code == ann.delete("/mcp").status_code == 405
    with page_of(world, "lost", f"org-{new_id()}") as ann:
        assert called(ann, "places_list")["structuredContent"]["places"] == []
        for method in ("tools/list", "tools/call", "initialize"):
            body = call.replace("tools/call", method) % (1, '{"name": "documents_list"}')
            answer = ann.post("/mcp", content=body, headers=accept)
            assert (answer.status_code, answer.json()["code"]) == (503, "dependency_down")


def test_who_has_very_many_contexts_names_one(world: World) -> None:
    with page_of(world, "limited", f"org-{new_id()}") as ann:
        for number in range(MOST_TOGETHER + 1):
            if number == MOST_TOGETHER:
                assert not called(ann, "documents_list").get("isError")
            made = ann.post("/api/contexts", json={"type": "workspace", "name": f"Pier {number}"})
            assert made.status_code == 201, made.text
        refused = called(ann, "documents_list")
        assert "Name one" in refused["content"][0]["text"]
        one = made.json()["context_id"]
        assert not called(ann, "documents_list", place=one).get("isError")
        listed = called(ann, "places_list")
        assert len(listed["structuredContent"]["places"]) == MOST_TOGETHER + 1
