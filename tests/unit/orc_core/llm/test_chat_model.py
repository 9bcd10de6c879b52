"""ChatModel and CallBudget against a provider's double."""

import asyncio
import json
from contextlib import aclosing

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply, Script, ToolCall
from devkit.fakes import ScriptedModel, WordCounter, collect
from orc_core.errors import BudgetExceeded, DependencyDown, OrcError
from orc_core.llm import chat_model
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.errors import (
    ContentFiltered,
    ContextTooLong,
    ModelMisconfigured,
    ModelOutputInvalid,
    ModelRefused,
    ReplyCut,
)
from orc_core.llm.structured_outputs import Abilities
from orc_core.models import Usage

pytestmark = pytest.mark.slow

ASKED = [SystemMessage("Be brief."), HumanMessage("How are you today?")]
PICTURE = {"type": "image_url", "image_url": "data:image/webp;base64,AA=="}
LISTING = {
    "type": "function",
    "function": {
        "name": "documents_list",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
    },
}


class RewrittenQuestion(BaseModel):
    """The question, on its own."""

    question: str


@pytest.fixture
def budget() -> CallBudget:
    return CallBudget(max_calls=5)


async def test_complete_returns_the_text_and_records_usage(model: ChatModel, budget: CallBudget) -> None:
    assert await model.complete(ASKED, budget=budget) == "You said: How are you today?"
    assert budget.usage == Usage(model_calls=1, input_tokens=6, output_tokens=6)


