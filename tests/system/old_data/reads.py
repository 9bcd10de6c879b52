"""What the users of the old data directory read from it, over HTTP and MCP only."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from devkit.system import principal_headers, read_events

Json = dict[str, Any]
HARBOUR, LIGHTHOUSE = "harbour", "lighthouse"
FERRY = "6a1f7c52-3d0e-4b8e-9a61-0c2f5be1a001"
LAMPS = "6a1f7c52-3d0e-4b8e-9a61-0c2f5be1a002"
SESSION = "night shift"
ANSWERED_KEY, FAILED_KEY = "return-ticket", "lamp-replaced"
STREAMED = {
    "question": "And in winter?",
    "conversation_id": FERRY,
    "blob_names": ["ferry-manual.pdf"],
}
RETURN_TICKET = {
    "question": "What does a return ticket cost?",
    "conversation_id": FERRY,
    "blob_names": ["ferry-manual.pdf"],
}
LAMP_REPLACED = {
    "question": "When was the lamp replaced?",
    "conversation_id": LAMPS,
    "blob_names": ["lamp-log.md"],
}
QUERIES = ("How often does the ferry leave in winter?", "refund fee", "lost property", "night duty allowance")
WHOLE = {"full": "true"}
PROTOCOL = "2026-07-28"
DAYS = {"since": "2026-11-01", "until": "2026-12-31"}
"""Days around the one on which the data were written."""
TRACES = 4
"""Oldest turns of an organization whose traces are compared as a whole."""
SCORE_DIGITS = 4


@dataclass(frozen=True)
class Caller:
    """A user of the data directory."""

    organization: str
    user: str

    def client(self, api: str, *roles: str) -> httpx.Client:
        headers = principal_headers(self.organization, self.user, *roles)
        return httpx.Client(base_url=api, headers=headers, timeout=60)


ANN, CAT = Caller(HARBOUR, "ann"), Caller(HARBOUR, "cat")
BEN = Caller(LIGHTHOUSE, "ben")
UNPINNED = {"entities", "relations", "score"}
"""What page analysis found by patterns: later versions may find none, and none of it is asked for here.

Scores compare within one search only; the order of its hits is compared.
"""


def read_all(api: str, mcp_url: str, token_of: Callable[[Caller, str], str]) -> Json:
    """Everything that is compared, by what it is."""
    with ANN.client(api) as ann:
        nights = session_of(ann)
    return {
        "session": nights,
        "conversations": {caller.user: _conversations(api, caller) for caller in (ANN, BEN, CAT)},
        "events": _events(api),
        "telemetry": {caller.organization: _telemetry(api, caller) for caller in (ANN, BEN)},
        "tools": {
            "ferry": read_tools(mcp_url, token_of(ANN, FERRY)),
            "nights": read_tools(mcp_url, token_of(ANN, nights)),
            "lamps": read_tools(mcp_url, token_of(BEN, LAMPS)),
        },
    }


def answered(response: httpx.Response, status: int = 200) -> Json:
    assert response.status_code == status, response.text
    body: Json = response.json()
    return body


def session_of(client: httpx.Client) -> str:
    """The conversation that the name leads to. The request is refused, but only after that is known."""
    body = {"session_id": SESSION, "messages": [{"role": "user", "content": "?"}], "blob_names": ["none.pdf"]}
    response = client.post("/chat", json=body)
    assert response.status_code == 404, response.text
    return response.headers["x-session-id"]


def _conversations(api: str, caller: Caller) -> Json:
    with caller.client(api) as client:
        listed = answered(client.get("/conversations"))["conversations"]
        ids = [conversation["conversation_id"] for conversation in listed]
        return {
            "list": listed,
            "turns": {id: answered(client.get(f"/conversations/{id}", params=WHOLE)) for id in ids},
            "documents": {id: answered(client.get(f"/conversations/{id}/documents")) for id in ids},
        }


def _events(api: str) -> list[Json]:
    """The events of an answered turn, as a client that comes back gets them.

    They count from 1 here, without the event that names the turn: later versions have other numbers.
    """
    with ANN.client(api) as client:
        turns = answered(client.get(f"/conversations/{FERRY}"))["turns"]
        [turn] = [turn for turn in turns if turn["question"] == STREAMED["question"]]
        with client.stream("GET", f"/conversations/{FERRY}/turns/{turn['turn_id']}/events") as response:
            shown = [(kind, data) for _, kind, data in read_events(response) if kind != "turn"]
            return [{"id": n, "event": kind, "data": data} for n, (kind, data) in enumerate(shown, 1)]


def _telemetry(api: str, caller: Caller) -> Json:
    with caller.client(api, "orc.admin") as client:
        turns = answered(client.get("/admin/telemetry", params={"limit": 200}))["turns"]
        traces = [turn["trace_id"] for turn in turns[-TRACES:]]
        return {
            "turns": turns,
            "days": answered(client.get("/admin/telemetry/days", params=DAYS))["days"],
            "traces": {id: answered(client.get(f"/admin/telemetry/{id}")) for id in traces},
        }


def read_tools(mcp_url: str, token: str) -> Json:
    """What the tools read of the documents in scope."""
    return asyncio.run(_tools(mcp_url, token))


async def _tools(mcp_url: str, token: str) -> Json:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http,
        Client(streamable_http_client(mcp_url, http_client=http), mode=PROTOCOL) as client,
    ):

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            return pinned(result.structured_content)

        listed = await call("documents_list")
        indexed = [each["document_id"] for each in listed["documents"] if each["status"] == "completed"]
        pages = {each["document_id"]: each["pages"] for each in listed["documents"]}
        return {
            "documents": listed,
            "passages": {query: await call("semantic_search", query=query) for query in QUERIES},
            "pages": {query: await call("search_pages", query=query) for query in QUERIES},
            "texts": {
                id: [
                    await call("get_page", document_id=id, page_number=number)
                    for number in range(1, pages[id] + 1)
                ]
                for id in indexed
            },
            "summaries": {id: await call("documents_get_summary", document_id=id) for id in indexed},
            "contents": {id: await call("documents_get_content", document_id=id) for id in indexed},
        }


def pinned(value: Any) -> Any:
    """The part of a tool's result that is compared: how text without an index is searched is not stored."""
    if isinstance(value, list):
        return [pinned(item) for item in value if not (isinstance(item, dict) and _is_scan(item))]
    if isinstance(value, dict):
        return {key: pinned(item) for key, item in value.items() if key not in UNPINNED}
    return round(value, SCORE_DIGITS) if isinstance(value, float) else value


def _is_scan(step: dict[str, Any]) -> bool:
    return "not indexed yet" in str(step.get("note"))
