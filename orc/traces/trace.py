"""From what was seen of a turn to its trace. What is kept is named here, one field at a time.

Events hold questions, answers, quotes and file names, also in the reasons that our own code gives: of those
the trace takes numbers, yes or no, and words from closed lists.
See docs/decisions/telemetry.md.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar, get_args

from orc.conversations.models import utc_now
from orc.events import (
    CitationMarked,
    Context,
    Critique,
    Done,
    Event,
    Failed,
    Plan,
    Reset,
    Revised,
    Route,
    Stopped,
    Telemetry,
    TimelineStep,
    Token,
    Tool,
)
from orc.traces.models import (
    CallTrace,
    GroundingTrace,
    PlanTrace,
    SearchTrace,
    SelectionTrace,
    ToolTrace,
    TurnIds,
    TurnTrace,
    VerdictTrace,
)
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.mcp_contract import TOOLS
from orc_core.models import Usage

MOST_ENTRIES = 200
"""Of one kind in a trace: a model may ask for any number of tools at once."""
OTHER, TASK = "other", "task"
NAME_CHARACTERS = 128
SHOWN_TOOLS = TOOLS | {"tools"}
"""Names that a trace may contain; `tools` means all of them. A model may call a tool by any name."""

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
Kind = TypeVar("Kind", bound=Event)
Clock = Callable[[], float]
"""Seconds, of the same clock as those of ModelCall."""


class Seen(NamedTuple):
    """An event, and how long after the turn's beginning it came."""

    at_ms: float
    event: Event


class TurnRecorder:
    """Hands every event on as it is and notes when it came.

    Of a span of text the first and the last token are recorded, of its markers and of a tool's progress
    nothing.
    `tools_model` names the model that the tools are taken to ask if the turn was given no other.
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
        if isinstance(event, CitationMarked) or (isinstance(event, Tool) and event.status == "progress"):
            return
        if isinstance(event, Token) and [type(seen.event) for seen in self._seen[-2:]] == [Token, Token]:
            self._seen.pop()
        self._seen.append(Seen(self._elapsed_ms(), event))

    def timings(self) -> dict[str, float]:
        """Milliseconds from the turn's beginning to its first text, if there was any, and to now."""
        first = self._first_token_ms()
        return {**({} if first is None else {"first_token": first}), "answer": self._elapsed_ms()}

    def timeline(self, used: CallBudget) -> list[TimelineStep]:
        """What happened so far, in order."""
        steps = [
            *_stages(self._seen),
            *(
                _step("tool", tool.name, at_ms, tool.duration_ms or 0.0, failed=tool.status != "finished")
                for at_ms, tool in _tools(self._seen)
            ),
        ]
        for call in used.calls:
            offset = max(0.0, round((call.started - self._began) * 1000, 1))
            name = f"{_name(call.role)}: {_name(call.model)}"
            steps.append(_step("model", name, offset, call.duration_ms))
        return sorted(steps, key=lambda step: step.offset_ms)

    def finish(self, used: CallBudget) -> TurnTrace:
        """The trace of the turn, whose last event was published."""
        seen, (ended_ms, end) = self._seen, self._seen[-1]
        tools, timeline = _tools(seen), self.timeline(used)
        verdicts = [
            VerdictTrace(
                attempt=event.attempt,
                action=event.action,
                by=event.by,
                grounded=event.grounded,
                coverage=event.coverage,
                issues=len(event.issues),
                failed=event.failure is not None,
            )
            for _, event in seen
            if isinstance(event, Critique)
        ]
        status = "done" if isinstance(end, Done) else "stopped" if isinstance(end, Stopped) else "failed"
        return TurnTrace.model_validate(
            {
                **self._ids.model_dump(),
                "started_at": self._started_at,
                "duration_ms": ended_ms,
                "first_token_ms": self._first_token_ms(),
                "status": status,
                "error_code": _code(end.problem.code) if isinstance(end, Failed) else None,
                **_planned(seen),
                **_found(end),
                **self._spent(used, isinstance(end, Done) or all(t.status == "finished" for _, t in tools)),
                "tools": [call for _, call in tools[:MOST_ENTRIES]],
                "verdicts": verdicts,
                "timeline": timeline[:MOST_ENTRIES],
                "left_out": sum(max(0, len(entries) - MOST_ENTRIES) for entries in (tools, timeline)),
            }
        )

    def finish_task(self, used: CallBudget, error_code: str) -> TurnTrace:
        """The trace of a task, which is no turn and has no events."""
        return TurnTrace.model_validate(
            {
                **self._ids.model_dump(),
                "started_at": self._started_at,
                "duration_ms": self._elapsed_ms(),
                "status": "failed" if error_code else "done",
                "error_code": _code(error_code or None),
                "intent": TASK,
                "model": _name(self._tools_model),
                **self._spent(used, is_whole=not error_code),
            }
        )

    def _spent(self, used: CallBudget, is_whole: bool) -> dict[str, object]:
        """Tokens and their price. It is not whole if a tool gave no result, which may have cost anything."""
        made = [(call.role, call.model, call.usage, call.duration_ms) for call in used.calls]
        calls = [self._call(*each) for each in made]
        if used.by_tools != Usage():
            route = _last(self._seen, Route)
            calls.append(self._call("tools", route.model if route else self._tools_model, used.by_tools))
        known = [call.cost_usd for call in calls if call.cost_usd is not None]
        return {
            "usage": used.total,
            "calls": calls[:MOST_ENTRIES],
            "cost_usd": round(sum(known), 8) if is_whole and len(known) == len(calls) else None,
        }

    def _call(self, role: str, model: str, usage: Usage, duration_ms: float | None = None) -> CallTrace:
        return CallTrace(
            role=_name(role),
            model=_name(model),
            calls=usage.model_calls or 1,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            estimated=usage.estimated,
            duration_ms=duration_ms,
            cost_usd=self._catalogue.cost_usd(model, usage),
        )

    def _first_token_ms(self) -> float | None:
        return next((seen.at_ms for seen in self._seen if isinstance(seen.event, Token)), None)

    def _elapsed_ms(self) -> float:
        return round((self._clock() - self._began) * 1000, 1)


