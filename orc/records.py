"""Between a turn's state, its record in the log, and the events that tell of it."""

from pydantic import JsonValue

from core.contract import Usage
from orc.conversations.models import Turn, TurnOutcome
from orc.events import TurnMetadata, TurnResult
from orc.graphs.models import DOCUMENT_CHAT, ChatMessage, ConversationState
from orc.graphs.query_planner import plan_event
from orc.requests import TurnRequest


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
