"""The session runner: one turn from its stored question to its stored answer, however it is rendered."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_random

from core.documents.scope import Scope, ScopeTokens
from core.documents.service import DocumentService
from core.errors import INTERNAL, DeadlineExceeded, DependencyDown, OrcError, Unavailable
from core.infra.lease import held
from core.llm.chat_model import Meter
from core.llm.factory import ChatModels
from core.llm.model_catalog import REPLY, ModelCatalogue
from core.llm.tokens import TokenCounter
from core.models import Document
from core.names import Owner
from orc.conversations.models import Started, Turn, TurnOutcome, TurnStatus
from orc.conversations.ports import TurnLog
from orc.events import Done, Event, Failed, Telemetry, TurnResult
from orc.graphs.graph import RECURSION_LIMIT, TurnGraph
from orc.graphs.models import ConversationState, Deps, Prompts
from orc.graphs.plan_rules import intents_of
from orc.graphs.prompts import shrink_to_window
from orc.graphs.sources import PageTexts
from orc.memory.models import Memory
from orc.memory.ports import Remembering
from orc.problems import problem_of
from orc.settings import TurnSettings
from orc.tools.ports import ToolGateway
from orc.traces.models import TurnIds
from orc.traces.ports import NoTraces, TraceSink
from orc.traces.trace import TurnRecorder
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.results import messages_of, outcome_of, result_of
from orc.turns.span import observed

logger = logging.getLogger(__name__)

TOKEN_GRACE_SECONDS = 60
UNNAMED = "The session is not named, so that the messages that were sent are all that is known of it."
IMPROVING = 0.9
"""The share of a turn's time after which the answer that there is is given, accepted or not."""
COMMIT_SECONDS = 10.0
"""How long the store is waited for that is to keep an answer."""
TRACE_SECONDS = 5.0
"""And how long the one that keeps traces."""


@dataclass(frozen=True)
class Parts:
    """What turns are made with; the same for every turn of a process."""

    log: TurnLog
    library: DocumentService
    memory: Remembering
    tools: ToolGateway
    scope_tokens: ScopeTokens
    graph: TurnGraph
    models: ChatModels
    catalogue: ModelCatalogue
    counter: TokenCounter
    prompts: Prompts
    policy: TurnSettings
    traces: TraceSink = field(default_factory=NoTraces)
    commit_seconds: float = COMMIT_SECONDS


@dataclass(frozen=True)
class Session:
    """One turn that has begun: who asks what, over which documents, and where its events go."""

    request: TurnRequest
    owner: Owner
    begun: Started
    documents: list[Document]
    recorder: TurnRecorder
    meter: Meter

    @property
    def turn(self) -> Turn:
        return self.begun.turn


