"""Seed 001: reading inline or by search, and a tool loop in which the model does not choose the files."""

import json
from collections.abc import Callable

import httpx
import pytest

from devkit.doubles.openai_double import ChatRequest, Reply, ToolCall
from devkit.system import upload
from tests.seeds.conftest import World, ask, plans, with_files
from tests.system.steps import Json, answered
from tests.unit.orc_core.extraction.samples import pdf

DOCUMENT1 = "The main topic is transformers. " + "Document1 content goes on here. " * 20
DOCUMENT2 = "The main topic is busbars. " + "Document2 content goes on here. " * 20
OTHER = "The main topic is a secret of a different file, not in this conversation."
SEARCHES = {"feature_flags": {"model_searches": True}}


def searching(*calls: Json) -> Callable[[ChatRequest], Reply | None]:
    """A model that calls semantic_search with these arguments, one call a reply, and then answers."""
    left = list(calls)

    def respond(request: ChatRequest) -> Reply | None:
        if request.body.get("tools") and not request.forced_tool and left:
            return Reply(tool_calls=[ToolCall(name="semantic_search", arguments=left.pop(0))])
        return plans()(request)

    return respond


def offered(world: World) -> dict[str, Json]:
    """The tools that the model was offered, by name."""
    tools = [tool for each in world.model.requests for tool in each.body.get("tools") or []]
    return {tool["function"]["name"]: tool["function"] for tool in tools}


def test_the_tool_is_defined_without_file_ids(world: World, ann: httpx.Client) -> None:
    world.model.responder = searching({"query": "What is the main topic?", "top_k": 5})
    conversation = with_files(ann, document1_txt=DOCUMENT1, document2_txt=DOCUMENT2)
    ask(ann, "What is the main topic?", conversation_id=conversation, **SEARCHES)
    parameters = offered(world)["semantic_search"]["parameters"]
    assert parameters["properties"].keys() == {"query", "top_k"}
    assert parameters["properties"]["query"]["type"] == "string"
    assert (parameters["properties"]["top_k"]["type"], parameters["properties"]["top_k"]["default"]) == (
        "integer",
        5,
    )
    assert parameters["required"] == ["query"]
    assert "file_id" not in json.dumps(list(offered(world).values()))


def test_the_three_messages_of_the_example(ann: httpx.Client) -> None:
    """The files are those of the conversation; a name in a question limits it to that file."""
    conversation = with_files(ann, document1_txt=DOCUMENT1, document2_txt=DOCUMENT2)
    cited = []
    for question in ("What's in document1.txt?", "What about document2.txt?", "Compare both documents"):
        turn = ask(ann, question, conversation_id=conversation)
        cited.append({each["blob_name"] for each in turn["citations"]})
        searched = {each["blob_name"] for each in turn["uploaded_file_refs"]}
    assert cited[:2] == [{"document1.txt"}, {"document2.txt"}]
    assert cited[2] <= {"document1.txt", "document2.txt"}
    assert cited[2]
    assert searched <= {"document1.txt", "document2.txt"}


def asked_so_far(first: str, second: str, last: str | None) -> list[Json]:
    """The messages of the example, with the ids of the files as they are here."""
    return [
        {"role": "user", "content": "What's in document1.pdf?", "file_id": first},
        {"role": "assistant", "content": "Document1 discusses..."},
        {"role": "user", "content": "What about document2.pdf?", "file_id": second},
        {"role": "assistant", "content": "Document2 covers..."},
        {"role": "user", "content": "Compare both documents", "file_id": last},
    ]


def test_the_conversation_of_the_example_is_about_the_files_that_its_messages_name(
    world: World, ann: httpx.Client
) -> None:
    """`conv-789` names the conversation wherever it is named; other files of it are not read."""
    texts = {"document1.pdf": DOCUMENT1, "document2.pdf": DOCUMENT2, "third.pdf": OTHER}
    files = [(name, pdf(text)) for name, text in texts.items()]
    stored = upload(ann, "conv-789", *files).json()["documents"]
    ids = [each["document_id"] for each in stored][:2]
    said = {"messages": asked_so_far(ids[0], ids[1], None), "session_id": "conv-789"}
    turn = answered(ann.post("/chat", json=said))
    assert {each["blob_name"] for each in turn["metadata"]["files"]} == {"document1.pdf", "document2.pdf"}
    assert "different file" not in json.dumps([each.body for each in world.model.requests])
    again = ask(ann, "What is the main topic?", conversation_id="conv-789", blob_names=["document1.pdf"])
    assert again["conversation_id"] == turn["conversation_id"]
    assert len(ann.get("/conversations/conv-789").json()["turns"]) == 2


