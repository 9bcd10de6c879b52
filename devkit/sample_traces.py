"""Traces of turns for tests and for the picture in docs/telemetry.md: made up, and the same every time."""

from datetime import UTC, datetime
from typing import Any

from orc.events import TimelineStep
from orc.identity import LOCAL_ORGANIZATION
from orc.traces.models import (
    CallTrace,
    GroundingTrace,
    PlanTrace,
    SearchTrace,
    SelectionTrace,
    ToolTrace,
    TurnTrace,
    VerdictTrace,
)
from orc_core.models import Usage

ORGANIZATION = LOCAL_ORGANIZATION
NOON = datetime(2025, 3, 10, 12, tzinfo=UTC)


def trace(number: int, started_at: datetime = NOON, **fields: Any) -> TurnTrace:
    """A finished turn of ada's, identified by its number."""
    known = {
        "trace_id": f"{number:032x}",
        "turn_id": f"turn-{number}",
        "attempt": f"attempt-{number:05}",
        "organization_id": ORGANIZATION,
        "user_id": "ada",
        "conversation_id": "c-1",
        "started_at": started_at,
        "duration_ms": 1000.0 + number,
        "status": "done",
        "usage": Usage(model_calls=1, input_tokens=100, output_tokens=10),
        "cost_usd": 0.001,
    }
    return TurnTrace.model_validate({**known, **fields})


_TOOLS = [
    ToolTrace(name="semantic_search", status="finished", duration_ms=160),
    ToolTrace(name="web_search", status="failed", duration_ms=890, error_code="dependency_down"),
]
_CALLS = [
    CallTrace(
        role="planner",
        model="gpt-4o-mini",
        input_tokens=740,
        output_tokens=60,
        duration_ms=395,
        cost_usd=0.0002,
    ),
    *(
        CallTrace(
            role="writer",
            model="gpt-4o",
            input_tokens=4900,
            output_tokens=230,
            duration_ms=duration,
            cost_usd=0.0146,
        )
        for duration in (1450.0, 1210.0)
    ),
]
_VERDICTS = [
    VerdictTrace(
        attempt=attempt,
        action=action,
        by="code",
        grounded=attempt == 2,
        coverage=coverage,
        issues=2 - attempt,
        failed=False,
    )
    for attempt, action, coverage in ((1, "revise", 0.5), (2, "accept", 1.0))
]


def detailed(number: int, started_at: datetime = NOON, **fields: Any) -> TurnTrace:
    """A turn with something in every field: a plan by a model, two tools, a revised answer."""
    slow = 1.0 + (number * 37 % 100) / 60
    steps: list[tuple[str, str, float, float]] = [
        ("plan", "model", 0, 420),
        ("model", "planner: gpt-4o-mini", 15, 395),
        ("tool", "semantic_search", 430, 160),
        ("tool", "web_search", 435, 890),
        ("model", "writer: gpt-4o", 1340, 1450),
        ("answer", "text", 1720, 1060),
        ("critique", "revise, by code", 2795, 0),
        ("reset", "withdrawn", 2800, 0),
        ("model", "writer: gpt-4o", 2805, 1210),
        ("answer", "text", 3110, 900),
        ("critique", "accept, by code", 4020, 0),
        ("store", "commit", 4025, 18),
    ]
    known: dict[str, Any] = {
        "duration_ms": round(4043 * slow, 1),
        "first_token_ms": round(1720 * slow, 1),
        "intent": "research",
        "model": "gpt-4o",
        "retriever": "search",
        "plan": PlanTrace(steps=["both", "answer"], confidence=0.42, decided_by="model", escalated=True),
        "retrieval_mode": "rag",
        "searches": [SearchTrace(method="hybrid", hits=3), SearchTrace(method="lexical", hits=9)],
        "context_budget": {"history": 812, "memory": 140, "question": 21, "tools": 3950},
        "history_turns": 6,
        "selection": SelectionTrace(method="lexical", summary_points=2, notes=3, left_out=9),
        "tools": _TOOLS,
        "calls": _CALLS,
        "usage": Usage(model_calls=3, input_tokens=int(10540 * slow), output_tokens=int(520 * slow)),
        "cost_usd": round(0.0294 * slow, 4),
        "verdicts": _VERDICTS,
        "grounding": GroundingTrace(grounded=True, citations=3, verified=3, coverage=1.0, not_found=False),
        "timeline": [
            TimelineStep.model_validate(
                {
                    "kind": kind,
                    "name": name,
                    "offset_ms": round(offset * slow, 1),
                    "duration_ms": round(duration * slow, 1),
                    "failed": name == "web_search",
                }
            )
            for kind, name, offset, duration in steps
        ],
    }
    return trace(number, started_at, **{**known, **fields})
