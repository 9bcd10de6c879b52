"""Conversions between the state of a turn, its record in the turn log, its events and its steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from pydantic import JsonValue

from orc.conversations.models import ChatMessage, Turn, TurnOutcome, TurnStatus
from orc.events import (
    AnswerKind,
    CitationMarked,
    Citations,
    Context,
    Correction,
    Critique,
    Done,
    Event,
    Failed,
    LazyCounts,
    Plan,
    Reset,
    Revised,
    Route,
    Stopped,
    Telemetry,
    Token,
    Tool,
    ToolStep,
    TurnBegun,
    TurnMetadata,
    TurnResult,
    whole_text,
)
from orc.graphs.models import ConversationState
from orc.lookups import LookupStep, ReasonCode
from orc.problems import problem_of
from orc.turns.event_log import EventLog
from orc.turns.running_turn import RunningTurn
from orc_core.documents.not_searched import NotSearched
from orc_core.errors import OrcError, TurnInFlight, Unavailable, kind_named
from orc_core.grounding.models import Citation, Grounding

STOPPED_ANSWER = (
    "(The user stopped this answer. What there was of it was not checked and is not repeated here.)"
)
"""What models are shown in place of a stopped answer."""
Kind = TypeVar("Kind", bound=Event)


def messages_of(turn: Turn) -> list[ChatMessage]:
    """An answered turn as two messages of the history, as models see it; an unanswered turn has none."""
    if (answer := turn.assistant) is None:
        return []
    content = STOPPED_ANSWER if turn.status is TurnStatus.STOPPED else answer.content
    question = ChatMessage(role="user", content=turn.question)
    return [question, ChatMessage(role="assistant", content=content)]


_SENTENCES: Mapping[ReasonCode, str] = {
    "found": "{tool} found {hits} {results}.",
    "nothing_found": "{tool} found nothing.",
    "below_threshold": "{tool} found {hits} {results} below the thresholds of the search.",
    "failed": "{tool} failed: {detail}.",
    "unavailable": "{tool} is not available.",
    "switched_off": "{tool} is switched off by {detail}.",
    "server_down": "Nothing could be looked up: {detail}.",
    "more_requested": "The critic asked for more.",
    "read_in_full": "{hits} of the pages that were found were read in full with {tool}.",
    "summaries_only": "{hits} pages are given as summaries; their full text ({tokens} tokens) is read if the"
    " critic asks for it.",
    "model_called": "The model called {tool}.",
    "model_call_failed": "The model's call of {tool} failed.",
    "not_looked_up": "Nothing was looked up, although the plan asked for it.",
    "left_out": "{hits} of the results did not fit into {tokens} tokens.",
    "images_sent": "Pages sent as pictures: {hits}, of at most {tokens} tokens.",
    "images_failed": "Pages that could not be sent as pictures: {hits}. {detail}.",
    "images_left_out": "Pages without text that were not sent as pictures: {hits}.",
    "no_images": "No pictures of pages were sent: {detail}.",
}


def explain(steps: Sequence[LookupStep]) -> str:
    """The retrieval reason in sentences, one for each step; repeated sentences are merged."""
    if not steps:
        return "The turn names no documents."
    return " ".join(sentence for sentence, _ in groupby(map(_sentence, steps)))


def _sentence(step: LookupStep) -> str:
    results = "result" if step.hits == 1 else "results"
    if step.reason_code == "document_chat":
        return step.detail
    fields = step.model_dump() | {"detail": step.detail.rstrip("."), "results": results}
    return _SENTENCES[step.reason_code].format_map(fields)


def lazy_counts_of(state: ConversationState) -> LazyCounts:
    """What lazy retrieval gave as summaries, and what of it was read in full."""
    shown = [step for step in state.lookup_steps if step.reason_code == "summaries_only"]
    return LazyCounts(
        pages=sum(step.hits for step in shown),
        summary_tokens=state.context_budget.get("summaries", 0),
        deferred_tokens=sum(step.tokens for step in shown),
        pages_read=sum(step.hits for step in state.lookup_steps if step.reason_code == "read_in_full"),
    )


def telemetry_of(state: ConversationState, made: TurnMetadata) -> Telemetry:
    """What the turn cost and how it was answered, from the final state of the graph."""
    route = state.route
    return Telemetry(
        usage=made.usage,
        timings=made.timings_ms,
        intent=route.intent if route else None,
        model=route.model if route else None,
        retriever=route.retriever if route else None,
        retrieval_mode=made.retrieval_mode,
        context_budget=made.context_budget,
        summary_selection=made.summary_selection,
        lazy=made.lazy,
        images=made.images,
        attempts=state.attempt.number,
    )


def result_of(state: ConversationState, running: RunningTurn) -> TurnResult:
    """The result for the caller, from the final state of the graph and the events so far."""
    # Whether tools looked for something, whether they found it or not.
    looked_up = any(step.tool and step.status == "ok" for step in state.lookup_steps)
    return TurnResult(
        conversation_id=running.turn.conversation_id,
        turn_id=running.turn.turn_id,
        answer=state.answer or "",
        answer_kind=answer_kind_of(state.attempt.grounding),
        citations=state.attempt.citations,
        uploaded_file_refs=state.uploaded_file_refs,
        last_mcp_tool_used=state.last_mcp_tool_used,
        metadata=TurnMetadata(
            route=state.route.data() if state.route else {},
            plan=state.plan.data() if state.plan else {},
            retrieval_mode=state.retrieval_mode,
            retrieval_reason=explain(state.lookup_steps),
            retrieval_steps=state.retrieval_steps,
            lookups=state.lookup_steps,
            context_budget=state.context_budget,
            summary_selection=state.recalled.selection,
            critic_summary=critic_summary_of(state),
            lazy=lazy_counts_of(state),
            images=state.image_counts,
            files=state.files,
            not_searched=state.not_searched if looked_up else NotSearched(),
            unknown_files=state.unknown_files,
            **_recorded(running),
        ),
    )


def stopped_result_of(running: RunningTurn) -> TurnResult:
    """The result of a turn that its user stopped: what was shown up to then, as not checked."""
    events = running.log.so_far()
    route, plan, context = last_of(events, Route), last_of(events, Plan), last_of(events, Context)
    return TurnResult(
        conversation_id=running.turn.conversation_id,
        turn_id=running.turn.turn_id,
        status="stopped",
        answer=shown_text(events),
        citations=shown_citations(events),
        metadata=TurnMetadata(
            route=route.data() if route else {},
            plan=plan.data() if plan else {},
            context_budget=context.budget if context else {},
            summary_selection=context.summary_selection if context else {},
            critic_summary=Grounding(grounded=False).model_dump(mode="json"),
            **_recorded(running),
        ),
    )


def answer_kind_of(checks: Grounding | None) -> AnswerKind:
    """What the text is, by the code checks: talk, which has none, counts as an answer."""
    if checks is not None and checks.closest_passages:
        return "closest_passages"
    return "not_found" if checks is not None and checks.not_found and not checks.citations else "answer"


def critic_summary_of(state: ConversationState) -> dict[str, JsonValue]:
    """The checks and the verdict on the answer that is given, and the actions on the attempts before it.

    The verdict overrides the checks, because it may have further objections.
    """
    grounding, verdicts = state.attempt.grounding, state.verdicts
    if grounding is None:
        return {}
    last = verdicts[-1].model_dump(mode="json", exclude={"citations"}) if verdicts else {}
    earlier: list[JsonValue] = [verdict.action for verdict in verdicts[:-1]]
    attempts = {"attempts": len(verdicts), "earlier_actions": earlier}
    return {**grounding.model_dump(mode="json"), **last, **attempts}


def outcome_of(state: ConversationState, result: TurnResult) -> TurnOutcome:
    """The outcome that the turn log stores.

    File references are overwritten only by turns that called document_chat: a concurrent turn that began
    earlier must not restore older ones.
    """
    asked, called_tools = state.document_reply is not None, bool(state.tool_results)
    return TurnOutcome(
        answer=result.answer,
        result=result.model_dump(mode="json"),
        uploaded_file_refs=state.uploaded_file_refs if asked else None,
        last_mcp_tool_used=state.last_mcp_tool_used if asked or called_tools else None,
        citations=state.attempt.citations,
    )


def end_of(result: TurnResult) -> Done | Stopped:
    """The event that ends a turn with this result."""
    return Stopped(result=result) if result.status == "stopped" else Done(result=result)


STORED_AFTER = 1_000_000
"""Replayed events are numbered from here, above any live event. A client that reconnects during a replay
therefore resumes the replay.
"""
ATTEMPT_NUMBERS = 2 * STORED_AFTER
"""Each attempt has its own range of event numbers, so that no client resumes one attempt inside another."""


def in_flight(turn: Turn) -> TurnInFlight:
    """The error for a turn that another process is answering."""
    error = TurnInFlight("The turn is being answered elsewhere; ask again in a moment.")
    error.conversation_id, error.turn_id = turn.conversation_id, turn.turn_id
    return error


def begun_event(turn: Turn) -> TurnBegun:
    """The first event of a turn."""
    return TurnBegun(conversation_id=turn.conversation_id, turn_id=turn.turn_id, seq=turn.seq)


def before_attempt(turn: Turn) -> int:
    """The number before those of the events of the turn's present attempt."""
    return (turn.attempt_number - 1) * ATTEMPT_NUMBERS


