"""One turn: begin it, run the graph, commit it; its events go to whoever follows."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.contract import Usage
from core.documents.library import DocumentLibrary
from core.documents.models import Document, Record
from core.documents.names import Owner
from core.errors import DeadlineExceeded, InvalidInput, NotFound, OrcError
from core.llm.model import ChatModel, Meter
from core.llm.tokens import TokenCounter
from core.scope import Scope, ScopeTokens
from orc.conversations.models import Head, NewTurn, Replayed, Started, Turn, TurnOutcome, TurnStatus
from orc.conversations.ports import TurnLog
from orc.event_log import EventLog, RecentTurns
from orc.events import Citations, Done, Event, Failed, Telemetry, Token, TurnMetadata, TurnResult
from orc.graphs.graph import RECURSION_LIMIT, TurnGraph
from orc.graphs.models import DOCUMENT_CHAT, ChatMessage, ConversationState, Deps, Prompts
from orc.graphs.routing import intent_of
from orc.identity import Principal
from orc.problems import problem_of
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
        documents = await self._named_documents(request, owner)
        begun = await self._begin(request, owner, documents)
        if isinstance(begun, Replayed):
            return _replay(begun.turn)
        log = EventLog()
        self._recent.add(owner, begun.turn.turn_id, log)
        task = asyncio.create_task(self._run(request, owner, begun, documents, log))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return log

    async def events_of(self, owner: Owner, turn_id: str) -> EventLog:
        """The events of a turn that was started earlier, here or elsewhere; NotFound if there is none."""
        if (log := self._recent.find(owner, turn_id)) is not None:
            return log
        turn = await self._parts.log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        return _replay(turn)

    async def close(self, grace_seconds: float = 10.0) -> None:
        """Let running turns finish for a while, then stop them."""
        if self._running:
            await asyncio.wait(self._running, timeout=grace_seconds)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

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
            error = OrcError("The turn failed unexpectedly. It can be asked again.", code="internal")
            await self._fail(owner, turn, error, request, log)
        else:
            log.publish(Done(result=result))

    async def _answer(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document], log: EventLog
    ) -> TurnResult:
        started = time.perf_counter()
        meter = Meter(max_calls=self._parts.limits.max_model_calls)
        state = await self._initial_state(request, owner, begun, documents)
        deps = self._deps(request, await self._scope(owner, documents, state), meter, log)
        output = await self._parts.graph.ainvoke(state, {"recursion_limit": RECURSION_LIMIT}, context=deps)
        final = ConversationState.model_validate(output)
        answered = time.perf_counter()
        result = _result(final, begun.turn, request, meter.usage + final.tool_usage)
        result.metadata.timings_ms = {"answer": round((answered - started) * 1000, 1)}
        result.metadata.route = {"intent": intent_of(final), "model": self._parts.model_name}
        log.publish(Telemetry(usage=result.metadata.usage, timings=result.metadata.timings_ms))
        await self._parts.log.commit(owner, begun.turn.turn_id, begun.turn.attempt, _outcome(final, result))
        return result

    async def _initial_state(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document]
    ) -> ConversationState:
        head: Head = begun.head
        history = [message for turn in begun.history for message in _messages(turn)]
        has_documents = bool(documents) or bool(await self._parts.library.list_documents(owner))
        return ConversationState(
            question=request.question,
            conversation_id=owner.conversation_id,
            blob_names=[document.blob_name for document in documents],
            has_documents=has_documents,
            history=history,
            uploaded_file_refs=head.uploaded_file_refs,
            last_mcp_tool_used=head.last_mcp_tool_used,
            code_thread_id=head.code_thread_id,
        )

    async def _scope(self, owner: Owner, documents: list[Document], state: ConversationState) -> Scope:
        """Named documents: those. Otherwise every document of the conversation."""
        if documents or not state.has_documents:
            return Scope.over(owner, documents)
        return Scope.over(owner, await self._parts.library.list_documents(owner))

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


def _messages(turn: Turn) -> list[ChatMessage]:
    if turn.assistant is None:
        return []
    return [
        ChatMessage(role="user", content=turn.question),
        ChatMessage(role="assistant", content=turn.assistant.content),
    ]


def _result(state: ConversationState, turn: Turn, request: TurnRequest, usage: Usage) -> TurnResult:
    return TurnResult(
        conversation_id=turn.conversation_id,
        turn_id=turn.turn_id,
        answer=state.answer or "",
        citations=state.citations,
        uploaded_file_refs=state.uploaded_file_refs,
        last_mcp_tool_used=state.last_mcp_tool_used,
        metadata=TurnMetadata(
            trace_id=request.trace_id,
            plan=state.plan.model_dump() if state.plan else {},
            retrieval_mode=state.retrieval_mode,
            retrieval_reason=state.retrieval_reason,
            context_budget=state.context_budget,
            critic_summary=state.grounding.model_dump() if state.grounding else {},
            files=state.files,
            usage=usage,
        ),
    )


def _outcome(state: ConversationState, result: TurnResult) -> TurnOutcome:
    return TurnOutcome(
        answer=result.answer,
        result=result.model_dump(mode="json"),
        uploaded_file_refs=state.uploaded_file_refs,
        last_mcp_tool_used=state.last_mcp_tool_used,
        citations=state.citations,
    )


def _replay(turn: Turn) -> EventLog:
    """The events of a turn that is over, as far as the store still knows them."""
    if turn.status is not TurnStatus.COMMITTED or turn.result is None:
        return EventLog(_failed_events(turn))
    result = TurnResult.model_validate(turn.result)
    events: list[Event] = [
        Token(text=result.answer),
        Citations(citations=result.citations),
        Done(result=result),
    ]
    return EventLog(events)


def _failed_events(turn: Turn) -> list[Event]:
    failure = turn.failure
    error = OrcError(failure.message, code=failure.code) if failure else _still_running()
    return [Failed(problem=problem_of(error, turn.turn_id))]


def _still_running() -> OrcError:
    return OrcError("The turn is being answered elsewhere; ask again in a moment.", code="turn_in_flight")
