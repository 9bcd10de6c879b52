"""Seed 004, the orchestrator: a turn through both endpoints, its events, fallbacks, critic and telemetry."""

import json

import httpx
import pytest

from devkit.doubles.openai_double import ChatRequest, Reply, ToolCall
from devkit.system import Event, read_events
from tests.seeds.conftest import World, ask, plans, with_files
from tests.system.steps import Json, answered, new_id

QUAY = "The quay opens at seven. " + "The harbour master keeps the key of the quay. " * 20
QUESTION = "When does the quay open?"
STREAM = {"accept": "text/event-stream"}


def chat(client: httpx.Client, session: str, question: str, **body: object) -> Json:
    sent = {"messages": [{"role": "user", "content": question}], "session_id": session, **body}
    return answered(client.post("/chat", json=sent))


def stream(client: httpx.Client, session: str, question: str, **body: object) -> list[Event]:
    sent = {"messages": [{"role": "user", "content": question}], "session_id": session, **body}
    with client.stream("POST", "/chat/stream", json=sent, headers=STREAM) as response:
        return list(read_events(response))


def test_both_endpoints_run_the_same_turn_and_stream_its_events(ann: httpx.Client) -> None:
    conversation = with_files(ann, quay_txt=QUAY)
    whole, events = chat(ann, conversation, QUESTION), stream(ann, conversation, QUESTION)
    kinds = [kind for _, kind, _ in events]
    assert set(kinds) >= {"route", "plan", "context", "tool", "token", "citations", "telemetry", "done"}
    assert kinds.index("route") < kinds.index("plan") < kinds.index("context") < kinds.index("token")
    assert kinds[-1] == "done"
    done = events[-1][2]
    assert "".join(data["text"] for _, kind, data in events if kind == "token") == done["answer"]
    for result in (whole, done):
        metadata = result["metadata"]
        wanted = "trace_id plan route retrieval_mode context_budget summary_selection critic_summary"
        assert metadata.keys() >= set(wanted.split())
        assert metadata["route"].keys() >= {"intent", "model", "retriever"}
    [telemetry] = [data for _, kind, data in events if kind == "telemetry"]
    assert telemetry.keys() >= {"summary_selection", "lazy", "usage", "context_budget"}
    assert (whole["answer"], whole["answer_kind"]) == (done["answer"], done["answer_kind"])


@pytest.mark.parametrize(
    ("planned", "tools", "mode"),
    [
        (("retrieve", "answer"), {"semantic_search"}, "rag"),
        (("web_search", "answer"), {"web_search"}, "web"),
        (("both", "answer"), {"semantic_search", "web_search"}, "rag"),
        (("answer",), set(), "none"),
    ],
    ids=["documents", "web", "both", "answer"],
)
def test_the_plan_decides_which_tools_run(
    planned: tuple[str, ...], tools: set[str], mode: str, world: World, ann: httpx.Client
) -> None:
    world.model.responder = plans(*planned)
    turn = ask(ann, QUESTION, conversation_id=with_files(ann, quay_txt=QUAY))
    assert {each["name"] for each in turn["metadata"]["tools"]} == tools
    assert turn["metadata"]["retrieval_mode"] == mode


def test_low_confidence_searches_more_and_says_why(world: World, ann: httpx.Client) -> None:
    """The web only if the plan names it, or without documents: on purpose, as questions are private."""
    conversation = with_files(ann, quay_txt=QUAY)
    world.model.responder = plans("answer", confidence=0.2)
    documents = ask(ann, QUESTION, conversation_id=conversation)
    assert [each["name"] for each in documents["metadata"]["tools"]] == ["semantic_search"]
    assert "20%" in documents["metadata"]["plan"]["escalation"]
    elsewhere = ask(ann, QUESTION)
    assert [each["name"] for each in elsewhere["metadata"]["tools"]] == ["web_search"]


def test_the_steps_of_a_search_are_said(world: World, ann: httpx.Client) -> None:
    """With vectors: hybrid, hybrid with a lower threshold, vectors; here by words, then by wider ones."""
    conversation = with_files(ann, quay_txt=QUAY)
    world.here.index()
    found = ask(ann, QUESTION, conversation_id=conversation)["metadata"]["retrieval_steps"]
    assert [each["served"] for each in found].count(True) == 1
    assert {each["method"] for each in found} <= {"hybrid", "vector", "lexical", "widened_lexical"}
    assert all({"threshold", "hits"} <= each.keys() for each in found)


def test_the_critic_asks_for_a_second_try(world: World, ann: httpx.Client) -> None:
    verdicts = [False, True]

    def respond(request: ChatRequest) -> Reply | None:
        form = request.form
        if form and form["name"] == "CriticVerdict":
            grounded = verdicts.pop(0) if verdicts else True
            said = {
                "grounded": grounded,
                "coverage": 1.0,
                "issues": [],
                "action": "accept" if grounded else "retrieve",
            }
            return Reply(tool_calls=[ToolCall(name="CriticVerdict", arguments=said)])
        return plans()(request)

    world.model.responder = respond
    conversation = new_id()
    with world.client(f"ann-{new_id()}", "critic") as ann:
        ann.post(f"/conversations/{conversation}/documents", files=[("file", ("quay.txt", QUAY.encode()))])
        turn = ask(ann, QUESTION, conversation_id=conversation)
    assert turn["metadata"]["critic_summary"]["attempts"] >= 1
    assert turn["metadata"]["critiques"]


def test_lazy_retrieval_gives_summaries_and_counts_what_it_deferred(world: World, ann: httpx.Client) -> None:
    conversation = with_files(ann, quay_txt=QUAY)
    world.here.index()
    turn = ask(ann, QUESTION, conversation_id=conversation, feature_flags={"lazy": True})
    lazy = turn["metadata"]["lazy"]
    assert lazy["pages"] >= 1
    assert turn["citations"][0]["blob_name"] == "quay.txt"


def test_a_session_without_an_id_is_known_by_its_first_words_and_its_client(ann: httpx.Client) -> None:
    said = {"messages": [{"role": "user", "content": "My name is Ada."}]}

    def session(client: str) -> str:
        response = ann.post("/chat", json=said, headers={"x-client-id": client})
        return response.headers["x-session-id"]

    assert session("one") == session("one")
    assert session("one") != session("two")


def test_what_the_user_prefers_is_remembered_and_shown_to_the_model(world: World, ann: httpx.Client) -> None:
    conversation = with_files(ann, quay_txt=QUAY)
    ask(ann, "Always answer in one sentence.", conversation_id=conversation)
    world.model.requests.clear()
    turn = ask(ann, QUESTION, conversation_id=conversation)
    assert "Always answer in one sentence." in json.dumps([each.body for each in world.model.requests])
    assert turn["metadata"]["summary_selection"]


def test_telemetry_has_the_trace_for_administrators_without_content(world: World, ann: httpx.Client) -> None:
    turn = ask(ann, QUESTION, conversation_id=with_files(ann, quay_txt=QUAY))
    trace = turn["metadata"]["trace_id"]
    assert ann.get(f"/admin/telemetry/{trace}").status_code == 403
    with world.client("root", "", "orc.admin") as root:
        listed = root.get("/admin/telemetry").json()
        found = root.get(f"/admin/telemetry/{trace}").json()
    assert listed
    assert trace in json.dumps(found)
    assert "harbour master" not in json.dumps(found)