def live_log(turn: Turn, events: Sequence[Event]) -> EventLog:
    """The log of the turn's present attempt, which withdraws the text of an earlier one from its reader."""
    is_first = turn.attempt_number == 1
    return EventLog(
        events,
        conversation_id=turn.conversation_id,
        turn_id=turn.turn_id,
        after=0 if is_first else before_attempt(turn) + 1,
        restart=None if is_first else Reset(reason="The question is being answered again."),
    )


def replay_log(turn: Turn, *, after: int, trace_id: str) -> EventLog:
    """The events of a stored turn, for a reader that has received those up to `after`.

    Text that the reader may have is withdrawn first. The events have the same numbers every time, for the
    first attempt from STORED_AFTER on.
    """
    numbered_after = before_attempt(turn) + STORED_AFTER
    events: list[Event]
    if not turn.status.has_result or turn.result is None:
        error: OrcError = in_flight(turn)
        if (failure := turn.failure) is not None:
            # The class of the error is restored from its code.
            error = kind_named(failure.code, otherwise=Unavailable)(failure.message, code=failure.code)
        events = [Failed(problem=problem_of(error, trace_id))]
    else:
        result = TurnResult.model_validate(turn.result)
        answer = whole_text(result.answer, result.citations)
        again = Reset(reason="The answer is shown again from its start.")
        shown = [*answer, Citations(citations=result.citations), end_of(result)]
        events = [again, begun_event(turn), *shown]
    if turn.status is TurnStatus.PENDING:
        # The number of the reader's last event: the live ones after it are still to be had.
        numbered_after = after - 1
    elif not turn.status.has_result:
        # Before the events of an answer, which may follow if the question is asked again.
        numbered_after -= 1
    elif after == 0:
        events, numbered_after = events[1:], numbered_after + 1
    return EventLog(events, conversation_id=turn.conversation_id, turn_id=turn.turn_id, after=numbered_after)


