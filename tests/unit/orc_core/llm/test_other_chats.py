"""Anthropic, Gemini and Mistral through LangChain's models, at a double of their documented wire forms."""

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from devkit.doubles.other_wires import TOO_LONG, USED, OtherDouble
from devkit.serving import serve_from_thread
from orc_core.errors import OrcError
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.errors import ModelMisconfigured, ReplyCut
from tests.unit.orc_core.conftest import Build, MakeSettings, OpenFor

pytestmark = [
    pytest.mark.slow,  # the imports
    # Of google-genai:
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SERVERS = ("anthropic", "google_genai", "mistralai")
ASKED = [SystemMessage("Answer."), HumanMessage("<remembered>"), HumanMessage("How many days?")]
ANSWER = "28 days [S1]."
LISTING = {
    "type": "function",
    "function": {
        "name": "documents_list",
        "description": "Lists.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
Make = Callable[[], ChatModel]


class Plan(BaseModel):
    """How a turn is answered."""

    question: str


@pytest.fixture(autouse=True)
def collected(server: str) -> Iterator[None]:
    """What google-genai leaves behind is collected here, below the filters of this file."""
    yield
    if server == "google_genai":
        gc.collect()


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def double() -> OtherDouble:
    return OtherDouble(text=ANSWER)


@pytest.fixture
def url(double: OtherDouble) -> Iterator[str]:
    with serve_from_thread(double.app) as address:
        yield address


@pytest.fixture
def make(server: str, url: str, build: Build) -> Make:
    given = {"model": f"{server}:some-model", "model_key": "secret", "openai_base_url": url}
    return partial(build, **given, model_retries=0)


async def streamed(model: ChatModel, budget: CallBudget) -> tuple[str, AIMessage]:
    """The text as it came, and the whole message."""
    parts = [part async for part in model.stream_with_tools(ASKED, [LISTING], budget=budget)]
    message = parts[-1]
    assert isinstance(message, AIMessage)
    return "".join(part for part in parts if isinstance(part, str)), message


async def test_an_answer_streams_and_is_whole(make: Make, double: OtherDouble) -> None:
    """The text comes in pieces; the key goes only to the server, and the tokens are those it reports."""
    budget, model = CallBudget(5), make()
    text, message = await streamed(model, budget)
    assert (text, message.text, message.tool_calls) == (ANSWER, ANSWER, [])
    assert (budget.usage.input_tokens, budget.usage.output_tokens) == USED
    assert not budget.usage.estimated
    assert await model.complete(ASKED, budget=budget, max_tokens=50) == ANSWER
    assert set(double.keys) == {"secret"}
    assert "50" in str(double.asked[-1])


async def test_messages_of_one_role_are_joined(make: Make, double: OtherDouble) -> None:
    """The memory and the question are one message of the user, as these APIs want it."""
    await make().complete(ASKED, budget=CallBudget(1))
    body = double.asked[0]
    sent = body.get("contents") or [each for each in body["messages"] if each["role"] != "system"]
    assert len(sent) == 1
    assert "<remembered>\\n\\nHow many days?" in str(sent)


async def test_a_tool_is_called_and_its_result_sent_back(make: Make, double: OtherDouble) -> None:
    model, budget = make(), CallBudget(5)
    double.text, double.call = "", {"name": "a.pdf"}
    _, message = await streamed(model, budget)
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [
        ("documents_list", {"name": "a.pdf"})
    ]
    double.text, double.call = ANSWER, None
    result = ToolMessage("one file", tool_call_id=message.tool_calls[0]["id"], name="documents_list")
    assert await model.complete([*ASKED, message, result], budget=budget) == ANSWER
    assert "one file" in str(double.asked[-1])


async def test_a_structured_output_is_a_forced_call(make: Make, double: OtherDouble) -> None:
    double.text, double.call = "", {"question": "How long?"}
    assert await make().structured(ASKED, Plan, budget=CallBudget(2)) == Plan(question="How long?")
    assert "Plan" in str(double.asked[0])


@pytest.mark.parametrize("streams", [True, False])
async def test_an_answer_at_its_limit_is_cut(make: Make, double: OtherDouble, streams: bool) -> None:
    double.is_cut = True
    model, budget = make(), CallBudget(5)
    with pytest.raises(ReplyCut) as caught:
        await (streamed(model, budget) if streams else model.complete(ASKED, budget=budget))
    assert caught.value.at_limit


FAILURES = {
    401: ("model_auth", False),
    404: ("model_unknown", False),
    400: ("model_refused_request", False),
    429: ("model_busy", True),
    500: ("dependency_down", True),
}


async def test_failures_are_ours(make: Make, double: OtherDouble) -> None:
    """Each says what to change, or that it may be tried again."""
    model = make()
    for status, expected in FAILURES.items():
        double.failure = (status, "no")
        for ask in (model.complete(ASKED, budget=CallBudget(1)), streamed(model, CallBudget(1))):
            with pytest.raises(OrcError) as caught:
                await ask
            assert (caught.value.code, caught.value.retryable) == expected, status


async def test_a_prompt_beyond_the_window(server: str, make: Make, double: OtherDouble) -> None:
    double.failure = (400, TOO_LONG[server])
    with pytest.raises(OrcError) as caught:
        await make().complete(ASKED, budget=CallBudget(1))
    assert caught.value.code == "context_too_long"


async def test_a_server_that_is_not_there(server: str, build: Build) -> None:
    model = build(model=f"{server}:m", model_key="k", openai_base_url="http://127.0.0.1:9", model_retries=0)
    with pytest.raises(OrcError) as caught:
        await model.complete(ASKED, budget=CallBudget(1))
    assert caught.value.retryable


async def test_the_server_is_asked_for_its_models(
    server: str, url: str, make_settings: MakeSettings, open_for: OpenFor
) -> None:
    """The readiness check sends the key as this API takes it."""
    settings = make_settings(model=f"{server}:m", model_key="secret", openai_base_url=url)
    await open_for(settings).ping("m")
    wrong = make_settings(model=f"{server}:m", model_key="wrong", openai_base_url=url)
    with pytest.raises(ModelMisconfigured):
        await open_for(wrong).ping("m")


async def test_a_package_that_is_not_installed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("langchain_anthropic", "langchain_google_genai", "langchain_mistralai"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelMisconfigured, match=r"is not installed: run `EXTRAS=\w+ make run`"):
        await make().complete(ASKED, budget=CallBudget(1))
