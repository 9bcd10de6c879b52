"""Which model the settings give."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, Field

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply
from devkit.fakes import collect
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.embeddings import build_embedder
from orc_core.llm.errors import ModelMisconfigured
from orc_core.llm.factory import build_chat_model, build_chat_models, describe
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TokenCounter
from orc_core.offline.model import OfflineModel
from tests.unit.orc_core.conftest import Build, MakeSettings, OpenFor

ASKED = [HumanMessage("Hello?")]


def build_offline(counter: TokenCounter) -> OfflineModel:
    return OfflineModel(counter=counter)


async def test_without_a_key_the_offline_model_answers(
    make_settings: MakeSettings, counter: TokenCounter
) -> None:
    models = build_chat_models(make_settings(), counter, None, offline=build_offline)
    answer = await models.writer.complete(ASKED, budget=CallBudget(1))
    assert "without a language model" in answer
    assert models.writer.name == "extractive"


async def test_a_model_whose_address_cannot_be_used_says_so_when_it_is_asked(build: Build) -> None:
    model = build(openai_base_url="http://model.example:port/v1")
    with pytest.raises(ModelMisconfigured, match="OPENAI_BASE_URL"):
        await model.complete(ASKED, budget=CallBudget(1))


def test_without_an_offline_model_a_missing_provider_is_an_error(
    make_settings: MakeSettings, counter: TokenCounter
) -> None:
    with pytest.raises(ModelMisconfigured, match="OPENAI_API_KEY"):
        build_chat_model(make_settings(), "writer", counter, None)


async def test_roles_have_separate_models_on_one_connection_pool(
    make_settings: MakeSettings,
    open_for: OpenFor,
    counter: TokenCounter,
    double: OpenAIDouble,
    base_url: str,
) -> None:
    settings = make_settings(openai_base_url=base_url, chat_model="big", planner_model="small")
    provider = open_for(settings)
    models = build_chat_models(settings, counter, provider)
    await models.planner.complete(ASKED, budget=CallBudget(1))
    await models.writer.complete(ASKED, budget=CallBudget(1))
    assert [request.body["model"] for request in double.requests] == ["small", "big"]
    await provider.aclose()
    for model in (models.planner, models.writer):
        with pytest.raises(RuntimeError, match="closed"):
            await model.complete(ASKED, budget=CallBudget(1))


@pytest.mark.slow
async def test_only_files_go_through_azures_responses_api(
    build: Build, azure_url: str, double: OpenAIDouble
) -> None:
    file = {"type": "file", "base64": "", "mime_type": "application/pdf", "filename": "a.pdf"}
    model = build(azure_openai_endpoint=f"{azure_url}/", azure_openai_api_key="secret")
    await model.complete(ASKED, budget=CallBudget(1))
    await model.complete([HumanMessage([file, {"type": "text", "text": "Hello?"}])], budget=CallBudget(1))
    paths = [request.path for request in double.requests]
    assert paths == ["/openai/v1/chat/completions", "/openai/v1/responses"]


async def test_the_responses_api_stores_nothing(build: Build, base_url: str, double: OpenAIDouble) -> None:
    model = build(openai_base_url=base_url, responses_api=True)
    await model.complete(ASKED, budget=CallBudget(1))
    assert double.requests[0].path == "/v1/responses"
    assert double.requests[0].body["store"] is False


def test_azure_without_a_key_names_the_missing_setting(make_settings: MakeSettings) -> None:
    settings = make_settings(azure_openai_endpoint="https://team.openai.azure.com")
    with pytest.raises(ModelMisconfigured, match="AZURE_OPENAI_API_KEY"):
        open_provider(settings)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "the offline extractive model"),
        ({"openai_api_key": "sk-secret"}, "gpt-5.1 at api.openai.com"),
        (
            {"openai_base_url": "http://user:pw@localhost:1/v1", "chat_model": "a", "planner_model": "b"},
            "a and b at localhost",
        ),
        (
            {"azure_openai_endpoint": "https://x.openai.azure.com", "azure_openai_api_key": "secret"},
            "gpt-5.1 at x.openai.azure.com",
        ),
        ({"azure_openai_endpoint": "https://x.openai.azure.com"}, "gpt-5.1 at x.openai.azure.com"),
    ],
)
def test_describe_names_the_models_and_no_secrets(
    given: dict[str, str], expected: str, make_settings: MakeSettings
) -> None:
    described = describe(make_settings(**given))
    assert described.startswith(expected)
    assert "secret" not in described
    assert "pw" not in described


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"openai_api_key": "sk"}, "text-embedding-3-small"),
        ({"openai_api_key": "sk", "openai_base_url": "https://api.openai.com/v1"}, "text-embedding-3-small"),
        ({"openai_api_key": "sk", "openai_base_url": "http://localhost:1/v1"}, None),
        ({"openai_base_url": "http://localhost:1/v1", "embedding_model": "own"}, "own"),
        ({"azure_openai_endpoint": "https://x.openai.azure.com", "azure_openai_api_key": "k"}, None),
        ({"embedding_model": "own"}, None),
        ({"openai_api_key": "sk", "embedding_model": "off"}, None),
        ({"openai_api_key": "sk", "embedding_model": ""}, None),
    ],
)
def test_a_key_of_openai_alone_brings_vectors(
    given: dict[str, str],
    expected: str | None,
    make_settings: MakeSettings,
    open_for: OpenFor,
    counter: TokenCounter,
) -> None:
    settings = make_settings(**given)
    provider = open_for(settings) if settings.has_model else None
    embedder = build_embedder(settings, counter, provider)
    assert (embedder.name if embedder else None) == expected


class Issue(BaseModel):
    """What is wrong."""

    text: str


class Verdict(BaseModel):
    """A verdict with all that schemas have."""

    action: Literal["accept", "revise"]
    coverage: float = Field(ge=0, le=1)
    issues: list[Issue] = Field(default=[], max_length=3)
    query: str | None = None


AZURE_SETTINGS = {"azure_openai_api_key": "secret", "model_retries": 0}


@pytest.mark.parametrize("responses", [False, True], ids=["chat completions", "responses"])
async def test_a_reply_is_held_to_a_schema_where_the_provider_can_do_that(
    responses: bool, build: Build, azure_url: str, double: OpenAIDouble
) -> None:
    double.script.replies.append(
        Reply(text='{"action": "revise", "coverage": 0.5, "issues": [{"text": "x"}]}')
    )
    model = build("critic", azure_openai_endpoint=azure_url, responses_api=responses, **AZURE_SETTINGS)
    verdict = await model.structured(ASKED, Verdict, budget=CallBudget(1))
    assert (verdict.action, verdict.issues[0].text, verdict.query) == ("revise", "x", None)
    body = double.requests[0].body
    form = body["text"]["format"] if responses else body["response_format"]["json_schema"]
    assert form["strict"] is True
    schema = form["schema"]
    assert schema["required"] == ["action", "coverage", "issues", "query"]
    assert (
        schema["additionalProperties"]
        is schema["properties"]["issues"]["items"]["additionalProperties"]
        is False
    )
    assert not {"$ref", "$defs", "default", "minimum", "maxItems"} & set(_keys(schema))
    assert "tools" not in body


async def test_a_deployment_without_structured_outputs_is_asked_by_a_tool_call(
    build: Build, azure_url: str, double: OpenAIDouble
) -> None:
    double.script.failures.append(Failure(status=400))
    model = build("critic", azure_openai_endpoint=azure_url, **AZURE_SETTINGS)
    budget = CallBudget(5)
    for _ in range(2):
        assert (await model.structured(ASKED, Issue, budget=budget)).text == "Hello?"
    assert ["tools" in request.body for request in double.requests] == [False, True, True]
    assert budget.usage.model_calls == 3


async def test_a_reasoning_model_gets_its_effort_and_no_temperature(
    build: Build, base_url: str, double: OpenAIDouble
) -> None:
    model = build(openai_base_url=base_url, chat_model="gpt-5-mini")
    await collect(model.stream(ASKED, budget=CallBudget(1), max_tokens=300))
    body = double.requests[0].body
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("minimal", 1300)
    assert not {"temperature", "max_tokens"} & set(body)


def _keys(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (key for key in schema if key != "properties")
        for part in schema.values():
            yield from _keys(part)
