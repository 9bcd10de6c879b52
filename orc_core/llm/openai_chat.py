"""LangChain's model of OpenAI's APIs, as Orc uses it. Imports openai (0.8 s)."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Set
from contextlib import aclosing, suppress
from typing import Any, Protocol, Self, cast

from httpx2 import Request
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from openai import APIError, AsyncOpenAI, AsyncStream

from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.messages import alternating
from orc_core.llm.provider import Provider
from orc_core.llm.structured_outputs import Part

JOINED_SECONDS = 0.01
"""After a text, the texts of this time are passed on together. A screen shows a picture for longer, and each
piece passes a dozen layers in two processes before it is shown."""

NEEDED = frozenset(
    ("model", "messages", "input", "stream", "tools", "tool_choice", "response_format", "text", "store")
)
"""The fields of a request without options, in both APIs."""
Piece = dict[str, Any]


class Pieces(Protocol):
    """An open stream of pieces as plain JSON."""

    def __aiter__(self) -> AsyncIterator[Any]: ...

    async def close(self) -> None:
        """Close the connection."""


class PlainCompletions:
    """The library's chat completions as LangChain calls them, with replies and their pieces as plain dicts.

    The library would build objects of each, which LangChain takes apart again: half of the time of a call.
    What servers leave out of a reply, or write in another type, is as OpenAI documents it.
    """

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client

    async def create(self, **payload: Any) -> Any:
        """The reply, or with `stream` its pieces."""
        url = "/chat/completions"
        options: Any = {"security": {"bearer_auth": True}}
        if payload.get("stream"):
            stream = await self._client.post(
                url,
                body=payload,
                options=options,
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
            if "json" not in stream.response.headers.get("content-type", ""):
                return JoinedPieces(stream)
            # The server does not stream, or names the wrong type.
            body = (await stream.response.aread()).decode("utf-8", "replace")
            pieces = re.findall(r"^data: ?(\{.*)", body, re.MULTILINE) or [body]
            return aclosing(_read_before([self._read(json.loads(piece)) for piece in pieces]))
        reply = await self._client.post(url, body=payload, options=options, cast_to=object)
        if isinstance(reply, str):
            # Some servers send JSON as another type of content.
            with suppress(json.JSONDecodeError):
                reply = json.loads(reply)
        return self._read(reply)

    def _read(self, reply: Any) -> Any:
        """The reply; raises the error that it may have with a status of success."""
        if isinstance(reply, dict) and (problem := reply.get("error")):
            request = Request("POST", self._client.base_url)
            raise APIError(str(problem), request, body=problem)
        return as_documented(reply, "message")


async def _read_before(pieces: list[Piece]) -> AsyncGenerator[Piece, None]:
    """The pieces of a reply that has come as a whole."""
    for piece in pieces:
        choices = [{**each, "delta": each.get("delta") or each["message"]} for each in piece["choices"]]
        yield as_documented({**piece, "choices": choices}, "delta")


def as_documented(reply: Any, part: str) -> Any:
    """A reply or a piece of one, with what LangChain reads of its `part` where servers leave it out."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        said = choice[part] = choice.get(part) or {}
        said["role"] = "assistant"
        if refusal := said.get("refusal"):  # as blocks of the responses API, because LangChain drops it
            said["content"] = [{"type": "refusal", "refusal": str(refusal)}]
        for index, call in enumerate(said.get("tool_calls") or ()):
            call["index"] = index if call.get("index") is None else call["index"]
            if isinstance(arguments := call.get("function", {}).get("arguments"), dict):
                call["function"]["arguments"] = json.dumps(arguments)
    return reply


class JoinedPieces:
    """The pieces of a stream. Texts that come within a few milliseconds become one piece.

    It reads in a separate task, and passes on at once the first text and what is not text. The context closes
    the stream.
    """

    def __init__(self, stream: Pieces, seconds: float = JOINED_SECONDS) -> None:
        self._stream = stream
        self._seconds = seconds
        self._waiting: list[Piece] = []
        self._last_is_text = False
        self._has_come = asyncio.Event()
        self._is_due = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reading.cancel()
        try:
            await asyncio.gather(self._reading, return_exceptions=True)
        finally:
            await self._stream.close()

    async def __aiter__(self) -> AsyncGenerator[Piece, None]:
        """The pieces in order; then raises what has ended the stream, if that was an error."""
        clock = asyncio.get_running_loop().time
        due_at = clock()
        while self._waiting or not self._reading.done():
            await self._has_come.wait()
            if not self._is_due.is_set() and clock() < due_at:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(due_at):
                        await self._is_due.wait()
            pieces, self._waiting = self._waiting, []
            self._has_come.clear()
            self._is_due.clear()
            for piece in pieces:
                yield piece
            if any(map(_text_of, pieces)):
                due_at = clock() + self._seconds
        await self._reading

    async def _read(self) -> None:
        try:
            async for piece in self._stream:
                text = _text_of(piece)
                if text is None:
                    as_documented(piece, "delta")
                    self._is_due.set()
                if text is not None and self._waiting and self._last_is_text:
                    self._waiting[-1]["choices"][0]["delta"]["content"] += text
                else:
                    self._waiting.append(piece)
                self._last_is_text = text is not None
                self._has_come.set()
        finally:
            self._is_due.set()
            self._has_come.set()


