"""From what was seen of a turn to its trace. What is kept is named here, one field at a time.

Events hold questions, answers, quotes and file names, also in the reasons that our own code gives: of those
the trace takes numbers, yes or no, and words from closed lists.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeVar, get_args

from pydantic import JsonValue

from core.llm.chat_model import ModelCall, ModelUsage
from core.llm.model_catalog import ModelCatalogue
from core.mcp_contract import TOOLS
from core.models import Usage
from orc.conversations.models import utc_now
from orc.events import Context, Critique, Done, Event, Failed, Plan, Reset, Route, Telemetry, Token, Tool
from orc.traces.models import (
    CallTrace,
    GroundingTrace,
    PlanTrace,
    SearchTrace,
    SelectionTrace,
    TimelineStep,
    ToolTrace,
    TurnIds,
    TurnTrace,
    VerdictTrace,
)

MOST_ENTRIES = 200
"""Of one kind in a trace: a model may ask for any number of tools at once."""
OTHER = "other"
NAME_CHARACTERS = 128
SHOWN_TOOLS = TOOLS | {"tools"}
"""Names that a trace may contain; `tools` means all of them. A model may call a tool by any name."""

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
Kind = TypeVar("Kind", bound=Event)


class Seen(NamedTuple):
    """An event, and how long after the turn's beginning it came."""

    at_ms: float
    event: Event


class Sight(NamedTuple):
    """What a recorder saw of one turn, last the event that ended it. `began` is by the recorder's clock."""

    ids: TurnIds
    started_at: datetime
    began: float
    seen: Sequence[Seen]


class _TimedTool(NamedTuple):
    at_ms: float
    call: ToolTrace


def trace_of(sight: Sight, used: ModelUsage, catalogue: ModelCatalogue, tools_model: str) -> TurnTrace:
    """The trace of a turn that has ended."""
    seen = sight.seen
    end, route = seen[-1], _last(seen, Route)
    tools = _tools(seen)
    timeline = sorted(
        [*_stages(seen), *_tool_steps(tools), *_model_steps(used.calls, sight.began)],
        key=lambda step: step.offset_ms,
    )
    spoken = next((each.at_ms for each in seen if isinstance(each.event, Token)), None)
    return TurnTrace.model_validate(
        {
            **sight.ids.model_dump(),
            "started_at": sight.started_at,
            "duration_ms": end.at_ms,
            "first_token_ms": spoken,
            "status": "done" if isinstance(end.event, Done) else "failed",
            "error_code": _code(end.event.problem.code) if isinstance(end.event, Failed) else None,
            **_planned(seen),
            **_found(end.event),
            **_spent(seen, used, catalogue, route.model if route else tools_model),
            "tools": [each.call for each in tools[:MOST_ENTRIES]],
            "verdicts": [_verdict(each.event) for each in seen if isinstance(each.event, Critique)],
            "timeline": timeline[:MOST_ENTRIES],
            "left_out": sum(max(0, len(entries) - MOST_ENTRIES) for entries in (tools, timeline)),
        }
    )


def _planned(seen: Sequence[Seen]) -> dict[str, object]:
    """The plan of the turn and its context."""
    fields: dict[str, object] = {}
    if (route := _last(seen, Route)) is not None:
        fields |= {"intent": _name(route.intent), "model": _name(route.model), "retriever": route.retriever}
    if (plan := _last(seen, Plan)) is not None:
        fields["plan"] = _plan(plan)
    if (context := _last(seen, Context)) is not None:
        fields["context_budget"] = {name: size for name, size in context.budget.items() if _is_code(name)}
        fields["history_turns"] = context.history_turns
        fields["selection"] = _selection(context.summary_selection)
    return fields


def _found(end: Event) -> dict[str, object]:
    """What the result says of the search and the checks; nothing of a turn that failed."""
    if not isinstance(end, Done):
        return {}
    metadata = end.result.metadata
    fields: dict[str, object] = {
        "retrieval_mode": metadata.retrieval_mode,
        "searches": [
            SearchTrace(method=step.method, hits=step.hits)
            for step in metadata.retrieval_steps[:MOST_ENTRIES]
        ],
    }
    if GroundingTrace.model_fields.keys() <= metadata.critic_summary.keys():
        fields["grounding"] = GroundingTrace.model_validate(metadata.critic_summary)
    return fields


