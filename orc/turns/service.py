"""The service that starts turns and lets callers follow or replay them."""

import asyncio
from contextlib import ExitStack
from dataclasses import asdict

from opentelemetry.trace import use_span

from orc.contexts.ids import is_context_id
from orc.contexts.turn_scope import TurnScope
from orc.contexts.withholding import WITHHELD
from orc.conversations.models import NewTurn, Replayed, Retry, Started, Turn, TurnStatus
from orc.conversations.transitions import INTERRUPTED
from orc.events import Done, Failed, Stopped
from orc.identity import Principal
from orc.limits.models import UserLimit
from orc.tools.ports import DOCUMENT_CHAT
from orc.traces.models import TurnIds
from orc.traces.trace import TurnRecorder
from orc.turns.contexts import name_for, named_documents, with_named_documents
from orc.turns.event_log import Changes, EventLog, RecentTurns
from orc.turns.requests import TurnRequest
from orc.turns.results import STORED_AFTER, before_attempt, begun_event, in_flight, live_log, replay_log
from orc.turns.runner import TurnRunner, unexpected
from orc.turns.running_turn import Asked, RunningTurn, Stop, TurnDependencies
from orc.turns.spans import begin_turn_span
from orc.turns.titles import Titles
from orc_core.errors import InvalidInput, KeyReused, NotFound, OrcError, TurnInFlight
from orc_core.infra.telemetry.spans import fail
from orc_core.llm.chat_model import CallBudget
from orc_core.models import Document
from orc_core.names import Owner


