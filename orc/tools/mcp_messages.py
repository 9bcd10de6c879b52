"""One request of an MCP client over streamable HTTP, and the messages that answer it.

The client of the MCP library opens a session for each call, which takes several times as long as the call's
request, and importing it takes half a second.
"""

import base64
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx2
from opentelemetry.propagate import inject
from pydantic import BaseModel, Field

from orc_core import __version__

PROTOCOL = "2026-07-28"
PROGRESS = "notifications/progress"
CLIENT = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientInfo": {"name": "orc", "version": __version__},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What the `_meta` of each request says of its client."""
JSON, EVENT_STREAM = "application/json", "text/event-stream"
_EVENTS, _ASKED = {"content-type": EVENT_STREAM}, httpx2.Request("POST", "http://tools")
"""The parser of events takes a response of the same library, with its headers and its request."""
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")


class RefusedRequest(Exception):
    """The server answered with an error, or with something else than messages. The text has no content."""


@dataclass(frozen=True)
class McpRequest:
    """A request; `name` is that of the tool, if it calls one. With `reports`, progress is asked for."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    reports: bool = False

    @property
    def body(self) -> bytes:
        """The request as JSON, in the trace that it belongs to. Raises UnicodeEncodeError."""
        meta = {**self.params.get("_meta", {}), **CLIENT, **({"progressToken": 1} if self.reports else {})}
        inject(meta)
        request = {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": {**self.params, "_meta": meta}}
        return json.dumps(request, ensure_ascii=False).encode()

    def headers(self, token: str) -> dict[str, str]:
        """The headers of the request, with the scope token of the caller."""
        named = {}
        if self.name is not None:
            # A model may have invented the name.
            encoded = f"=?base64?{base64.b64encode(self.name.encode()).decode()}?="
            named["mcp-name"] = self.name if _PLAIN.fullmatch(self.name) else encoded
        return {
            "authorization": f"Bearer {token}",
            "accept": f"{JSON}, {EVENT_STREAM}",
            "content-type": JSON,
            "mcp-protocol-version": PROTOCOL,
            "mcp-method": self.method,
            **named,
        }


class _Error(BaseModel):
    code: int


class McpMessage(BaseModel):
    """A notification, which has a method, or the response to the request."""

    method: str | None = None
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: _Error | None = None

    @property
    def progress(self) -> str | None:
        """What the message says of the progress of the call, if anything."""
        said = self.params.get("message") if self.params and self.method == PROGRESS else None
        return said if isinstance(said, str) else None

    @property
    def response(self) -> dict[str, Any] | None:
        """The result, if this is the response. Raises RefusedRequest for an error."""
        if self.method is None and self.result is None:
            raise RefusedRequest(f"error {self.error.code}" if self.error else "no result")
        return self.result


async def messages_of(response: aiohttp.ClientResponse) -> AsyncIterator[McpMessage]:
    """The messages in a response. Raises RefusedRequest or ValidationError if it has something else."""
    async for text in texts_of(response):
        yield McpMessage.model_validate_json(text)


async def texts_of(response: aiohttp.ClientResponse) -> AsyncIterator[str | bytes]:
    """The messages in a response as JSON. Raises RefusedRequest if it has something else.

    Events of other types, such as those that keep a connection open, are left out.
    """
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == JSON:
        yield await response.read()
    elif media_type == EVENT_STREAM:
        read = httpx2.Response(200, headers=_EVENTS, content=response.content.iter_any(), request=_ASKED)
        async for event in httpx2.EventSource(read, max_event_size=None):
            if event.event == "message" and event.data:
                yield event.data
    else:
        raise RefusedRequest(f"status {response.status} and no JSON")


class _Part(BaseModel):
    text: str = ""


class CallResult(BaseModel):
    """The result of a tool."""

    structured: dict[str, Any] | None = Field(default=None, alias="structuredContent")
    is_error: bool = Field(default=False, alias="isError")
    content: list[_Part]

    @property
    def text(self) -> str:
        """What the result says in words."""
        return "".join(part.text for part in self.content)


class _Annotations(BaseModel):
    read_only: bool | None = Field(default=None, alias="readOnlyHint")


class ListedTool(BaseModel):
    """A tool as the server lists it."""

    name: str
    description: str | None = None
    input_schema: dict[str, Any] = Field(alias="inputSchema")
    annotations: _Annotations = _Annotations()


class Listing(BaseModel):
    """The result of `tools/list`."""

    tools: list[ListedTool]
