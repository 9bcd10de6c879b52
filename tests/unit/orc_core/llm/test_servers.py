"""What servers of others do differently, and what the user gets all the same.

Each double answers as its server is documented to; llama.cpp's words were copied from a real one.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply
from devkit.fakes import ScriptedModel, WordCounter, collect
from orc_core.errors import OrcError
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.errors import REQUEST_REFUSED, ModelMisconfigured, ModelOutputInvalid, ReplyCut
from orc_core.llm.factory import build_chat_model
from orc_core.llm.messages import MemoryMessage
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.structured_outputs import PAUSE_SECONDS, Abilities, Form
from orc_core.llm.tokens import TokenCounter, tools_tokens
from tests.unit.orc_core.conftest import Build, MakeSettings, OpenFor

ASKED = [SystemMessage("Answer."), MemoryMessage(content="<remembered>"), HumanMessage("How many days?")]
ANSWER = "28 days [S1]."
LISTING = {
    "type": "function",
    "function": {"name": "documents_list", "description": "", "parameters": {"type": "object"}},
}
Quirk = Callable[[ChatRequest], Reply | Failure | None]


class Plan(BaseModel):
    """How a turn is answered."""

    question: str


@pytest.fixture
def local(base_url: str, build: Build) -> ChatModel:
    """A model that runs on this machine, whose server is not known."""
    return build(openai_base_url=base_url, chat_model="llama3.2", model_retries=0)


async def answer(model: ChatModel, messages: list[BaseMessage] = ASKED) -> str:
    """What the user reads, asked with a tool and as a stream."""
    parts = model.stream_with_tools(messages, [LISTING], budget=CallBudget(5))
    return "".join([part async for part in parts if isinstance(part, str)])


def refuses_tools(status: int, message: str) -> Quirk:
    return lambda asked: Failure(status=status, message=message) if asked.body.get("tools") else None


def wants_alternating_roles(asked: ChatRequest) -> Failure | None:
    roles = [message["role"] for message in asked.body["messages"]]
    repeats = any(one == other for one, other in pairwise(roles))
    says = "Conversation roles must alternate user/assistant/user/assistant/..."
    return Failure(status=400, message=says) if repeats else None


def says(**reply: Any) -> Quirk:
    return lambda _: Reply(**reply)


@pytest.mark.parametrize(
    "quirk",
    [
        pytest.param(refuses_tools(400, "gemma3:latest does not support tools"), id="Ollama: no tools"),
        pytest.param(
            refuses_tools(400, '"auto" tool choice requires --enable-auto-tool-choice'), id="vLLM: no tools"
        ),
        pytest.param(
            refuses_tools(404, "No endpoints found that support tool use."), id="OpenRouter: no tools"
        ),
        pytest.param(refuses_tools(500, "tools param requires --jinja flag"), id="llama.cpp: no tools"),
        pytest.param(refuses_tools(400, "as it likes"), id="another server: no tools"),
        pytest.param(wants_alternating_roles, id="Gemma, Mistral: alternating roles"),
        pytest.param(says(text=f"<think>Let me\nsee.</think>\n\n{ANSWER}"), id="Qwen, DeepSeek: <think>"),
        pytest.param(says(text=ANSWER, finish_reason=None), id="no finish reason"),
    ],
)
async def test_the_user_gets_the_answer(quirk: Quirk, double: OpenAIDouble, local: ChatModel) -> None:
    double.responder = lambda asked: quirk(asked) or Reply(text=ANSWER)
    assert (await answer(local)).strip() == ANSWER


@pytest.mark.parametrize(
    ("name", "catalog", "sent"),
    [
        ("ollama:llama3.2", {}, 0.2),
        ("vllm:qwen3", {"qwen3": {"temperature": 0.6}}, 0.6),
        ("litellm:gpt-5", {}, None),
        ("openai:gpt-5.1", {}, None),
        (None, {}, None),
    ],
)
async def test_a_low_temperature_is_sent_to_servers_that_run_models_themselves(
    name: str | None,
    catalog: dict[str, Any],
    sent: float | None,
    double: OpenAIDouble,
    base_url: str,
    build: Build,
) -> None:
    await answer(build(openai_base_url=base_url, model=name, model_catalog=catalog))
    assert double.requests[0].body.get("temperature") == sent


async def test_a_refusal_of_tools_is_remembered_by_all_roles_of_the_model(
    double: OpenAIDouble,
    base_url: str,
    make_settings: MakeSettings,
    open_for: OpenFor,
    counter: TokenCounter,
) -> None:
    double.responder = refuses_tools(400, "gemma3:latest does not support tools")
    settings = make_settings(openai_base_url=base_url, chat_model="gemma3")
    provider = open_for(settings)
    writer, analyst = (build_chat_model(settings, role, counter, provider) for role in ("writer", "analyst"))
    for model in (writer, analyst):
        await answer(model)
    assert ["tools" in request.body for request in double.requests] == [True, False, False]
    assert not analyst.abilities.takes_tools


async def test_a_refusal_for_another_reason_is_not_taken_for_one_of_tools(
    double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder = lambda _: Failure(status=400, message="no")
    with pytest.raises(ModelMisconfigured):
        await answer(local)
    assert local.abilities.takes_tools


async def test_roles_alternate_and_nothing_is_lost(double: OpenAIDouble, local: ChatModel) -> None:
    call = AIMessage("", tool_calls=[{"name": "documents_list", "args": {}, "id": "c1"}])
    picture = HumanMessage([{"type": "text", "text": "a picture"}])
    await answer(local, [*ASKED, call, ToolMessage("a.pdf", tool_call_id="c1"), HumanMessage("b"), picture])
    sent = double.requests[0].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[1]["content"] == "<remembered>\n\nHow many days?"
    assert [part["text"] for part in sent[4]["content"]] == ["b", "a picture"]


TOO_LONG = [
    "request (18031 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens",
    "input length exceeds the context length",
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with"
    " context length of only 4096 tokens",
    "litellm.ContextWindowExceededError: litellm.BadRequestError",
    "The input token count exceeds the maximum number of tokens allowed 1048576.",
]


@pytest.mark.parametrize("message", TOO_LONG, ids=lambda message: message[:30])
async def test_a_prompt_that_is_too_long_is_called_that(
    message: str, double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder = lambda _: Failure(status=400, message=message)
    with pytest.raises(OrcError, match="more text than the model can read") as raised:
        await answer(local)
    assert raised.value.code == "context_too_long"


async def test_an_unknown_model_is_answered_with_those_that_there_are(
    double: OpenAIDouble, base_url: str, make_settings: MakeSettings, open_for: OpenFor, counter: TokenCounter
) -> None:
    double.served["/v1/models"] = {"data": [{"id": "llama3.2:latest"}, {"id": "qwen3:8b"}]}
    double.responder = lambda _: Failure(status=404, message="model 'gpt-5.1' not found")
    provider = open_for(settings := make_settings(openai_base_url=base_url))
    with pytest.raises(ModelMisconfigured, match=r"no model gpt-5\.1\. It has llama3\.2:latest, qwen3:8b\."):
        await provider.ping("gpt-5.1")
    await provider.ping("llama3.2")
    with pytest.raises(ModelMisconfigured, match=r"It has llama3\.2:latest, qwen3:8b\."):
        await build_chat_model(settings, "writer", counter, provider).complete(ASKED, budget=CallBudget(1))


async def test_a_wrong_address_is_called_that(base_url: str, build: Build) -> None:
    model = build(openai_base_url=base_url.removesuffix("/v1"), chat_model="llama3.2")
    with pytest.raises(ModelMisconfigured, match="OPENAI_BASE_URL, which often ends in /v1"):
        await model.complete(ASKED, budget=CallBudget(1))


WINDOWS = [
    pytest.param({}, 4096, id="nothing is said"),
    pytest.param(
        {"/v1/models": {"data": [{"id": "x.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}]}},
        8192,
        id="llama.cpp, whatever the name",
    ),
    pytest.param({"/v1/models": {"data": [{"id": "llama3.2", "max_model_len": 16384}]}}, 16384, id="vLLM"),
    pytest.param({"/v1/models": {"data": [{"id": "llama3.2", "context_window": 131072}]}}, 131072, id="Groq"),
    pytest.param({"/v1/models": [{"id": "llama3.2", "context_length": 8193}]}, 8193, id="a list alone"),
    pytest.param(
        {
            "/v1/models": {"data": [{"id": "llama3.2:latest"}]},
            "/api/ps": {"models": [{"name": "llama3.2:latest", "context_length": 5000}]},
        },
        5000,
        id="Ollama",
    ),
    pytest.param(
        {
            "/v1/models": {"data": [{"id": "llama3.2"}]},
            "/api/v0/models": {"data": [{"id": "llama3.2", "loaded_context_length": 6000}]},
        },
        6000,
        id="LM Studio",
    ),
]


@pytest.mark.parametrize(("served", "window"), WINDOWS)
async def test_the_window_is_what_the_server_says(
    served: dict[str, Any],
    window: int,
    double: OpenAIDouble,
    base_url: str,
    make_settings: MakeSettings,
    open_for: OpenFor,
) -> None:
    double.served = served
    catalogue = ModelCatalogue({}, open_for(make_settings(openai_base_url=base_url)).served)
    await catalogue.learn()
    assert catalogue.window(["llama3.2"]) == window


@pytest.mark.parametrize(("server", "window"), [("ollama", 4096), ("vllm", 128_000)])
async def test_ollama_on_another_computer_is_taken_to_have_a_small_window(
    server: str, window: int, make_settings: MakeSettings, open_for: OpenFor
) -> None:
    settings = make_settings(model=f"{server}:llama3.2", openai_base_url="http://192.0.2.5:9/v1")
    assert ModelCatalogue({}, open_for(settings).served).window(["llama3.2"]) == window


async def test_the_text_of_a_broken_stream_from_this_machine_is_kept(
    double: OpenAIDouble, local: ChatModel
) -> None:
    double.script.failures.append(Failure(after_tokens=2))
    with pytest.raises(ReplyCut) as raised:
        await collect(local.stream(ASKED, budget=CallBudget(1)))
    assert (raised.value.is_kept, raised.value.text) == (True, "You said:")


async def test_a_server_that_names_a_finish_reason_is_held_to_it(
    double: OpenAIDouble, local: ChatModel
) -> None:
    await local.complete(ASKED, budget=CallBudget(1))
    double.script.failures.append(Failure(after_tokens=2, silent=True))
    with pytest.raises(ReplyCut):
        await collect(local.stream(ASKED, budget=CallBudget(1)))


def test_a_model_on_this_machine_has_minutes(make_settings: MakeSettings) -> None:
    assert make_settings(model="ollama:llama3.2").model_timeout_seconds == 300
    assert make_settings(model="ollama:llama3.2", model_timeout_seconds=9).model_timeout_seconds == 9
    elsewhere = {"openai_base_url": "http://192.168.1.5:11434/v1"}
    assert make_settings(model="ollama:llama3.2", **elsewhere).model_timeout_seconds == 300
    assert make_settings(model="vllm:llama3.2", **elsewhere).model_timeout_seconds == 60
    assert make_settings(model="openai:gpt-5.1", openai_api_key="k").model_timeout_seconds == 60


def test_tools_are_counted_as_the_json_that_templates_have(counter: TokenCounter) -> None:
    as_json = tools_tokens([LISTING], TokenCounter(tools_as_json=True))
    assert as_json > tools_tokens([LISTING], counter)


def form_of(asked: ChatRequest) -> str:
    """The form in which an object was asked for."""
    form = asked.body.get("response_format") or {"type": "tool"}
    return str(form["type"])


def takes_only(form: str) -> Quirk:
    return lambda asked: None if form_of(asked) == form else Failure(status=400, message="not supported")


def ignores_all(text: str) -> Quirk:
    return lambda _: Reply(text=text)


@pytest.mark.parametrize(
    ("quirk", "forms"),
    [
        pytest.param(lambda _: None, ["json_schema"] * 2, id="all forms"),
        pytest.param(takes_only("json_object"), ["json_schema", *["json_object"] * 2], id="JSON mode only"),
        pytest.param(takes_only("tool"), ["json_schema", "json_object", "tool", "tool"], id="tools only"),
        pytest.param(
            ignores_all('Here it is:\n```json\n{"question": "Who?"}\n```'), ["json_schema"] * 2, id="fenced"
        ),
        pytest.param(
            ignores_all('{"name": "Plan", "arguments": {"question": "Who?"}}`\n\n'),
            ["json_schema"] * 2,
            id="a call in the text, as llama.cpp sends it",
        ),
        pytest.param(
            ignores_all('<think>{"a": 1}</think>{"question": "Who?"}'), ["json_schema"] * 2, id="thoughts"
        ),
    ],
)
async def test_an_object_is_had_from_every_server_and_the_form_is_remembered(
    quirk: Quirk, forms: list[str], double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder = quirk
    for _ in range(2):
        assert (await local.structured(ASKED, Plan, budget=CallBudget(9))).question
    assert [form_of(ChatRequest(body=request.body)) for request in double.requests] == forms


async def test_a_request_that_is_refused_in_each_form_is_sent_once_in_each() -> None:
    def refuse(_messages: object, _options: object) -> AIMessage:
        raise ModelMisconfigured("It refused.", code=REQUEST_REFUSED)

    scripted = ScriptedModel(script=refuse, calls=[])
    never_paused = Abilities((Form.SCHEMA, Form.TOOL), pause_seconds=0)
    model = ChatModel(scripted, WordCounter(), name="gpt", abilities=never_paused)
    with pytest.raises(ModelMisconfigured):
        await model.structured(ASKED, Plan, budget=CallBudget(9))
    assert len(scripted.calls) == 2


async def test_a_wrong_reply_is_corrected_once(double: OpenAIDouble, local: ChatModel) -> None:
    double.script.replies.extend([Reply(text='{"query": "Who?"}'), Reply(text='{"question": "Who?"}')])
    assert (await local.structured(ASKED, Plan, budget=CallBudget(9))).question == "Who?"
    assert "question: Field required" in str(double.requests[1].body["messages"])


async def test_a_model_that_gives_no_object_is_left_alone_for_a_while() -> None:
    now = [0.0]
    abilities = Abilities(tuple(Form), clock=lambda: now[0])
    scripted = ScriptedModel(script=lambda _messages, _options: AIMessage("I would rather not."), calls=[])
    model = ChatModel(scripted, WordCounter(), name="small", abilities=abilities)
    for _ in range(5):
        with pytest.raises(ModelOutputInvalid):
            await model.structured([HumanMessage("?")], Plan, budget=CallBudget(9))
    assert len(scripted.calls) == 4
    now[0] = PAUSE_SECONDS
    with pytest.raises(ModelOutputInvalid):
        await model.structured([HumanMessage("?")], Plan, budget=CallBudget(9))
    assert len(scripted.calls) == 6


def test_a_model_that_is_given_up_twice_is_left_alone_too() -> None:
    abilities = Abilities(clock=lambda: 1.0)
    for seconds, is_asked in ((15, True), (1, True), (15, False)):
        abilities.gave_up(seconds)
        assert (abilities.form is not None) is is_asked


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"model": "ollama:llama3.2:3b"}, ("llama3.2:3b", "http://127.0.0.1:11434/v1", None)),
        (
            {"model": "ollama:llama3.2", "openai_api_key": "sk"},
            ("llama3.2", "http://127.0.0.1:11434/v1", None),
        ),
        (
            {"model": "openrouter:openai/gpt-5.1", "model_key": "or", "openai_api_key": "sk"},
            ("openai/gpt-5.1", "https://openrouter.ai/api/v1", "or"),
        ),
        (
            {"model": "llamacpp:q", "openai_base_url": "http://127.0.0.1:8092/v1"},
            ("q", "http://127.0.0.1:8092/v1", None),
        ),
        (
            {"model": "openai:gpt-5.1", "openai_api_key": "sk"},
            ("gpt-5.1", "https://api.openai.com/v1", "sk"),
        ),
        ({"model": "gpt-5-mini", "openai_api_key": "sk"}, ("gpt-5-mini", None, "sk")),
    ],
)
def test_one_setting_names_the_server_and_the_model(
    given: dict[str, str], expected: tuple[str, str | None, str | None], make_settings: MakeSettings
) -> None:
    settings = make_settings(**given)
    key = settings.openai_api_key
    found = (settings.chat_model, settings.openai_base_url, key.get_secret_value() if key else None)
    assert found == expected


def test_a_model_without_a_server_is_no_setting_that_works(make_settings: MakeSettings) -> None:
    with pytest.raises(ValueError, match=r"name the server too, such as ollama:llama3\.2"):
        make_settings(model="llama3.2")
