"""Replies that are not as OpenAI documents them are read, and refused requests are sent plainer."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response, StreamingResponse

from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply
from orc_core.errors import DependencyDown
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.errors import ModelMisconfigured, of_status
from orc_core.llm.structured_outputs import PAUSE_SECONDS, Abilities, Part, WrittenCalls
from tests.unit.orc_core.conftest import Build


class Plan(BaseModel):
    """How a turn is answered."""

    question: str


Json = dict[str, Any]
Quirk = Callable[[ChatRequest], Reply | Failure | Response | None]
ASKED = [SystemMessage("Answer."), HumanMessage("How many days?")]
ANSWER = "28 days [S1]."
LISTING = {
    "type": "function",
    "function": {"name": "documents_list", "description": "", "parameters": {"type": "object"}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "documents_list", "arguments": '{"n": 1}'}}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.fixture
def local(base_url: str, build: Build) -> ChatModel:
    return build(openai_base_url=base_url, model="vllm:org/name:7b", model_retries=0)


def streamed(*pieces: Json | str) -> Response:
    def lines() -> Iterator[str]:
        for piece in pieces:
            yield piece if isinstance(piece, str) else f"data: {json.dumps(piece)}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


def says(delta: Json, **around: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], **around}


def whole(message: Json, **around: Any) -> Response:
    return JSONResponse({"choices": [{"message": message, "finish_reason": "stop"}], **around})


async def answer(model: ChatModel) -> tuple[str, list[tuple[str, Json]]]:
    """What the user reads, and the calls, of an answer with a tool."""
    text, calls = "", list[tuple[str, Json]]()
    async for part in model.stream_with_tools(ASKED, [LISTING], budget=CallBudget(6), max_tokens=900):
        if isinstance(part, AIMessage):
            calls = [(call["name"], call["args"]) for call in part.tool_calls]
        else:
            text += part
    return text, calls


COUNTS = {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
FORMS = {
    "thoughts next to the text": lambda: streamed(
        says({"content": None, "reasoning_content": "Hm."}), says({"content": ANSWER, "reasoning": None}), END
    ),
    "parts": lambda: streamed(says({"content": [{"type": "text", "text": ANSWER}]}), END),
    "no counts": lambda: streamed(says({"content": ANSWER}, usage=None), {**END, "usage": COUNTS}),
    "comments": lambda: streamed(": keep-alive\n\n", says({"content": ANSWER}), ": ping\n\n", END),
    "another reason": lambda: streamed(
        says({"content": ANSWER}), {"choices": [{"delta": {}, "finish_reason": "eos"}]}
    ),
    "no choices": lambda: streamed(says({"content": ANSWER}), END, {"choices": [], "usage": COUNTS}),
    "null for choices": lambda: streamed(says({"content": ANSWER}), END, {"choices": None}),
    "no delta at the end": lambda: streamed(
        says({"content": ANSWER}), {"choices": [{"index": 0, "finish_reason": "stop"}]}
    ),
    "another role": lambda: streamed(says({"role": "model", "content": ANSWER}), END),
    "no stream": lambda: whole({"role": "assistant", "content": ANSWER}),
    "a stream that is called JSON": lambda: Response(
        f"data: {json.dumps(says({'content': ANSWER}))}\n\ndata: {json.dumps(END)}\n\ndata: [DONE]\n\n",
        media_type="application/json",
    ),
    "no stream, no role": lambda: whole({"content": ANSWER}, usage=COUNTS),
    "[THINK]": lambda: streamed(says({"content": "[THINK]Hm.[/TH"}), says({"content": f"INK]{ANSWER}"}), END),
    "<Think>": lambda: streamed(says({"content": f"<Think>Hm.</Think>\n{ANSWER}"}), END),
    "channels": lambda: streamed(
        says({"content": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"}),
        says({"content": f"<|channel|>final<|message|>{ANSWER}"}),
        END,
    ),
}


@pytest.mark.parametrize("form", FORMS)
async def test_the_answer_is_read(form: str, double: OpenAIDouble, local: ChatModel) -> None:
    double.responder = lambda _: FORMS[form]()
    for _ in range(2):
        assert await answer(local) == (ANSWER, [])


WRITTEN = '{"name": "documents_list", "arguments": {"n": 1}}'
CALLS = {
    "an object": lambda: streamed(
        says({"tool_calls": [{**CALL, "function": {"name": "documents_list", "arguments": {"n": 1}}}]}), END
    ),
    "no index": lambda: streamed(says({"tool_calls": [CALL]}), END),
    "null as index": lambda: streamed(says({"tool_calls": [{**CALL, "index": None}]}), END),
    "text": lambda: streamed(*(says({"content": letter}) for letter in WRITTEN), END),
    "text in a fence": lambda: streamed(says({"content": f"```json\n{WRITTEN}\n```"}), END),
    "text in a tag": lambda: streamed(says({"content": f"<tool_call>\n{WRITTEN}\n</tool_call>"}), END),
    "text in a fence in a tag, by letters": lambda: streamed(
        *(says({"content": letter}) for letter in f"<tool_call>\n```json\n{WRITTEN}\n```\n</tool_call>"), END
    ),
    "text between backticks, by letters": lambda: streamed(
        *(says({"content": letter}) for letter in f"[`{WRITTEN}`]"), END
    ),
    "text behind a mark": lambda: streamed(says({"content": f"[TOOL_CALLS] [{WRITTEN}]"}), END),
    "parameters": lambda: streamed(says({"content": WRITTEN.replace("arguments", "parameters")}), END),
    "text, and as OpenAI does": lambda: streamed(
        says({"content": f"<tool_call>{WRITTEN.replace('1', '2')}</tool_call>"}),
        says({"tool_calls": [CALL]}),
        END,
    ),
}


@pytest.mark.parametrize("form", CALLS)
async def test_a_call_is_made_and_not_shown(form: str, double: OpenAIDouble, local: ChatModel) -> None:
    double.responder = lambda _: CALLS[form]()
    assert await answer(local) == ("", [("documents_list", {"n": 1})])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "another", "arguments": {}}',
        '{"days": 28}',
        "```\n28\n```",
        "[S1] has 28 days.",
        "<28 days",
        '{"name": "documents_list", "arguments": 3}',
        '{"name": ["documents_list"]}',
        "[28, 29]",
        f"`documents_list` is called so: {WRITTEN}",
        f"{WRITTEN} is on page 3 [S1].",
        f"```\n{WRITTEN}\n```\nis on page 3 [S1].",
        f"<b>Page 3</b> has {WRITTEN}",
    ],
)
async def test_a_text_that_is_no_call_is_the_answer(
    text: str, double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder = lambda _: Reply(text=text)
    assert await answer(local) == (text, [])


@pytest.mark.parametrize(
    "text", ["```python\nprint(28)", "<b>28</b> days", "`leave_days` is 28", "[S1] says", "{x"]
)
def test_an_answer_that_begins_with_a_sign_is_shown_while_it_is_written(text: str) -> None:
    written = WrittenCalls(["documents_list"])
    assert "".join(map(written.feed, text)) == text


@pytest.mark.parametrize(
    "text", [f"[{WRITTEN}, {WRITTEN}]", f"<tool_call>{WRITTEN}</tool_call>\n<tool_call>{WRITTEN}</tool_call>"]
)
async def test_several_calls_are_made(text: str, double: OpenAIDouble, local: ChatModel) -> None:
    double.responder = lambda _: Reply(text=text)
    assert await answer(local) == ("", [("documents_list", {"n": 1})] * 2)


async def test_thoughts_that_the_template_opens_are_known_from_the_first_on(
    double: OpenAIDouble, local: ChatModel
) -> None:
    thought = ("Let me ", "see.\n", "</think>", f"\n\n{ANSWER}")
    double.responder = lambda _: streamed(*(says({"content": part}) for part in thought), END)
    await answer(local)
    assert await answer(local) == (ANSWER, [])
    double.responder = lambda _: Reply(text="It has no thoughts now.")
    assert (await answer(local))[0] == "It has no thoughts now."


async def test_the_error_in_a_reply_of_success_is_the_error(double: OpenAIDouble, local: ChatModel) -> None:
    used_up = {"error": {"message": "no credits", "code": "insufficient_quota"}}
    for form in (lambda: JSONResponse(used_up), lambda: streamed(used_up)):
        double.responder = lambda _, form=form: form()
        with pytest.raises(DependencyDown, match="quota is used up"):
            await answer(local)


def refuses(lacks: Callable[[Json], Any], status: int = 400) -> Quirk:
    """A server that refuses what `lacks` finds in a request."""

    def respond(asked: ChatRequest) -> Reply | Failure | Response:
        if lacks(asked.body):
            return Failure(status=status, message="no")
        return Reply(text=ANSWER) if asked.body.get("stream") else whole({"content": ANSWER})

    return respond


def in_reply(lacks: Callable[[Json], Any], stream: bool) -> Quirk:
    refused = {"error": {"message": "no", "code": 400}}

    def respond(asked: ChatRequest) -> Reply | Response:
        if lacks(asked.body):
            return streamed(refused) if stream else JSONResponse(refused)
        return Reply(text=ANSWER)

    return respond


def has_system(body: Json) -> bool:
    return any(message["role"] == "system" for message in body["messages"])


REFUSALS: dict[str, tuple[Quirk, set[Part]]] = {
    "tools": (refuses(lambda body: body.get("tools")), {Part.TOOLS}),
    "tools, not implemented": (refuses(lambda body: body.get("tools"), 501), {Part.TOOLS}),
    "tools, a failure of the template": (refuses(lambda body: body.get("tools"), 500), {Part.TOOLS}),
    "tools, in a reply of success": (in_reply(lambda body: body.get("tools"), stream=False), {Part.TOOLS}),
    "tools, in the stream": (in_reply(lambda body: body.get("tools"), stream=True), {Part.TOOLS}),
    "a temperature": (refuses(lambda body: "temperature" in body), {Part.OPTIONS}),
    "options of the stream": (refuses(lambda body: "stream_options" in body, 422), {Part.OPTIONS}),
    "a long answer": (refuses(lambda body: body.get("max_tokens", 0) > 512), {Part.OPTIONS}),
    "system messages": (refuses(has_system), {Part.SYSTEM}),
    "streams": (refuses(lambda body: body.get("stream")), {Part.STREAM}),
    "tools and system messages": (
        refuses(lambda body: body.get("tools") or has_system(body)),
        {Part.TOOLS, Part.SYSTEM},
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refused_request_is_sent_without_what_the_server_lacks(
    name: str, double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder, lacking = REFUSALS[name]
    for _ in range(3):
        assert await answer(local) == (ANSWER, [])
    assert local.abilities.without == lacking
    double.requests.clear()
    await answer(local)
    assert len(double.requests) == 1
    [sent] = double.requests
    double.responder = lambda asked: REFUSALS[name][0](asked) if asked.body.get("stream") else None
    assert (await local.structured(ASKED, Plan, budget=CallBudget(1))).question
    assert "How many days?" in str(sent.body["messages"])
    assert "Answer." in str(sent.body["messages"])


async def test_calls_of_a_server_without_streams_are_made(double: OpenAIDouble, local: ChatModel) -> None:
    def respond(asked: ChatRequest) -> Failure | Response:
        is_streamed = asked.body.get("stream")
        return Failure(status=400, message="no") if is_streamed else whole({"tool_calls": [CALL]})

    double.responder = respond
    for _ in range(2):
        assert await answer(local) == ("", [("documents_list", {"n": 1})])


async def test_a_server_that_refuses_all_is_asked_in_each_form_and_nothing_is_learned(
    double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder = lambda _: Failure(status=400, message="no")
    with pytest.raises(ModelMisconfigured):
        await answer(local)
    assert len(double.requests) == 1 + len(Part)
    assert not local.abilities.without


async def test_an_answer_that_has_begun_is_not_asked_for_again(
    double: OpenAIDouble, local: ChatModel
) -> None:
    broken = {"error": {"message": "no", "code": 400}}
    double.responder = lambda _: streamed(says({"content": "28 "}), broken)
    with pytest.raises(DependencyDown):
        await answer(local)
    assert len(double.requests) == 1


async def test_a_model_that_thinks_up_to_its_limit_is_asked_without_one(
    double: OpenAIDouble, local: ChatModel
) -> None:
    def think(asked: ChatRequest) -> Reply:
        is_limited = "max_tokens" in asked.body
        return Reply(text="<think>Hm", finish_reason="length") if is_limited else Reply(text=ANSWER)

    double.responder = think
    for _ in range(2):
        assert await answer(local) == (ANSWER, [])
    assert [len(request.body.get("tools", [])) for request in double.requests] == [1, 1, 1]


@pytest.mark.parametrize("once", [Failure(status=500), Reply(text="<think>Hm", finish_reason="length")])
async def test_what_may_have_had_another_cause_is_sent_again_after_a_while(
    once: Failure | Reply, double: OpenAIDouble, local: ChatModel
) -> None:
    now = 0.0
    local.abilities.clock = lambda: now
    double.responder = lambda asked: once if len(double.requests) == 1 else Reply(text=ANSWER)
    await answer(local)
    assert local.abilities.without
    now += PAUSE_SECONDS
    await answer(local)
    assert not local.abilities.without
    assert double.requests[-1].body["tools"]
    assert double.requests[-1].body["max_tokens"]


@pytest.mark.parametrize(("status", "code"), [(402, "model_quota"), (408, "model_timeout")])
async def test_what_other_servers_say_by_status(
    status: int, code: str, double: OpenAIDouble, local: ChatModel
) -> None:
    double.responder = lambda _: Failure(status=status)
    with pytest.raises(DependencyDown) as raised:
        await answer(local)
    assert raised.value.code == code


async def test_a_failure_of_a_provider_elsewhere_is_no_refusal(
    double: OpenAIDouble, base_url: str, build: Build
) -> None:
    double.responder = lambda _: Failure(status=500)
    model = build(openai_base_url=base_url, model="openai:gpt-5.1", openai_api_key="k", model_retries=0)
    assert list(model.abilities.parts) == [Part.TOOLS]
    with pytest.raises(DependencyDown):
        await answer(model)
    assert len(double.requests) == 1


@pytest.mark.parametrize(
    ("model", "field"), [("ollama:qwen3", "max_tokens"), ("litellm:gpt-5", "max_completion_tokens")]
)
async def test_the_limit_has_the_name_that_the_server_knows(
    model: str, field: str, double: OpenAIDouble, base_url: str, build: Build
) -> None:
    """Ollama and LM Studio ignore `max_completion_tokens`, and a small model then goes on for minutes."""
    await answer(build(openai_base_url=base_url, model=model))
    body = double.requests[0].body
    assert [name for name in ("max_tokens", "max_completion_tokens") if name in body] == [field]


def test_a_failure_that_ends_later_does_not_shorten_a_refusal() -> None:
    now = 0.0
    abilities = Abilities(is_local=True, clock=lambda: now)
    for status in (400, 500):
        abilities.taken({Part.TOOLS: of_status(status)})
    now = 2 * PAUSE_SECONDS
    assert not abilities.takes_tools
