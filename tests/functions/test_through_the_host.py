"""Requests through Azure's own worker runtime: what arrives is what the API sent, when it sent it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Request

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import read_events, upload
from tests.functions.conftest import client_of, loaded_api, wait_for
from tests.functions.worker import Worker

QUESTION = "Who is the harbour master?"
SLOWLY = Script(tokens=50, delay_ms=20)
STREAM = {"accept": "text/event-stream"}


def question(conversation: str, handbook: Path) -> dict[str, Any]:
    return {"question": QUESTION, "conversation_id": conversation, "blob_names": [handbook.name]}


def test_every_function_is_indexed(worker: Worker) -> None:
    triggers = {function.name: function.trigger for function in worker.functions}
    assert {name: trigger["type"] for name, trigger in triggers.items()} == {
        "orc": "httpTrigger",
        "chat": "httpTrigger",
        "api": "httpTrigger",
        "ingest": "queueTrigger",
        "embed": "queueTrigger",
        "analyse": "queueTrigger",
        "sweep": "timerTrigger",
    }
    assert (triggers["orc"]["route"], triggers["api"]["route"]) == ("api/orc/{*rest}", "{*path}")
    assert triggers["chat"]["route"] == "api/chat/{*rest}"
    assert triggers["orc"]["methods"] == triggers["chat"]["methods"] == ["POST"]
    assert {"GET", "POST", "DELETE"} <= set(triggers["api"]["methods"])


def test_no_function_asks_for_a_key(worker: Worker) -> None:
    """The API itself authenticates every caller, never by a secret in a URL."""
    called = [function.trigger for function in worker.functions if function.is_http]
    assert {trigger["authLevel"] for trigger in called} == {"ANONYMOUS"}


def test_a_document_turn_answers_json_with_a_verified_citation(
    client: httpx.Client, model: OpenAIDouble, conversation: str, handbook: Path
) -> None:
    response = client.post("/orc", json=question(conversation, handbook))
    assert response.status_code == 200, response.text
    assert response.extensions["function"] == "orc"
    answer = response.json()
    (citation, *_) = answer["citations"]
    assert citation["verified"]
    assert f'[Page {citation["page"]} of Document "{handbook.name}"]' in answer["answer"]
    assert len(model.requests) == 1


def test_the_web_page_is_served_at_the_root(client: httpx.Client) -> None:
    page = client.get(str(client.base_url.copy_with(path="/")))
    assert page.extensions["function"] == "api"
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "trusted-types 'none'" in page.headers["content-security-policy"]


def test_an_upload_is_stored_byte_for_byte(client: httpx.Client, conversation: str, handbook: Path) -> None:
    response = client.get(f"/conversations/{conversation}/documents")
    assert response.extensions["function"] == "api"
    (document,) = response.json()["documents"]
    assert (document["blob_name"], document["readable"]) == (handbook.name, True)
    assert document["size"] == handbook.stat().st_size


@pytest.mark.parametrize("path", ["/orc", "/orc/stream"])
def test_events_arrive_while_the_model_is_still_speaking(
    client: httpx.Client, model: OpenAIDouble, conversation: str, handbook: Path, path: str
) -> None:
    model.script = SLOWLY
    kinds, spoken = [], []
    with client.stream("POST", path, json=question(conversation, handbook), headers=STREAM) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.extensions["function"] == "orc"
        for _, kind, _ in read_events(response):
            kinds.append(kind)
            if kind == "token":
                spoken.append(model.requests[0].emitted)
    assert kinds[-1] == "done"
    assert spoken[0] < 10
    assert len(set(spoken)) > 25, "the tokens came in bunches"


def test_a_caller_who_leaves_is_noticed_and_the_turn_is_finished_all_the_same(
    client: httpx.Client, worker: Worker, model: OpenAIDouble, conversation: str, handbook: Path
) -> None:
    model.script = SLOWLY
    with client.stream("POST", "/orc", json=question(conversation, handbook), headers=STREAM) as response:
        events = read_events(response)  # kept: letting go of it would be leaving
        next(data for _, kind, data in events if kind == "token")
        assert worker.requests_in_flight() == 1
    wait_for(lambda: worker.requests_in_flight() == 0)
    assert not model.requests[0].finished

    wait_for(lambda: model.requests[0].finished)
    wait_for(lambda: turns_of(client, conversation)[0]["status"] != "pending")
    (turn,) = turns_of(client, conversation)
    assert turn["status"] == "committed"
    assert f'of Document "{handbook.name}"]' in turn["answer"]


def turns_of(client: httpx.Client, conversation: str) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = client.get(f"/conversations/{conversation}").json()["turns"]
    return turns


def test_both_functions_answer_many_callers_at_once(
    client: httpx.Client, worker: Worker, model: OpenAIDouble
) -> None:
    """Eight turns wait for the model; eight other requests are answered meanwhile."""
    model.script = Script(text="Good morning to you.", tokens=100, delay_ms=20)
    with ThreadPoolExecutor(16) as callers:
        turns = [callers.submit(client.post, "/orc", json={"question": f"Hello, {n}"}) for n in range(8)]
        wait_for(lambda: len(model.requests) == 8)
        assert worker.requests_in_flight() == 8
        others = [callers.submit(client.get, "/conversations") for _ in range(8)]
        assert {other.result().status_code for other in others} == {200}
        assert not any(request.finished for request in model.requests)
        answers = [turn.result() for turn in turns]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["conversation_id"] for answer in answers}) == 8


def test_the_runtimes_own_routing_does_not_affect_the_api(client: httpx.Client, worker: Worker) -> None:
    """Had the API the runtime's scope as it is, it would look for its routes in the runtime's router."""

    async def link(request: Request) -> str:
        return request.url_for("health").path

    loaded_api().add_api_route("/api/link", link)
    assert client.get("/link").json() == "/api/health"


def assert_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    return problem


def test_an_invalid_field_is_a_422_that_names_it(client: httpx.Client) -> None:
    problem = assert_problem(client.post("/orc", json={"question": "  "}), 422)
    assert [error["field"] for error in problem["errors"]] == ["question"]


def test_a_body_that_is_no_json_is_a_400(client: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    assert_problem(client.post("/orc", content=b'{"question": ', headers=headers), 400)


@pytest.mark.parametrize(("method", "path"), [("GET", "/nowhere"), ("POST", "/orc/nowhere")])
def test_an_unknown_route_is_a_404_of_the_api(client: httpx.Client, method: str, path: str) -> None:
    assert_problem(client.request(method, path), 404)


def test_a_wrong_method_is_a_405_of_the_api(client: httpx.Client) -> None:
    assert_problem(client.get("/orc"), 405)


def test_a_refused_upload_is_a_problem_that_names_the_file(client: httpx.Client) -> None:
    conversation = "0b5a4c1e-8f0e-4f6b-9d43-5f6f5a3f7a10"
    problem = assert_problem(upload(client, conversation, ("notes.exe", b"MZ\x00\x00")), 415)
    assert problem["errors"][0]["field"] == "notes.exe"


def test_the_callers_trace_is_the_answers_trace(client: httpx.Client) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    assert client.get("/health", headers=headers).headers["x-trace-id"] == trace


def test_the_trace_that_the_host_begins_is_the_answers_trace(client: httpx.Client) -> None:
    response = client.get("/health")
    assert response.headers["x-trace-id"] == response.request.headers["traceparent"].split("-")[1]


def test_the_local_user_is_refused_to_remote_callers(worker: Worker) -> None:
    """The worker's peer is always the host on loopback; the forwarded headers name the caller."""
    with client_of(worker, "203.0.113.7") as stranger:
        assert_problem(stranger.get("/conversations"), 401)
