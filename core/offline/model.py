"""The offline chat model: deterministic, without weights or network.

Only a bootstrap imports this package. The owner of a structured output registers how it is filled offline.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, SkipValidation

from core.grounding.closest import others_not_read
from core.grounding.sources import FencedSource, read_fenced, without_fenced
from core.llm.messages import (
    ANSWERED,
    OFFLINE_INTRODUCTION,
    USER_SAID,
    USER_WANTS,
    MemoryMessage,
    QuestionMessage,
    read_remembered,
)
from core.llm.tokens import TokenCounter
from core.offline.chat import (
    Call,
    Done,
    choose_calls,
    describe_tool_output,
    leaves_out_documents,
    recall,
    recall_answer,
)
from core.offline.quotes import answer_from

_WORD = re.compile(r"(?<!\s)\s*+\S++(?:\s++$)?")


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the model reads from its messages.

    `request` is the last message of the user, `question` what it asks. `earlier` is what the user said
    before, oldest first, remembered statements before the rest. `remembered_answers` are earlier questions
    with their answers. `tool_output` is what the last tool returned, without its sources.
    """

    request: BaseMessage | None
    question: str
    earlier: tuple[str, ...]
    sources: tuple[FencedSource, ...]
    done: tuple[Done, ...]
    tool_output: str | None
    remembered_answers: tuple[str, ...]

    @classmethod
    def read(cls, messages: Sequence[BaseMessage]) -> "Conversation":
        """Sources may be in any message but those of earlier questions."""
        said = [m for m in messages if isinstance(m, HumanMessage) and not isinstance(m, MemoryMessage)]
        request = said[-1] if said else None
        current = [m for m in messages if m is request or not isinstance(m, HumanMessage)]
        text = without_fenced(str(request.text)) if request else ""
        asked = (
            request if isinstance(request, QuestionMessage) else QuestionMessage(content=text, question=text)
        )
        output = without_fenced(asked.tool_output or "")
        done = (*(Done(name, output) for name in asked.looked_up), *_tools_called(messages))
        return cls(
            request=request,
            question=asked.question,
            earlier=(
                *read_remembered(messages, USER_SAID, USER_WANTS),
                *(without_fenced(str(message.text)) for message in said[:-1]),
                *asked.earlier,
            ),
            sources=tuple(read_fenced("\n".join(str(message.text) for message in current))),
            done=done,
            tool_output=done[-1].output if done else output or None,
            remembered_answers=tuple(read_remembered(messages, ANSWERED)),
        )


def _tools_called(messages: Sequence[BaseMessage]) -> tuple[Done, ...]:
    """The tools that were called since the last question, in order."""
    names: dict[str, str] = {}
    done: list[Done] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            done.clear()
        elif isinstance(message, AIMessage):
            names.update({call["id"] or "": call["name"] for call in message.tool_calls})
        elif isinstance(message, ToolMessage):
            name = names.get(message.tool_call_id, "")
            done.append(Done(name, without_fenced(str(message.text))))
    return tuple(done)


Filler = Callable[[Conversation], BaseModel]
"""Fills one structured output without a model."""


class OfflineModel(BaseChatModel):
    """Quotes sources, calls tools that find sources, and otherwise says what it is.

    `fill` has a function for each structured output; a subclass of a registered schema is filled by the
    same function. Any other structured output raises NotImplementedError.
    """

    counter: SkipValidation[TokenCounter] = Field(exclude=True)
    fill: Mapping[type[BaseModel], SkipValidation[Filler]] = Field(default={}, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def get_num_tokens(self, text: str) -> int:
        return self.counter.count(text)

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A `tool_choice` that names one of the tools asks for that structured output."""
        schemas = [tool for tool in tools if tool_choice and getattr(tool, "__name__", None) == tool_choice]
        filler = self._filler_of(schemas[0]) if schemas else None
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], filler=filler, **kwargs)

    def _filler_of(self, schema: type[BaseModel]) -> Filler:
        for registered, filler in self.fill.items():
            if issubclass(schema, registered):
                return filler
        raise NotImplementedError(f"The offline model has no registration for {schema.__name__}.")

    def _generate(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, kwargs))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(self._reply(messages, kwargs))

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(await asyncio.to_thread(self._reply, messages, kwargs)):
            yield chunk

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        conversation = Conversation.read(messages)
        calls = _chosen_calls(conversation, options)
        text = "" if calls else _answer(conversation)
        read = sum(self.counter.count(str(message.text)) for message in messages)
        written = self.counter.count(text or json.dumps(calls))
        return AIMessage(
            content=text,
            tool_calls=[
                tool_call(name=name, args=arguments, id=f"call_{len(conversation.done) + number}_{name}")
                for number, (name, arguments) in enumerate(calls)
            ],
            usage_metadata=UsageMetadata(
                input_tokens=read, output_tokens=written, total_tokens=read + written
            ),
            response_metadata={
                "model_name": "extractive",
                "finish_reason": "tool_calls" if calls else "stop",
            },
        )


def _answer(conversation: Conversation) -> str:
    question = conversation.question
    if conversation.sources:
        answer = answer_from(question, conversation.sources)
        read = {source.blob_name for source in conversation.sources}
        is_partial = leaves_out_documents(question, conversation.done, read)
        return f"{answer}\n\n{others_not_read(question)}" if is_partial else answer
    if conversation.tool_output is not None:
        return describe_tool_output(conversation.tool_output, question)
    known = recall(question, conversation.earlier) or recall_answer(question, conversation.remembered_answers)
    return known or OFFLINE_INTRODUCTION


def _chosen_calls(conversation: Conversation, options: dict[str, Any]) -> list[Call]:
    """The tools to call: the structured output that was asked for, or what the question needs."""
    offered = [tool["function"]["name"] for tool in options.get("tools") or []]
    filler: Filler | None = options.get("filler")
    if filler is not None:
        return [Call(offered[0], filler(conversation).model_dump())]
    return choose_calls(conversation.question, conversation.earlier, conversation.done, offered)


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The message word by word; the last chunk is empty but for tool calls and usage."""
    for word in _WORD.findall(str(message.text)):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    yield ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            tool_call_chunks=[
                tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
                for index, call in enumerate(message.tool_calls)
            ],
            usage_metadata=message.usage_metadata,
            response_metadata=message.response_metadata,
            chunk_position="last",
        )
    )
