"""A turn that is being answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.llm.chat_model import CallBudget
from core.models import Document
from core.names import Owner
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import Started, Turn
from orc.conversations.session_contexts import Range
from orc.graphs.origins import Origins
from orc.identity import Principal
from orc.memory.models import Memory
from orc.traces.trace import TurnRecorder
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.stopping import Stop


@dataclass
class RunningTurn:
    """One turn that has begun: its request, owner, caller, documents, events, model usage and user's stop.

    `scope` are its contexts, if there are any, and `origins` where the material in its prompts came from.
    `memory` is set once it was read, and `answered` once the answer is stored.
    """

    request: TurnRequest
    owner: Owner
    caller: Principal
    begun: Started
    documents: list[Document]
    recorder: TurnRecorder
    budget: CallBudget
    log: EventLog
    scope: TurnScope | None
    stop: Stop = field(default_factory=Stop)
    origins: Origins = field(default_factory=Origins)
    memory: Memory | None = None
    answered: Turn | None = None

    @property
    def turn(self) -> Turn:
        return self.begun.turn

    @property
    def is_in_new_conversation(self) -> bool:
        """Whether this request made the id of its conversation at random, so that nothing is stored there."""
        request = self.request
        return request.conversation_id is None and request.idempotency_key is None and self.turn.seq == 1

    @property
    def blocked(self) -> Sequence[Range]:
        """The earlier turns that no model is shown."""
        return self.scope.blocked if self.scope else ()