def test_an_id_that_is_no_files_of_the_conversation_finds_nothing(world: World, ann: httpx.Client) -> None:
    """`xyz-999` is refused in the newest message; an earlier one may name a file that was removed since."""
    elsewhere = with_files(ann, other_txt=OTHER)
    other = ann.get(f"/conversations/{elsewhere}/documents").json()["documents"][0]["document_id"]
    conversation = with_files(ann, document1_txt=DOCUMENT1)
    [own] = ann.get(f"/conversations/{conversation}/documents").json()["documents"]
    for foreign in ("xyz-999", other):
        said = {"messages": asked_so_far(own["document_id"], own["document_id"], foreign)}
        refused = ann.post("/chat", json={**said, "session_id": conversation})
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
        said = {"messages": asked_so_far(own["document_id"], foreign, None)}
        turn = answered(ann.post("/chat", json={**said, "session_id": conversation}))
        assert [each["blob_name"] for each in turn["metadata"]["files"]] == ["document1.txt"]
    assert "different file" not in json.dumps([each.body for each in world.model.requests])


def test_a_failure_of_the_tool_reaches_the_model_and_the_turn_goes_on(
    world: World, ann: httpx.Client
) -> None:
    world.model.responder = searching({"question": "?"}, {"query": "main topic"})
    turn = ask(ann, "What is the main topic?", conversation_id=with_files(ann, a_txt=DOCUMENT1), **SEARCHES)
    assert [each["status"] for each in turn["metadata"]["tools"]] == ["failed", "finished"]
    assert turn["citations"][0]["blob_name"] == "a.txt"


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "What is the main topic?", "top_k": 5},
        {"query": "What is the main topic?"},
        {"query": "What is the main topic?", "top_k": 100},
        {"query": "What is the main topic?", "top_k": 5, "file_ids": ["xyz-999"]},
    ],
    ids=["as in the seed", "without top_k", "too many", "with file ids"],
)
def test_only_files_of_the_conversation_are_searched(
    arguments: Json, world: World, ann: httpx.Client
) -> None:
    with_files(ann, other_txt=OTHER)
    conversation = with_files(ann, document1_txt=DOCUMENT1, document2_txt=DOCUMENT2)
    world.here.index()
    world.model.responder = searching(arguments)
    turn = ask(ann, "What is the main topic?", conversation_id=conversation, **SEARCHES)
    [call] = [each for each in turn["metadata"]["tools"] if each["name"] == "semantic_search"]
    assert call["status"] == "finished"
    assert call["hits"] >= 2
    assert call["arguments"]["query"] == "What is the main topic?"
    prompts = json.dumps([each.body for each in world.model.requests])
    assert "transformers" in prompts
    assert "busbars" in prompts
    assert "different file" not in prompts


def test_the_loop_sends_the_call_and_its_result_and_then_gets_the_answer(
    world: World, ann: httpx.Client
) -> None:
    """The second call of the model has its tools too, on purpose: it may search again, in four rounds."""
    conversation = with_files(ann, document1_txt=DOCUMENT1)
    world.model.responder = searching({"query": "What is the main topic?", "top_k": 5})
    turn = ask(ann, "What is the main topic?", conversation_id=conversation, **SEARCHES)
    last = world.model.requests[-1].body["messages"]
    asked, result = last[-2:]
    assert asked["tool_calls"][0]["function"]["name"] == "semantic_search"
    assert (result["role"], result["tool_call_id"]) == ("tool", asked["tool_calls"][0]["id"])
    assert "transformers" in result["content"]
    assert turn["citations"][0]["blob_name"] == "document1.txt"


def test_a_file_is_read_inline_while_uploaded_and_searched_once_completed(
    world: World, ann: httpx.Client
) -> None:
    """A completed file that fits into the budget of tokens is read whole too: no search is as complete."""
    conversation = with_files(ann, long_txt=DOCUMENT1, short_txt="The notice period is thirty days.")

    def mode(name: str) -> tuple[str, str]:
        turn = ask(ann, "What is the main topic?", conversation_id=conversation, blob_names=[name])
        documents = ann.get(f"/conversations/{conversation}/documents").json()["documents"]
        status = {each["blob_name"]: each["status"] for each in documents}[name]
        return status, turn["metadata"]["retrieval_mode"]

    assert mode("long.txt") == ("uploaded", "inline")
    world.here.index()
    assert mode("long.txt") == ("completed", "rag")
    assert mode("short.txt") == ("completed", "inline")
