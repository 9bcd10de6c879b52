"""The recorder passes events on and builds a trace from them: times, tools, models, cost."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from devkit.clock import Clock
from orc.events import (
    Context,
    Critique,
    Done,
    Event,
    Failed,
    Plan,
    Reset,
    Revised,
    Route,
    Telemetry,
    Token,
    Tool,
    TurnMetadata,
    TurnResult,
)
from orc.problems import Problem
from orc.traces.models import TurnIds, TurnTrace
from orc.traces.trace import SHOWN_TOOLS, TurnRecorder
from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.chat_model import CallBudget, ModelCall
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Usage
from scripts.describe_tools import live_tools

IDS = TurnIds(
    trace_id="f" * 32,
    turn_id="t",
    attempt="a",
    organization_id="acme",
    user_id="ada",
    conversation_id="c",
)
CATALOGUE = ModelCatalogue({"big": ModelFacts(input_usd=2.0, output_usd=10.0)})
ROUTE = Route(intent="research", model="big", retriever="search")
PLAN = Plan(rewritten_query="?", steps=["retrieve", "answer"], confidence=0.9)


class Recording:
    """A recorder that receives events, each after a number of milliseconds."""

    def __init__(self) -> None:
        self.clock = Clock(1000.0)
        self.published: list[Event] = []
        self.recorder = TurnRecorder(
            self.published.append,
            IDS,
            catalogue=CATALOGUE,
            tools_model="usual",
            clock=self.clock,
            today=lambda: datetime(2025, 3, 10, tzinfo=UTC),
        )

    def show(self, after_ms: float, *events: Event) -> None:
        self.clock.now += after_ms / 1000
        for event in events:
            self.recorder.emit(event)

    def trace(self, *calls: ModelCall, by_tools: Usage | None = None) -> TurnTrace:
        budget = CallBudget(max_calls=9)
        budget.by_tools = by_tools or Usage()
        for call in calls:
            budget.begin_call()
            budget.add(call)
        return self.recorder.finish(budget)


@pytest.fixture
def turn() -> Recording:
    return Recording()


def done(usage: Usage | None = None, **metadata: Any) -> Done:
    known = TurnMetadata(trace_id="f" * 32, usage=usage or Usage(), **metadata)
    return Done(result=TurnResult(conversation_id="c", turn_id="t", answer="It is 10.", metadata=known))


def failed(code: str = "deadline_exceeded") -> Failed:
    problem = Problem(type="", title="", status=504, detail="It took too long.", trace_id="", code=code)
    return Failed(problem=problem)


def call(role: str, model: str, started: float, usage: Usage | None = None) -> ModelCall:
    used = usage or Usage(input_tokens=1000, output_tokens=100)
    return ModelCall(role=role, model=model, usage=used, started=1000.0 + started, duration_ms=20.0)


def steps(trace: TurnTrace) -> Sequence[tuple[str, str, float, float]]:
    return [(each.kind, each.name, each.offset_ms, each.duration_ms) for each in trace.timeline]


def test_a_trace_has_all_steps_of_a_turn(turn: Recording) -> None:
    turn.show(10, ROUTE, PLAN)
    turn.show(5, Tool(name="semantic_search", status="started"))
    turn.show(40, Tool(name="semantic_search", status="finished", duration_ms=39.5))
    turn.show(1, Context(budget={"question": 3, "tools": 90}, history_turns=2))
    for text in ("It ", "is ", "10."):
        turn.show(30, Token(text=text))
    turn.show(4, Critique(grounded=True, coverage=1.0, action="accept"))
    turn.show(1, Telemetry(usage=Usage(), timings={}))
    turn.show(9, done(Usage(model_calls=1, input_tokens=1000, output_tokens=100)))
    trace = turn.trace(call("writer", "big", started=0.06))
    assert (trace.status, trace.duration_ms, trace.first_token_ms) == ("done", 160.0, 86.0)
    assert (trace.intent, trace.model, trace.retriever) == ("research", "big", "search")
    assert (trace.context_budget, trace.history_turns) == ({"question": 3, "tools": 90}, 2)
    assert steps(trace) == [
        ("plan", "rules", 0.0, 10.0),
        ("tool", "semantic_search", 15.0, 39.5),
        ("model", "writer: big", 60.0, 20.0),
        ("answer", "text", 86.0, 60.0),
        ("critique", "accept, by code", 150.0, 0.0),
        ("store", "commit", 151.0, 9.0),
    ]


def test_withdrawn_text_is_a_separate_step(turn: Recording) -> None:
    turn.show(10, Token(text="It"))
    turn.show(10, Token(text="is"))
    turn.show(5, Critique(grounded=False, coverage=0.0, issues=["?"], action="revise"))
    turn.show(0, Reset(reason="to be revised"))
    turn.show(10, Token(text="No."))
    turn.show(0, Revised(answer="No.", citations=[], corrections=[]))
    turn.show(5, Critique(grounded=True, coverage=1.0, action="accept", attempt=2), done())
    trace = turn.trace()
    assert steps(trace) == [
        ("answer", "text", 10.0, 10.0),
        ("critique", "revise, by code", 25.0, 0.0),
        ("reset", "withdrawn", 25.0, 0.0),
        ("answer", "text", 35.0, 0.0),
        ("revised", "corrected", 35.0, 0.0),
        ("critique", "accept, by code", 40.0, 0.0),
    ]
    assert [(each.attempt, each.action, each.issues) for each in trace.verdicts] == [
        (1, "revise", 1),
        (2, "accept", 0),
    ]


def test_concurrent_tools_have_separate_times(turn: Recording) -> None:
    turn.show(1, Tool(name="get_page", status="started"), Tool(name="web_search", status="started"))
    turn.show(1, Tool(name="get_page", status="started"))
    turn.show(7, Tool(name="web_search", status="failed", code="dependency_down", message="it is down"))
    turn.show(1, Tool(name="get_page", status="finished", duration_ms=8.1))
    turn.show(1, failed())
    trace = turn.trace()
    assert [(each.name, each.status, each.duration_ms, each.error_code) for each in trace.tools] == [
        ("web_search", "failed", 8.0, "dependency_down"),
        ("get_page", "unfinished", None, None),
        ("get_page", "finished", 8.1, None),
    ]
    assert (trace.status, trace.error_code, trace.first_token_ms) == ("failed", "deadline_exceeded", None)


def test_the_usage_of_tools_is_added_to_that_of_the_turn(turn: Recording) -> None:
    by_tools = Usage(model_calls=2, input_tokens=4000, output_tokens=200)
    turn.show(1, ROUTE, done())
    trace = turn.trace(call("planner", "big", started=0), by_tools=by_tools)
    assert [
        (each.role, each.model, each.calls, each.input_tokens, each.cost_usd) for each in trace.calls
    ] == [
        ("planner", "big", 1, 1000, 0.003),
        ("tools", "big", 2, 4000, 0.01),
    ]
    whole = Usage(model_calls=3, input_tokens=5000, output_tokens=300)
    assert (trace.usage, trace.cost_usd) == (whole, 0.013)


def test_an_unknown_cost_is_not_reported_in_part(turn: Recording) -> None:
    turn.show(1, failed())
    trace = turn.trace(call("planner", "big", started=0), call("writer", "unheard-of", started=0))
    assert [each.cost_usd for each in trace.calls] == [0.003, None]
    assert trace.cost_usd is None
    assert trace.usage.input_tokens == 2000


@pytest.mark.parametrize(
    ("ending", "cost"), [("finished", 0.013), ("failed", None), ("progress", None)], ids=str
)
def test_a_failed_turn_costs_what_its_tools_reported(
    turn: Recording, ending: Literal["finished", "failed", "progress"], cost: float | None
) -> None:
    turn.show(
        1, ROUTE, Tool(name="document_chat", status="started"), Tool(name="document_chat", status=ending)
    )
    turn.show(1, failed())
    reported = Usage(model_calls=2, input_tokens=4000, output_tokens=200) if cost else None
    assert turn.trace(call("planner", "big", started=0), by_tools=reported).cost_usd == cost


def test_the_size_of_a_trace_is_bounded(turn: Recording) -> None:
    for _ in range(500):
        turn.show(1, Tool(name="get_page", status="started"), Tool(name="get_page", status="finished"))
    turn.show(1, done())
    trace = turn.trace()
    assert (len(trace.tools), len(trace.timeline), trace.left_out) == (200, 200, 600)


async def test_existing_tools_are_recorded_by_name() -> None:
    assert {tool.name for tool in await live_tools()} == SHOWN_TOOLS - {"tools"}
