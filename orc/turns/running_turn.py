"""A turn that is being answered."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from opentelemetry.trace import INVALID_SPAN, Span, use_span

from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import NewTurn, Started, Turn
from orc.conversations.session_contexts import Range
from orc.graphs.models import ConversationState, RunContext
from orc.graphs.origins import Origins
from orc.identity import Principal
from orc.limits.window import Taken
from orc.memory.models import Memory
from orc.traces.trace import TurnRecorder
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.spans import begin_turn_span
from orc.turns.stopping import Stop
from orc_core.infra.telemetry.spans import fail
from orc_core.llm.chat_model import CallBudget
from orc_core.models import Document
from orc_core.names import Owner

Result = TypeVar("Result")


@dataclass
class Asked:
    """A question that is about to be stored, with its documents and contexts resolved.

    `allowance` is what its message leaves of the user's limit; None without a limit, or if it does not count.
    """

    request: TurnRequest
    owner: Owner
    caller: Principal
    documents: list[Document]
    scope: TurnScope | None
    new: NewTurn
    allowance: Taken | None


@dataclass
class RunningTurn:
    """One turn that has begun: its request, owner, caller, documents, events, model usage and user's stop.

    `scope` are its contexts, if there are any, and `origins` where the material in its prompts came from.
    `span` is the turn in the trace. `inputs` reads what the graph starts with, `memory` among it. `answered`
    is set once the answer is stored.
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
    inputs: asyncio.Task[tuple[ConversationState, RunContext]] = field(init=False)
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


class Preparation:
    """The preparation of a turn, which starts while its question is being stored.

    An exception in its context, such as that the question could not be stored, ends it and the turn's span.
    """

    def __init__(self, prepare: Callable[[Started, Span], Coroutine[Any, Any, RunningTurn]]) -> None:
        self._prepare = prepare
        self._task: asyncio.Task[RunningTurn] | None = None
        self._span: Span = INVALID_SPAN
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        self._is_over = True
        if error is not None and self._task is not None:
            self._task.cancel()
            fail(self._span, error)
            self._span.end()

    def start(self, begun: Started) -> None:
        """Prepare this turn, inside its span; not if its request was cancelled before this was called."""
        if self._is_over:
            return
        self._span = begin_turn_span(begun.turn)
        with use_span(self._span):
            self._task = in_background(self._prepare(begun, self._span))

    async def result(self) -> RunningTurn:
        """The turn, once it is prepared. Raises what its preparation raised."""
        assert self._task is not None, "a turn that has begun is prepared"
        return await self._task


def in_background(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """A task whose error is raised where it is awaited, and nowhere if the question could not be stored."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task
