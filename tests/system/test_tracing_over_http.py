"""One trace per turn through all processes, and no content in it: asked of a collector at the other end.

The processes have ended by the time of the tests: what they hold back longest must have been sent as well.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply, ToolCall
from devkit.doubles.otlp_collector import Collector, Span, collecting
from devkit.in_process import Variant, running_here
from devkit.recorded_telemetry import Recorded
from devkit.system import ask_streaming, running
from tests.system.steps import answered, ask, conversation_with, wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
CANARY = "zorblax"
"""In everything that people and models say here; what holds it is content."""
DOCUMENT = f"{CANARY}-name.txt"
TEXT = f"The {CANARY}-text sleeps at seven. The harbour master keeps the {CANARY}-key."
NODES = {"plan_query", "call_tools", "build_context", "adopt_reply", "critique", "return_state"}


@dataclass
class Traced:
    """What became of some turns in a system that has ended since: the collector, and the turns' traces."""

    collector: Collector
    document_id: str = ""
    documents: str = ""
    tools: str = ""
    failed: str = ""

    def spans(self, trace_id: str) -> list[Span]:
        return self.collector.trace(trace_id)

    def one(self, trace_id: str, name: str) -> Span:
        [found] = [span for span in self.spans(trace_id) if span.name == name]
        return found

    def above(self, span: Span) -> list[str]:
        """The names of a span's ancestors, innermost first."""
        within = {each.id: each for each in self.spans(span.trace_id)}
        names = []
        while span.parent in within:
            span = within[span.parent]
            names.append(span.name)
        return names


@pytest.fixture(scope="module")
def traced(
    tmp_path_factory: pytest.TempPathFactory,
    model_settings: dict[str, str],
    served_double: tuple[OpenAIDouble, str],
) -> Iterator[Traced]:
    """Turns of every kind, with canaries in all that is said."""
    with collecting() as (collector, exporting):
        traced = Traced(collector)
        settings = {
            **model_settings,
            **exporting,
            "ORC_AUTH_MODE": "easyauth",
            "WEBSITE_AUTH_ENABLED": "True",
        }
        with (
            running(tmp_path_factory.mktemp("traced"), **settings) as system,
            system.client(f"{CANARY}-org", f"{CANARY}-user") as client,
        ):
            _act(client, served_double[0], traced, lambda: None)
        assert "detach" not in system.log, "a span ended in another context than it began in"
        yield traced


def _act(client: httpx.Client, double: OpenAIDouble, traced: Traced, index: Callable[[], None]) -> None:
    conversation_id = conversation_with(client, DOCUMENT, text=TEXT)
    index()
    listing = f"/conversations/{conversation_id}/documents"
    wait_until(
        lambda: all(d["status"] == "completed" for d in client.get(listing).json()["documents"]), "completed"
    )
    [document] = client.get(listing).json()["documents"]
    traced.document_id = document["document_id"]
    passed_on = {
        "traceparent": f"00-{TRACE}-{CALLER}-01",
        "tracestate": f"vendor={CANARY}-state",
        "baggage": f"key={CANARY}-baggage",
    }
    client.headers.update(passed_on)
    response = ask(client, conversation_id, DOCUMENT, question=f"When does the {CANARY}-question sleep?")
    traced.documents = response.headers["x-trace-id"]
    answered(response)
    for name in passed_on:
        del client.headers[name]
    _act_with_tools(client, double, traced, conversation_id)
    _fail_in_every_way(client, double, traced, conversation_id)


def _act_with_tools(client: httpx.Client, double: OpenAIDouble, traced: Traced, conversation_id: str) -> None:
    calls = [
        ToolCall(name="documents_list", arguments={}),
        ToolCall(name="semantic_search", arguments={"query": f"{CANARY}-argument"}),
        ToolCall(name=f"{CANARY}_tool", arguments={}),
        ToolCall(name="semantic_search", arguments={f"{CANARY}-parameter": 1}),
    ]

    def respond(asked: object) -> Reply:
        return replies.pop(0) if replies else Reply(text=f"The {CANARY}-answer.")

    plan = {"intent": "research", "question": "", "steps": ["retrieve", "answer"], "confidence": 1}
    replies = [Reply(tool_calls=[ToolCall(name="TurnPlan", arguments=plan)]), Reply(tool_calls=calls)]
    double.responder = respond
    events = ask_streaming(
        client,
        question="Which documents are there?",
        conversation_id=conversation_id,
        feature_flags={"critic": "off"},
    )
    double.responder = None
    traced.tools = events[-1][2]["metadata"]["trace_id"]


def _fail_in_every_way(
    client: httpx.Client, double: OpenAIDouble, traced: Traced, conversation_id: str
) -> None:
    double.script.failures.extend([Failure(status=500, message=f"{CANARY}-failure")] * 5)
    response = ask(client, conversation_id, DOCUMENT, question=f"{CANARY}?")
    assert response.status_code == 503, response.text
    traced.failed = response.headers["x-trace-id"]
    double.script.failures.clear()
    assert ask(client, conversation_id, f"{CANARY}-missing.txt").status_code == 404
    for method, path in (
        ("GET", f"/{CANARY}-path"),
        ("GET", f"/health?{CANARY}=1"),
        (CANARY.upper(), "/orc"),
    ):
        client.request(method, path)