def _spent(
    seen: Sequence[Seen], used: ModelUsage, catalogue: ModelCatalogue, tools_model: str
) -> dict[str, object]:
    """Tokens and their price. A tool that gave no result may have cost anything."""
    calls = [_call(call.model, call.role, call.usage, catalogue, call.duration_ms) for call in used.calls]
    if used.by_tools != Usage():
        calls.append(_call(tools_model, "tools", used.by_tools, catalogue, None))
    prices = [call.cost_usd for call in calls]
    known = [price for price in prices if price is not None]
    is_whole = isinstance(seen[-1].event, Done) or all(
        tool.call.status == "finished" for tool in _tools(seen)
    )
    return {
        "usage": used.total,
        "calls": calls[:MOST_ENTRIES],
        "cost_usd": round(sum(known), 8) if is_whole and len(known) == len(prices) else None,
    }


def _call(
    model: str, role: str, usage: Usage, catalogue: ModelCatalogue, duration_ms: float | None
) -> CallTrace:
    return CallTrace(
        role=_name(role),
        model=_name(model),
        calls=usage.model_calls or 1,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        estimated=usage.estimated,
        duration_ms=duration_ms,
        cost_usd=catalogue.cost_usd(model, usage),
    )


def _tools(seen: Sequence[Seen]) -> list[_TimedTool]:
    """The calls of tools by when they began; one that failed before it began is one too."""
    begun: defaultdict[str, list[float]] = defaultdict(list)
    ended = []
    for at_ms, event in seen:
        if isinstance(event, Tool) and event.status == "started":
            begun[event.name].append(at_ms)
        elif isinstance(event, Tool):
            start = _taken(begun[event.name], at_ms, event.duration_ms)
            ended.append(_TimedTool(start, _tool_trace(event, at_ms - start)))
    for name, starts in begun.items():
        unfinished = ToolTrace(name=_tool(name), status="unfinished")
        ended += [_TimedTool(start, unfinished) for start in starts]
    return sorted(ended, key=lambda each: each.at_ms)


def _taken(starts: list[float], end: float, duration: float | None) -> float:
    """When a call that ended then began; taken out of the starts, among which it is the likeliest."""
    if not starts:
        return end
    start = starts[0] if duration is None else min(starts, key=lambda each: abs(end - duration - each))
    starts.remove(start)
    return start


def _tool_trace(event: Tool, since_start: float) -> ToolTrace:
    failed = event.status == "failed"
    return ToolTrace(
        name=_tool(event.name),
        status="failed" if failed else "finished",
        duration_ms=round(since_start, 1) if event.duration_ms is None else event.duration_ms,
        error_code=_code(event.code) if failed else None,
    )


def _stages(seen: Sequence[Seen]) -> Iterator[TimelineStep]:
    """What follows from the events alone: the plan, spans of text, verdicts, the store."""
    said: list[float] = []
    prepared: float | None = None
    for at_ms, event in seen:
        if isinstance(event, Token):
            said.append(at_ms)
            continue
        if said:
            yield _step("answer", "text", said[0], said[-1])
            said = []
        match event:
            case Plan():
                yield _step("plan", event.decided_by, 0.0, at_ms, failed=event.fallback is not None)
            case Critique():
                failed = event.failure is not None
                yield _step("critique", f"{event.action}, by {event.by}", at_ms, at_ms, failed=failed)
            case Reset():
                yield _step("reset", "withdrawn", at_ms, at_ms)
            case Telemetry():
                prepared = at_ms
            case Done() | Failed() if prepared is not None:
                yield _step("store", "commit", prepared, at_ms, failed=isinstance(event, Failed))


def _step(kind: str, name: str, start: float, end: float, *, failed: bool = False) -> TimelineStep:
    fields = {"kind": kind, "name": name, "offset_ms": start, "duration_ms": round(end - start, 1)}
    return TimelineStep.model_validate({**fields, "failed": failed})


