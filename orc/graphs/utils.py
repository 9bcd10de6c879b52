"""Small conversions between a turn's state and what models and tools take."""

from collections.abc import Sequence
from typing import Any

from core.llm.chat_model import ChatModel
from core.models import FileRef
from orc.graphs.models import ConversationState, Deps
from orc.tools.ports import ToolSchema


def reusable_refs(blob_names: Sequence[str], refs: Sequence[FileRef]) -> list[FileRef] | None:
    """The references to send along: all of them if they are of exactly these blobs, else none.

    Order does not matter, case does; one name more or less and everything is processed afresh.
    """
    if not refs or set(blob_names) != {ref.blob_name for ref in refs}:
        return None
    return list(refs)


def writer_of(state: ConversationState, deps: Deps) -> tuple[ChatModel, int | None]:
    """The model that writes this turn's answer, and how long that may become, in tokens."""
    if state.route is None:
        return deps.models.writer, None
    return deps.models.named(state.route.model), state.route.max_output_tokens


def changes(**updates: Any) -> dict[str, Any]:
    """A node's update; a name that the state does not have is an error here, not silently dropped."""
    if unknown := updates.keys() - ConversationState.model_fields.keys():
        raise KeyError(f"not part of the state: {', '.join(sorted(unknown))}")
    return updates


async def available_tools(deps: Deps) -> list[ToolSchema]:
    """The tools of the server that the request did not switch off; DependencyDown if it does not answer."""
    return [tool for tool in await deps.tools.list_tools(deps.scope_token) if tool.name not in deps.tools_off]
