"""The offline chat model: deterministic, without weights or network, and honest about it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, SkipValidation

from core.grounding.sources import WITHDRAWN, FencedSource, read_fenced, without_fenced
from core.llm.memory_message import ANSWERED, USER_SAID, USER_WANTS, Remembered, read_remembered
from core.llm.tokens import TokenCounter
from core.offline.chat import INTRODUCTION, recall, recall_answer, tell_tool_result
from core.offline.critic import fill_judgement
from core.offline.planner import fill_plan
from core.offline.quotes import answer_from
from core.offline.tools import Call, Done, choose_calls

_QUESTION, _LAST_QUESTION, _FINDINGS = "Question:", "Last question:", "What the tools found:"
_USER_LINES = re.compile(r"^user: (.*?)(?=\n(?:user|assistant): |\s*\Z)", re.M | re.S)
_WORD = re.compile(r"\s*\S+\s*$|\s*\S+")


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the model reads out of its messages.

    `earlier` is what the user said before, oldest first, what is only remembered of it before the rest;
    `answered` is what is remembered of earlier answers, `instructions` the text of the system messages.
    """

    question: str
    earlier: tuple[str, ...]
    sources: tuple[FencedSource, ...]
    done: tuple[Done, ...]
    tool_result: str | None
    answered: tuple[str, ...] = ()
    instructions: str = ""

    @classmethod
    def read(cls, messages: Sequence[BaseMessage]) -> "Conversation":
        """The last thing the user said is the question; sources may stand in any message but earlier ones.

        A question may be labelled `Question:`. `Last question:` may follow a transcript of `user:` and
        `assistant:` lines, and `What the tools found:` may follow a question.
        """
        spoken = [message for message in messages if not isinstance(message, Remembered)]
        said = [str(message.text) for message in spoken if isinstance(message, HumanMessage)]
        asked, earlier = said[-1] if said else "", said[:-1]
        others = [str(message.text) for message in messages if not isinstance(message, HumanMessage)]
        transcript, _, question = without_fenced(asked).rpartition(_LAST_QUESTION)
        question, _, findings = question.partition(_FINDINGS)
        findings, _, _ = findings.partition(WITHDRAWN)
        done = _tools_called(messages)
        instructions = without_fenced(
            "\n".join(str(each.text) for each in messages if isinstance(each, SystemMessage))
        )
        known = read_remembered(messages, USER_SAID, USER_WANTS)
        return cls(
            question=question.strip().removeprefix(_QUESTION).strip(),
            earlier=(*known, *map(without_fenced, earlier), *_USER_LINES.findall(transcript)),
            sources=tuple(read_fenced("\n".join([*others, asked]))),
            done=done,
            tool_result=done[-1].content if done else without_fenced(findings) or None,
            answered=tuple(read_remembered(messages, ANSWERED)),
            instructions=instructions,
        )


def _tools_called(messages: Sequence[BaseMessage]) -> tuple[Done, ...]:
    """The tools that were called since the last question, in order, without the sources that they gave."""
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


FORMS: dict[str, Callable[[Conversation], dict[str, Any]]] = {
    "Judgement": lambda asked: fill_judgement(asked.question, asked.sources),
    "TurnPlan": lambda asked: fill_plan(asked.question, asked.earlier, asked.instructions),
}
"""How to fill each structured output, by the name of its schema."""


class ExtractiveChatModel(BaseChatModel):
    """Quotes sources, fills the forms in FORMS, finds sources by tools, and otherwise says what it is.

    Raises NotImplementedError for a structured output that FORMS does not have.
    """

    counter: SkipValidation[TokenCounter] = Field(exclude=True)

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def get_num_tokens(self, text: str) -> int:
        return self.counter.count(text)

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A `tool_choice` that names one of the tools forces it."""
        return self.bind(
            tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs
        )

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
        asked = Conversation.read(messages)
        called = _chosen_calls(asked, options)
        text = "" if called else _answer(asked)
        return AIMessage(
            content=text,
            tool_calls=[
                tool_call(name=name, args=arguments, id=f"call_{len(asked.done) + number}_{name}")
                for number, (name, arguments) in enumerate(called)
            ],
            usage_metadata=self._usage(messages, text or json.dumps(called)),
            response_metadata={
                "model_name": "extractive",
                "finish_reason": "tool_calls" if called else "stop",
            },
        )

    def _usage(self, messages: list[BaseMessage], said: str) -> UsageMetadata:
        given = sum(self.counter.count(str(message.text)) for message in messages)
        made = self.counter.count(said)
        return UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)


def _answer(asked: Conversation) -> str:
    if asked.sources:
        return answer_from(asked.question, asked.sources)
    if asked.tool_result is not None:
        return tell_tool_result(asked.tool_result)
    known = recall(asked.question, asked.earlier) or recall_answer(asked.question, asked.answered)
    return known or INTRODUCTION


def _chosen_calls(asked: Conversation, options: dict[str, Any]) -> list[Call]:
    """The tools to call: the form that is forced, or what the question needs."""
    offered = [tool["function"]["name"] for tool in options.get("tools") or []]
    forced = options.get("tool_choice")
    if forced in offered:
        if forced not in FORMS:
            raise NotImplementedError(f"The extractive model cannot fill the form {forced!r}.")
        return [Call(forced, FORMS[forced](asked))]
    return choose_calls(asked.question, asked.earlier, asked.done, offered)


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