def _tool_steps(tools: Sequence[_TimedTool]) -> Iterator[TimelineStep]:
    for at_ms, call in tools:
        yield TimelineStep(
            kind="tool",
            name=call.name,
            offset_ms=at_ms,
            duration_ms=call.duration_ms or 0.0,
            failed=call.status != "finished",
        )


def _model_steps(calls: Sequence[ModelCall], began: float) -> Iterator[TimelineStep]:
    for call in calls:
        offset = max(0.0, round((call.started - began) * 1000, 1))
        name = f"{_name(call.role)}: {_name(call.model)}"
        yield TimelineStep(kind="model", name=name, offset_ms=offset, duration_ms=call.duration_ms)


def _plan(event: Plan) -> PlanTrace:
    instead: Literal["not_planned", "not_available"] | None = None
    if event.fallback is not None:
        instead = "not_planned" if event.decided_by == "fallback" else "not_available"
    return PlanTrace(
        steps=event.steps,
        confidence=event.confidence,
        decided_by=event.decided_by,
        fallback=instead,
        escalated=event.escalation is not None,
    )


def _verdict(event: Critique) -> VerdictTrace:
    return VerdictTrace(
        attempt=event.attempt,
        action=event.action,
        by=event.by,
        grounded=event.grounded,
        coverage=event.coverage,
        issues=len(event.issues),
        failed=event.failure is not None,
    )


def _selection(fields: Mapping[str, JsonValue]) -> SelectionTrace:
    methods = get_args(SelectionTrace.model_fields["method"].annotation)
    counts = {name: fields.get(name) for name in ("summary_points", "notes", "left_out")}
    known = {name: count for name, count in counts.items() if isinstance(count, int)}
    method = fields.get("method")
    return SelectionTrace.model_validate({**known, "method": method if method in methods else "none"})


def _last(seen: Sequence[Seen], kind: type[Kind]) -> Kind | None:
    return next((each.event for each in reversed(seen) if isinstance(each.event, kind)), None)


def _is_code(text: str) -> bool:
    return _CODE.fullmatch(text) is not None


def _code(text: str | None) -> str | None:
    """A name from the code; anything else becomes `other`."""
    return text if text is None or _is_code(text) else OTHER


def _tool(name: str) -> str:
    return name if name in SHOWN_TOOLS else OTHER


def _name(text: str) -> str:
    """A name from the configuration, which no user can have written."""
    return text[:NAME_CHARACTERS]


Clock = Callable[[], float]
"""Seconds, of the same clock as those of ModelCall."""


class TurnRecorder:
    """Hands every event on as it is and notes when it came.

    Of a span of text the first and the last token are recorded, of a tool's progress nothing.
    `tools_model` names the model that the tools are taken to ask where the turn was given no other.
    """

    def __init__(
        self,
        publish: Callable[[Event], None],
        ids: TurnIds,
        *,
        catalogue: ModelCatalogue,
        tools_model: str,
        clock: Clock = time.perf_counter,
        today: Callable[[], datetime] = utc_now,
    ) -> None:
        self._publish = publish
        self._ids = ids
        self._catalogue = catalogue
        self._tools_model = tools_model
        self._clock = clock
        self._started_at = today()
        self._began = clock()
        self._seen: list[Seen] = []

    def emit(self, event: Event) -> None:
        """Publish the event."""
        self._publish(event)
        if isinstance(event, Tool) and event.status == "progress":
            return
        if isinstance(event, Token) and [type(seen.event) for seen in self._seen[-2:]] == [Token, Token]:
            self._seen.pop()
        self._seen.append(Seen(self._elapsed_ms(), event))

    def timings(self) -> dict[str, float]:
        """Milliseconds from the turn's beginning to its first text, where there was any, and to now."""
        first = next((seen.at_ms for seen in self._seen if isinstance(seen.event, Token)), None)
        fields = {} if first is None else {"first_token": first}
        return {**fields, "answer": self._elapsed_ms()}

    def finish(self, used: ModelUsage) -> TurnTrace:
        """The trace of the turn, whose last event was published."""
        sight = Sight(self._ids, self._started_at, self._began, self._seen)
        return trace_of(sight, used, self._catalogue, self._tools_model)

    def _elapsed_ms(self) -> float:
        return round((self._clock() - self._began) * 1000, 1)