async def test_stream_yields_deltas_and_records_usage(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script = Script(delay_ms=30)
    deltas = [delta async for delta in model.stream(ASKED, budget=budget)]
    assert "".join(deltas) == "You said: How are you today?"
    assert 3 <= len(deltas) <= 6
    assert budget.usage == Usage(model_calls=1, input_tokens=6, output_tokens=6)


async def test_usage_is_estimated_if_the_provider_reports_none(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.replies.extend([Reply(text="one two three", usage=False)] * 2)
    await model.complete(ASKED, budget=budget)
    async for _ in model.stream(ASKED, budget=budget):
        pass
    assert budget.usage.estimated
    assert budget.usage.output_tokens == 6
    assert budget.usage.input_tokens > 0


async def test_a_delta_arrives_before_the_next_is_made(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script = Script(tokens=20, delay_ms=20)
    async for _ in model.stream(ASKED, budget=budget):
        assert double.requests[0].emitted < 5
        break


async def test_closing_a_stream_stops_the_provider_and_records_the_usage(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script = Script(text="word " * 200, delay_ms=5)
    async with aclosing(model.stream(ASKED, budget=budget)) as deltas:
        async for _ in deltas:
            break
    emitted = await _settled(double)
    assert emitted < 100
    assert not double.requests[0].finished
    assert budget.usage.model_calls == 1
    assert budget.usage.estimated
    assert budget.usage.output_tokens < 10


async def test_a_call_beyond_the_limit_is_not_made(model: ChatModel, double: OpenAIDouble) -> None:
    budget = CallBudget(max_calls=1)
    await model.complete(ASKED, budget=budget)
    with pytest.raises(BudgetExceeded):
        await model.complete(ASKED, budget=budget)
    with pytest.raises(BudgetExceeded):
        _ = [delta async for delta in model.stream(ASKED, budget=budget)]
    assert len(double.requests) == 1
    assert budget.usage.model_calls == 1


async def test_a_failed_call_counts(model: ChatModel, budget: CallBudget, double: OpenAIDouble) -> None:
    double.script.failures.append(Failure(status=500))
    with pytest.raises(DependencyDown):
        await model.complete(ASKED, budget=budget)
    assert budget.usage == Usage(model_calls=1)


async def test_structured_returns_the_schema(model: ChatModel, budget: CallBudget) -> None:
    filled = await model.structured(ASKED, RewrittenQuestion, budget=budget)
    assert filled == RewrittenQuestion(question="How are you today?")
    assert budget.usage.model_calls == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="I would rather not."),
        Reply(text=""),
        Reply(tool_calls=[ToolCall(name="RewrittenQuestion", arguments={"query": "Who?"})]),
        Reply(
            tool_calls=[ToolCall(name="RewrittenQuestion", arguments='{"question": "Wh')],
            finish_reason="length",
        ),
    ],
)
async def test_invalid_structured_output_is_translated(
    reply: Reply, model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.replies.extend([reply] * 2)
    with pytest.raises(ModelOutputInvalid):
        await model.structured(ASKED, RewrittenQuestion, budget=budget)


async def test_with_tools_the_whole_message_comes_last(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.replies.append(Reply(text="Let me look.", tool_calls=[ToolCall(name="documents_list")]))
    *deltas, message = [part async for part in model.stream_with_tools(ASKED, [LISTING], budget=budget)]
    assert "".join(map(str, deltas)) == "Let me look."
    assert isinstance(message, AIMessage)
    assert message.text == "Let me look."
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("documents_list", {})]
    [tool] = double.requests[0].body["tools"]
    assert (tool.get("function") or tool)["name"] == "documents_list"


async def test_tool_results_are_sent_with_their_calls(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.replies.append(Reply(text="Let me look.", tool_calls=[ToolCall(name="documents_list")]))
    *_, called = [part async for part in model.stream_with_tools(ASKED, [LISTING], budget=budget)]
    assert isinstance(called, AIMessage)
    result = ToolMessage("a.pdf", tool_call_id=called.tool_calls[0]["id"])
    *_, answer = [
        part async for part in model.stream_with_tools([*ASKED, called, result], [LISTING], budget=budget)
    ]
    assert isinstance(answer, AIMessage)
    assert answer.text == "You said: How are you today?"
    sent = json.dumps(double.requests[1].body)
    assert sent.count("call_0") == 2
    assert sent.count("Let me look.") == 1
    assert not any(kept in sent for kept in ("msg_0", "fc_0"))


@pytest.mark.parametrize("arguments", ['{"top_k": 5', "none"])
async def test_malformed_tool_arguments_are_not_repaired(
    arguments: str, model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.replies.append(Reply(tool_calls=[ToolCall(name="documents_list", arguments=arguments)]))
    *_, message = [part async for part in model.stream_with_tools(ASKED, [LISTING], budget=budget)]
    assert isinstance(message, AIMessage)
    assert message.tool_calls == []
    assert [call["args"] for call in message.invalid_tool_calls] == [arguments]


@pytest.mark.parametrize("arguments", ['["a"]', "5"])
async def test_tool_arguments_that_are_not_an_object_are_invalid(
    arguments: str, model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.replies.append(Reply(tool_calls=[ToolCall(name="documents_list", arguments=arguments)]))
    try:
        *_, message = [part async for part in model.stream_with_tools(ASKED, [LISTING], budget=budget)]
    except DependencyDown as exc:
        assert exc.code == "model_reply_malformed"
    else:
        assert isinstance(message, AIMessage)
        assert (message.tool_calls, len(message.invalid_tool_calls)) == ([], 1)


@pytest.mark.parametrize("reply", [Reply(choices=False), Reply(text="")])
async def test_an_empty_answer_is_an_outage(reply: Reply, model: ChatModel, double: OpenAIDouble) -> None:
    double.script.replies.extend([reply] * 3)
    for answer in _three_ways(model):
        with pytest.raises(DependencyDown) as raised:
            await answer
        assert raised.value.dependency == "model"


async def test_a_filtered_answer_raises_content_filtered(model: ChatModel, double: OpenAIDouble) -> None:
    double.script.replies.extend([Reply(text="Well,", finish_reason="content_filter")] * 3)
    for answer in _three_ways(model):
        with pytest.raises(ContentFiltered):
            await answer


@pytest.mark.parametrize(
    ("failure", "expected", "code"),
    [
        (Failure(status=400, code="context_length_exceeded"), ContextTooLong, "context_too_long"),
        (Failure(status=400, message="the prompt is too long: 9 tokens"), ContextTooLong, "context_too_long"),
        (Failure(status=400, code="content_filter"), ContentFiltered, "content_filtered"),
        (Failure(status=401, code="invalid_api_key"), ModelMisconfigured, "model_auth"),
        (Failure(status=403), ModelMisconfigured, "model_auth"),
        (Failure(status=404), ModelMisconfigured, "model_unknown"),
        (Failure(status=400), ModelMisconfigured, "model_refused_request"),
        (Failure(status=429), DependencyDown, "model_busy"),
        (Failure(status=429, code="insufficient_quota"), DependencyDown, "model_quota"),
        (Failure(status=503), DependencyDown, "dependency_down"),
    ],
)
async def test_a_refused_request_is_translated(
    failure: Failure, expected: type[OrcError], code: str, model: ChatModel, double: OpenAIDouble
) -> None:
    double.script.failures.extend([failure] * 3)
    for answer in _three_ways(model):
        with pytest.raises(expected) as raised:
            await answer
        assert raised.value.code == code
        assert raised.value.__cause__ is not None
        assert failure.message not in raised.value.message


async def test_a_stream_that_breaks_off_raises_after_its_text(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.failures.append(Failure(after_tokens=2))
    deltas = []
    with pytest.raises(DependencyDown):
        async for delta in model.stream(ASKED, budget=budget):
            deltas.append(delta)  # noqa: PERF401 (what came before the error is what counts)
    assert "".join(deltas) == "You said:"
    assert budget.usage.output_tokens > 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("content_filter", ContentFiltered),
        ("context_length_exceeded", ContextTooLong),
        (None, DependencyDown),
    ],
)
async def test_an_error_code_in_a_stream_is_translated(
    code: str | None, expected: type[OrcError], model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.failures.append(Failure(after_tokens=2, code=code))
    with pytest.raises(expected):
        await collect(model.stream(ASKED, budget=budget))


async def test_a_stream_without_a_finish_reason_is_cut(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    double.script.failures.append(Failure(after_tokens=2, silent=True))
    with pytest.raises(DependencyDown) as raised:
        await collect(model.stream(ASKED, budget=budget))
    assert raised.value.code == "model_reply_cut"


async def test_an_answer_that_reached_its_limit_is_cut(model: ChatModel, double: OpenAIDouble) -> None:
    double.script.replies.extend([Reply(text="The beta quay has", finish_reason="length")] * 3)
    for answer in _three_ways(model):
        with pytest.raises(ReplyCut) as raised:
            await answer
        assert (raised.value.code, raised.value.text) == ("model_reply_cut", "The beta quay has")
        assert raised.value.at_limit


@pytest.mark.parametrize("max_tokens", [10, None])
async def test_a_reply_without_end_is_cut(
    max_tokens: int | None,
    model: ChatModel,
    budget: CallBudget,
    double: OpenAIDouble,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat_model, "LONGEST_TOKENS", 20)
    text = "The beta quay. " * 10_000  # far more than what is joined while the first piece is read
    double.script.replies.append(Reply(text=text))
    read = 0
    with pytest.raises(ReplyCut) as raised:
        async for delta in model.stream([HumanMessage("Q")], budget=budget, max_tokens=max_tokens):
            read += len(delta)
    assert raised.value.is_kept
    assert read < len(text) / 2


def _three_ways(model: ChatModel) -> list["asyncio.Future[object]"]:
    async def drain(parts: object) -> object:
        return [part async for part in parts]  # type: ignore[attr-defined]

    budget = CallBudget(max_calls=3)
    return [
        asyncio.ensure_future(answer)
        for answer in (
            model.complete(ASKED, budget=budget),
            drain(model.stream(ASKED, budget=budget)),
            drain(model.stream_with_tools(ASKED, [LISTING], budget=budget)),
        )
    ]


async def _settled(double: OpenAIDouble) -> int:
    """How much the double has emitted once it emits no more."""
    before = -1
    while before != double.requests[0].emitted:
        before = double.requests[0].emitted
        await asyncio.sleep(0.05)
    return before


async def test_an_answer_without_a_finish_reason_is_cut() -> None:
    model = ScriptedModel(script=lambda _messages, _options: AIMessage("The beta quay has"), calls=[])
    cut = ChatModel(model, WordCounter(), name="scripted", abilities=Abilities(reports_finish=True))
    with pytest.raises(ReplyCut) as raised:
        await collect(cut.stream([HumanMessage("?")], budget=CallBudget(max_calls=1)))
    assert raised.value.code == "model_reply_cut"
    assert not raised.value.at_limit
    with pytest.raises(DependencyDown):
        await cut.complete([HumanMessage("?")], budget=CallBudget(max_calls=1))


@pytest.mark.parametrize("way", [0, 1, 2])
async def test_half_a_surrogate_pair_is_repaired(way: int, model: ChatModel, double: OpenAIDouble) -> None:
    double.script.replies.extend([Reply(text="Done \ud83d \ude00 \ud83d")] * 3)
    answered = await _three_ways(model)[way]
    text = answered if isinstance(answered, str) else "".join(filter(_is_text, answered))  # type: ignore[call-overload]
    assert text.encode().decode() == "Done \ufffd \ufffd \ufffd"


async def test_a_refusal_has_its_own_code_and_its_words(model: ChatModel, double: OpenAIDouble) -> None:
    double.script.replies.extend([Reply(refusal="I cannot help with that request.")] * 3)
    for answer in _three_ways(model):
        with pytest.raises(ModelRefused, match="I cannot help with that request") as raised:
            await answer
        assert (raised.value.code, raised.value.retryable) == ("model_refused", False)


async def test_a_cut_tool_call_is_not_a_cut_answer(
    model: ChatModel, budget: CallBudget, double: OpenAIDouble
) -> None:
    call = ToolCall(name="documents_list", arguments='{"a": "b')
    double.script.replies.append(Reply(text="Let me look.", tool_calls=[call], finish_reason="length"))
    with pytest.raises(ReplyCut) as raised:
        _ = [part async for part in model.stream_with_tools(ASKED, [LISTING], budget=budget)]
    assert not raised.value.at_limit


def _is_text(part: object) -> bool:
    return isinstance(part, str)


@pytest.mark.parametrize(("part", "by"), [({"type": "file", "file_id": "f"}, "files"), (PICTURE, "chat")])
async def test_only_files_go_to_the_model_for_files(
    part: dict[str, str], by: str, budget: CallBudget
) -> None:
    models = {
        name: ScriptedModel(script=lambda *_: AIMessage("Yes."), calls=[]) for name in ("chat", "files")
    }
    model = ChatModel(models["chat"], WordCounter(), name="m", file_model=models["files"])
    await model.complete([HumanMessage([{"type": "text", "text": "Look."}, part])], budget=budget)
    assert [name for name, each in models.items() if each.calls] == [by]