class SessionRunner:
    """Runs turns. JSON and streams read the same events, so nothing here knows which of them is asked for,
    but for whether text comes in pieces."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Whichever of them is chosen for a turn, and however long its answer may become.
        names = (*parts.models.names, parts.models.planner.name, parts.models.critic.name)
        self._window = parts.policy.context_window or parts.catalogue.window(names)
        caps = (kind.max_output_tokens for kind in intents_of(parts.policy).values())
        self._longest_answer = max([REPLY, *filter(None, caps)])

    async def run(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document], log: EventLog
    ) -> None:
        """Answer the turn. Whatever happens, its log ends: nobody follows it for ever."""
        meter = Meter(max_calls=self._parts.policy.max_model_calls)
        recorder = self._recorder(request, owner, begun.turn, log)
        session = Session(request, owner, begun, documents, recorder, meter)
        stopped = Unavailable("Orc is shutting down. Ask again in a moment.", code="interrupted")
        ending: Event = Failed(problem=problem_of(stopped, request.trace_id))
        try:
            ending = await observed(begun.turn, self._ending(session))
        finally:
            recorder.emit(ending)
            # Side by side: neither store is to keep the other waiting.
            await asyncio.gather(self._keep_trace(session), self._remember(session, ending))

    def _recorder(self, request: TurnRequest, owner: Owner, turn: Turn, log: EventLog) -> TurnRecorder:
        ids = TurnIds(
            trace_id=request.trace_id,
            turn_id=turn.turn_id,
            attempt=turn.attempt,
            organization_id=owner.organization_id,
            user_id=owner.user_id,
            conversation_id=owner.conversation_id,
        )
        parts = self._parts
        return TurnRecorder(log.publish, ids, catalogue=parts.catalogue, tools_model=parts.models.writer.name)

    async def _keep_trace(self, session: Session) -> None:
        """Whoever asked has the end of the turn by now, and nothing that goes wrong here changes it."""
        try:
            async with asyncio.timeout(TRACE_SECONDS):
                await self._parts.traces.save(session.recorder.finish(session.meter))
        except Exception as exc:
            logger.warning("the trace of turn %s was not kept: %s", session.turn.turn_id, type(exc).__name__)

    async def _remember(self, session: Session, ending: Event) -> None:
        if isinstance(ending, Done):
            await self._parts.memory.update(session.begun.head)

    async def _ending(self, session: Session) -> Event:
        turn, policy = session.turn, self._parts.policy
        deadline = asyncio.timeout(policy.turn_deadline_seconds)
        renew = partial(
            self._parts.log.renew,
            session.owner,
            turn.turn_id,
            turn.attempt,
            lease_seconds=policy.turn_lease_seconds,
        )
        try:
            async with held(renew, seconds=policy.turn_lease_seconds):
                async with deadline:
                    result, outcome = await self._answer(session)
                await self._commit(session, outcome)
            return Done(result=result)
        except OrcError as exc:
            error = exc
        except Exception as exc:
            if isinstance(exc, TimeoutError) and deadline.expired():
                error = DeadlineExceeded(f"No answer within {policy.turn_deadline_seconds:.0f} s.")
            else:
                logger.exception("turn %s failed", turn.turn_id)
                error = OrcError("The turn failed unexpectedly. It can be asked again.", code=INTERNAL)
        return await self._failure(session, error)

    async def _answer(self, session: Session) -> tuple[TurnResult, TurnOutcome]:
        # Without names, the tools may look at whatever the conversation holds.
        in_reach, memory = await asyncio.gather(self._in_reach(session), self._memory(session))
        state = _initial_state(session, in_reach, memory)
        deps = self._deps(session, Scope.over(session.owner, in_reach), session.recorder.emit)
        output = await self._parts.graph.ainvoke(state, {"recursion_limit": RECURSION_LIMIT}, context=deps)
        final = ConversationState.model_validate(output)
        usage, timings = session.meter.total, session.recorder.timings()
        result = result_of(final, session.turn, session.request, usage, timings)
        session.recorder.emit(Telemetry(usage=usage, timings=timings))
        return result, outcome_of(final, result)

    async def _memory(self, session: Session) -> Memory:
        if not session.request.recalls:
            return Memory(unread=UNNAMED)
        sent = session.request.history
        told = None if sent is None else sum(message.role == "user" for message in sent)
        return await self._parts.memory.read(session.begun.head, told)

    async def _in_reach(self, session: Session) -> list[Document]:
        return session.documents or await self._parts.library.list_documents(session.owner)

    async def _commit(self, session: Session, outcome: TurnOutcome) -> None:
        """Store the answer. It has been made and may have been shown: a store that is down is waited for,
        past the deadline if need be."""
        seconds = self._parts.commit_seconds
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(Unavailable),
            wait=wait_random(0.1, 0.5),
            stop=stop_after_delay(seconds),
            reraise=True,
        ):
            with attempt:
                await self._commit_once(session, outcome, seconds)

    async def _commit_once(self, session: Session, outcome: TurnOutcome, seconds: float) -> None:
        """An attempt that hangs is one that failed, although it may have worked: then it shows in the end."""
        turn = session.turn
        try:
            async with asyncio.timeout(seconds):
                await self._parts.log.commit(session.owner, turn.turn_id, turn.attempt, outcome)
        except TimeoutError as exc:
            raise DependencyDown("The answer could not be stored in time.", dependency="store") from exc

    def _deps(self, session: Session, scope: Scope, emit: Callable[[Event], None]) -> Deps:
        parts, request = self._parts, session.request
        seconds = int(parts.policy.turn_deadline_seconds) + TOKEN_GRACE_SECONDS
        return Deps(
            models=parts.models,
            tools=parts.tools,
            scope_token=parts.scope_tokens.mint(scope, seconds=seconds),
            meter=session.meter,
            counter=parts.counter,
            prompts=parts.prompts,
            policy=shrink_to_window(
                parts.policy, self._window, request.question, parts.counter, self._longest_answer
            ),
            recall=parts.memory.recall,
            page_text=PageTexts(parts.library.page_text),
            page_boxes=parts.library.page_boxes,
            emit=emit,
            stream=request.stream,
            ends_at=asyncio.get_running_loop().time() + parts.policy.turn_deadline_seconds * IMPROVING,
            asked_model=request.model,
            tools_off=frozenset(name for name, on in request.tools.items() if not on),
        )

    async def _failure(self, session: Session, error: OrcError) -> Event:
        """The end of a turn that failed, unless its answer was stored after all: that may not have shown."""
        turn = session.turn
        try:
            stored = await self._parts.log.fail(
                session.owner, turn.turn_id, turn.attempt, error.code, error.message
            )
            if stored.status is TurnStatus.COMMITTED:
                return Done(result=TurnResult.model_validate(stored.result))
        except Exception:
            # The outermost edge of a turn: its lease runs out, and then it reads as failed all the same.
            logger.exception("turn %s could not be closed", turn.turn_id)
        return Failed(problem=problem_of(error, session.request.trace_id))


def _initial_state(session: Session, in_reach: list[Document], memory: Memory) -> ConversationState:
    """What the graph starts from: the question, and what the conversation carries on."""
    head, request = session.begun.head, session.request
    refs = head.uploaded_file_refs
    if not session.documents:
        # Some may have been deleted since; a turn that names documents compares, and overwrites them.
        present = {document.blob_name for document in in_reach}
        refs = [ref for ref in refs if ref.blob_name in present]
    stored = [message for turn in session.begun.history for message in messages_of(turn)]
    return ConversationState(
        question=request.question,
        conversation_id=session.turn.conversation_id,
        blob_names=[document.blob_name for document in session.documents],
        has_documents=bool(in_reach),
        history=stored if request.history is None else request.history,
        memory=memory,
        uploaded_file_refs=refs,
        last_mcp_tool_used=head.last_mcp_tool_used,
        code_thread_id=head.code_thread_id,
    )
