"""The OpenAI-compatible interface, called by OpenAI's own SDK and by LangChain's client of it."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply, Script
from devkit.in_process import InProcess, over_model
from devkit.system import principal_headers, upload
from tests.system.steps import Json, new_id

QUESTION = "When does the quay open?"
QUAY = b"The quay opens at seven. The harbour master keeps the key."
CITED = Reply(text="The quay opens at seven [S1]. The harbour master keeps the key [S1].")
WRONG = Reply(text="The quay opens at eleven [S1].")


@pytest.fixture(scope="module")
def model() -> OpenAIDouble:
    return OpenAIDouble()


@pytest.fixture(scope="module")
def running(model: OpenAIDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with over_model(model, tmp_path_factory.mktemp("openai"), page_analysis="off", models=["small"]) as here:
        yield here


@pytest.fixture
def double(model: OpenAIDouble) -> OpenAIDouble:
    model.script = Script()
    model.requests.clear()
    return model


@pytest.fixture
def address(running: InProcess) -> str:
    return running.addresses[""].removesuffix("/api") + "/v1"


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    """OpenAI's SDK, as a user of the product; without retries, so that errors are seen as they come."""
    headers = principal_headers("acme", "ann")
    with openai.OpenAI(base_url=address, api_key="none", default_headers=headers, max_retries=0) as client:
        yield client


@pytest.fixture
def session(running: InProcess) -> str:
    """A conversation with one document."""
    conversation_id = new_id()
    with running.client("", "acme") as http:
        assert upload(http, conversation_id, ("quay.txt", QUAY)).status_code == 201
    return conversation_id


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]


def ask(client: openai.OpenAI, session: str, question: str = QUESTION, **options: Any) -> Any:
    options = {"model": "orc", **options}
    headers = {"x-session-id": session, **options.pop("headers", {})}
    messages: list[Any] = [{"role": "user", "content": question}]
    return client.chat.completions.create(messages=messages, extra_headers=headers, **options)


def chunks_of(address: str, session: str, **body: Any) -> list[Json]:
    """The raw chunks of a stream."""
    headers = {**principal_headers("acme", "ann"), "x-openwebui-chat-id": session}
    content = {"model": "orc", "stream": True, "messages": [{"role": "user", "content": QUESTION}], **body}
    response = httpx.post(f"{address}/chat/completions", json=content, headers=headers, timeout=60)
    data = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert data.pop() == "[DONE]"
    return [json.loads(each) for each in data]


def test_models_are_those_that_are_configured(client: openai.OpenAI) -> None:
    listed = [model.id for model in client.models.list()]
    assert listed[:2] == ["orc", "orc-markdown"]
    assert "orc/small" in listed


def test_markers_become_numbers_with_an_annotation_each(
    client: openai.OpenAI, session: str, double: OpenAIDouble, running: InProcess
) -> None:
    double.script = Script(replies=[CITED])
    message = ask(client, session).choices[0].message
    assert message.content == "The quay opens at seven [1]. The harbour master keeps the key [1]."
    cited = [annotation.url_citation for annotation in message.annotations]
    assert [message.content[each.start_index : each.end_index] for each in cited] == ["[1]", "[1]"]
    assert cited[0].title == "quay.txt, page 1"
    with running.client("", "acme") as http:
        assert http.get(cited[0].url).content == QUAY
    with running.client("", "acme", "bob") as http:
        assert http.get(cited[0].url).status_code == 404


@pytest.mark.parametrize("name", ['a "quay".txt', "Hafen-\u00d6ffnung \u6e2f.txt", "<b>a;filename=x.txt"])
def test_a_file_is_downloaded_under_its_name_and_kept_by_no_cache(name: str, running: InProcess) -> None:
    conversation = new_id()
    with running.client("", "acme") as http:
        [document] = upload(http, conversation, (name, QUAY)).json()["documents"]
        response = http.get(f"/conversations/{conversation}/documents/{document['document_id']}/content")
    assert response.headers["cache-control"] == "private, no-cache"
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["cross-origin-opener-policy"] == "same-origin"
    disposition = response.headers["content-disposition"]
    kind, _, encoded = disposition.partition("; filename*=utf-8''")
    assert (kind, unquote(encoded)) == ("attachment", document["blob_name"])


def test_a_stream_gives_the_same_as_the_whole_response(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(text=CITED.text)
    whole = ask(client, session)
    stream = list(ask(client, session, stream=True, stream_options={"include_usage": True}))
    choices = [chunk.choices[0] for chunk in stream if chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == whole.choices[0].message.content
    assert choices[-1].finish_reason == "stop"
    [annotations] = [
        choice.delta.annotations for choice in choices if "annotations" in choice.delta.model_extra
    ]
    assert len(annotations) == 2
    assert stream[-1].usage.completion_tokens > 0


def test_a_sentence_is_corrected_before_it_is_streamed(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[WRONG, Reply(text=f"1. {CITED.text}")])
    shown = "".join(chunk.choices[0].delta.content or "" for chunk in ask(client, session, stream=True))
    assert "eleven" not in shown
    assert "seven [1]" in shown


def test_sources_are_listed_for_clients_without_annotations(
    address: str, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[CITED])
    headers = {**principal_headers("acme", "ann"), "x-session-id": session}
    chat = ChatOpenAI(model="orc-markdown", base_url=address, api_key="none", default_headers=headers)
    answer = chat.invoke(QUESTION).text
    assert re.search(r'\*\*Sources\*\*\s+1\. quay\.txt, page 1: "The quay opens at seven\."', answer)


def test_open_webui_gets_progress_and_sources_as_its_own_events(
    address: str, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[CITED])
    chunks = chunks_of(address, session)
    assert "annotations" not in json.dumps(chunks)
    events = [chunk["event"] for chunk in chunks if "event" in chunk]
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "source"
    assert {
        "type": "status",
        "data": {"description": "2 sources: 2 in the same words", "done": True},
    } in events
    source = events[-1]["data"]
    assert source["metadata"][0] == {**source["metadata"][0], "source": "quay.txt, page 1", "page": 0}
    assert source["document"][0].startswith("The quay opens at seven")


def test_the_history_of_the_client_is_used_and_its_system_prompt_is_not(
    client: openai.OpenAI, double: OpenAIDouble
) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "Talk like a pirate."},
        {"role": "user", "content": "My name is Ann."},
        {"role": "assistant", "content": "Hello Ann."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is my"}, {"type": "text", "text": "name?"}],
        },
    ]
    client.chat.completions.create(model="orc", messages=messages, temperature=0.3)
    prompts = json.dumps([request.body for request in double.requests])
    assert "Hello Ann." in prompts
    assert "name?" in prompts
    assert "pirate" not in prompts


