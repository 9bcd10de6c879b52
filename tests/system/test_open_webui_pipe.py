"""The pipe function for Open WebUI uploads the files of a chat, asks, and shows progress and sources."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Reply, Script
from devkit.in_process import InProcess, Variant, over_model
from examples.open_webui_pipe import Pipe
from orc.settings import AuthMode

QUESTION = "When does the quay open?"
QUAY = b"The quay opens at seven. The harbour master keeps the key."
CITED = Reply(text="The quay opens at seven [S1].")
RETRIEVED = f"Use this context: {QUAY.decode()} Query: {QUESTION}"
"""What Open WebUI makes of a question if a file is attached."""


@pytest.fixture(scope="module")
def double() -> Iterator[OpenAIDouble]:
    yield OpenAIDouble()


@pytest.fixture(scope="module")
def running(double: OpenAIDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    api = {"": Variant({"auth_mode": AuthMode.LOCAL})}
    with over_model(double, tmp_path_factory.mktemp("pipe"), api, page_analysis="off") as here:
        yield here


class Chat(Pipe):
    """The pipe as a chat of Open WebUI calls it, with files of that chat in memory."""

    def __init__(self, running: InProcess, files: dict[str, tuple[str, bytes]]) -> None:
        super().__init__()
        self.valves.base_url = running.addresses[""].removesuffix("/api")
        self.chat_id = str(uuid.uuid4())
        self._contents = {file_id: content for file_id, (_, content) in files.items()}
        self._files = [{"type": "file", "id": file_id, "name": name} for file_id, (name, _) in files.items()]
        self.reads: list[str] = []
        self.sent: list[str] = []

    def _client(self, key: str) -> httpx.AsyncClient:
        client = super()._client(key)
        self.sent.append(client.headers.get("authorization", ""))
        return client

    async def read(self, file_id: str) -> bytes:
        self.reads.append(file_id)
        return self._contents[file_id]

    async def ask(self, *, stream: bool = True, task: str | None = None, **user: Any) -> Any:
        body = {"stream": stream, "messages": [{"role": "user", "content": RETRIEVED}]}
        metadata = {"chat_id": self.chat_id, "base_user_prompt": QUESTION}
        answer = await self.pipe(body, metadata, self._files, {"id": "ann", **user}, task)
        if not isinstance(answer, AsyncIterator):
            return answer
        return [json.loads(line.removeprefix("data: ")) async for line in answer]


def text_of(chunks: list[dict[str, Any]]) -> str:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def events_of(chunks: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [chunk["event"]["data"] for chunk in chunks if chunk.get("event", {}).get("type") == kind]


def documents_in(running: InProcess, chat: Chat) -> list[str]:
    with running.client("", "") as http:
        listed = http.get(f"/conversations/{chat.chat_id}/documents").json()
    return sorted(document["blob_name"] for document in listed.get("documents", []))


async def test_a_file_of_the_chat_is_uploaded_once_and_its_source_is_shown(
    running: InProcess, double: OpenAIDouble
) -> None:
    chat = Chat(running, {"f1": ("quay.txt", QUAY)})
    double.script = Script(replies=[CITED])
    chunks = await chat.ask()
    assert text_of(chunks) == "The quay opens at seven [1]."
    assert events_of(chunks, "status")[0]["description"] == "Reading quay.txt"
    assert events_of(chunks, "status")[-1]["done"]
    [source] = events_of(chunks, "source")
    assert source["document"] == ["The quay opens at seven."]
    await chat.ask()
    assert chat.reads == ["f1"]
    with running.client("", "") as http:
        turns = http.get(f"/conversations/{chat.chat_id}").json()["turns"]
    assert [turn["question"] for turn in turns] == [QUESTION, QUESTION]


async def test_two_files_of_one_name_are_both_kept(running: InProcess) -> None:
    chat = Chat(running, {"f1": ("quay.txt", QUAY), "f2": ("quay.txt", b"The gate opens at eight.")})
    await chat.ask(stream=False)
    assert documents_in(running, chat) == ["quay (2).txt", "quay.txt"]


async def test_nothing_is_asked_if_a_file_cannot_be_read(running: InProcess) -> None:
    chat = Chat(running, {"f1": ("quay.pdf", b"no PDF")})
    with pytest.raises(RuntimeError, match=r"quay\.pdf"):
        await chat.ask()
    with running.client("", "") as http:
        assert http.get(f"/conversations/{chat.chat_id}").status_code == 404


async def test_a_task_is_no_turn(running: InProcess, double: OpenAIDouble) -> None:
    chat = Chat(running, {"f1": ("quay.txt", QUAY)})
    double.script = Script(replies=[Reply(text="Opening times")])
    assert await chat.ask(stream=False, task="title_generation") == "Opening times"
    assert chat.reads == []
    with running.client("", "") as http:
        assert http.get(f"/conversations/{chat.chat_id}").status_code == 404


async def test_a_failing_model_is_an_error_of_the_chat(running: InProcess, double: OpenAIDouble) -> None:
    chat = Chat(running, {"f1": ("quay.txt", QUAY)})
    chat.valves.model = "unknown"
    with pytest.raises(RuntimeError, match="models are listed"):
        await chat.ask()


async def test_a_temporary_chat_has_a_conversation_too(running: InProcess) -> None:
    chat = Chat(running, {"f1": ("quay.txt", QUAY)})
    chat.chat_id = "local:7"
    assert text_of(await chat.ask())


async def test_a_user_asks_with_a_token_of_the_user(running: InProcess) -> None:
    chat = Chat(running, {})
    chat.valves.api_key = "shared"
    await chat.ask()
    await chat.ask(valves=SimpleNamespace(api_key="of ann"))
    assert chat.sent == ["Bearer shared", "Bearer of ann"]
