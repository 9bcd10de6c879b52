"""What readers are shown of answers that drew on contexts which they may not read any more."""

from collections.abc import Sequence

from pydantic import JsonValue

from orc.contexts.turn_scope import TurnScopes
from orc.conversations.models import Head, Turn
from orc.conversations.session_contexts import Range, covers
from orc.identity import Principal

WITHHELD = "[withheld: it drew on a context that is not readable any more]"


class RevokedAnswers:
    """Shows stored answers as they are, or without those that drew on what is not readable now."""

    def __init__(self, scopes: TurnScopes | None = None) -> None:
        """`scopes`: answers are withheld by what they say; None: all answers are kept."""
        self._scopes = scopes

    @property
    def is_on(self) -> bool:
        """Whether any answer is withheld."""
        return self._scopes is not None

    async def ranges(self, caller: Principal, head: Head) -> Sequence[Range]:
        """The turns whose answers are withheld; no store is asked unless there can be any."""
        return await self._scopes.blocked(caller, head) if self._scopes else ()

    async def shown(self, caller: Principal, head: Head, turns: Sequence[Turn]) -> list[Turn]:
        """The turns as they are shown."""
        blocked = await self.ranges(caller, head)
        return [withheld(turn) if covers(blocked, turn.seq) else turn for turn in turns]


def withheld(turn: Turn) -> Turn:
    """A turn without its answer. What is stored stays."""
    if turn.assistant is None:
        return turn
    metadata = turn.result.get("metadata") if turn.result else None
    # Nothing else of the metadata is left: verdicts quote the answer, and contexts have names.
    trace = {"trace_id": metadata.get("trace_id", "") if isinstance(metadata, dict) else ""}
    emptied: dict[str, JsonValue] = {"citations": [], "uploaded_file_refs": []}
    assistant = turn.assistant.model_copy(update={**emptied, "content": WITHHELD})
    result = turn.result and {
        **turn.result,
        **emptied,
        "answer": WITHHELD,
        "metadata": trace,
    }
    return turn.model_copy(update={"assistant": assistant, "result": result})
