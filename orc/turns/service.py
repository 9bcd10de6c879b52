"""The service that starts turns and lets callers follow or replay them."""

import asyncio

from core.errors import InvalidInput, NotFound
from core.models import Document
from core.names import Owner, resolve_blob_name
from orc.conversations.models import NewTurn, Replayed, Started, Turn, TurnStatus
from orc.events import Failed
from orc.identity import Principal
from orc.tools.ports import DOCUMENT_CHAT
from orc.turns.event_log import EventLog, RecentTurns
from orc.turns.requests import TurnRequest
from orc.turns.results import replay
from orc.turns.runner import TurnDependencies, TurnRunner


class Orchestrator:
    """Starts turns and keeps them running, even if no client is connected."""

    def __init__(self, parts: TurnDependencies) -> None:
        self._parts = parts
        self._runner = TurnRunner(parts)
        self._recent = RecentTurns()
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, request: TurnRequest, principal: Principal) -> EventLog:
        """Store the question and start to answer it; returns the events of the turn, from the first.

        The question is stored when this returns. Errors of the request (InvalidInput, NotFound, TurnInFlight,
        KeyReused) are raised before anything is stored.
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
        task = asyncio.create_task(self._runner.run(request, owner, begun, documents, log))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return log

    async def events_of(self, owner: Owner, turn_id: str, *, after: int, trace_id: str) -> EventLog:
        """The events of an earlier turn, of this process or another; NotFound if there is none.

        `after` is the last event that the reader has. If the events are no longer in memory, the streamed
        text is withdrawn and the stored answer follows with the next numbers.
        """
        turn = await self._parts.log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        log = self._recent.find(owner, turn_id, turn.attempt)
        if log is not None and not (turn.status is TurnStatus.COMMITTED and isinstance(log.ending, Failed)):
            return log
        return replay(turn, after=after, trace_id=trace_id)

    async def close(self, grace_seconds: float = 10.0) -> None:
        """Wait for running turns for a while, then cancel them."""
        if self._running:
            await asyncio.wait(self._running, timeout=grace_seconds)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _answered_before(self, request: TurnRequest, owner: Owner) -> Turn | None:
        """The committed turn of the same request, which is valid even if its documents were deleted since."""
        if request.idempotency_key is None:
            return None
        turn = await self._parts.log.turn(owner, request.turn_id(owner))
        if turn is None or turn.status is not TurnStatus.COMMITTED:
            return None
        return turn if turn.request_hash == request.content_hash else None

    async def _named_documents(self, request: TurnRequest, owner: Owner) -> list[Document]:
        limit = self._parts.settings.max_documents_per_request
        if len(request.blob_names) > limit:
            raise InvalidInput(f"At most {limit} documents can be named in one question.", field="blob_names")
        if request.blob_names and request.tools.get(DOCUMENT_CHAT) is False:
            raise InvalidInput("document_chat is needed to read the named documents.", field="tools")
        self._parts.models.named(request.model)
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
        settings = self._parts.settings
        create = request.creates or request.conversation_id is None or bool(documents)
        lease, limit = settings.turn_lease_seconds, settings.history_turns
        return await self._parts.log.begin(
            owner, new, lease_seconds=lease, create=create, history_limit=limit
        )
