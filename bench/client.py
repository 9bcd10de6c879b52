"""The things that are timed: the bare model call, and turns of the product over HTTP."""

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages

from bench.connection import Connection, connected
from bench.deployment import HANDBOOK, Stage, double_url
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.factory import build_chat_model
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TokenCounter

QUESTION = "How many days of leave does a new employee get?"
UPLOADS_AT_ONCE = 2
LOOK_SECONDS = 0.02

Advance = Callable[[], None]


async def timed(work: Awaitable[object]) -> float:
    """How many milliseconds it takes."""
    started = time.perf_counter()
    await work
    return 1000 * (time.perf_counter() - started)


@dataclass(frozen=True)
class BareModel:
    """The model as the product calls it, through langchain-openai, and nothing around it."""

    model: ChatModel

    async def call(self, prompt: Sequence[BaseMessage] = (HumanMessage(QUESTION),)) -> None:
        """One call, by default with nothing but the question."""
        await self.model.complete(prompt, budget=CallBudget(max_calls=1))

    async def stream(self, prompt: Sequence[BaseMessage]) -> None:
        """One streamed call, read to its end."""
        async with aclosing(self.model.stream(prompt, budget=CallBudget(max_calls=1))) as deltas:
            async for _ in deltas:
                pass

    async def first_token(self) -> float:
        """Milliseconds to the first text of a stream, which is then read to its end."""
        started, first = time.perf_counter(), 0.0
        async with aclosing(
            self.model.stream([HumanMessage(QUESTION)], budget=CallBudget(max_calls=1))
        ) as deltas:
            async for _ in deltas:
                first = first or 1000 * (time.perf_counter() - started)
        return first


@asynccontextmanager
async def bare_model(stage: Stage, folder: Path) -> AsyncIterator[BareModel]:
    """The bare model, with a connection pool like the product's."""
    settings = CoreSettings.model_validate(
        {"model": "openai:gpt-5.1", "openai_base_url": double_url(stage.double_port), "data_dir": folder}
    )
    provider = open_provider(settings)
    assert provider is not None
    try:
        yield BareModel(build_chat_model(settings, "writer", TokenCounter(), provider))
    finally:
        await provider.aclose()


async def ask(connection: Connection, conversation_id: str | None = None) -> None:
    """One turn as JSON: of the conversation's handbook, or without documents in a new conversation."""
    answer = await connection.post_json("/api/orc", question_about(conversation_id))
    assert answer["answer"]


async def first_token(connection: Connection, turn: bytes) -> float:
    """Milliseconds to the first `token` event of a streamed turn, which is then read to its end."""
    return await _first(connection, "/api/orc", turn, rb"event: token")


async def first_delta(double: Connection) -> float:
    """Milliseconds to the first text of a stream of the model double, which is then read to its end."""
    asked = {"model": "double", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    return await _first(double, "/v1/chat/completions", json.dumps(asked).encode(), rb'"content": ?"[^"]')


async def _first(connection: Connection, path: str, body: bytes, sign: bytes) -> float:
    """Milliseconds to the first part of a stream with this sign, a regular expression."""
    started, first = time.perf_counter(), 0.0
    async for part in connection.stream(path, body):
        if not first and re.search(sign, part):
            first = 1000 * (time.perf_counter() - started)
    return first


def question_about(conversation_id: str | None) -> dict[str, Any]:
    """The body of a turn."""
    if conversation_id is None:
        return {"question": QUESTION}
    return {"question": QUESTION, "conversation_id": conversation_id, "blob_names": [HANDBOOK.name]}


async def last_prompt(double_port: int) -> list[BaseMessage]:
    """What the model was asked last."""
    async with connected(double_port) as connection:
        requests = await connection.get_json("/_log")
    return convert_to_messages(requests[-1]["body"]["messages"])


async def upload(connection: Connection, conversation_id: str, name: str, content: bytes) -> int:
    """Upload a file; the number of its pages, which can be read from then on."""
    (document,) = (await connection.post_file(_documents(conversation_id), name, content))["documents"]
    assert document["readable"]
    return int(document["pages"])


async def until_searchable(
    connection: Connection, conversation_id: str, *, look_seconds: float = LOOK_SECONDS
) -> None:
    """Wait until the worker has completed all documents of the conversation."""
    while True:
        listed = (await connection.get_json(_documents(conversation_id)))["documents"]
        statuses = {document["status"] for document in listed}
        assert "failed" not in statuses
        if statuses == {"completed"}:
            return
        await asyncio.sleep(look_seconds)


async def until_analysed(connection: Connection, conversation_id: str, *, look_seconds: float) -> None:
    """Wait until the pages of all documents of the conversation are analysed."""
    while True:
        listed = (await connection.get_json(_documents(conversation_id)))["documents"]
        if all(document["summary_available"] for document in listed):
            return
        await asyncio.sleep(look_seconds)


def _documents(conversation_id: str) -> str:
    return f"/api/conversations/{conversation_id}/documents"


async def prepare_conversations(
    port: int, count: int, advance: Advance, name: str = HANDBOOK.name, content: bytes = b""
) -> list[str]:
    """New conversations that each hold the file, by default the handbook, and no turn yet."""
    content = content or await asyncio.to_thread(HANDBOOK.read_bytes)
    conversations = [str(uuid.uuid4()) for _ in range(count)]
    waiting = iter(conversations)

    async def work() -> None:
        async with connected(port) as connection:
            for conversation_id in waiting:
                await upload(connection, conversation_id, name, content)
                await until_searchable(connection, conversation_id)
                advance()

    await asyncio.gather(*(work() for _ in range(UPLOADS_AT_ONCE)))
    return conversations
