"""Conversions between the state of a turn, its record in the turn log and its events."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from pydantic import JsonValue

from core.errors import OrcError, TurnInFlight, Unavailable, kind_named
from core.models import Usage
from orc.conversations.models import ChatMessage, Turn, TurnOutcome, TurnStatus
from orc.events import Citations, Done, Failed, Reset, Token, TurnMetadata, TurnResult
from orc.graphs.models import ConversationState, LookupStep, ReasonCode
from orc.problems import problem_of
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest


def messages_of(turn: Turn) -> list[ChatMessage]:
    """An answered turn as two messages of the history; an unanswered turn has none."""
    if (answer := turn.assistant) is None:
        return []
    question = ChatMessage(role="user", content=turn.question)
    return [question, ChatMessage(role="assistant", content=answer.content)]


_SENTENCES: Mapping[ReasonCode, str] = {
    "found": "{tool} found {hits} {results}.",
    "nothing_found": "{tool} found nothing.",
    "below_threshold": "{tool} found nothing above the thresholds of the search.",
    "failed": "{tool} failed: {detail}.",
    "unavailable": "{tool} is not available.",
    "server_down": "Nothing could be looked up: {detail}.",
    "more_requested": "The critic asked for more.",
    "read_in_full": "{hits} of the pages that were found were read in full with {tool}.",
    "summaries_only": "{hits} pages are given as summaries; their full text ({tokens} tokens) is read if the"
    " critic asks for it.",
    "model_called": "The model called {tool}.",
    "model_call_failed": "The model's call of {tool} failed.",
    "not_looked_up": "Nothing was looked up, although the plan asked for it.",
    "left_out": "{hits} of the results did not fit into {tokens} tokens.",
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


def result_of(
    state: ConversationState, turn: Turn, request: TurnRequest, usage: Usage, timings: dict[str, float]
) -> TurnResult:
    """The result for the caller, from the final state of the graph."""
    return TurnResult(
        conversation_id=turn.conversation_id,
        turn_id=turn.turn_id,
        answer=state.answer or "",
        citations=state.attempt.citations,
        uploaded_file_refs=state.uploaded_file_refs,
        last_mcp_tool_used=state.last_mcp_tool_used,
        metadata=TurnMetadata(
            trace_id=request.trace_id,
            route=state.route.data() if state.route else {},
            plan=state.plan.data() if state.plan else {},
            retrieval_mode=state.retrieval_mode,
            retrieval_reason=explain(state.lookup_steps),
            retrieval_steps=state.retrieval_steps,
            context_budget=state.context_budget,
            summary_selection=state.recalled.selection,
            critic_summary=critic_summary_of(state),
            files=state.files,
            usage=usage,
            timings_ms=timings,
        ),
    )


def critic_summary_of(state: ConversationState) -> dict[str, JsonValue]:
    """The checks and the verdict on the answer that is given, and the actions on the attempts before it.

    The verdict overrides the checks, because a model may have added objections.
    """
    grounding, verdicts = state.attempt.grounding, state.verdicts
    if grounding is None:
        return {}
    last = verdicts[-1].data() if verdicts else {}
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


def replay(turn: Turn, *, after: int, trace_id: str) -> EventLog:
    """The events of a stored turn, for a reader that has received those up to `after`."""
    if turn.status is not TurnStatus.COMMITTED or turn.result is None:
        error: OrcError = TurnInFlight("The turn is being answered elsewhere; ask again in a moment.")
        if (failure := turn.failure) is not None:
            # The class of the error is restored from its code.
            error = kind_named(failure.code, otherwise=Unavailable)(failure.message, code=failure.code)
        return EventLog([Failed(problem=problem_of(error, trace_id))], after=after)
    result = TurnResult.model_validate(turn.result)
    withdrawn = [Reset(reason="The answer is shown again from its start.")] if after else []
    shown = [Token(text=result.answer), Citations(citations=result.citations), Done(result=result)]
    return EventLog([*withdrawn, *shown], after=after)