@pytest.mark.parametrize("way", ["x-session-id", "x-openwebui-chat-id", "metadata"])
@pytest.mark.parametrize("prefix", ["/v1", "/api/v1"])
def test_no_name_of_a_conversation_leads_to_another_callers(
    way: str, prefix: str, address: str, session: str, running: InProcess, double: OpenAIDouble
) -> None:
    headers, body = principal_headers("acme", "bob"), {"metadata": {"session_id": session}}
    if way != "metadata":
        headers, body = {**headers, way: session}, {}
    content = {"model": "orc", "messages": [{"role": "user", "content": QUESTION}], **body}
    url = address.removesuffix("/v1") + prefix + "/chat/completions"
    answered = httpx.post(url, json=content, headers=headers, timeout=60)
    assert answered.json()["orc"]["citations"] == []
    assert "opens at seven" not in json.dumps([request.body for request in double.requests])
    with running.client("", "acme") as http:
        assert http.get(f"/conversations/{session}").json()["turns"] == []


@pytest.mark.parametrize("by_header", [True, False])
def test_a_task_of_the_client_is_no_turn(
    by_header: bool, client: openai.OpenAI, running: InProcess, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[Reply(text='{"title": "Quay"}')])
    headers = {"x-orc-task": "title_generation"} if by_header else {}
    prompt = "Make a title." if by_header else "### Task:\nMake a title."
    assert ask(client, session, prompt, headers=headers).choices[0].message.content == '{"title": "Quay"}'
    assert len(double.requests) == 1
    assert "quay opens" not in json.dumps(double.requests[0].body)
    with running.client("", "acme") as http:
        assert http.get(f"/conversations/{session}").json()["turns"] == []


def test_the_reply_to_a_task_is_safe_to_render(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[Reply(text="Title ![x](https://evil.example/?q=1) <img src=x>")])
    said = ask(client, session, "### Task:\nMake a title.").choices[0].message.content
    assert said == "Title ! [x] (`https://evil.example/?q=1`) < img src=x>"


@pytest.mark.parametrize("stream", [True, False])
def test_a_response_names_its_turn(
    stream: bool, address: str, session: str, running: InProcess, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[CITED])
    content = {"model": "orc", "messages": [{"role": "user", "content": QUESTION}], "stream": stream}
    headers = {**principal_headers("acme", "ann"), "x-session-id": session}
    answered = httpx.post(f"{address}/chat/completions", json=content, headers=headers, timeout=60)
    with running.client("", "acme") as http:
        [turn] = http.get(f"/conversations/{session}").json()["turns"]
    assert answered.headers["x-turn-id"] == turn["turn_id"]


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"n": 2}, "n"),
        ({"tools": TOOLS, "tool_choice": "required"}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"model": "gpt-none"}, "model"),
        ({"model": "orc/none"}, "model"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    options: Json, param: str, client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, session, **options)
    assert refused.value.param == param
    assert refused.value.type == "invalid_request_error"
    assert double.requests == []


def test_tools_that_a_client_offers_are_not_called(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(replies=[CITED])
    message = ask(client, session, tools=TOOLS, tool_choice="auto").choices[0].message
    assert message.content.endswith("[1].")
    assert not message.tool_calls


def test_an_image_is_refused(client: openai.OpenAI) -> None:
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    with pytest.raises(openai.BadRequestError, match="image_url"):
        client.chat.completions.create(model="orc", messages=[{"role": "user", "content": [image]}])


def test_an_unknown_caller_is_refused_in_the_form_of_openai(address: str) -> None:
    stranger = openai.OpenAI(base_url=address, api_key="none", max_retries=0)
    with stranger, pytest.raises(openai.AuthenticationError) as refused:
        stranger.models.list()
    assert refused.value.type == "authentication_error"


@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_model_is_an_error_of_the_sdk(
    stream: bool, client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(failures=[Failure(status=500)] * 4)
    with pytest.raises(openai.APIError):
        for _ in ask(client, session, stream=stream):
            pass


def test_a_failed_answer_names_its_conversation(
    client: openai.OpenAI, session: str, double: OpenAIDouble
) -> None:
    double.script = Script(failures=[Failure(status=500)] * 4)
    with pytest.raises(openai.APIStatusError) as failed:
        ask(client, session)
    assert failed.value.response.headers["x-session-id"] == session
