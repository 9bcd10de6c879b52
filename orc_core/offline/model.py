"""The offline chat model: deterministic, without weights or network.

Only a bootstrap imports this package. The owner of a structured output registers how it is filled offline.
See docs/decisions/without-a-model.md.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from xml.sax.saxutils import unescape

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, SkipValidation

from orc_core.documents.unknown_files import without_files
from orc_core.grounding.closest import not_found_answer
from orc_core.grounding.sources import FencedSource, read_fenced, without_fenced
from orc_core.llm.messages import (
    OFFLINE_INTRODUCTION,
    OFFLINE_SEARCH_OFF,
    USER_SAID,
    USER_WANTS,
    MemoryMessage,
    QuestionMessage,
    read_remembered,
)
from orc_core.llm.tokens import TokenCounter
from orc_core.offline.passages import closest_passages
from orc_core.search.bm25 import QuestionTerms, coverage, floored, idf_of_terms
from orc_core.search.mentions import continues, last_whole
from orc_core.text.provenance import own_words
from orc_core.text.sentences import sentences
from orc_core.text.terms import in_language_of
from orc_core.text.wording import has_subject, is_small_talk, is_statement, names_documents

SEARCH = "semantic_search"
TALK = " [talk]"
"""Ends what needs no source, as prompts ask for."""
PASSAGES = 8
ENOUGH = 0.6
"""The share of the question's terms that an earlier sentence has to contain."""

_WORD = re.compile(r"(?<!\s)\s*+\S++(?:\s++$)?")


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the model reads from its messages.

    `request` is the last message of the user, `question` what it asks. `earlier` is what the user said
    before, oldest first, remembered statements before the rest. `outputs` are what tools returned for the
    question, without their sources. `is_off`: the search is switched off.
    """

    request: BaseMessage | None
    question: str
    earlier: tuple[str, ...]
    sources: tuple[FencedSource, ...]
    outputs: tuple[str, ...]
    is_off: bool

    @classmethod
    def read(cls, messages: Sequence[BaseMessage]) -> "Conversation":
        """Sources may be in any message but those of earlier questions."""
        said = [m for m in messages if isinstance(m, HumanMessage) and not isinstance(m, MemoryMessage)]
        request = said[-1] if said else None
        current = [m for m in messages if isinstance(m, QuestionMessage) or not isinstance(m, HumanMessage)]
        if request and request not in current:
            current.append(request)
        text = without_fenced(str(request.text)) if request else ""
        asked = (
            request if isinstance(request, QuestionMessage) else QuestionMessage(content=text, question=text)
        )
        since = takewhile(lambda message: message is not request, reversed(messages))
        results = [str(message.text) for message in since if isinstance(message, ToolMessage)]
        known = () if asked.tool_output is None else (asked.tool_output,)
        return cls(
            request=request,
            question=asked.question,
            earlier=(
                *read_remembered(messages, USER_SAID, USER_WANTS),
                *(without_fenced(str(message.text)) for message in said[:-1]),
                *asked.earlier,
            ),
            sources=tuple(read_fenced("\n".join(str(message.text) for message in current))),
            outputs=tuple(map(without_fenced, [*known, *reversed(results)])),
            is_off=asked.is_off,
        )

    @property
    def query(self) -> str:
        """What to search for: the question, behind the last whole one if it says nothing to search for.

        A question that begins like the end of another one (`And in b.pdf?`) asks the same of another file.
        """
        rest = without_files(self.question)
        asks_the_same = rest != self.question and continues(rest) and not has_subject(rest)
        if (has_subject(self.question) or names_documents(self.question)) and not asks_the_same:
            return self.question
        before = last_whole(self.earlier)
        return f"{without_files(before) if asks_the_same else before} {self.question}".lstrip()


Filler = Callable[[Conversation], BaseModel]
"""Fills one structured output without a model."""


class OfflineModel(BaseChatModel):
    """Shows the passages closest to a question, calls the search for them, and otherwise says what it is.

    `fill` has a function for each structured output; a subclass of a registered schema is filled by the
    same function. Any other structured output raises NotImplementedError.
    """

    counter: SkipValidation[TokenCounter] = Field(exclude=True)
    fill: Mapping[type[BaseModel], SkipValidation[Filler]] = Field(default={}, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "extractive"

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

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(await asyncio.to_thread(self._reply, messages, kwargs)):
            yield chunk

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        conversation = Conversation.read(messages)
        # The tools to call: the structured output that was asked for, or the search.
        offered = [tool["function"]["name"] for tool in options.get("tools") or []]
        filler: Filler | None = options.get("filler")
        if filler is not None:
            calls = [(offered[0], filler(conversation).model_dump())]
        elif SEARCH not in offered or conversation.outputs or says_nothing_to_find(conversation.question):
            calls = []
        else:
            calls = [(SEARCH, {"query": conversation.query, "top_k": PASSAGES})]
        text = "" if calls else _answer(conversation)
        read = sum(self.counter.count(str(message.text)) for message in messages)
        written = self.counter.count(text or json.dumps(calls))
        return AIMessage(
            content=text,
            tool_calls=[
                tool_call(name=name, args=arguments, id=f"call_{len(conversation.outputs) + number}_{name}")
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
    question, outputs = conversation.question, conversation.outputs
    if conversation.sources:
        return closest_passages(conversation.query, conversation.sources, are_found=bool(outputs))
    if outputs:
        failures = _failures(outputs[-1])
        return " ".join(f"A tool failed: {each}" for each in failures) or not_found_answer(question)
    if is_small_talk(question):
        return f"Hello! {OFFLINE_INTRODUCTION}{TALK}"
    otherwise = in_language_of(question, OFFLINE_SEARCH_OFF) if conversation.is_off else OFFLINE_INTRODUCTION
    return f"{recall(question, conversation.earlier) or otherwise}{TALK}"


def recall(question: str, earlier: Sequence[str]) -> str | None:
    """The latest of the earlier sentences that have most words of the question; None if all have few."""
    asked = QuestionTerms(question)
    own = (" ".join(own_words(text).split()) for text in earlier)
    said = [each for text in own for each in sentences(text) if is_statement(each)]
    covered = [frozenset(asked.terms).intersection(asked.terms_of(each)) for each in said]
    weights = floored(idf_of_terms(asked.terms, covered))
    shares = [coverage(weights, terms) for terms in covered]
    best = max([ENOUGH, *shares])
    found = [each for each, share in zip(said, shares, strict=True) if share == best]
    return f"Earlier in this conversation you said: “{found[-1]}”" if found else None


def _failures(output: str) -> list[str]:
    """Why the tools failed, if all of them did; their results are JSON."""
    try:
        found = json.loads(unescape(output))
    except (ValueError, RecursionError):
        return []
    results = found if isinstance(found, list) else [found]
    failed = [result["error"] for result in results if isinstance(result, dict) and result.get("error")]
    return list(dict.fromkeys(failed)) if len(failed) == len(results) else []


def says_nothing_to_find(message: str) -> bool:
    """Whether it is small talk, or what users say of themselves, for which no document is searched."""
    return is_small_talk(message) or is_statement(message)


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
