"""One turn: begin it, run the graph, commit it; its events go to whoever follows."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.documents.library import DocumentLibrary
from core.documents.models import Document, Record
from core.documents.names import Owner
from core.errors import INTERNAL, DeadlineExceeded, InvalidInput, NotFound, OrcError
from core.llm.model import ChatModel, Meter
from core.llm.tokens import TokenCounter
from core.scope import Scope, ScopeTokens
from orc.conversations.models import NewTurn, Replayed, Started, Turn, TurnStatus
from orc.conversations.ports import TurnLog
from orc.event_log import EventLog, RecentTurns
from orc.events import Done, Failed, Telemetry, TurnResult
from orc.graphs.graph import RECURSION_LIMIT, TurnGraph
from orc.graphs.models import DOCUMENT_CHAT, ConversationState, Deps, Prompts
from orc.graphs.routing import intent_of
from orc.identity import Principal
from orc.problems import problem_of
from orc.records import messages_of, outcome_of, result_of
from orc.replay import replay
from orc.requests import TurnRequest
from orc.tools import ToolGateway

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 3
TOKEN_GRACE_SECONDS = 60


class TurnLimits(Record):
    """How long a turn may take and how much it may use."""

    deadline_seconds: float
    lease_seconds: float
    max_model_calls: int
    max_documents: int
    history_turns: int
    tool_rounds: int


@dataclass(frozen=True)
class Parts:
    """What turns are made with; the same for every turn of a process."""

    log: TurnLog
    library: DocumentLibrary
    tools: ToolGateway
    scope_tokens: ScopeTokens
    graph: TurnGraph
    planner: ChatModel
    writer: ChatModel
    model_name: str
    counter: TokenCounter
    prompts: Prompts
    limits: TurnLimits


class Orchestrator:
    """Starts turns and keeps them running, whether or not somebody still listens."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._recent = RecentTurns()
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, request: TurnRequest, principal: Principal) -> EventLog:
        """Store the question and have it answered; the events of the turn, from the first.

        When this returns the question is durable. Raises what the request does wrong (InvalidInput,
        NotFound, TurnInFlight, KeyReused), before anything is stored.
        """
        owner = principal.owner_of(request.conversation_for(principal.organization_id, principal.user_id))
        if (answered := await self._answered_before(request, owner)) is not None:
            return replay(answered, after=0, trace_id=request.trace_id)
        documents = await self._named_documents(request, owner)
        begun = await self._begin(request, owner, documents)
        if isinstance(begun, Replayed):
            return replay(begun.turn, after=0, trace_id=request.trace_id)
        log = EventLog()
        self._recent.add(owner, begun.turn.turn_id, log)
        task = asyncio.create_task(self._run(request, owner, begun, documents, log))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return log

    async def events_of(self, owner: Owner, turn_id: str, *, after: int, trace_id: str) -> EventLog:
        """The events of a turn that was started earlier, here or elsewhere; NotFound if there is none.

        `after` is the last event that the reader has: of a turn whose events are not kept, what was
        streamed is withdrawn and the stored answer follows, under the next numbers.
        """
        if (log := self._recent.find(owner, turn_id)) is not None:
            return log
        turn = await self._parts.log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        return replay(turn, after=after, trace_id=trace_id)

    async def close(self, grace_seconds: float = 10.0) -> None:
        """Let running turns finish for a while, then stop them."""
        if self._running:
            await asyncio.wait(self._running, timeout=grace_seconds)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _answered_before(self, request: TurnRequest, owner: Owner) -> Turn | None:
        """The committed turn of the same request, which holds whatever became of its documents since."""
        if request.idempotency_key is None:
            return None
        turn = await self._parts.log.turn(owner, request.turn_id(owner))
        if turn is None or turn.status is not TurnStatus.COMMITTED:
            return None
        return turn if turn.request_hash == request.content_hash else None

    async def _named_documents(self, request: TurnRequest, owner: Owner) -> list[Document]:
        limit = self._parts.limits.max_documents
        if len(set(request.blob_names)) > limit:
            raise InvalidInput(f"At most {limit} documents can be asked at once.", field="blob_names")
        if request.blob_names and request.tools.get(DOCUMENT_CHAT) is False:
            raise InvalidInput("document_chat is needed to read the named documents.", field="tools")
        if request.model not in {None, self._parts.model_name}:
            raise InvalidInput(f"The configured model is {self._parts.model_name}.", field="model")
        return await self._parts.library.resolve(owner, request.blob_names)

    async def _begin(
        self, request: TurnRequest, owner: Owner, documents: list[Document]
    ) -> Started | Replayed:
        new = NewTurn(
            key=request.turn_id(owner),
            request_hash=request.content_hash,
            question=request.question,
            blob_names=[document.blob_name for document in documents],
            contexts=request.contexts,
        )
        return await self._parts.log.begin(
            owner,
            new,
            lease_seconds=self._parts.limits.lease_seconds,
            create=request.conversation_id is None or bool(documents),
            history_limit=self._parts.limits.history_turns,
        )

    async def _run(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document], log: EventLog
    ) -> None:
        turn, limits = begun.turn, self._parts.limits
        try:
            async with self._lease(owner, turn), asyncio.timeout(limits.deadline_seconds):
                result = await self._answer(request, owner, begun, documents, log)
        except TimeoutError:
            seconds = round(limits.deadline_seconds)
            await self._fail(owner, turn, DeadlineExceeded(f"No answer within {seconds} s."), request, log)
        except OrcError as exc:
            await self._fail(owner, turn, exc, request, log)
        except Exception:
            logger.exception("turn %s failed", turn.turn_id)
            error = OrcError("The turn failed unexpectedly. It can be asked again.", code=INTERNAL)
            await self._fail(owner, turn, error, request, log)
        else:
            log.publish(Done(result=result))

    async def _answer(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document], log: EventLog
    ) -> TurnResult:
        started = time.perf_counter()
        meter = Meter(max_calls=self._parts.limits.max_model_calls)
        # Without names, the tools may look at whatever the conversation holds.
        in_reach = documents or await self._parts.library.list_documents(owner)
        state = _initial_state(request, begun, documents, has_documents=bool(in_reach))
        deps = self._deps(request, Scope.over(owner, in_reach), meter, log)
        output = await self._parts.graph.ainvoke(state, {"recursion_limit": RECURSION_LIMIT}, context=deps)
        final = ConversationState.model_validate(output)
        answered = time.perf_counter()
        result = result_of(final, begun.turn, request, meter.usage + final.tool_usage)
        result.metadata.timings_ms = {"answer": round((answered - started) * 1000, 1)}
        result.metadata.route = {"intent": intent_of(final), "model": self._parts.model_name}
        log.publish(Telemetry(usage=result.metadata.usage, timings=result.metadata.timings_ms))
        await self._parts.log.commit(owner, begun.turn.turn_id, begun.turn.attempt, outcome_of(final, result))
        return result

    def _deps(self, request: TurnRequest, scope: Scope, meter: Meter, log: EventLog) -> Deps:
        parts = self._parts
        seconds = int(parts.limits.deadline_seconds) + TOKEN_GRACE_SECONDS
        return Deps(
            planner=parts.planner,
            writer=parts.writer,
            model_name=parts.model_name,
            tools=parts.tools,
            scope_token=parts.scope_tokens.mint(scope, seconds=seconds),
            meter=meter,
            counter=parts.counter,
            prompts=parts.prompts,
            emit=log.publish,
            stream=request.stream,
            tool_rounds=parts.limits.tool_rounds,
            tools_off=frozenset(name for name, on in request.tools.items() if not on),
        )

    @asynccontextmanager
    async def _lease(self, owner: Owner, turn: Turn) -> AsyncIterator[None]:
        """Keep the turn ours for as long as the context is open."""
        seconds = self._parts.limits.lease_seconds

        async def renew() -> None:
            while True:
                await asyncio.sleep(seconds / RENEWALS_PER_LEASE)
                await self._parts.log.renew(owner, turn.turn_id, turn.attempt, lease_seconds=seconds)

        task = asyncio.create_task(renew())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _fail(
        self, owner: Owner, turn: Turn, error: OrcError, request: TurnRequest, log: EventLog
    ) -> None:
        try:
            await self._parts.log.fail(owner, turn.turn_id, turn.attempt, error.code, error.message)
        except OrcError:
            logger.exception("turn %s could not be closed; its lease will run out", turn.turn_id)
        log.publish(Failed(problem=problem_of(error, request.trace_id)))


def _initial_state(
    request: TurnRequest, begun: Started, documents: list[Document], *, has_documents: bool
) -> ConversationState:
    """What the graph starts from: the question, and what the conversation carries on."""
    return ConversationState(
        question=request.question,
        conversation_id=begun.turn.conversation_id,
        blob_names=[document.blob_name for document in documents],
        has_documents=has_documents,
        history=[message for turn in begun.history for message in messages_of(turn)],
        uploaded_file_refs=begun.head.uploaded_file_refs,
        last_mcp_tool_used=begun.head.last_mcp_tool_used,
        code_thread_id=begun.head.code_thread_id,
    )
