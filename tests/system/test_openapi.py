"""The OpenAPI document says of every route what it takes, what it answers and how it fails."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import ask_streaming, read_events
from scripts.api_snapshot import snapshot
from tests.system.documented import misfits, openapi
from tests.system.steps import PROBLEM, Json, conversation_with

NAMES = [
    f"{method.upper()} {path}" for path, operations in snapshot()["paths"].items() for method in operations
]
"""From the snapshot, which has no prose: to make the document takes a second, in every process of pytest."""


def described(name: str) -> Json:
    """The operation of this name, such as `GET /api/health`."""
    method, _, path = name.partition(" ")
    operation: Json = openapi()["paths"][path][method.lower()]
    return operation


@pytest.fixture(params=NAMES)
def operation(request: pytest.FixtureRequest) -> Json:
    return described(request.param)


def resolved(schema: Any) -> Iterator[Json]:
    """A schema and everything in it, references followed."""
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            yield item
            waiting += item.values()
            reference = item.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                waiting.append(openapi()["components"]["schemas"][reference.rsplit("/", 1)[-1]])


def has_example(content: Json) -> bool:
    return any("example" in item or "examples" in item for item in resolved(content))


def test_openapi_describes_every_request_and_every_answer(operation: Json) -> None:
    assert operation["description"]
    contents = dict(operation.get("requestBody", {}).get("content", {}))
    for status, response in operation["responses"].items():
        assert response["description"]
        if status not in ("204", "304"):
            assert response["content"], status
            contents.update({f"{status} {kind}": content for kind, content in response["content"].items()})
    for what, content in contents.items():
        assert content.get("schema"), what
        assert has_example(content), what


def test_openapi_says_that_errors_are_problem_documents(operation: Json) -> None:
    errors = {status: each for status, each in operation["responses"].items() if status >= "400"}
    if "openai" in operation["tags"]:
        for response in errors.values():
            assert response["content"]["application/json"]["example"]["error"]["message"]
    elif "500" in errors:
        for response in errors.values():
            assert list(response["content"]) == [PROBLEM]
            assert response["content"][PROBLEM]["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert response["content"][PROBLEM]["example"]["status"]


def test_openapi_can_be_read_over_http(ann: httpx.Client) -> None:
    assert ann.get("/openapi.json").json()["paths"].keys() == openapi()["paths"].keys()


def test_the_result_of_a_stopped_turn_is_what_the_document_describes(
    ann: httpx.Client, double: OpenAIDouble
) -> None:
    double.script = Script(delay_ms=100)
    conversation_id = conversation_with(ann, "a.txt")
    body = {"question": "When does the quay open?", "conversation_id": conversation_id}
    with ann.stream("POST", "/orc/stream", json=body) as response:
        turn = f"/conversations/{conversation_id}/turns/{response.headers['x-turn-id']}"
        assert ann.post(f"{turn}/stop").status_code == 202
        *_, (_, kind, result) = read_events(response)
    assert kind == "stopped"
    assert misfits("TurnResult", result) == []


def test_events_are_what_the_document_describes(ann: httpx.Client, double: OpenAIDouble) -> None:
    conversation_id = conversation_with(ann, "a.txt")
    body = {"question": "When does the quay open?", "conversation_id": conversation_id}
    sent = ask_streaming(ann, **body, blob_names=["a.txt"])
    for kind, name in (
        ("route", "Route"),
        ("plan", "Plan"),
        ("critique", "Critique"),
        ("done", "TurnResult"),
    ):
        found = [data for _, event, data in sent if event == kind]
        assert found
        assert [misfits(name, data) for data in found] == [[]] * len(found)
