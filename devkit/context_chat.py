"""Requests of users of one tenant over contexts, with a scripted model and searches that a test fills."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
from fastapi import FastAPI
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import FakeTools, ScriptedModel, models_of, scripted
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from orc.tools.ports import ToolSchema
from orc.turns.running_turn import TurnDependencies

ADMIN_ROLE = "orc.admin"
SCHEMAS = [
    ToolSchema(name=name, description=name, input_schema={"type": "object", "properties": {}})
    for name in ("semantic_search", "search_pages", "document_chat")
]
STEP = {"method": "lexical", "threshold": 1.0, "hits": 1, "served": True}
Json = dict[str, Any]


class Searches:
    """A tools server whose searches find what a test has put into each selection of contexts."""

    def __init__(self) -> None:
        self.found: dict[str, list[Json]] = {}
        self.chat: Json = {}
        results = {"semantic_search": self.search, "search_pages": self.search}
        self.tools = FakeTools(SCHEMAS, document_chat=lambda _: self.chat, **results)

    def search(self, arguments: Json) -> Json:
        passages = self.found.get(arguments.get("context", ""), [])
        return {"passages": passages, "steps": [STEP] if passages else [], "documents": []}

    @property
    def selections(self) -> list[str]:
        """The selections of contexts that were searched, in order; empty if a search named none."""
        return [str(arguments.get("context", "")) for name, arguments in self.tools.calls]


class Chat:
    """Requests of users of one tenant, and the prompts that the model got."""

    def __init__(
        self, http: httpx.AsyncClient, app: FastAPI, searches: Searches, model: ScriptedModel
    ) -> None:
        self.http, self.app, self.searches, self.model = http, app, searches, model
        self._names = itertools.count()

    async def call(self, user: str, method: str, path: str, *roles: str, **options: Any) -> httpx.Response:
        headers = principal_headers("acme", user, *roles) | options.pop("headers", {})
        return await self.http.request(method, path, headers=headers, **options)

    async def create(self, kind: str, name: str, parent: str | None = None) -> str:
        body = {"type": kind, "name": name, "parent_id": parent}
        made = await self.call("ada", "POST", "/contexts", ADMIN_ROLE, json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["context_id"])

    async def grant(self, context_id: str, user: str = "bob", role: str = "viewer") -> None:
        path = f"/contexts/{context_id}/members/user/{user}"
        assert (await self.call("ada", "PUT", path, json={"role": role})).status_code == 204

    async def withdraw(self, context_id: str, user: str = "bob", status: int = 204) -> None:
        path = f"/contexts/{context_id}/members/user/{user}"
        assert (await self.call("ada", "DELETE", path)).status_code == status

    async def upload(self, context_id: str, name: str, text: str) -> Json:
        """Store a document in a context; returns a passage of it as a search finds it."""
        path, files = f"/contexts/{context_id}/documents", [("file", (name, text.encode()))]
        stored = (await self.call("ada", "POST", path, files=files)).json()["documents"][0]
        place = {"context_type": "workspace", "context_id": context_id, "context_name": "x", "focus": True}
        document_id = stored["document_id"]
        found = {"document_id": document_id, "blob_name": name, "page": 1, "page_id": f"{document_id}.p1"}
        return {**found, "text": text, "start": 0, "end": len(text), "score": 1.0, **place}

    async def ferries(self) -> str:
        """A workspace that bob may read, with a document that each search without a selection finds."""
        ferries = await self.create("workspace", "Ferries")
        await self.grant(ferries)
        self.searches.found = {"": [await self.upload(ferries, "a.txt", "The ferry costs ten crowns.")]}
        return ferries

    async def ask(self, *context_ids: str, user: str = "bob", status: int = 200, **body: Any) -> Json:
        contexts = [{"type": "workspace", "id": each} for each in context_ids]
        asked = {"question": "What does the ferry cost?", "contexts": contexts, **body}
        answered = await self.call(user, "POST", "/orc", json=asked)
        assert answered.status_code == status, answered.text
        result: Json = answered.json()
        return result

    def prompt(self, at: int = -1) -> str:
        """All text that the model got with one of its calls."""
        messages: list[BaseMessage] = self.model.calls[at][0]
        return "\n".join(str(message.text) for message in messages)


def reply(messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
    """The first passage of the prompt, cited; a plan is refused, so that rules make it."""
    text = str(messages[-1].text)
    return AIMessage("The ferry costs ten crowns. [S1]" if "ten crowns" in text else "I do not know.")


EASYAUTH: Json = {"auth_mode": AuthMode.EASYAUTH, "azure_auth_enabled": True, "messages_per_hour": 0}


@asynccontextmanager
async def chatting(settings: Settings) -> AsyncIterator[Chat]:
    """The API with these settings in this process."""
    searches, (writer, model) = Searches(), scripted(reply)

    def with_doubles(parts: TurnDependencies) -> TurnDependencies:
        return replace(parts, tools=searches.tools, models=models_of(writer))

    app = create_app(settings, with_doubles)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as http:
        yield Chat(http, app, searches, model)
    await app.state.provider.close()
