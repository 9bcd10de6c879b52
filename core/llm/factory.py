"""Builds the chat models that the settings ask for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.llm.errors import ModelMisconfigured
from core.llm.extractive import ExtractiveChatModel
from core.llm.model import ChatModel
from core.llm.tokens import TokenCounter
from core.settings import CoreSettings

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Role = Literal["planner", "writer", "analyst"]

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 5.0
NO_KEY = "none"
"""Sent to a server of one's own that asks for no key: the client insists on having one."""


@dataclass(frozen=True, slots=True)
class ChatModels:
    """The models of one process, over one HTTP client. Close it once, when the process ends."""

    planner: ChatModel
    writer: ChatModel
    http: "AsyncClient | None" = None

    async def aclose(self) -> None:
        """Close the connections that the models share."""
        if self.http is not None:
            await self.http.aclose()


def build_chat_models(settings: CoreSettings, counter: TokenCounter) -> ChatModels:
    """The models for all roles; see `build_chat_model`."""
    http = open_http(settings) if endpoint_of(settings) else None
    return ChatModels(
        planner=build_chat_model(settings, "planner", counter, http),
        writer=build_chat_model(settings, "writer", counter, http),
        http=http,
    )


def build_chat_model(
    settings: CoreSettings, role: Role, counter: TokenCounter, http: "AsyncClient | None" = None
) -> ChatModel:
    """The model for a role: a provider's where a key or an address is set, else the offline one.

    Raises ModelMisconfigured where a setting is missing. Connects to nothing, but imports the
    provider's library (0.8 s) where it is needed. A given `http` stays the caller's to close;
    otherwise the model opens one of its own and `ChatModel.aclose` closes it.
    """
    endpoint = endpoint_of(settings)
    if endpoint is None:
        return ChatModel(ExtractiveChatModel(counter=counter), counter, name="extractive")
    return _build_openai(settings, endpoint, _model_name(settings, role), counter, http)


def describe(settings: CoreSettings) -> str:
    """Which models answer and where, for people; holds no secrets."""
    endpoint = endpoint_of(settings)
    if endpoint is None:
        return "offline extractive model (no OPENAI_API_KEY, OPENAI_BASE_URL or AZURE_OPENAI_ENDPOINT)"
    names = {_model_name(settings, "writer"): None, _model_name(settings, "planner"): None}
    return f"{' and '.join(names)} at {urlsplit(endpoint.url).hostname}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider answers, and the key that it asks for."""

    url: str
    key: SecretStr


def endpoint_of(settings: CoreSettings) -> Endpoint | None:
    """The provider that the settings name, if any. Raises ModelMisconfigured where its key is missing."""
    if settings.azure_openai_endpoint:
        if settings.azure_openai_api_key is None:
            raise ModelMisconfigured(
                "AZURE_OPENAI_ENDPOINT is set without a key: set AZURE_OPENAI_API_KEY.", code="model_auth"
            )
        url = f"{settings.azure_openai_endpoint.rstrip('/')}/openai/v1/"
        return Endpoint(url, settings.azure_openai_api_key)
    if settings.openai_api_key or settings.openai_base_url:
        key = settings.openai_api_key or SecretStr(NO_KEY)
        return Endpoint(settings.openai_base_url or OPENAI_URL, key)
    return None


def _model_name(settings: CoreSettings, role: Role) -> str:
    named = {"planner": settings.planner_model, "analyst": settings.analysis_model}
    return named.get(role) or settings.chat_model


def _build_openai(
    settings: CoreSettings, endpoint: Endpoint, name: str, counter: TokenCounter, http: "AsyncClient | None"
) -> ChatModel:
    from langchain_openai import ChatOpenAI

    from core.llm.openai_errors import translate

    async def key() -> str:
        return endpoint.key.get_secret_value()

    client = http or open_http(settings)
    model = ChatOpenAI(
        model=name,
        base_url=endpoint.url,
        api_key=key,  # given as an async function, no client for blocking calls is built (0.13 s)
        http_async_client=client,
        timeout=client.timeout,
        max_retries=settings.model_retries,
        stream_usage=True,
        stream_chunk_timeout=0,  # the read timeout bounds silence too, and costs nothing per token
    )
    return ChatModel(
        model,
        counter,
        name=name,
        translate=translate,
        says_why_it_ends=True,
        close=None if http else client.aclose,
    )


def open_http(settings: CoreSettings) -> "AsyncClient":
    """A client with the settings' timeouts and the provider library's limits; the caller closes it."""
    from httpx2 import Timeout
    from openai import DefaultAsyncHttpxClient

    return DefaultAsyncHttpxClient(timeout=Timeout(settings.model_timeout_seconds, connect=CONNECT_SECONDS))