def test_a_turn_is_one_trace_from_the_caller_to_the_model(traced: Traced) -> None:
    spans = traced.spans(TRACE)
    assert traced.documents == TRACE
    assert {span.service for span in spans} == {"orc-api", "orc-tools"}
    ids = {span.id for span in spans}
    [request] = [span for span in spans if span.parent not in ids]
    assert (request.name, request.parent) == ("POST /api/orc", CALLER)


def test_every_node_every_tool_call_and_every_model_call_has_a_span(traced: Traced) -> None:
    names = [span.name for span in traced.spans(TRACE)]
    turn = traced.one(TRACE, "invoke_agent orc")
    assert {span.name for span in traced.spans(TRACE) if span.parent == turn.id} >= NODES
    assert names.count("execute_tool document_chat") == names.count("tools/call document_chat") == 1
    chat = traced.one(TRACE, "chat gpt-5.1")
    assert chat.service == "orc-tools"
    assert traced.above(chat) == [
        "tools/call document_chat",
        "execute_tool document_chat",
        "call_tools",
        "invoke_agent orc",
        "POST /api/orc",
    ]
    assert (chat.attributes["gen_ai.usage.input_tokens"], chat.kind) != (0, "internal")


def test_every_tool_that_a_model_chooses_has_a_span_on_either_side(traced: Traced) -> None:
    spans = traced.spans(traced.tools)
    served = [span for span in spans if span.name.startswith("tools/call")]
    assert {span.attributes.get("gen_ai.tool.name") for span in served} >= {
        "documents_list",
        "semantic_search",
    }
    for span in served:
        assert traced.above(span)[0].startswith("execute_tool")
        node, *outer = traced.above(span)[1:]
        assert node in {"call_tools", "run_tools"}, "code looks up in call_tools, a model in run_tools"
        assert outer == ["invoke_agent orc", "POST /api/orc"]
    refused = [span for span in served if span.attributes.get("error.type") == "invalid_input"]
    assert [span.name for span in refused] == ["tools/call semantic_search"]
    roles = [span.attributes["orc.model.role"] for span in spans if span.name == "chat gpt-5.1"]
    assert roles.count("writer") == 2


def test_a_failure_is_recorded_in_every_span_it_passes(traced: Traced) -> None:
    calls = [span for span in traced.spans(traced.failed) if span.name == "chat gpt-5.1"]
    passed = ("tools/call document_chat", "execute_tool document_chat", "invoke_agent orc")
    for span in [*calls, *(traced.one(traced.failed, name) for name in passed)]:
        assert (span.failed, span.attributes["error.type"]) == (True, "dependency_down"), span.name
    assert {span.service for span in calls} >= {"orc-tools"}
    request = traced.one(traced.failed, "POST /api/orc")
    assert (request.failed, request.attributes["http.response.status_code"]) == (True, 503)
    errors = [m for m in traced.collector.metrics if m.name == "orc.turn.errors"]
    assert {(m.service, m.attributes["error.type"], m.count) for m in errors} == {
        ("orc-api", "dependency_down", 1)
    }


def test_work_in_the_background_is_traced_and_polling_is_not(traced: Traced) -> None:
    begun = {(span.service, span.name) for span in traced.collector.spans if not span.parent}
    worked = {name for service, name in begun if service == "orc-worker"}
    assert worked
    assert all(name.startswith("process ") for name in worked)
    assert not any("health" in name or "ready" in name for _, name in begun)
    assert {name for service, name in begun if service == "orc-tools"} <= {"tools/call"}


def test_tokens_and_times_are_counted_by_the_conventions(traced: Traced) -> None:
    by_name = {metric.name: metric for metric in traced.collector.metrics}
    assert by_name["gen_ai.client.token.usage"].bounds == tuple(4**power for power in range(14))
    assert by_name["gen_ai.client.operation.duration"].bounds[0] == 0.01
    assert by_name["gen_ai.client.operation.duration"].bounds[-1] == 81.92
    assert by_name["orc.turn.duration"].count > 0
    assert by_name["http.server.request.duration"].count > 0
    services = {m.service for m in traced.collector.metrics if m.name == "gen_ai.client.token.usage"}
    assert services == {"orc-api", "orc-tools"}


def test_nothing_that_was_said_is_exported(traced: Traced) -> None:
    exported = b"".join(traced.collector.raw)
    assert b"invoke_agent orc" in exported
    assert CANARY.encode() not in exported.lower()
    assert traced.document_id.encode() not in exported
    assert all(span.said == "" for span in traced.collector.spans)


def test_content_is_exported_if_the_settings_ask_for_it(
    recorded: Recorded, tmp_path: Path, served_double: tuple[OpenAIDouble, str]
) -> None:
    double, address = served_double
    settings = {
        "telemetry_content": True,
        "model": "openai:gpt-5.1",
        "openai_base_url": address,
        "openai_api_key": "none",
    }
    with (
        running_here(tmp_path, {"": Variant()}, common={**settings, "model_retries": 0}, tools={}) as running,
        running.client("", f"{CANARY}-org", f"{CANARY}-user") as client,
    ):
        _act(client, double, Traced(Collector()), running.index)
    exported = "".join(span.to_json() for span in recorded.spans)
    for said in ("question", "text", "answer", "argument"):
        assert f"{CANARY}-{said}" in exported, said
    for never in ("state", "baggage", "path", "failure", "org", "user"):
        assert f"{CANARY}-{never}" not in exported, never
