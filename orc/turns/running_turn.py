"""A turn that is being answered, and the services that turns use."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from opentelemetry.trace import Span

from orc.contexts.turn_scope import TurnScope, TurnScopes
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.models import NewTurn, Started, Turn
from orc.conversations.session_contexts import Range
from orc.conversations.turn_log import TurnLog
from orc.graphs.models import Resources
from orc.graphs.origins import Origins
from orc.identity import Principal
from orc.limits.models import RateLimit
from orc.settings import TurnSettings
from orc.traces.models import TraceSink
from orc.traces.trace import TurnRecorder
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.stopping import POLL_SECONDS, Stop
from orc.turns.suggestions import Suggestions
from orc_core.documents.scope import ScopeTokens
from orc_core.llm.chat_model import CallBudget
from orc_core.models import Document
from orc_core.names import Owner

Result = TypeVar("Result")
COMMIT_SECONDS = 10.0
"""The time limit for storing an answer."""


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


@dataclass(frozen=True, kw_only=True)
class TurnDependencies(Resources):
    """The services that turns use; the same for every turn of a process."""

    log: TurnLog
    scope_tokens: ScopeTokens
    settings: TurnSettings
    contexts: TurnScopes | None = None
    messages: RateLimit = field(default_factory=RateLimit)
    traces: TraceSink = field(default_factory=TraceSink)
    suggestions: Suggestions | None = None
    revoked: RevokedAnswers = field(default_factory=RevokedAnswers)
    commit_seconds: float = COMMIT_SECONDS
    stop_poll_seconds: float = POLL_SECONDS
