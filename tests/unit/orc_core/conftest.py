"""A provider's double and the models that talk to it."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from devkit.doubles.openai_double import OpenAIDouble, serving
from devkit.processes import ignore_running_children
from orc_core.infra.azure import Credentials
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import Role, build_chat_model
from orc_core.llm.provider import Provider, open_provider
from orc_core.llm.tokens import TokenCounter

MakeSettings = Callable[..., CoreSettings]
OpenFor = Callable[..., Provider]
Build = Callable[..., ChatModel]
PROVIDER_VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "AZURE_OPENAI_API_KEY",
    "ORC_CHAT_MODEL",
    "ORC_MODEL",
    "ORC_PLANNER_MODEL",
)


@pytest.fixture
def only_own_children() -> None:
    """For tests that count processes: they see those that they started. It looks at all of the machine."""
    ignore_running_children()


@pytest.fixture
def make_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MakeSettings:
    """Settings that come from the test alone."""
    for name in PROVIDER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda **given: CoreSettings(data_dir=tmp_path, **given)


@pytest.fixture
async def open_for() -> AsyncIterator[OpenFor]:
    """Opens the provider of some settings until the end of the test."""
    async with AsyncExitStack() as stack:

        def opened(settings: CoreSettings, credentials: Credentials | None = None) -> Provider:
            provider = open_provider(settings, credentials)
            assert provider is not None
            stack.push_async_callback(provider.aclose)
            return provider

        yield opened


@pytest.fixture
def counter() -> TokenCounter:
    return TokenCounter()


@pytest.fixture
def double() -> OpenAIDouble:
    return OpenAIDouble()


@pytest.fixture
def base_url(double: OpenAIDouble) -> Iterator[str]:
    with serving(double) as url:
        yield url


@pytest.fixture
def azure_url(double: OpenAIDouble) -> Iterator[str]:
    """The double as an endpoint of Azure OpenAI."""
    with serving(double, prefix="") as url:
        yield url


@pytest.fixture
def build(make_settings: MakeSettings, open_for: OpenFor, counter: TokenCounter) -> Build:
    """Makes a model of these settings."""

    def built(role: Role = "writer", **given: Any) -> ChatModel:
        settings = make_settings(**given)
        return build_chat_model(settings, role, counter, open_for(settings))

    return built


@pytest.fixture(params=["chat completions", "responses"])
def model(base_url: str, build: Build, request: pytest.FixtureRequest) -> ChatModel:
    """A chat model of the provider, without retries, by either of its APIs."""
    return build(
        model="openai:gpt-5.1",
        openai_base_url=base_url,
        responses_api=request.param == "responses",
        model_retries=0,
        model_timeout_seconds=5,
    )
