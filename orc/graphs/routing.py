"""Where a turn goes: decided from its state by code, never by a model."""

from typing import Literal

from orc.graphs.models import ConversationState

Intent = Literal["document_question", "tools", "conversation"]


def intent_of(state: ConversationState) -> Intent:
    """Documents named: they are asked. Documents in the conversation: tools may help. Else: talk."""
    if state.blob_names:
        return "document_question"
    return "tools" if state.has_documents else "conversation"


def route_decision(state: ConversationState) -> Literal["call_tools", "build_context"]:
    """Straight to the tools whenever there is something that they could read."""
    return "build_context" if intent_of(state) == "conversation" else "call_tools"
