"""LangChain's own models of APIs that are not like OpenAI's, called as Orc calls that one.

Each is in another package, which is an extra of Orc: docs/models.md.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from importlib import import_module
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata, add_usage

from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.errors import ModelMisconfigured
from orc_core.llm.messages import alternating
from orc_core.llm.provider import Provider

Reply = TypeVar("Reply", bound=AIMessage)

_CLASSES = {
    "langchain-anthropic": "ChatAnthropic",
    "langchain-google-genai": "ChatGoogleGenerativeAI",
    "langchain-mistralai": "ChatMistralAI",
}
_LIMITS = {"langchain-google-genai": "max_output_tokens"}
"""What the limit of an answer's length is called; elsewhere `max_tokens`."""
_LENGTH, _FILTERED = "length", "content_filter"
_REASONS: Mapping[str, str] = {
    "max_tokens": _LENGTH,
    "model_length": _LENGTH,
    "model_context_window_exceeded": _LENGTH,
    "refusal": _FILTERED,
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content", "spii"), _FILTERED),
}
"""Why an answer ended, in OpenAI's words; other reasons are its intended end."""


def build_other_chat(provider: Provider, name: str, facts: ModelFacts) -> BaseChatModel:
    """The provider's model of this name. Raises ModelMisconfigured if its package is not installed."""
    endpoint = provider.endpoint
    try:
        made = getattr(import_module(endpoint.package.replace("-", "_")), _CLASSES[endpoint.package])
    except ImportError as exc:
        raise ModelMisconfigured(
            f"The package {endpoint.package} is not installed: run `EXTRAS={endpoint.server} make run`,"
            f" or `pip install {endpoint.package}`."
        ) from exc
    temperature = {} if facts.temperature is None else {"temperature": facts.temperature}
    chat = made(
        model=name,
        api_key=endpoint.key,
        base_url=endpoint.url,
        timeout=int(provider.http.timeout.read or 0) or None,
        max_retries=provider.retries,
        **temperature,
    )
    return cast(BaseChatModel, OtherChat(chat, _LIMITS.get(endpoint.package, "max_tokens")))


class OtherChat:
    """What `ChatModel` calls of a LangChain model, in OpenAI's terms."""

    def __init__(self, chat: Any, limit: str) -> None:
        self._chat, self._limit = chat, limit

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> "OtherChat":
        """The model with tools."""
        return OtherChat(self._chat.bind_tools(tools, **options), self._limit)

    async def ainvoke(self, messages: Sequence[BaseMessage], **options: Any) -> AIMessage:
        """The whole reply."""
        chat, options = self._with(**options)
        reply: AIMessage = await chat.ainvoke(alternating(messages), **options)
        return _in_our_words(reply)

    async def astream(
        self, messages: Sequence[BaseMessage], **options: Any
    ) -> AsyncGenerator[AIMessageChunk, None]:
        """The pieces of the reply; the last one has the tokens of all."""
        chat, options = self._with(**options)
        used: UsageMetadata | None = None
        async with aclosing(chat.astream(alternating(messages), **options)) as chunks:
            async for chunk in chunks:
                used, chunk.usage_metadata = add_usage(used, chunk.usage_metadata), None
                yield _in_our_words(chunk)
        yield AIMessageChunk(content="", usage_metadata=used)

    def _with(
        self, *, tools: Sequence[Any] = (), max_tokens: int | None = None
    ) -> tuple[Any, dict[str, int]]:
        chat = self._chat.bind_tools(tools) if tools else self._chat
        return chat, {} if max_tokens is None else {self._limit: max_tokens}


def _in_our_words(reply: Reply) -> Reply:
    about = reply.response_metadata
    if reason := about.get("finish_reason") or about.get("stop_reason"):
        about["finish_reason"] = _REASONS.get(str(reason).casefold(), str(reason))
    return reply
