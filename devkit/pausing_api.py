"""The API in this process over a model that pauses in the middle of its answer until a test lets it go on."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from devkit.fakes import FakeTools, ScriptedModel, WordCounter, models_of
from devkit.system import Event, principal_headers
from orc.api.app import create_app
from orc.bootstrap import AppProvider
from orc.settings import AuthMode, Settings
from orc.turns.running_turn import TurnDependencies
from orc_core.llm.chat_model import ChatModel

Json = dict[str, Any]
ANSWER = "The quay opens at seven. The harbour master keeps the key."
BEGUN_WITH = "The quay opens"
"""What there is of an answer while the model pauses."""
POLL_SECONDS = 0.02
WAIT_SECONDS = 60.0


class PausingModel(ScriptedModel):
    """Streams the reply by words; `pauses` says after how many words it waits for `may_go_on`."""

    pauses: int | None = None
    may_go_on: asyncio.Event
    is_pausing: asyncio.Event

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = self._reply(messages, options)
        for number, word in enumerate(str(reply.text).split(" ")):
            if number == self.pauses:
                self.is_pausing.set()
                await self.may_go_on.wait()
            yield ChatGenerationChunk(message=AIMessageChunk(content=word if not number else f" {word}"))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        made = self._generate(messages, **options)
        if self.pauses is not None:
            self.is_pausing.set()
            await self.may_go_on.wait()
        return made


class PausingApi:
    """One instance of the API; several may share a folder."""

    def __init__(self, folder: Path, answer: str = ANSWER, **settings: Any) -> None:
        self.answer = answer
        self.tools = FakeTools()
        self.model = PausingModel(
            script=lambda _messages, _options: AIMessage(self.answer),
            calls=[],
            may_go_on=asyncio.Event(),
            is_pausing=asyncio.Event(),
        )
        chat = ChatModel(self.model, WordCounter(), name="scripted")

        def change(parts: TurnDependencies) -> TurnDependencies:
            fakes = {"models": models_of(chat), "tools": self.tools, "stop_poll_seconds": POLL_SECONDS}
            return replace(parts, **fakes)  # type: ignore[arg-type]

        chosen = {"auth_mode": AuthMode.EASYAUTH, "azure_auth_enabled": True, **settings}
        self.app = create_app(Settings(data_dir=folder, **chosen), change)
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url="http://127.0.0.1/api",
            headers=principal_headers("acme", "ann"),
        )

    def prompt(self, number: int = -1) -> str:
        """All that the model was shown in a call."""
        return "\n".join(str(message.content) for message in self.model.calls[number][0])

    async def ask(self, question: str, conversation_id: str | None = None, **body: Any) -> Json:
        """A turn that is answered; the result."""
        asked = {"question": question, **body}
        if conversation_id:
            asked["conversation_id"] = conversation_id
        response = await self.http.post("/orc", json=asked)
        assert response.status_code == 200, response.text
        result: Json = response.json()
        return result

    async def conversation(self, conversation_id: str, **query: Any) -> Json:
        """The conversation as it is stored."""
        response = await self.http.get(f"/conversations/{conversation_id}", params={"full": "true", **query})
        assert response.status_code == 200, response.text
        body: Json = response.json()
        return body

    @asynccontextmanager
    async def pausing_turn(
        self, question: str = "When?", *, words: int = 3, **body: Any
    ) -> AsyncIterator[tuple[str, asyncio.Task[list[Event]]]]:
        """A streamed turn whose model pauses after some words: its path, and its events once it ends."""
        self.model.pauses = words
        self.model.is_pausing.clear()
        task = asyncio.create_task(self._stream({"question": question, **body}))
        await asyncio.wait_for(self.model.is_pausing.wait(), WAIT_SECONDS)
        try:
            yield await self.newest(body.get("conversation_id")), task
        finally:
            self.model.pauses = None
            self.model.may_go_on.set()
            await asyncio.wait_for(task, WAIT_SECONDS)
            self.model.may_go_on.clear()

    async def newest(self, conversation_id: str | None = None) -> str:
        """The path of the newest turn, of the conversation that was used last if none is named."""
        if conversation_id is None:
            listed = (await self.http.get("/conversations", params={"limit": 1})).json()
            conversation_id = listed["conversations"][0]["conversation_id"]
        turn = (await self.conversation(conversation_id))["turns"][-1]
        return f"/conversations/{conversation_id}/turns/{turn['turn_id']}"

    async def _stream(self, body: Json) -> list[Event]:
        response = await self.http.post("/orc/stream", json=body)
        return events_of(response)

    async def close(self) -> None:
        """Close the instance."""
        await self.http.aclose()
        provider: AppProvider = self.app.state.provider
        await provider.close()


def events_of(response: httpx.Response) -> list[Event]:
    """The events of a stream that has ended."""
    assert response.status_code == 200, response.text
    blocks = [block for block in response.text.split("\n\n") if block and not block.startswith(":")]
    fields = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    return [(int(each["id"]), each["event"], json.loads(each["data"])) for each in fields]
