"""A turn that is being answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from opentelemetry.trace import Span

from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import NewTurn, Started, Turn
from orc.conversations.session_contexts import Range
from orc.graphs.origins import Origins
from orc.identity import Principal
from orc.traces.trace import TurnRecorder
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.stopping import Stop
from orc_core.llm.chat_model import CallBudget
from orc_core.models import Document
from orc_core.names import Owner

Result = TypeVar("Result")


@dataclass
class Asked:
    """A question that is about to be stored, with its documents and contexts resolved."""

    request: TurnRequest
    owner: Owner
    caller: Principal
    documents: list[Document]
    scope: TurnScope | None
    new: NewTurn


@dataclass
class RunningTurn:
    """One turn that has begun: its request, owner, caller, documents, events, model usage and user's stop.

    `scope` are its contexts, if there are any, and `origins` where the material in its prompts came from.
    `span` is the turn in the trace.
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
    span: Span
    stop: Stop = field(default_factory=Stop)
    origins: Origins = field(default_factory=Origins)

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
