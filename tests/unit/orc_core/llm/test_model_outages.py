"""Outages of a provider open its circuit; refused requests do not."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from email.utils import formatdate

import pytest
from langchain_core.messages import HumanMessage

from devkit.clock import Clock
from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply
from devkit.fakes import collect
from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.resilience import FAILURES_IN_A_ROW, OPEN_SECONDS, CircuitBreaker, CircuitOpen
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.embeddings import build_embedder
from orc_core.llm.errors import MODEL, seconds_to_wait
from orc_core.llm.factory import ChatModels, build_chat_models
from orc_core.llm.openai_errors import translate
from orc_core.llm.provider import Provider, open_provider
from orc_core.llm.tokens import TokenCounter
from tests.unit.orc_core.conftest import Build, MakeSettings

ASKED = [HumanMessage("Hello?")]
OUTAGES = [Failure(status=503), Failure(status=429), Failure(status=500)]
REFUSALS = [
    Failure(status=400, code="context_length_exceeded"),
    Failure(status=400, code="content_filter"),
    Failure(status=413),
    Failure(status=404),
    Failure(status=401),
]


@pytest.fixture
def settings(base_url: str, make_settings: MakeSettings) -> CoreSettings:
    return make_settings(openai_base_url=base_url, embedding_model="vectors", model_retries=0)


@pytest.fixture
async def provider(settings: CoreSettings, clock: Clock) -> AsyncIterator[Provider]:
    opened = open_provider(settings)
    assert opened is not None
    yield replace(opened, chat=CircuitBreaker(MODEL, translate, clock=clock))
    await opened.aclose()


@pytest.fixture
def models(settings: CoreSettings, counter: TokenCounter, provider: Provider) -> ChatModels:
    return build_chat_models(settings, counter, provider)


async def fail(model: ChatModel, times: int = FAILURES_IN_A_ROW) -> None:
    """Fails so many calls, alternately whole answers and streams."""
    for number in range(times):
        budget = CallBudget(1)
        with pytest.raises(OrcError):
            if number % 2:
                await model.complete(ASKED, budget=budget)
            else:
                await collect(model.stream(ASKED, budget=budget))


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: str(outage.status))
async def test_failures_in_a_row_open_the_circuit_for_all_roles(
    outage: Failure, models: ChatModels, double: OpenAIDouble
) -> None:
    double.script.failures.extend([outage] * FAILURES_IN_A_ROW)
    await fail(models.writer)
    with pytest.raises(CircuitOpen) as raised:
        await models.planner.complete(ASKED, budget=CallBudget(1))
    assert raised.value.dependency == "model"
    assert len(double.requests) == FAILURES_IN_A_ROW


async def test_calls_succeed_a_second_after_the_circuit_opened(
    models: ChatModels, double: OpenAIDouble, clock: Clock
) -> None:
    double.script.failures.extend([Failure(status=503)] * FAILURES_IN_A_ROW)
    await fail(models.writer)
    clock.now += OPEN_SECONDS
    assert await models.writer.complete(ASKED, budget=CallBudget(1)) == "You said: Hello?"


@pytest.mark.slow
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: f"{refusal.status} {refusal.code}")
async def test_a_refused_request_is_not_an_outage(
    refusal: Failure, models: ChatModels, double: OpenAIDouble
) -> None:
    double.script.failures.extend([refusal] * 2 * FAILURES_IN_A_ROW)
    await fail(models.writer, times=2 * FAILURES_IN_A_ROW)
    assert await models.writer.complete(ASKED, budget=CallBudget(1)) == "You said: Hello?"


async def test_a_stream_that_breaks_off_later_is_not_an_outage(
    models: ChatModels, double: OpenAIDouble
) -> None:
    double.script.failures.extend([Failure(after_tokens=1)] * 2 * FAILURES_IN_A_ROW)
    for _ in range(2 * FAILURES_IN_A_ROW):
        with pytest.raises(DependencyDown):
            await collect(models.writer.stream(ASKED, budget=CallBudget(1)))
    assert await models.writer.complete(ASKED, budget=CallBudget(1)) == "You said: Hello?"


async def test_an_outage_of_embeddings_leaves_the_chat_open(
    settings: CoreSettings,
    models: ChatModels,
    counter: TokenCounter,
    provider: Provider,
    double: OpenAIDouble,
) -> None:
    double.script.embedding_failures.extend([Failure(status=429)] * FAILURES_IN_A_ROW)
    embedder = build_embedder(settings, counter, provider)
    assert embedder is not None
    for _ in range(FAILURES_IN_A_ROW):
        with pytest.raises(DependencyDown):
            await embedder.embed_query("text")
    with pytest.raises(CircuitOpen):
        await embedder.embed_query("text")
    assert len(double.requests) == FAILURES_IN_A_ROW
    assert await models.writer.complete(ASKED, budget=CallBudget(1)) == "You said: Hello?"


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("header", [{"retry-after": "90"}, {"retry-after-ms": "90000"}])
async def test_a_long_wait_is_reported_and_not_waited_for(
    header: dict[str, str], retries: int, base_url: str, build: Build, double: OpenAIDouble
) -> None:
    model = build(openai_base_url=base_url, model_retries=retries)
    double.script.failures.extend([Failure(status=429, headers=header)] * 3)
    async with asyncio.timeout(2):
        with pytest.raises(DependencyDown) as raised:
            await model.complete(ASKED, budget=CallBudget(1))
    assert (raised.value.code, raised.value.retry_after) == ("model_busy", 90)
    assert len(double.requests) == 1


async def test_a_silent_model_is_asked_once(base_url: str, build: Build, double: OpenAIDouble) -> None:
    model = build(openai_base_url=base_url, model_retries=2, model_timeout_seconds=0.1)
    double.script.replies.append(Reply(text="Late.", delay_ms=1000))
    with pytest.raises(DependencyDown) as raised:
        await model.complete(ASKED, budget=CallBudget(1))
    assert raised.value.code == "model_timeout"
    assert len(double.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1.5),
    ],
)
def test_a_wait_is_read_as_a_number_or_as_a_date(headers: dict[str, str], seconds: float) -> None:
    assert seconds_to_wait(headers) == seconds
    later = formatdate(time.time() + 100, usegmt=True)
    assert seconds_to_wait({"retry-after": later}) == pytest.approx(100, abs=2)
