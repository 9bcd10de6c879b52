"""The tools for MCP clients of users: each message is passed on with what its user may read at the moment."""

import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
from fastapi import APIRouter, Request
from pydantic_core import from_json
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from orc.api.dependencies import AppDep, CallerDep
from orc.api.mcp_resource import MCP_PATH, METADATA_PATH, McpResource
from orc.tools.mcp_messages import texts_of
from orc.turns.user_tools import Places, PlacesWanted
from orc_core.errors import DependencyDown, InvalidInput, NotFound, OrcError
from orc_core.mcp_contract import STREAM_META_KEY, ToolFailure

router = APIRouter(include_in_schema=False)
Json = dict[str, Any]

LIST, CALL, PLACES = "tools/list", "tools/call", "places_list"
_RECEIVED = ("accept", "content-type", "last-event-id")
_RETURNED = ("content-type", "mcp-session-id")
_PLACE = {
    "type": "string",
    "default": "",
    "maxLength": 64,
    "title": "Place",
    "description": f"where to read: a `place` of {PLACES}; without it in all contexts that you were given",
}
_PLACES_TOOL = {
    "name": PLACES,
    "title": "List sessions and contexts",
    "description": "List the sessions or the contexts whose documents you may read. The other tools take a"
    " `place` of this list.",
    "inputSchema": PlacesWanted.model_json_schema(),
    "outputSchema": Places.model_json_schema(),
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
}


@router.get(METADATA_PATH)
async def describe_resource(request: Request) -> Json:
    """Where clients sign in to use the tools (RFC 9728)."""
    resource: McpResource | None = request.app.state.mcp_resource
    if resource is None:
        raise NotFound("MCP clients do not sign in at this server.")
    return resource.metadata


# Why the API does this, and not the tools server: docs/decisions/tools-server.md.
@router.post(MCP_PATH)
async def use_tools(request: Request, caller: CallerDep, app: AppDep) -> Response:
    """Answer a message of an MCP client, or pass it and its answer on."""
    message, body = _read(await request.body())
    headers = {
        name: value for name, value in request.headers.items() if name in _RECEIVED or name[:4] == "mcp-"
    }
    if message.get("method") == LIST:
        return await _listed(message, app.user_tools.forward(caller, body, headers))
    scope = None
    if message.get("method") == CALL:
        try:
            params = message.get("params")
            arguments = (params.get("arguments") or {}) if isinstance(params, dict) else None
            if not isinstance(params, dict) or not isinstance(arguments, dict):
                raise InvalidInput("A call has a name and arguments.")
            tool = str(params.get("name"))
            if tool == PLACES:
                found = await app.user_tools.places(caller, arguments)
                return _answer(message, found.text, found.model_dump(mode="json"))
            scope = await app.user_tools.scope_of_call(caller, tool, str(arguments.get("place") or ""))
        except OrcError as exc:
            failed = ToolFailure.model_validate(exc, from_attributes=True)
            return _answer(message, failed.model_dump_json(), isError=True)
    return _PassedOn(app.user_tools.forward(caller, body, headers, scope))


def _read(body: bytes) -> tuple[Json, bytes]:
    """A request of the client, empty for any other message, and what the tools server gets.

    That is the message as it was read here: the server also takes what is not read here, such as UTF-16, and
    would do what no check has seen. It is without what only the orchestrator may ask, such as longer answers.
    """
    try:
        message = from_json(body, allow_inf_nan=False)
        params = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(params, dict) and isinstance(meta, dict):
            params["_meta"] = {
                name: meta[name] for name in meta if name == STREAM_META_KEY or not name.startswith("orc/")
            }
        is_request = isinstance(message, dict) and isinstance(message.get("id"), str | int)
        return message if is_request else {}, json.dumps(message).encode()
    except ValueError:
        return {}, b""


def _answer(message: Json, text: str, structured: Json | None = None, **more: bool) -> JSONResponse:
    result = {"resultType": "complete", "content": [{"type": "text", "text": text}], **more}
    if structured is not None:
        result["structuredContent"] = structured
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def _listed(message: Json, forwarded: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> Response:
    """The tools that only read, each with the argument that names a place."""
    async with forwarded as found:
        if found.status != 200:
            return Response(await found.read(), found.status, _kept(found))
        answers = [json.loads(text) async for text in texts_of(found)]
    answer: Json | None = next((each for each in answers if each.get("id") == message["id"]), None)
    if answer is None:
        raise DependencyDown("The tools server broke off its answer.", dependency="mcp_server")
    if "result" in answer:
        tools = answer["result"]["tools"]
        reading = [tool for tool in tools if tool["annotations"]["readOnlyHint"]]
        for tool in reading:
            tool["inputSchema"].setdefault("properties", {})["place"] = _PLACE
        answer["result"]["tools"] = [_PLACES_TOOL, *reading]
    return JSONResponse(answer)


def _kept(found: aiohttp.ClientResponse) -> dict[str, str]:
    kept = {name: found.headers[name] for name in _RETURNED if name in found.headers}
    return kept | {"x-accel-buffering": "no"}


class _PassedOn(Response):
    """The answer of the tools server as it comes. If the client leaves, the call ends there too."""

    def __init__(self, forwarded: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> None:
        super().__init__()
        self._forwarded = forwarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._forwarded as found:
            passed = StreamingResponse(found.content.iter_any(), found.status, _kept(found))
            await passed(scope, receive, send)