class TurnService:
    """Starts turns and keeps them running, even if no client is connected."""

    def __init__(self, parts: TurnDependencies) -> None:
        self._parts = parts
        self.changes = Changes()
        self._titles = Titles(parts.log, parts.models, parts.counter, self.changes.happened)
        self._runner = TurnRunner(parts, self._titles, self.changes.happened)
        self.graph = self._runner.graph
        self._recent = RecentTurns()
        self._running: set[asyncio.Task[None]] = set()
        self._stops: dict[tuple[Owner, str], Stop] = {}
        self._of_users = UserLimit(parts.settings.turns_per_user, "questions")

    async def start(self, request: TurnRequest, principal: Principal) -> EventLog:
        """Store the question and start to answer it; returns the events of the turn, from the first.

        The question is stored when this returns. Errors of the request (InvalidInput, NotFound, TurnInFlight,
        KeyReused, TooMany) are raised before anything is stored.
        """
        request, owner = _with_owner(request, principal)
        is_keyed, turn_id = request.idempotency_key is not None, request.turn_id(owner)
        turn = await self._parts.log.turn(owner, turn_id) if is_keyed else None
        is_same = turn is not None and turn.request_hash == request.content_hash
        if turn is not None and is_same and turn.status is not TurnStatus.FAILED:
            # A result counts even if its documents were deleted. A turn that is being answered is
            # TurnInFlight here already: a retry does not count as a message.
            _unless_pending(turn)
            return await self._shown(principal, owner, turn, 0, request.trace_id)
        return await self._begin_and_run(request, owner, principal, turn_id, turn)

    async def retry(
        self,
        owner: Owner,
        turn_id: str,
        principal: Principal,
        *,
        key: str | None,
        stream: bool,
        trace_id: str,
    ) -> EventLog:
        """Answer a failed, interrupted or stopped turn again, as it was asked; `key` is that of the retry.

        Limits and errors are those of `start`, and Conflict for a turn that is answered or replaced.
        """
        turn = await self._parts.log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        _unless_pending(turn)
        if turn.status.has_result and key is not None and turn.retry_key == key:
            return await self._shown(principal, owner, turn, 0, trace_id)
        request = TurnRequest.again(turn, stream=stream, trace_id=trace_id)
        return await self._begin_and_run(request, owner, principal, turn_id, turn, Retry(key=key))

    async def _begin_and_run(
        self,
        request: TurnRequest,
        owner: Owner,
        principal: Principal,
        turn_id: str,
        before: Turn | None,
        retry: Retry | None = None,
    ) -> EventLog:
        # An attempt that ended with its process is counted already.
        amount = 0 if before is not None and before.failure == INTERRUPTED else 1
        with ExitStack() as place:
            place.enter_context(self._of_users.hold(principal))
            scope = await self._scope_asked_for(request, owner, principal)
            documents = await self._named_documents(request, owner, scope)
            new = request.opening(turn_id, [name_for(each, owner) for each in documents], retry)
            if scope is not None:
                named = {"contexts": scope.named(request.contexts), "used": scope.used}
                new = new.model_copy(update=named)
            allowance = await self._parts.messages.take(principal, amount)
            try:
                begun = await self._begin(new, owner)
                running = None
                if not isinstance(begun, Replayed):
                    running = await self._prepare(
                        Asked(request, owner, principal, documents, scope, new), begun
                    )
            except Exception:
                await self._parts.messages.give_back(principal, amount)
                raise
            if running is None:
                await self._parts.messages.give_back(principal, amount)
                return await self._shown(principal, owner, begun.turn, 0, request.trace_id)
            # From here on, the turn's own task ends its log.
            running.log.allowance = allowance
            self._recent.add(owner, turn_id, begun.turn.attempt, running.log)
            # The place is taken until the turn has ended, whether or not its client stays.
            self._run(running, place.pop_all())
            return running.log

    async def _prepare(self, asked: Asked, started: Started) -> RunningTurn:
        """What the answer needs, inside the span of the turn, which goes on with the answer.

        A turn that cannot be prepared is stored as failed.
        """
        parts, request, owner, turn = self._parts, asked.request, asked.owner, started.turn
        span = begin_turn_span(turn)
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                scope = await self._scope_begun(asked, started)
                log = live_log(turn, [begun_event(turn)])
                ids = TurnIds(
                    trace_id=request.trace_id, turn_id=turn.turn_id, attempt=turn.attempt, **asdict(owner)
                )
                recorder = TurnRecorder(
                    log.publish, ids, catalogue=parts.catalogue, tools_model=parts.models.writer.name
                )
                budget, documents = CallBudget(max_calls=parts.settings.max_model_calls), asked.documents
                return RunningTurn(
                    request, owner, asked.caller, started, documents, recorder, budget, log, scope, span
                )
        except BaseException as exc:
            fail(span, exc)
            span.end()
            if isinstance(exc, Exception):
                known, new = exc if isinstance(exc, OrcError) else unexpected(), asked.new
                await parts.log.fail(owner, new.key, new.attempt, known.code, known.message)
            raise

    def _run(self, running: RunningTurn, place: ExitStack) -> None:
        """Answer the turn in a separate task, for which `close` waits, and then leave the place."""
        stop, key = running.stop, (running.owner, running.turn.turn_id)

        def ended(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            place.close()
            if self._stops.get(key) is stop:
                del self._stops[key]

        self._stops[key] = stop
        task = asyncio.create_task(self._runner.run(running))
        self._running.add(task)
        task.add_done_callback(ended)

    async def stop(self, owner: Owner, turn_id: str) -> Turn:
        """Ask a running turn to end with what is written of its answer; returns the turn as it is now.

        A process that answers it elsewhere reads the request from the turn log. Raises NotFound.
        """
        turn = await self._parts.log.ask_to_stop(owner, turn_id)
        if turn.status is TurnStatus.PENDING and (stop := self._stops.get((owner, turn_id))) is not None:
            stop.ask()
        return turn

    async def resume(self, request: TurnRequest, principal: Principal, *, after: int) -> EventLog:
        """The events of the turn that the same request began earlier; it never begins one.

        `after` is the last event that the reader has. Raises InvalidInput (no key), NotFound, KeyReused and
        TurnInFlight (another process is answering).
        """
        request, owner = _with_owner(request, principal)
        if request.idempotency_key is None:
            raise InvalidInput(
                "Last-Event-ID takes up a stream, for which the Idempotency-Key of its request is needed.",
                field="Idempotency-Key",
            )
        turn = await self._parts.log.turn(owner, request.turn_id(owner))
        if turn is None:
            raise NotFound("No turn was begun with this key. Ask without Last-Event-ID.")
        if turn.request_hash != request.content_hash:
            raise KeyReused("This key was used for another request.", field="Idempotency-Key")
        if turn.status is TurnStatus.PENDING and self._in_memory(owner, turn) is None:
            raise in_flight(turn)
        return await self._shown(principal, owner, turn, after, request.trace_id)

    async def events_of(
        self, owner: Owner, turn_id: str, principal: Principal, *, after: int, trace_id: str
    ) -> EventLog | None:
        """The events of an earlier turn; None if the reader has all of them.

        `after` is the last event that the reader has. If the events are not in the memory of this process,
        the streamed text is withdrawn and the stored answer follows; while another process answers, the only
        event is an error that says so. Raises NotFound.
        """
        turn = await self._parts.log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        log = await self._shown(principal, owner, turn, after, trace_id)
        return None if log.is_read(after) and turn.status is not TurnStatus.PENDING else log

    def _in_memory(self, owner: Owner, turn: Turn) -> EventLog | None:
        return self._recent.find(owner, turn.turn_id, turn.attempt)

    async def _shown(
        self, caller: Principal, owner: Owner, turn: Turn, after: int, trace_id: str
    ) -> EventLog:
        """The events of an earlier turn: those of the log if it is still true, else what is stored.

        An answer that the caller may not be shown any more is withheld, whatever the log has.
        """
        log = self._in_memory(owner, turn)
        if turn.status.has_result and self._parts.revoked.is_on:
            head = await self._parts.log.head(owner)
            if head is None:
                raise NotFound("There is no such turn.")
            [shown] = await self._parts.revoked.shown(caller, head, [turn])
            if shown is not turn:
                return replay_log(shown, after=after, trace_id=trace_id)
        if log is None or after >= before_attempt(turn) + STORED_AFTER:
            return replay_log(turn, after=after, trace_id=trace_id)
        # A result can be elsewhere: it was stored after a failure, or withheld at the end.
        ending = log.ending
        is_withheld = isinstance(ending, Done | Stopped) and ending.result.answer == WITHHELD
        if turn.status.has_result and (is_withheld or isinstance(ending, Failed)):
            return replay_log(turn, after=after, trace_id=trace_id)
        return log

    def forget(self, owner: Owner) -> None:
        """Drop the events of a deleted conversation from memory."""
        self._recent.forget(owner)

    async def close(self, grace_seconds: float = 10.0) -> None:
        """Wait for running turns for a while, then cancel them."""
        clock = asyncio.get_running_loop().time
        ends_at = clock() + grace_seconds
        while self._running and clock() < ends_at:
            await asyncio.wait(self._running, timeout=ends_at - clock())
        await asyncio.sleep(0)  # a task that is cancelled before its first step would leave its turn pending
        for work in self._running:
            work.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._titles.close()

    async def _named_documents(
        self, request: TurnRequest, owner: Owner, scope: TurnScope | None
    ) -> list[Document]:
        by = [each.by for each in (scope.tools_off if scope else ()) if each.tool == DOCUMENT_CHAT]
        is_off = request.tools.get(DOCUMENT_CHAT) is False
        if request.blob_names and (by or is_off):
            who, code = (", ".join(by), "tool_off") if by else ("this request", "document_chat_off")
            reason = f"document_chat reads the named documents, and is switched off by {who}."
            raise InvalidInput(reason, field="tools", code=code)
        self._parts.models.named(request.model)
        return await named_documents(self._parts.library, owner, request.blob_names, scope)

    async def _scope_asked_for(
        self, request: TurnRequest, owner: Owner, principal: Principal
    ) -> TurnScope | None:
        """The contexts of a request that names some, with those that its conversation has used.

        A focus that the caller may not read is NotFound before anything is stored.
        """
        scopes = self._parts.contexts
        if scopes is None or not (request.home or any(is_context_id(each.id) for each in request.contexts)):
            return None
        head = await self._parts.log.head(owner) if request.conversation_id else None
        return await scopes.of_turn(principal, request.contexts, head, request.home)

    async def _scope_begun(self, asked: Asked, started: Started) -> TurnScope | None:
        """The contexts of a turn that has begun: those asked for, else those of its conversation."""
        scopes, scope, head, named = self._parts.contexts, asked.scope, started.head, asked.request.contexts
        if scopes is None or not (scope or named or head.contexts or head.home):
            return None
        if scope is not None:
            # An earlier turn may have been committed since it was asked for, and the history has its answer.
            return scope.model_copy(update={"blocked": await scopes.blocked(asked.caller, head)})
        return await scopes.of_turn(asked.caller, named, head)

    async def _begin(self, new: NewTurn, owner: Owner) -> Started | Replayed:
        settings = self._parts.settings
        lease, limit = settings.turn_lease_seconds, settings.history_turns
        try:
            return await self._parts.log.begin(owner, new, lease_seconds=lease, history_limit=limit)
        except TurnInFlight as exc:
            exc.conversation_id, exc.turn_id = owner.conversation_id, new.key
            raise


def _with_owner(request: TurnRequest, principal: Principal) -> tuple[TurnRequest, Owner]:
    """The request with the names of its documents resolved, and the owner of its conversation."""
    owner = principal.owner_of(request.conversation_for(principal.organization_id, principal.user_id))
    return with_named_documents(request, owner), owner


def _unless_pending(turn: Turn) -> Turn:
    if turn.status is TurnStatus.PENDING:
        raise in_flight(turn)
    return turn
