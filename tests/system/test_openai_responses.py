"""`/v1/responses`, called by OpenAI's own SDK in its default way."""

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply, Script
from devkit.in_process import InProcess, over_model
from devkit.system import principal_headers, upload
from tests.system.steps import new_id

QUESTION = "When does the quay open?"
QUAY = b"The quay opens at seven. The harbour master keeps the key."
CITED = Reply(text="The quay opens at seven [S1]. The harbour master keeps the key [S1].")
SHOWN = "The quay opens at seven [1]. The harbour master keeps the key [1]."
TOOL: Any = {"type": "function", "name": "f", "parameters": {}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenAIDouble, InProcess]]:
    double, folder = OpenAIDouble(), tmp_path_factory.mktemp("responses")
    with over_model(double, folder, page_analysis="off", public_url="https://orc.example/") as here:
        yield double, here


@pytest.fixture
def double(world: tuple[OpenAIDouble, InProcess]) -> OpenAIDouble:
    world[0].script = Script(replies=[CITED])
    world[0].requests.clear()
    return world[0]


@pytest.fixture
def session(world: tuple[OpenAIDouble, InProcess]) -> str:
    conversation_id = new_id()
    with world[1].client("", "acme") as http:
        upload(http, conversation_id, ("quay.txt", QUAY)).raise_for_status()
    return conversation_id


@pytest.fixture
def client(world: tuple[OpenAIDouble, InProcess]) -> Iterator[openai.OpenAI]:
    address = world[1].addresses[""].removesuffix("/api") + "/v1"
    headers = principal_headers("acme", "ann")
    with openai.OpenAI(base_url=address, api_key="none", default_headers=headers, max_retries=0) as client:
        yield client


def ask(client: openai.OpenAI, session: str, **options: Any) -> Any:
    return client.responses.create(**{"model": "orc", "input": QUESTION, "conversation": session, **options})


def test_a_response_has_the_checked_text_and_an_annotation_for_each_marker(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    response = ask(client, session)
    assert (response.status, response.output_text) == ("completed", SHOWN)
    cited = response.output[0].content[0].annotations
    assert [SHOWN[each.start_index : each.end_index] for each in cited] == ["[1]", "[1]"]
    # Not the host that the request names: that is the caller's to choose.
    assert cited[0].url.startswith(f"https://orc.example/api/conversations/{session}/documents/")
    assert response.usage.output_tokens > 0
    assert double.requests


def test_a_stream_is_the_same_response_in_events(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    events = list(ask(client, session, stream=True))
    assert [each.sequence_number for each in events] == list(range(len(events)))
    assert "".join(each.delta for each in events if each.type == "response.output_text.delta") == SHOWN
    kinds = [each.type for each in events]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert kinds.count("response.output_text.annotation.added") == 2
    assert (kinds[-1], events[-1].response.output_text) == ("response.completed", SHOWN)
    assert events[0].response.id == events[-1].response.id


@pytest.mark.parametrize("stream", [False, True])
def test_langchain_keeps_the_annotations_of_a_response(
    stream: bool, session: str, double: OpenAIDouble, world: tuple[OpenAIDouble, InProcess]
) -> None:
    chat = ChatOpenAI(
        model="orc",
        base_url=world[1].addresses[""].removesuffix("/api") + "/v1",
        api_key="none",
        default_headers=principal_headers("acme", "ann"),
        use_responses_api=True,
        extra_body={"conversation": session},
    )
    message = reduce(add, chat.stream(QUESTION)) if stream else chat.invoke(QUESTION)
    assert message.text == SHOWN
    blocks: Any = message.content_blocks
    cited = [each for block in blocks for each in block.get("annotations", [])]
    assert [each["title"] for each in cited] == ["quay.txt, page 1"] * 2


def test_a_response_goes_on_with_the_previous_one(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    first = ask(client, session)
    double.requests.clear()
    again = client.responses.create(model="orc", input="And who has the key?", previous_response_id=first.id)
    assert again.id.startswith(f"resp_{session}_")
    assert "opens at seven" in str([each.body["messages"] for each in double.requests])
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="orc", input="And?", previous_response_id="resp_1")
    of_another = f"resp_{new_id()}_{new_id()}"
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="orc", input="And?", previous_response_id=of_another)


def test_messages_are_the_history_and_instructions_have_no_effect(
    client: openai.OpenAI, double: OpenAIDouble
) -> None:
    said: list[Any] = [
        {"role": "developer", "content": "Talk like a pirate."},
        {"role": "user", "content": [{"type": "input_text", "text": "My name is Ann."}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello Ann."}]},
        {"role": "user", "content": "What is my name?"},
    ]
    client.responses.create(model="orc", input=said, instructions="Talk like a pirate.", tools=[TOOL])
    prompts = str([request.body for request in double.requests])
    assert "Hello Ann." in prompts
    assert "pirate" not in prompts


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"background": True}, "background"),
        ({"tools": [TOOL], "tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "json_object"}}}, "response_format"),
        ({"text": {"format": "json"}}, "text"),
        ({"text": [{}]}, "text"),
        ({"model": "gpt-none"}, "model"),
        ({"input": [{"type": "function_call_output", "call_id": "1", "output": "x"}]}, "input"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    options: dict[str, Any], param: str, client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, session, **options)
    assert (refused.value.param or "").split(".")[0] == param
    assert double.requests == []


def test_a_file_in_the_input_says_where_files_go(client: openai.OpenAI) -> None:
    part: Any = {"type": "input_file", "file_id": "file-1"}
    with pytest.raises(openai.BadRequestError, match="/api/conversations/ID/documents"):
        client.responses.create(model="orc", input=[{"role": "user", "content": [part]}])


@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_model_is_an_error_of_the_sdk(
    stream: bool, client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(failures=[Failure(status=500)] * 4)
    with pytest.raises(openai.APIError):
        for _ in ask(client, session, stream=stream):
            pass
