"""A turn that is being answered, how its user stops it, and the services that turns use."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from opentelemetry.trace import Span

from orc.contexts.turn_scope import TurnScope, TurnScopes
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.models import NewTurn, Started, Turn
from orc.conversations.session_contexts import Range
from orc.conversations.turn_log import TurnLog
from orc.graphs.models import Origins, Resources
from orc.identity import Principal
from orc.limits.models import RateLimit
from orc.settings import TurnSettings
from orc.traces.models import TraceSink
from orc.traces.trace import TurnRecorder
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc_core.documents.scope import ScopeTokens
from orc_core.errors import Unavailable
from orc_core.infra.resilience import repeated
from orc_core.llm.chat_model import CallBudget
from orc_core.models import Document
from orc_core.names import Owner

logger = logging.getLogger(__name__)

# Why a flag that is read, and no message: docs/decisions/stop-retry-edit.md.
POLL_SECONDS = 1.0
"""How often the process that answers reads whether it is to stop: within 2 s nothing more may begin."""


class StoppedByUser(Exception):
    """The work inside `Stop.ends` was cancelled because the user asked to stop it."""


class Stop:
    """Cancels the work of one turn if its user asks to stop it, before or while it runs."""

    def __init__(self) -> None:
        self._asked = False
        self._scope: asyncio.Timeout | None = None

    def ask(self) -> None:
        """Cancel the work, now or as soon as it begins."""
        if not self._asked and self._scope is not None:
            self._scope.reschedule(0)
        self._asked = True

    @asynccontextmanager
    async def ends(self) -> AsyncIterator[None]:
        """Run the work inside; `ask` cancels it, and StoppedByUser is raised."""
        scope = asyncio.timeout(0 if self._asked else None)
        try:
            async with scope:
                self._scope = scope
                try:
                    yield
                finally:
                    self._scope = None
        except TimeoutError:
            if scope.expired():
                raise StoppedByUser from None
            raise


@asynccontextmanager
async def watched(
    is_asked: Callable[[], Awaitable[bool]], stop: Stop, *, seconds: float = POLL_SECONDS
) -> AsyncIterator[None]:
    """While the context is open, read every `seconds` whether another process was asked to stop the work."""

    async def look() -> None:
        try:
            if await is_asked():
                stop.ask()
        except Unavailable:
            logger.warning("whether a turn is to stop could not be read; trying again")
        except Exception:
            # The outermost edge of this task, which is not awaited while the work runs.
            logger.exception("whether a turn is to stop could not be read; trying again")

    async with repeated(look, seconds=seconds):
        yield


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
    revoked: RevokedAnswers = field(default_factory=RevokedAnswers)
    commit_seconds: float = COMMIT_SECONDS
    stop_poll_seconds: float = POLL_SECONDS
