"""Hand-written stand-ins for ports, shared by tests."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from orc.tools.ports import OnProgress, OnRestart, ToolSchema
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import ChatModels
from orc_core.llm.tokens import TokenCounter
from orc_core.mcp_contract import StatusLine, TextDelta

Script = Callable[[list[BaseMessage], dict[str, Any]], AIMessage]


class WordCounter(TokenCounter):
    """Counts words: enough if the exact number of tokens does not matter."""

    def count(self, text: str) -> int:
        return len(text.split())

    def warm(self) -> None:
        return None


class ScriptedModel(BaseChatModel):
    """Answers with what `script` makes of the messages and the call's options, and keeps both."""

    script: Script
    calls: list[tuple[list[BaseMessage], dict[str, Any]]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **options)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, options))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages, options)
        for word in str(reply.text).split(" ") if reply.text else []:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word + " "))
        calls = [
            {
                "name": c["name"],
                "args": _json(c["args"]),
                "id": c["id"],
                "index": i,
                "type": "tool_call_chunk",
            }
            for i, c in enumerate(reply.tool_calls)
        ]
        last = AIMessageChunk(
            content="",
            tool_call_chunks=calls,
            response_metadata=reply.response_metadata,
            usage_metadata=reply.usage_metadata,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.calls.append((messages, options))
        return self.script(messages, options)


def scripted(script: Script) -> tuple[ChatModel, ScriptedModel]:
    """A ChatModel over a script, and the script's record of calls."""
    model = ScriptedModel(script=script, calls=[])
    return ChatModel(model, WordCounter(), name="scripted"), model


def models_of(model: ChatModel, **others: ChatModel) -> ChatModels:
    """One model in every role, but for those that are given by name; without a `titler`, titles are words."""
    planner, writer, critic, summariser = (
        others.pop(role, model) for role in ("planner", "writer", "critic", "summariser")
    )
    titler = others.pop("titler", None)
    return ChatModels(planner, writer, critic, summariser, others, titler)


class FakeTools:
    """A ToolGateway with canned results by tool name; a result may be made from the arguments."""

    def __init__(self, schemas: Sequence[ToolSchema] = (), **results: Any) -> None:
        self.schemas = list(schemas)
        self.results = results
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.metas: list[dict[str, Any]] = []
        self.down: Exception | None = None

    async def list_tools(self, token: str) -> list[ToolSchema]:
        if self.down is not None:
            raise self.down
        return self.schemas

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        token: str,
        *,
        on_progress: OnProgress | None = None,
        on_restart: OnRestart | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        self.calls.append((name, arguments))
        self.metas.append(dict(meta or {}))
        result = self.results[name]
        made = result(arguments) if callable(result) else result
        if isinstance(made, Exception):
            raise made
        if on_progress is not None and "answer" in made:
            on_progress(StatusLine(message="reading", done=1, total=2))
            on_progress(TextDelta(text=made["answer"]))
        content: dict[str, Any] = made
        return content


async def collect(items: AsyncIterator[Any]) -> list[Any]:
    """All items of an async iterator."""
    return [item async for item in items]


def _json(arguments: dict[str, Any]) -> str:
    import json

    return json.dumps(arguments)