def _planned(seen: Sequence[Seen]) -> dict[str, object]:
    """The plan of the turn and its context."""
    fields: dict[str, object] = {}
    if (route := _last(seen, Route)) is not None:
        fields |= {"intent": _name(route.intent), "model": _name(route.model), "retriever": route.retriever}
    if (plan := _last(seen, Plan)) is not None:
        instead = "not_planned" if plan.decided_by == "fallback" else "not_available"
        fields["plan"] = PlanTrace(
            steps=plan.steps,
            confidence=plan.confidence,
            decided_by=plan.decided_by,
            fallback=None if plan.fallback is None else instead,
            escalated=plan.escalation is not None,
        )
    if (context := _last(seen, Context)) is not None:
        budget = {name: size for name, size in context.budget.items() if _CODE.fullmatch(name)}
        fields |= {"context_budget": budget, "history_turns": context.history_turns}
        selected = context.summary_selection
        methods = get_args(SelectionTrace.model_fields["method"].annotation)
        counts = {name: selected.get(name) for name in ("summary_points", "notes", "left_out")}
        known = {name: count for name, count in counts.items() if isinstance(count, int)}
        method = selected.get("method") if selected.get("method") in methods else "none"
        fields["selection"] = SelectionTrace.model_validate({**known, "method": method})
    return fields


def _found(end: Event) -> dict[str, object]:
    """What the result says of the search and the checks; nothing of a turn that failed."""
    if not isinstance(end, Done | Stopped):
        return {}
    metadata = end.result.metadata
    steps = metadata.retrieval_steps[:MOST_ENTRIES]
    fields: dict[str, object] = {
        "retrieval_mode": metadata.retrieval_mode,
        "lazy": metadata.lazy,
        "images": metadata.images,
        "searches": [SearchTrace.model_validate(step.model_dump(exclude={"note"})) for step in steps],
    }
    if GroundingTrace.model_fields.keys() <= metadata.critic_summary.keys():
        fields["grounding"] = GroundingTrace.model_validate(metadata.critic_summary)
    return fields


def _tools(seen: Sequence[Seen]) -> list[tuple[float, ToolTrace]]:
    """The calls of tools by when they began; one that failed before it began is one too."""
    begun: defaultdict[str, list[float]] = defaultdict(list)
    calls = []
    for at_ms, event in seen:
        if isinstance(event, Tool) and event.status == "started":
            begun[event.name].append(at_ms)
        elif isinstance(event, Tool):
            start = _taken(begun[event.name], at_ms, event.duration_ms)
            failed, took = event.status == "failed", event.duration_ms
            call = ToolTrace(
                name=_tool(event.name),
                status="failed" if failed else "finished",
                duration_ms=round(at_ms - start, 1) if took is None else took,
                error_code=_code(event.code) if failed else None,
                hits=event.hits,
            )
            calls.append((start, call))
    for name, starts in begun.items():
        unfinished = ToolTrace(name=_tool(name), status="unfinished")
        calls += [(start, unfinished) for start in starts]
    return sorted(calls, key=lambda each: each[0])


def _taken(starts: list[float], end: float, duration: float | None) -> float:
    """When a call that ended then began; taken out of the starts, among which it is the likeliest."""
    if not starts:
        return end
    start = starts[0] if duration is None else min(starts, key=lambda each: abs(end - duration - each))
    starts.remove(start)
    return start


def _stages(seen: Sequence[Seen]) -> Iterator[TimelineStep]:
    """What follows from the events alone: the plan, spans of text, verdicts, the store."""
    said: list[float] = []
    prepared: float | None = None
    for at_ms, event in seen:
        if isinstance(event, Token):
            said.append(at_ms)
            continue
        if said:
            yield _step("answer", "text", said[0], said[-1] - said[0])
            said = []
        match event:
            case Plan():
                yield _step("plan", event.decided_by, 0.0, at_ms, failed=event.fallback is not None)
            case Critique():
                failed = event.failure is not None
                yield _step("critique", f"{event.action}, by {event.by}", at_ms, failed=failed)
            case Reset():
                yield _step("reset", "withdrawn", at_ms)
            case Revised():
                yield _step("revised", "corrected", at_ms)
            case Telemetry():
                prepared = at_ms
            case Done() | Stopped() | Failed() if prepared is not None:
                yield _step("store", "commit", prepared, at_ms - prepared, failed=isinstance(event, Failed))


def _step(
    kind: str, name: str, offset: float, duration: float = 0.0, *, failed: bool = False
) -> TimelineStep:
    fields = {"kind": kind, "name": name, "offset_ms": offset, "duration_ms": round(duration, 1)}
    return TimelineStep.model_validate({**fields, "failed": failed})


def _last(seen: Sequence[Seen], kind: type[Kind]) -> Kind | None:
    return next((each.event for each in reversed(seen) if isinstance(each.event, kind)), None)


def _code(text: str | None) -> str | None:
    """A name from the code; anything else becomes `other`."""
    return text if text is None or _CODE.fullmatch(text) else OTHER


def _tool(name: str) -> str:
    return name if name in SHOWN_TOOLS else OTHER


def _name(text: str) -> str:
    """A name from the configuration, which no user can have written."""
    return text[:NAME_CHARACTERS]
