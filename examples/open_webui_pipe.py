"""
title: Orc
description: Answers about the files of a chat, with sources that code has checked.
version: 1.0.0
requirements: httpx
"""

# A pipe function of Open WebUI (Admin Panel, Functions, +). It uploads the files of a chat to Orc, asks in
# the user's own words, and shows progress and sources. docs/clients.md says how to set it up.

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any

import httpx
from pydantic import BaseModel, Field

TIMEOUT = httpx.Timeout(300, connect=10)
Json = dict[str, Any]


class Pipe:
    """The model that Open WebUI shows."""

    class Valves(BaseModel):
        """Settings of the administrator."""

        base_url: str = Field(default="http://127.0.0.1:7071", description="the address of Orc's API")
        api_key: str = Field(default="", description="a bearer token, for users without one of their own")
        model: str = Field(default="orc", description="a model of GET /v1/models")

    class UserValves(BaseModel):
        """Settings of each user."""

        api_key: str = Field(default="", description="your bearer token for Orc")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._uploaded: set[tuple[str, str]] = set()

    async def pipe(
        self,
        body: Json,
        __metadata__: Json | None = None,
        __files__: list[Json] | None = None,
        __user__: Json | None = None,
        __task__: str | None = None,
    ) -> str | AsyncIterator[str]:
        """The answer: lines of a stream, or its text. Raises RuntimeError with Orc's message."""
        metadata = __metadata__ or {}
        http = self._client(getattr((__user__ or {}).get("valves"), "api_key", ""))
        conversation = _conversation(str(metadata.get("chat_id") or uuid.uuid4()))
        asked = {"model": self.valves.model, "messages": _said(body["messages"], metadata)}
        if __task__:  # a title or tags for the chat: no turn of Orc
            async with http:
                return await _whole(http, asked, {"x-orc-task": __task__})
        headers = {"x-openwebui-chat-id": conversation}
        if body.get("stream"):
            return self._stream(http, conversation, __files__ or [], asked, headers)
        async with http:
            async for _ in self._upload(http, conversation, __files__ or []):
                pass
            return await _whole(http, asked, headers)

    async def read(self, file_id: str) -> bytes:
        """The bytes of a file of Open WebUI."""
        found = await import_module("open_webui.models.files").Files.get_file_by_id(file_id)
        if found is None:
            raise RuntimeError("A file of this chat does not exist any more.")
        storage = import_module("open_webui.storage.provider").Storage
        path = await asyncio.to_thread(storage.get_file, found.path)
        return await asyncio.to_thread(Path(path).read_bytes)

    def _client(self, key: str) -> httpx.AsyncClient:
        key = key or self.valves.api_key
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx.AsyncClient(base_url=self.valves.base_url, headers=headers, timeout=TIMEOUT)

    async def _stream(
        self,
        http: httpx.AsyncClient,
        conversation: str,
        files: list[Json],
        asked: Json,
        headers: dict[str, str],
    ) -> AsyncIterator[str]:
        async with http:
            async for name in self._upload(http, conversation, files):
                status = {"description": f"Reading {name}", "done": False}
                yield f"data: {json.dumps({'choices': [], 'event': {'type': 'status', 'data': status}})}"
            path, streamed = "/v1/chat/completions", {**asked, "stream": True}
            async with http.stream("POST", path, json=streamed, headers=headers) as response:
                if not response.is_success:
                    raise RuntimeError(_message(await response.aread()))
                async for line in response.aiter_lines():
                    if not line.startswith("data: ") or line == "data: [DONE]":
                        continue
                    if "error" in (chunk := json.loads(line.removeprefix("data: "))):
                        raise RuntimeError(chunk["error"]["message"])
                    yield line

    async def _upload(
        self, http: httpx.AsyncClient, conversation: str, files: list[Json]
    ) -> AsyncIterator[str]:
        """Upload the files that Orc does not have yet; yields the name of each before it is sent."""
        for file_id, name in _named(files):
            if (conversation, file_id) in self._uploaded:
                continue
            yield name
            content = await self.read(file_id)
            path = f"/api/conversations/{conversation}/documents"
            response = await http.post(path, files=[("file", (name, content))])
            if not response.is_success:
                # An answer without a file that the user has attached would look complete.
                raise RuntimeError(_message(response.content))
            self._uploaded.add((conversation, file_id))


async def _whole(http: httpx.AsyncClient, asked: Json, headers: dict[str, str]) -> str:
    response = await http.post("/v1/chat/completions", json=asked, headers=headers)
    if not response.is_success:
        raise RuntimeError(_message(response.content))
    return str(response.json()["choices"][0]["message"]["content"])


def _said(messages: list[Json], metadata: Json) -> list[Json]:
    """The messages, with the question in the user's words, to which Open WebUI adds text of files."""
    question = metadata.get("base_user_prompt")
    if not question or not messages or messages[-1]["role"] != "user":
        return messages
    return [*messages[:-1], {"role": "user", "content": question}]


def _conversation(chat_id: str) -> str:
    """The conversation of a chat: its id, or one made of it for a temporary chat."""
    try:
        return str(uuid.UUID(chat_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"open-webui:{chat_id}"))


def _named(files: list[Json]) -> list[tuple[str, str]]:
    """The id and name of each file; further files of one name get a number, as Orc keeps one of each name."""
    found, seen = [], Counter[str]()
    for file in files:
        if file.get("type") != "file" or not file.get("id"):
            continue
        name = PurePath(str(file.get("name") or file["id"]))
        seen[name.name] += 1
        number = f" ({seen[name.name]})" if seen[name.name] > 1 else ""
        found.append((str(file["id"]), f"{name.stem}{number}{name.suffix}"))
    return found


def _message(content: bytes) -> str:
    """What Orc says about a failure: a problem document, or an error in OpenAI's form."""
    try:
        body = json.loads(content)
    except ValueError:
        return "Orc gave no readable answer."
    return str(body.get("detail") or body.get("error", {}).get("message") or body)
