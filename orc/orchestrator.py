"""One turn: begin it, run the graph, commit it; its events go to whoever follows."""

import asyncio
import logging
import time
from dataclasses import dataclass
from functools import partial

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_random

from core.documents.library import DocumentLibrary
from core.documents.models import Document, Record
from core.documents.names import Owner, resolve_blob_name
from core.errors import INTERNAL, DeadlineExceeded, InvalidInput, NotFound, OrcError, Unavailable
from core.lease import held
from core.llm.model import ChatModel, Meter
from core.llm.tokens import TokenCounter
from core.scope import Scope, ScopeTokens
from orc.conversations.models import NewTurn, Replayed, Started, Turn, TurnOutcome, TurnStatus
from orc.conversations.ports import TurnLog
from orc.event_log import EventLog, RecentTurns
from orc.events import Done, Event, Failed, Telemetry, TurnResult
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

TOKEN_GRACE_SECONDS = 60
COMMIT_SECONDS = 10.0
"""How long the store is waited for that is to keep an answer."""


class TurnLimits(Record):
    """How long a turn may take and how much it may use."""

    deadline_seconds: float
    lease_seconds: float
    max_model_calls: int
    max_documents: int
    history_turns: int
    tool_rounds: int
    commit_seconds: float = COMMIT_SECONDS


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
        names = dict.fromkeys(resolve_blob_name(name, owner).file for name in request.blob_names)
        request = request.model_copy(update={"blob_names": list(names)})
        if (answered := await self._answered_before(request, owner)) is not None:
            return replay(answered, after=0, trace_id=request.trace_id)
        documents = await self._named_documents(request, owner)
        begun = await self._begin(request, owner, documents)
        if isinstance(begun, Replayed):
            return replay(begun.turn, after=0, trace_id=request.trace_id)
        log = EventLog()
        self._recent.add(owner, begun.turn.turn_id, begun.turn.attempt, log)
        task = asyncio.create_task(self._run(request, owner, begun, documents, log))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return log

    async def events_of(self, owner: Owner, turn_id: str, *, after: int, trace_id: str) -> EventLog:
        """The events of a turn that was started earlier, here or elsewhere; NotFound if there is none.

        `after` is the last event that the reader has: of a turn whose events are not kept, what was
        streamed is withdrawn and the stored answer follows, under the next numbers.
        """
        turn = await self._parts.log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        log = self._recent.find(owner, turn_id, turn.attempt)
        if log is not None and not (turn.status is TurnStatus.COMMITTED and isinstance(log.ending, Failed)):
            return log
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
        if len(request.blob_names) > limit:
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
        """Answer the turn. Whatever happens, its log ends: nobody follows it for ever."""
        stopped = Unavailable("Orc is shutting down. Ask again in a moment.", code="interrupted")
        ending: Event = Failed(problem=problem_of(stopped, request.trace_id))
        try:
            ending = await self._ending(request, owner, begun, documents, log)
        finally:
            log.publish(ending)

    async def _ending(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document], log: EventLog
    ) -> Event:
        turn, limits = begun.turn, self._parts.limits
        deadline = asyncio.timeout(limits.deadline_seconds)
        renew = partial(
            self._parts.log.renew, owner, turn.turn_id, turn.attempt, lease_seconds=limits.lease_seconds
        )
        try:
            async with held(renew, seconds=limits.lease_seconds), deadline:
                return Done(result=await self._answer(request, owner, begun, documents, log))
        except OrcError as exc:
            error = exc
        except Exception as exc:
            if isinstance(exc, TimeoutError) and deadline.expired():
                error = DeadlineExceeded(f"No answer within {limits.deadline_seconds:.0f} s.")
            else:
                logger.exception("turn %s failed", turn.turn_id)
                error = OrcError("The turn failed unexpectedly. It can be asked again.", code=INTERNAL)
        return await self._failure(owner, turn, error, request.trace_id)

    async def _answer(
        self, request: TurnRequest, owner: Owner, begun: Started, documents: list[Document], log: EventLog
    ) -> TurnResult:
        started = time.perf_counter()
        meter = Meter(max_calls=self._parts.limits.max_model_calls)
        # Without names, the tools may look at whatever the conversation holds.
        in_reach = documents or await self._parts.library.list_documents(owner)
        state = _initial_state(request, begun, documents, in_reach)
        deps = self._deps(request, Scope.over(owner, in_reach), meter, log)
        output = await self._parts.graph.ainvoke(state, {"recursion_limit": RECURSION_LIMIT}, context=deps)
        final = ConversationState.model_validate(output)
        answered = time.perf_counter()
        result = result_of(final, begun.turn, request, meter.usage + final.tool_usage)
        result.metadata.timings_ms = {"answer": round((answered - started) * 1000, 1)}
        result.metadata.route = {"intent": intent_of(final), "model": self._parts.model_name}
        log.publish(Telemetry(usage=result.metadata.usage, timings=result.metadata.timings_ms))
        await self._commit(owner, begun.turn, outcome_of(final, result))
        return result

    async def _commit(self, owner: Owner, turn: Turn, outcome: TurnOutcome) -> None:
        """Store the answer. It has been made and may have been shown: a store that is down is waited for."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(Unavailable),
            wait=wait_random(0.1, 0.5),
            stop=stop_after_delay(self._parts.limits.commit_seconds),
            reraise=True,
        ):
            with attempt:
                await self._parts.log.commit(owner, turn.turn_id, turn.attempt, outcome)

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
            page_text=parts.library.page_text,
            page_boxes=parts.library.page_boxes,
            emit=log.publish,
            stream=request.stream,
            tool_rounds=parts.limits.tool_rounds,
            tools_off=frozenset(name for name, on in request.tools.items() if not on),
        )

    async def _failure(self, owner: Owner, turn: Turn, error: OrcError, trace_id: str) -> Event:
        """The end of a turn that failed, unless its answer was stored after all: that may not have shown."""
        try:
            stored = await self._parts.log.fail(owner, turn.turn_id, turn.attempt, error.code, error.message)
            if stored.status is TurnStatus.COMMITTED:
                return Done(result=TurnResult.model_validate(stored.result))
        except Exception:
            # The outermost edge of a turn: its lease runs out, and then it reads as failed all the same.
            logger.exception("turn %s could not be closed", turn.turn_id)
        return Failed(problem=problem_of(error, trace_id))


def _initial_state(
    request: TurnRequest, begun: Started, documents: list[Document], in_reach: list[Document]
) -> ConversationState:
    """What the graph starts from: the question, and what the conversation carries on."""
    refs = begun.head.uploaded_file_refs
    if not documents:
        # Some may have been deleted since; a turn that names documents compares, and overwrites them.
        present = {document.blob_name for document in in_reach}
        refs = [ref for ref in refs if ref.blob_name in present]
    return ConversationState(
        question=request.question,
        conversation_id=begun.turn.conversation_id,
        blob_names=[document.blob_name for document in documents],
        has_documents=bool(in_reach),
        history=[message for turn in begun.history for message in messages_of(turn)],
        uploaded_file_refs=refs,
        last_mcp_tool_used=begun.head.last_mcp_tool_used,
        code_thread_id=begun.head.code_thread_id,
    )
