"""Every HTTP error is a problem document, and every response has its trace id."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.shared_data import ROOT
from devkit.system import System, ask_streaming, upload
from orc.api.app import create_app
from orc.bootstrap import AppProvider
from orc.settings import AuthMode, Settings
from tests.system.steps import PROBLEM, UPLOAD_LIMIT, Json, ask, conversation_with, new_id

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def check_problem(response: httpx.Response, status: int) -> Json:
    """The problem document, which says the same as the response's status and headers."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    problem: Json = response.json()
    assert problem["status"] == status
    assert problem["type"] == f"/problems/{problem['code']}"
    assert problem["title"]
    assert problem["detail"]
    assert problem["trace_id"] == response.headers["x-trace-id"]
    for leak in ("Traceback", str(ROOT), "site-packages", "sqlite3", ".py"):
        assert leak not in response.text
    return problem


@pytest.mark.parametrize("body", ["{", "question=1", '{"question": "a",}', "[1", "\ufffd"])
@pytest.mark.parametrize("path", ["/orc", "/orc/stream"])
def test_a_body_that_is_no_json_is_a_bad_request(path: str, body: str, ann: httpx.Client) -> None:
    response = ann.post(path, content=body, headers={"content-type": "application/json"})
    assert check_problem(response, 400)["code"] == "malformed_json"


@pytest.mark.parametrize("path", ["/nothing", "/conversations/x/y", "/../x", "/%2e%2e", "/orc/stream/x"])
def test_an_unknown_route_is_not_found(path: str, ann: httpx.Client) -> None:
    check_problem(ann.get(path), 404)


@pytest.mark.parametrize("path", ["/orc", "/orc/stream"])
def test_a_body_that_is_too_large_is_refused(path: str, ann: httpx.Client) -> None:
    check_problem(ann.post(path, json={"question": "a" * 1_100_000}), 413)


def test_a_file_that_is_too_large_is_refused_and_the_others_are_kept(ann: httpx.Client) -> None:
    large = ("large.txt", b"word " * (UPLOAD_LIMIT // 5 + 1))
    problem = check_problem(upload(ann, new_id(), large), 413)
    assert [error["field"] for error in problem["errors"]] == ["large.txt"]
    response = upload(ann, new_id(), large, ("small.txt", b"A word."))
    assert response.status_code == 201
    assert [each["blob_name"] for each in response.json()["documents"]] == ["small.txt"]
    assert [(each["field"], each["code"]) for each in response.json()["errors"]] == [
        ("large.txt", "document_too_large")
    ]


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "multipart/form-data"])
def test_a_body_of_another_media_type_is_refused(media_type: str, ann: httpx.Client) -> None:
    headers = {"content-type": media_type}
    check_problem(ann.post("/orc", content=b'{"question": "a"}', headers=headers), 415)


def test_a_file_of_an_unknown_format_is_refused(ann: httpx.Client) -> None:
    problem = check_problem(upload(ann, new_id(), ("tool.exe", b"MZ\x90\x00" + bytes(200))), 415)
    assert problem["errors"][0]["code"] == "unsupported_document"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question", ""),
        ("question", " \n\t "),
        ("question", "a" * 10_001),
        ("question", "a\x00b"),
        ("question", 7),
        ("question", None),
        ("question", ["a"]),
        ("conversation_id", "not a name"),
        ("conversation_id", "../" * 12),
        ("blob_names", "a.txt"),
        ("blob_names", [f"{number}.txt" for number in range(51)]),
        ("contexts", [{"type": "", "id": "1"}]),
        ("contexts", [{"id": "1"}]),
        ("tools", {"documents_list": "perhaps"}),
        ("tools", ["documents_list"]),
        ("model", "another-model"),
        ("organization_id", "acme"),
        ("user_id", "ann"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(field: str, value: Any, ann: httpx.Client) -> None:
    problem = check_problem(ann.post("/orc", json={"question": "When?", field: value}), 422)
    assert all(error["field"].split(".")[0] == field for error in problem["errors"])
    assert all(error["reason"] for error in problem["errors"])


def test_a_question_that_no_text_can_hold_is_refused(ann: httpx.Client) -> None:
    lone_surrogate = b'{"question": "\\ud800"}'
    response = ann.post("/orc", content=lone_surrogate, headers={"content-type": "application/json"})
    check_problem(response, 422)


def test_a_missing_field_and_a_missing_body_are_named(ann: httpx.Client) -> None:
    problem = check_problem(ann.post("/orc", json={}), 422)
    assert [error["field"] for error in problem["errors"]] == ["question"]
    problem = check_problem(ann.post("/orc", headers={"content-type": "application/json"}), 422)
    assert [error["field"] for error in problem["errors"]] == ["body"]


@pytest.mark.parametrize("key", ["", "k" * 129])
def test_an_idempotency_key_of_the_wrong_length_is_named(key: str, ann: httpx.Client) -> None:
    response = ann.post("/orc", json={"question": "When?"}, headers={"idempotency-key": key})
    assert check_problem(response, 422)["errors"][0]["field"] == "idempotency-key"


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "201"}, {"limit": "x"}, {"cursor": "x"}, {"cursor": "WzEsMl0="}]
)
def test_a_query_parameter_that_cannot_be_used_is_named(query: dict[str, str], ann: httpx.Client) -> None:
    problem = check_problem(ann.get("/conversations", params=query), 422)
    assert [error["field"] for error in problem["errors"]] == list(query)


