"""Which provider the settings name, and how this process proves to it who it is."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError
from langchain_core.messages import HumanMessage

from devkit.doubles.openai_double import OpenAIDouble
from orc_core.errors import DependencyDown
from orc_core.infra.azure import Credentials
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.embeddings import build_embedder
from orc_core.llm.factory import build_chat_model
from orc_core.llm.provider import ENTRA_SCOPE, Provider, open_provider
from orc_core.llm.tokens import TokenCounter
from tests.unit.orc_core.conftest import MakeSettings, OpenFor

ASKED = [HumanMessage("Hello?")]


class Identity(Credentials):
    """A process's identity, in place of Azure's. Its tokens live so long; `failure` comes instead of one."""

    def __init__(self, seconds: int = 3600) -> None:
        super().__init__()
        self.seconds = seconds
        self.failure: Exception | None = None
        self.asked: list[str] = []

    @property
    def default(self) -> Any:
        return self

    async def get_token(self, *scopes: str, **_options: object) -> AccessToken:
        self.asked += scopes
        if self.failure:
            raise self.failure
        return AccessToken(f"token-{len(self.asked)}", int(time.time()) + self.seconds)


@pytest.fixture
def identity() -> Identity:
    return Identity()


@pytest.fixture
def settings(make_settings: MakeSettings, azure_url: str) -> CoreSettings:
    """Azure OpenAI without a key."""
    return make_settings(azure_openai_endpoint=azure_url, embedding_model="vectors", model_retries=0)


@pytest.fixture
def model(settings: CoreSettings, provider: Provider, counter: TokenCounter) -> ChatModel:
    return build_chat_model(settings, "writer", counter, provider)


@pytest.fixture
async def provider(settings: CoreSettings, identity: Identity) -> AsyncIterator[Provider]:
    opened = open_provider(settings, identity)
    assert opened is not None
    yield opened
    await opened.aclose()


async def test_without_a_key_requests_carry_an_access_token(
    settings: CoreSettings,
    provider: Provider,
    model: ChatModel,
    identity: Identity,
    counter: TokenCounter,
    double: OpenAIDouble,
) -> None:
    embedder = build_embedder(settings, counter, provider)
    assert embedder is not None
    await model.complete(ASKED, budget=CallBudget(1))
    await embedder.embed_query("text")
    assert [request.authorization for request in double.requests] == ["Bearer token-1"] * 2
    assert double.requests[1].path == "/openai/v1/embeddings"
    assert identity.asked == [ENTRA_SCOPE]


async def test_an_expired_token_is_replaced(
    model: ChatModel, identity: Identity, double: OpenAIDouble
) -> None:
    identity.seconds = 1
    for _ in range(2):
        await model.complete(ASKED, budget=CallBudget(1))
    assert [request.authorization for request in double.requests] == ["Bearer token-1", "Bearer token-2"]


def refused(message: str) -> ClientAuthenticationError:
    """What the service said no to; without a response it could not be asked."""
    error = ClientAuthenticationError(message)
    error.response = cast(Any, object())
    error.status_code = 401
    return error


@pytest.mark.parametrize(
    ("failure", "retryable"),
    [
        (refused("no secret-canary"), False),
        (ClientAuthenticationError("no answer secret-canary"), True),
        (ServiceRequestError("down"), True),
    ],
)
async def test_a_failed_authentication_is_translated(
    failure: Exception, retryable: bool, model: ChatModel, identity: Identity, double: OpenAIDouble
) -> None:
    identity.failure = failure
    with pytest.raises(DependencyDown) as raised:
        await model.complete(ASKED, budget=CallBudget(1))
    assert (raised.value.dependency, raised.value.retryable) == ("model", retryable)
    assert "canary" not in raised.value.message
    assert double.requests == []


async def test_a_key_is_preferred_to_the_identity(
    make_settings: MakeSettings,
    open_for: OpenFor,
    identity: Identity,
    counter: TokenCounter,
    azure_url: str,
    double: OpenAIDouble,
) -> None:
    given = make_settings(azure_openai_endpoint=azure_url, azure_openai_api_key="the-key")
    model = build_chat_model(given, "writer", counter, open_for(given, identity))
    await model.complete(ASKED, budget=CallBudget(1))
    assert double.requests[0].authorization == "Bearer the-key"
    assert identity.asked == []


def test_without_settings_there_is_no_provider(make_settings: MakeSettings, identity: Identity) -> None:
    assert open_provider(make_settings(), identity) is None


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
async def test_requests_go_through_a_proxy_that_the_environment_names(
    make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        provider = open_provider(make_settings(openai_base_url="http://model.example/v1"))
        assert provider is not None
        await provider.ping("any")
        await provider.aclose()
    assert asked[0] == b"GET http://model.example/v1/models HTTP/1.1\r\n"
