"""PDFs that the model reads itself, in the running product: what is sent to the provider, and when."""

from collections.abc import Iterator

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Reply, ToolCall
from devkit.stream_to_json import shown_text
from devkit.system import System, ask_streaming, upload
from devkit.system_here import system_here
from orc_core.grounding.citations import WITHOUT_SOURCE
from tests.system.steps import QUAY, Json, answered, ask, conversation_with, new_id
from tests.system.test_reuse_over_http import let_expire, refs, statuses
from tests.unit.orc_core.extraction.samples import pdf

THREE = ["one.pdf", "two.pdf", "three.pdf"]
FOUR = [*THREE, "four.pdf"]
PATHS = {"chat completions": "/v1/chat/completions", "responses": "/v1/responses"}


@pytest.fixture(scope="module", params=["chat completions", "responses"])
def system(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    model_settings: dict[str, str],
) -> Iterator[System]:
    """An Orc that sends PDFs by file id, by either API of the provider."""
    settings = {
        **model_settings,
        "ORC_PROVIDER_FILES": "files",
        "ORC_RESPONSES_API": str(request.param == "responses"),
        "MAX_DOCUMENTS_PER_REQUEST": "4",
    }
    with system_here(tmp_path_factory.mktemp("files"), **settings) as system:
        yield system


@pytest.fixture
def stored(double: OpenAIDouble) -> Iterator[OpenAIDouble]:
    """The double without files, which counts from nought."""
    double.files.files.clear()
    double.files.log.clear()
    yield double
    double.files.refuse = None


@pytest.fixture
def client(system: System, stored: OpenAIDouble) -> Iterator[httpx.Client]:
    with system.client() as client:
        yield client


@pytest.fixture
def conversation_id(client: httpx.Client) -> str:
    """A conversation with four PDFs."""
    conversation_id = new_id()
    files = [(name, pdf(f"This is {name}. {QUAY}", "")) for name in FOUR]
    assert upload(client, conversation_id, *files).json()["errors"] == []
    return conversation_id


def ways(turn: Json) -> dict[str, str]:
    return {file["blob_name"]: file["sent_as"] for file in turn["metadata"]["files"]}


def test_adding_one_file_to_three_sends_one_file_and_the_same_again_none(
    client: httpx.Client, conversation_id: str, stored: OpenAIDouble
) -> None:
    first = answered(ask(client, conversation_id, *THREE))
    assert stored.files.uploads == 3
    assert ways(first) == dict.fromkeys(THREE, "file")
    fourth = answered(ask(client, conversation_id, *FOUR))
    assert stored.files.uploads == 4
    assert refs(first).items() < refs(fourth).items()
    assert statuses(fourth) == {name: "reused" if name in THREE else "created" for name in FOUR}
    again = answered(ask(client, conversation_id, *reversed(FOUR)))
    assert stored.files.uploads == 4
    assert (refs(again), statuses(again)) == (refs(fourth), dict.fromkeys(FOUR, "reused"))
    assert set(stored.files.log) - {"list"} == {"upload"}  # the worker lists what is left over, at any time


def test_the_answer_rests_on_checked_pages_of_the_file(client: httpx.Client, conversation_id: str) -> None:
    turn = answered(ask(client, conversation_id, "one.pdf"))
    assert turn["answer"] == 'This is one.pdf. [Page 1 of Document "one.pdf"]'
    [citation] = turn["citations"]
    assert (citation["page"], citation["verified"], citation["quote"]) == (1, True, "This is one.pdf.")
    assert turn["metadata"]["retrieval_mode"] == "inline"
    assert "Sent by file id: one.pdf." in turn["metadata"]["retrieval_reason"]


def test_a_file_that_expired_by_our_clock_is_replaced_at_the_provider(
    system: System, client: httpx.Client, conversation_id: str, stored: OpenAIDouble
) -> None:
    first = answered(ask(client, conversation_id, *THREE))
    let_expire(system, refs(first)["two.pdf"])
    second = answered(ask(client, conversation_id, *THREE))
    assert stored.files.uploads == 4
    assert set(stored.files.files) == set(refs(second).values())


def test_a_replaced_file_is_sent_again(
    client: httpx.Client, conversation_id: str, stored: OpenAIDouble
) -> None:
    first = answered(ask(client, conversation_id, *THREE))
    upload(client, conversation_id, ("one.pdf", pdf("The quay is closed forever.")))
    second = answered(ask(client, conversation_id, *THREE))
    assert stored.files.uploads == 4
    assert refs(first)["one.pdf"] not in stored.files.files
    assert second["answer"].startswith("The quay is closed forever.")


def test_what_is_deleted_goes_at_the_provider_too(
    client: httpx.Client, conversation_id: str, stored: OpenAIDouble
) -> None:
    first = answered(ask(client, conversation_id, *THREE))
    documents = answered(client.get(f"/conversations/{conversation_id}/documents"))["documents"]
    one = next(d["document_id"] for d in documents if d["blob_name"] == "one.pdf")
    assert client.delete(f"/conversations/{conversation_id}/documents/{one}").status_code == 204
    assert refs(first)["one.pdf"] not in stored.files.files
    assert len(stored.files.files) == 2
    assert client.delete(f"/conversations/{conversation_id}").status_code == 204
    assert stored.files.files == {}


def test_a_provider_that_is_down_does_not_keep_a_deletion_from_happening(
    client: httpx.Client, conversation_id: str, stored: OpenAIDouble
) -> None:
    answered(ask(client, conversation_id, *THREE))
    stored.files.refuse = 503
    assert client.delete(f"/conversations/{conversation_id}").status_code == 204
    assert client.get(f"/conversations/{conversation_id}").status_code == 404


def test_a_files_api_that_is_down_costs_no_answer(
    client: httpx.Client, conversation_id: str, stored: OpenAIDouble
) -> None:
    stored.files.refuse = 500
    turn = answered(ask(client, conversation_id, "one.pdf"))
    assert turn["citations"][0]["verified"]
    assert ways(turn) == {"one.pdf": "text"}


def test_documents_tools_and_talk_go_by_the_same_api(
    client: httpx.Client, double: OpenAIDouble, request: pytest.FixtureRequest
) -> None:
    conversation_id = conversation_with(client, "watch.txt", text="The night watch has 7 members.")
    turn = answered(ask(client, conversation_id, "watch.txt"))
    assert turn["answer"] == 'The night watch has 7 members. [Page 1 of Document "watch.txt"]'
    call = Reply(text="Let me look.", tool_calls=[ToolCall(name="documents_list")])
    # The first two are no plans, so the turn is planned by rules.
    double.script.replies.extend([call, call, Reply(text="There is one: watch.txt.")])
    flags = {"critic": "off"}
    events = ask_streaming(
        client, question="What is there?", conversation_id=conversation_id, feature_flags=flags
    )
    assert shown_text(events) == events[-1][2]["answer"] == f"There is one: watch.txt. {WITHOUT_SOURCE}"
    assert events[-1][2]["metadata"]["usage"]["estimated"] is False
    assert {sent.path for sent in double.requests} == {PATHS[request.node.callspec.params["system"]]}
