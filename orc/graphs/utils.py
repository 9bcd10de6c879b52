"""Small conversions between a turn's state and what models and tools take."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from core.documents.models import FileRef
from core.llm.model import ChatModel
from core.llm.tokens import TokenCounter
from orc.graphs.models import ChatMessage, ConversationState, Deps


def reusable_refs(blob_names: Sequence[str], refs: Sequence[FileRef]) -> list[FileRef] | None:
    """The references to send along: all of them if they are of exactly these blobs, else none.

    Order does not matter, case does; one name more or less and everything is processed afresh.
    """
    if not refs or set(blob_names) != {ref.blob_name for ref in refs}:
        return None
    return list(refs)


def chat_messages(system: str, history: Sequence[ChatMessage], question: str) -> list[BaseMessage]:
    """A conversation as models take it."""
    past = [
        HumanMessage(message.content) if message.role == "user" else AIMessage(message.content)
        for message in history
    ]
    return [SystemMessage(system), *past, HumanMessage(question)]


def writer_of(state: ConversationState, deps: Deps) -> tuple[ChatModel, int | None]:
    """The model that writes this turn's answer, and how long that may become, in tokens."""
    if state.route is None:
        return deps.models.writer, None
    return deps.models.named(state.route.model), state.route.max_output_tokens


def within_budget(history: Sequence[ChatMessage], tokens: int, counter: TokenCounter) -> list[ChatMessage]:
    """The newest messages that fit into so many tokens together, in order."""
    kept: list[ChatMessage] = []
    for message in reversed(history):
        tokens -= counter.count(message.content)
        if tokens < 0:
            break
        kept.append(message)
    return kept[::-1]


def changes(**updates: Any) -> dict[str, Any]:
    """A node's update; a name that the state does not have is an error here, not silently dropped."""
    if unknown := updates.keys() - ConversationState.model_fields.keys():
        raise KeyError(f"not part of the state: {', '.join(sorted(unknown))}")
    return updates