def test_an_upload_without_a_file_is_refused(ann: httpx.Client) -> None:
    url = f"/conversations/{new_id()}/documents"
    elsewhere = {"files": [("other", ("a.txt", b"a"))]}
    contents: list[Json] = [{}, {"json": {}}, {"data": {"file": "a"}}, elsewhere]
    for content in contents:
        assert check_problem(ann.post(url, **content), 422)["errors"][0]["field"].startswith("file")


def test_a_boundary_that_does_not_hold_is_a_bad_request(ann: httpx.Client) -> None:
    headers = {"content-type": "multipart/form-data; boundary=other"}
    response = ann.post(f"/conversations/{new_id()}/documents", content=b"--frontier\r\n", headers=headers)
    assert check_problem(response, response.status_code)["status"] in (400, 422)


def test_not_found_and_unauthenticated_are_traced_too(ann: httpx.Client, orc: System) -> None:
    check_problem(ann.get(f"/conversations/{new_id()}"), 404)
    check_problem(httpx.get(f"{orc.api}/conversations"), 401)


def test_a_model_that_is_down_is_named_and_can_be_tried_again(
    ann: httpx.Client, double: OpenAIDouble
) -> None:
    double.script = Script.model_validate({"failures": [{"status": 503}] * 3})
    response = ask(ann)
    problem = check_problem(response, 503)
    assert (problem["dependency"], problem["retryable"]) == ("model", True)
    assert int(response.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", True),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", False),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        ("nonsense", False),
        (None, False),
    ],
)
def test_every_response_has_a_trace_id_which_a_valid_traceparent_gives(
    given: str | None, kept: bool, ann: httpx.Client, double: OpenAIDouble
) -> None:
    if given:
        ann.headers["traceparent"] = given
    conversation_id = conversation_with(ann, "a.txt")
    turn = ask(ann, conversation_id, "a.txt")
    responses = [turn, ann.get("/health"), ann.get("/ready"), ann.get("/nothing"), ann.post("/orc", json={})]
    ids = [response.headers["x-trace-id"] for response in responses]
    assert all(len(trace_id) == 32 for trace_id in ids)
    assert (set(ids) == {TRACE}) is kept
    assert len(set(ids)) == (1 if kept else len(ids))
    assert turn.json()["metadata"]["trace_id"] == ids[0]


def test_a_stream_has_the_trace_id_of_its_response(ann: httpx.Client, double: OpenAIDouble) -> None:
    ann.headers["traceparent"] = f"00-{TRACE}-00f067aa0ba902b7-01"
    assert ask_streaming(ann, question="When?")[-1][2]["metadata"]["trace_id"] == TRACE
    double.script = Script.model_validate({"failures": [{"status": 503}] * 3})
    assert ask_streaming(ann, question="When?")[-1][2]["trace_id"] == TRACE


@pytest.fixture
async def in_process(
    tmp_path: Path, model_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """The app without a server, with a deadline that a slow model misses."""
    for name, value in model_settings.items():
        monkeypatch.setenv(name, value)
    app = create_app(Settings(data_dir=tmp_path, turn_deadline_seconds=0.3))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as client:
        yield client
    provider: AppProvider = app.state.provider
    await provider.close()


async def test_a_turn_that_misses_its_deadline_is_reported_and_stored(
    in_process: httpx.AsyncClient, double: OpenAIDouble
) -> None:
    double.script = Script(text="word " * 50, delay_ms=50)
    response = await in_process.post("/orc", json={"question": "When?"})
    problem = check_problem(response, 504)
    assert (problem["code"], problem["retryable"]) == ("deadline_exceeded", True)
    [listed] = (await in_process.get("/conversations")).json()["conversations"]
    url = f"/conversations/{listed['conversation_id']}"
    [turn] = (await in_process.get(url)).json()["turns"]
    assert (turn["status"], turn["failure"]["code"]) == ("failed", "deadline_exceeded")


async def test_a_fault_of_ours_tells_nothing_but_its_trace_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def identify(self, request: object) -> None:
            raise RuntimeError("the secret of some_file.py")

    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    app.state.authenticator = Broken()
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as client:
        response = await client.get("/conversations")
    assert check_problem(response, 500)["code"] == "internal"
    assert "secret" not in response.text
    assert "the secret of" in caplog.text
