"""Between a turn's state, its record in the log, and the events that tell of it."""

from pydantic import JsonValue

from core.errors import OrcError, TurnInFlight, Unavailable, kind_named
from core.models import Usage
from orc.conversations.models import ChatMessage, Turn, TurnOutcome, TurnStatus
from orc.events import Citations, Done, Event, Failed, Reset, Token, TurnMetadata, TurnResult
from orc.graphs.models import ConversationState
from orc.graphs.query_planner import plan_event
from orc.problems import problem_of
from orc.tools.ports import DOCUMENT_CHAT
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest


def messages_of(turn: Turn) -> list[ChatMessage]:
    """An answered turn as two messages of the history; nothing for one without an answer."""
    if turn.assistant is None:
        return []
    return [
        ChatMessage(role="user", content=turn.question),
        ChatMessage(role="assistant", content=turn.assistant.content),
    ]


def result_of(state: ConversationState, turn: Turn, request: TurnRequest, usage: Usage) -> TurnResult:
    """What the caller gets, from the state that the graph ended in."""
    return TurnResult(
        conversation_id=turn.conversation_id,
        turn_id=turn.turn_id,
        answer=state.answer or "",
        citations=state.citations,
        uploaded_file_refs=state.uploaded_file_refs,
        last_mcp_tool_used=state.last_mcp_tool_used,
        metadata=TurnMetadata(
            trace_id=request.trace_id,
            route=state.route.model_dump() if state.route else {},
            plan=plan_event(state.plan).data() if state.plan else {},
            retrieval_mode=state.retrieval_mode,
            retrieval_reason=state.retrieval_reason,
            retrieval_steps=state.retrieval_steps,
            context_budget=state.context_budget,
            summary_selection=state.recalled.selection,
            critic_summary=critic_summary_of(state),
            files=state.files,
            usage=usage,
        ),
    )


def critic_summary_of(state: ConversationState) -> dict[str, JsonValue]:
    """What the checks found in the answer that was given, and what became of the attempts before it.

    The last verdict goes before the checks: a model may have found more fault than they did.
    """
    if state.grounding is None:
        return {}
    last = state.verdicts[-1].data() if state.verdicts else {}
    earlier: list[JsonValue] = [verdict.action for verdict in state.verdicts[:-1]]
    attempts = {"attempts": len(state.verdicts), "earlier_actions": earlier}
    return {**state.grounding.model_dump(mode="json"), **last, **attempts}


def outcome_of(state: ConversationState, result: TurnResult) -> TurnOutcome:
    """What the turn log keeps.

    References are overwritten by every turn that asked documents, and by no other: a turn beside it
    that began earlier must not bring back older ones.
    """
    tools = {result.name for result in state.tool_results}
    return TurnOutcome(
        answer=result.answer,
        result=result.model_dump(mode="json"),
        uploaded_file_refs=state.uploaded_file_refs if DOCUMENT_CHAT in tools else None,
        last_mcp_tool_used=state.last_mcp_tool_used if tools else None,
        citations=state.citations,
    )


def replay(turn: Turn, *, after: int, trace_id: str) -> EventLog:
    """The events of a turn as far as the store knows them, for a reader that has some of the first ones."""
    if turn.status is not TurnStatus.COMMITTED or turn.result is None:
        return EventLog([Failed(problem=problem_of(_why_unanswered(turn), trace_id))], after=after)
    result = TurnResult.model_validate(turn.result)
    withdrawn = [Reset(reason="The answer is shown again from its start.")] if after else []
    events: list[Event] = [
        *withdrawn,
        Token(text=result.answer),
        Citations(citations=result.citations),
        Done(result=result),
    ]
    return EventLog(events, after=after)


def _why_unanswered(turn: Turn) -> OrcError:
    """The error that ended the turn: of the class that it had then, as far as its code tells."""
    if turn.failure is None:
        return TurnInFlight("The turn is being answered elsewhere; ask again in a moment.")
    kind = kind_named(turn.failure.code, otherwise=Unavailable)
    return kind(turn.failure.message, code=turn.failure.code)