def _recorded(running: RunningTurn) -> dict[str, Any]:
    """The fields of a turn's metadata that its recorder and its events know, however it ends."""
    return {
        "trace_id": running.request.trace_id,
        "usage": running.budget.total,
        "timings_ms": running.recorder.timings(),
        "timeline": running.recorder.timeline(running.budget),
        **steps_of(running.log.so_far()),
    }


def steps_of(events: Sequence[Event]) -> dict[str, Any]:
    """The fields of a turn's metadata that say how its answer came about.

    The corrections are those of the text that a reader has.
    """
    tools: list[ToolStep] = []
    begun: Counter[str] = Counter()
    corrections: list[Correction] = []
    for event in events:
        if isinstance(event, Reset):
            corrections.clear()
        elif isinstance(event, Revised):
            corrections += event.corrections
        elif isinstance(event, Tool) and event.status == "started":
            begun[event.name] += 1
        elif isinstance(event, Tool) and event.status != "progress":
            begun[event.name] -= 1
            tools.append(ToolStep.model_validate(event.model_dump(include=set(ToolStep.model_fields))))
    tools += [ToolStep(name=name, status="unfinished") for name in (+begun).elements()]
    return {
        "tools": tools,
        # The result has the citations already.
        "critiques": [
            event.model_copy(update={"citations": None}) for event in events if isinstance(event, Critique)
        ],
        "withdrawn": [event.reason for event in events if isinstance(event, Reset)],
        "corrections": corrections,
    }


def shown_text(events: Sequence[Event]) -> str:
    """The text of the answer that a reader has: the tokens since the last reset or revision."""
    shown: list[str] = []
    for event in events:
        if isinstance(event, Reset | Revised):
            shown = [event.answer] if isinstance(event, Revised) else []
        elif isinstance(event, Token):
            shown.append(event.text)
    return "".join(shown)


def shown_citations(events: Sequence[Event]) -> list[Citation]:
    """The citations of the text that a reader has, with its marks, as judged."""
    shown: dict[int, Citation] = {}
    for event in events:
        if isinstance(event, Reset | Revised):
            shown = dict(enumerate(event.citations)) if isinstance(event, Revised) else {}
        elif isinstance(event, CitationMarked):
            known = shown.setdefault(event.index, event.citation.model_copy(update={"marks": []}))
            shown[event.index] = known.model_copy(update={"marks": [*known.marks, event.mark]})
        elif isinstance(event, Critique) and event.citations is not None:
            shown = dict(enumerate(event.citations))
    return [shown[index] for index in sorted(shown)]


def last_of(events: Sequence[Event], kind: type[Kind]) -> Kind | None:
    """The last event of this kind, if there is one."""
    return next((event for event in reversed(events) if isinstance(event, kind)), None)
