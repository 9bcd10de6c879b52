"""Where a turn goes next: decided from its state by code, never by a model."""

from typing import Literal

from orc.graphs.models import ConversationState


def route_decision(state: ConversationState) -> Literal["call_tools", "build_context"]:
    """To the tools whenever something is to be looked up."""
    assert state.plan is not None
    return "call_tools" if state.blob_names or state.plan.looks_up else "build_context"


def after_critique(state: ConversationState) -> Literal["return_state", "write_answer", "call_tools"]:
    """Out, or once more: with what was found before, or with more.

    What document_chat has answered, document_chat revises: it alone has read the documents.
    """
    verdict = state.verdicts[-1] if state.verdicts else None
    if verdict is None or verdict.action in ("accept", "label_unverified"):
        return "return_state"
    return "call_tools" if verdict.action == "retrieve" or state.blob_names else "write_answer"
