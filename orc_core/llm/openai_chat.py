"""LangChain's model of OpenAI's APIs, as Orc uses it. Imports openai (0.8 s)."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, Protocol, Self, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, AsyncStream, BaseModel

from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.messages import alternating
from orc_core.llm.provider import Provider

JOINED_SECONDS = 0.01
"""After a text, the texts of this time are passed on together. A screen shows a picture for longer, and each
piece passes a dozen layers in two processes before it is shown."""

Piece = dict[str, Any]


class Pieces(Protocol):
    """An open stream of pieces as plain JSON."""

    def __aiter__(self) -> AsyncIterator[Any]: ...

    async def close(self) -> None:
        """Close the connection."""


class PlainCompletions:
    """The library's chat completions as LangChain calls them, with replies and their pieces as plain dicts.

    The library would build objects of each, which LangChain takes apart again: half of the time of a call.
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
            return JoinedPieces(stream)
        reply = await self._client.post(url, body=payload, options=options, cast_to=object)
        if isinstance(reply, str):
            # Some servers send JSON as another type of content.
            with suppress(json.JSONDecodeError):
                reply = json.loads(reply)
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

    It keeps the refusal of a reply, which LangChain drops in chat completions that are plain dicts.
    """

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,  # noqa: ARG002
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        messages = alternating(self._convert_input(input).to_messages())
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
        messages, is_empty = alternating(self._convert_input(input).to_messages()), True
        stream = cast(AsyncGenerator[ChatGenerationChunk, None], self._astream(messages, stop, **kwargs))
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                is_empty = False
                yield cast(AIMessageChunk, _message_of(chunk))
        if is_empty:
            raise ValueError("the stream has no chunks")

    def _create_chat_result(
        self, response: dict[str, Any] | BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        if isinstance(response, dict) and result.generations:
            refusal = response["choices"][0]["message"].get("refusal")
            result.generations[0].message.additional_kwargs["refusal"] = refusal
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        converted = super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )
        delta = choices[0].get("delta") if (choices := chunk.get("choices")) else None
        if converted is not None and delta and (refusal := delta.get("refusal")):
            converted.message.additional_kwargs["refusal"] = str(refusal)
        return converted


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
        stream_chunk_timeout=0,  # the read timeout bounds silence too, and costs nothing per token
        **api,
    )
    chat.async_client = PlainCompletions(chat.root_async_client)
    return chat