def _text_of(piece: object) -> str | None:
    """The text of a piece that has nothing else to say; None for any other piece."""
    match piece:
        case {"choices": [{"delta": {"content": str(text), **delta}, **choice}], **around}:
            delta.pop("role", None)
            says_more = [*delta.values(), choice.get("finish_reason"), choice.get("logprobs")]
            is_first = not choice.get("index")
            return text if is_first and not any(says_more) and not around.get("usage") else None
    return None


class OpenAIChat(ChatOpenAI):
    """Calls the model without LangChain's callbacks, caches and threads: a quarter of the time of a call.

    `limits_as_max_tokens`: the server has OpenAI's earlier name of the limit. A request is sent `without` the
    parts that are named.
    """

    limits_as_max_tokens: bool = False

    def _get_request_payload(
        self,
        input_: LanguageModelInput,
        *,
        stop: list[str] | None = None,
        without: Set[Part] = frozenset(),
        **kwargs: Any,
    ) -> dict[str, Any]:
        payload = super()._get_request_payload(input_, stop=stop, **kwargs)
        limit = payload.pop("max_completion_tokens", None) if self.limits_as_max_tokens else None
        if limit is not None:
            payload["max_tokens"] = limit
        if Part.OPTIONS in without:
            payload = {name: value for name, value in payload.items() if name in NEEDED}
        return payload

    def _asked(
        self, input_: LanguageModelInput, *, without: Set[Part] = frozenset(), **_: Any
    ) -> list[BaseMessage]:
        messages = self._convert_input(input_).to_messages()
        if Part.SYSTEM in without:
            messages = [
                HumanMessage(each.content) if isinstance(each, SystemMessage) else each for each in messages
            ]
        return alternating(messages)

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,  # noqa: ARG002
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        messages = self._asked(input, **kwargs)
        if self.use_responses_api:
            result = await self._agenerate(messages, stop, **kwargs)
        else:
            payload = self._get_request_payload(messages, stop=stop, **kwargs)
            result = self._create_chat_result(await self.async_client.create(**payload))
        return cast(AIMessage, _message_of(result.generations[0], result.llm_output))

    async def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,  # noqa: ARG002
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[AIMessageChunk, None]:
        if Part.STREAM in kwargs.get("without", ()):
            whole = await self.ainvoke(input, stop=stop, **kwargs)
            yield AIMessageChunk(**whole.model_dump(exclude={"type"}))
            return
        messages, is_empty = self._asked(input, **kwargs), True
        stream = cast(AsyncGenerator[ChatGenerationChunk, None], self._astream(messages, stop, **kwargs))
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                is_empty = False
                yield cast(AIMessageChunk, _message_of(chunk))
        if is_empty:
            raise ValueError("the stream has no chunks")


def _message_of(generation: ChatGeneration, about: dict[str, Any] | None = None) -> BaseMessage:
    """The message with what the reply says about it, as LangChain's own calls leave it."""
    message = generation.message
    known = {**(about or {}), **(generation.generation_info or {}), **message.response_metadata}
    message.response_metadata = known
    return message


def build_openai_chat(provider: Provider, name: str, facts: ModelFacts, *, responses: bool) -> OpenAIChat:
    """The provider's model of this name, by chat completions or by the responses API.

    No temperature is sent unless the facts have one, because reasoning models refuse it.
    """
    # LangChain would choose the API by the model's name. The responses API stores prompts and answers for
    # 30 days unless it is asked not to.
    api: dict[str, Any] = {"use_responses_api": responses, **({"store": False} if responses else {})}
    if facts.reasoning_effort is not None:
        api["reasoning_effort"] = facts.reasoning_effort
    chat = OpenAIChat(
        model=name,
        base_url=provider.endpoint.url,
        api_key=provider.key,
        http_async_client=provider.http,
        timeout=provider.http.timeout,
        max_retries=provider.retries,
        temperature=facts.temperature,
        stream_usage=True,
        limits_as_max_tokens=provider.endpoint.runs_models,
        stream_chunk_timeout=0,  # the read timeout bounds silence too, and costs nothing per token
        **api,
    )
    chat.async_client = PlainCompletions(chat.root_async_client)
    return chat
