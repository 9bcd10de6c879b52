"""Calls of models as spans and in metrics, without what was said unless the settings ask for it."""

from contextlib import aclosing

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from opentelemetry import trace
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from devkit.fakes import ScriptedModel, WordCounter, collect
from devkit.recorded_telemetry import Recorded
from orc_core.errors import DependencyDown
from orc_core.infra.resilience import CircuitBreaker
from orc_core.infra.telemetry.spans import span
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.embeddings import OpenAIEmbedder
from orc_core.llm.errors import ReplyCut

ASKED = [SystemMessage("Be brief."), HumanMessage("Where is the quokka?")]
REPLY = AIMessage(
    "The quokka sleeps.",
    response_metadata={"finish_reason": "stop", "model_name": "gpt-4o-2024"},
    usage_metadata={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10},
)


def chat_model(reply: AIMessage | Exception, *, records_content: bool = False) -> ChatModel:
    def answer(_messages: object, _options: object) -> AIMessage:
        if isinstance(reply, Exception):
            raise reply
        return reply

    scripted = ScriptedModel(script=answer, calls=[])
    return ChatModel(
        scripted,
        WordCounter(),
        name="gpt-4o",
        role="critic",
        provider="openai",
        records_content=records_content,
        translate=lambda exc: DependencyDown(str(exc), dependency="model"),
    )


def budget() -> CallBudget:
    return CallBudget(max_calls=1)


async def test_a_call_is_recorded_by_the_conventions(recorded: Recorded) -> None:
    with span("turn"):
        await chat_model(REPLY).complete(ASKED, budget=budget(), max_tokens=50)
    attributes = recorded.attributes("chat gpt-4o")
    assert attributes.pop("gen_ai.response.time_to_first_chunk")
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.request.max_tokens": 50,
        "gen_ai.response.model": "gpt-4o-2024",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "orc.model.role": "critic",
        "orc.usage.estimated": False,
    }
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for name in attributes if not name.startswith("orc.")} <= known
    assert recorded.span("chat gpt-4o").kind is trace.SpanKind.CLIENT


async def test_a_streams_span_ends_with_the_stream_and_has_no_child_spans(recorded: Recorded) -> None:
    with span("turn"):
        async with aclosing(chat_model(REPLY).stream(ASKED, budget=budget())) as deltas:
            async for _ in deltas:
                assert recorded.names == []
                with span("reader"):
                    pass
                break
    reader, chat, turn = recorded.spans
    assert (reader.name, chat.name, turn.name) == ("reader", "chat gpt-4o", "turn")
    assert reader.parent == chat.parent == turn.context
    assert chat.status.is_ok
    attributes = recorded.attributes("chat gpt-4o")
    assert attributes["gen_ai.usage.output_tokens"]
    assert attributes["gen_ai.response.time_to_first_chunk"]


@pytest.mark.parametrize("records_content", [False, True])
async def test_content_is_recorded_only_if_the_settings_say_so(
    recorded: Recorded, records_content: bool
) -> None:
    model = chat_model(REPLY, records_content=records_content)
    with span("turn"):
        await collect(model.stream(ASKED, budget=budget()))
    recorded_json = recorded.span("chat gpt-4o").to_json()
    assert ("Where is the quokka?" in recorded_json) is records_content
    assert ("The quokka sleeps." in recorded_json) is records_content


async def test_content_is_bounded(recorded: Recorded) -> None:
    long = [HumanMessage("quokka " * 10_000)] * 30
    with span("turn"):
        await chat_model(REPLY, records_content=True).complete(long, budget=budget())
    assert len(str(recorded.attributes("chat gpt-4o")["gen_ai.input.messages"])) < 200_000


async def test_a_call_that_failed_says_how_and_not_what(recorded: Recorded) -> None:
    with pytest.raises(DependencyDown), span("turn"):
        await chat_model(RuntimeError("quokka")).complete(ASKED, budget=budget())
    assert recorded.attributes("chat gpt-4o")["error.type"] == "dependency_down"
    assert "quokka" not in "".join(span.to_json() for span in recorded.spans)
    assert recorded.counted("gen_ai.client.operation.duration", error__type="dependency_down") > 0


async def test_tokens_and_time_are_counted_with_no_trace_too(recorded: Recorded) -> None:
    before = recorded.counted("gen_ai.client.token.usage", gen_ai__token__type="input")
    await chat_model(REPLY).complete(ASKED, budget=budget())
    assert recorded.counted("gen_ai.client.token.usage", gen_ai__token__type="input") == before + 1
    assert recorded.names == []


async def test_an_answer_that_was_cut_says_why(recorded: Recorded) -> None:
    cut = AIMessage("The quokka", response_metadata={"finish_reason": "length"})
    with pytest.raises(ReplyCut), span("turn"):
        await chat_model(cut).complete(ASKED, budget=budget())
    assert recorded.attributes("chat gpt-4o")["gen_ai.response.finish_reasons"] == ("length",)


async def test_embeddings_are_calls_too(recorded: Recorded) -> None:
    class Vectors:
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0] for _ in texts]

    breaker = CircuitBreaker("model", lambda _exc: None)
    embedder = OpenAIEmbedder(Vectors(), WordCounter(), name="small", breaker=breaker, provider="openai")  # type: ignore[arg-type]
    with span("turn"):
        await embedder.embed_query("quokka")
    assert recorded.names == ["embeddings small", "turn"]
    assert recorded.attributes("embeddings small")["gen_ai.operation.name"] == "embeddings"
