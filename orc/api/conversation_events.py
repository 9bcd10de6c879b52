"""What happens in a conversation, as one stream: documents, its title, and turns of any window or process."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from orc.api.schemas import DocumentView
from orc.conversations.models import Head, TitleBy, TurnStatus
from orc.conversations.turn_log import TurnLog
from orc.events import Event, Failed, TitleUpdated
from orc.problems import problem_of
from orc_core.documents.service import DocumentService
from orc_core.errors import NotFound, OrcError
from orc_core.models import Document, JobProgress
from orc_core.names import Owner

FIRST_LOOK_SECONDS, BUSY_SECONDS, IDLE_SECONDS = 0.25, 2.0, 5.0
"""How soon the stores are read again: after news, while something is under way, and otherwise. A change of
this server is noticed at once."""
FOLLOWED_SECONDS, QUIET_SECONDS = 1800.0, 120.0
"""How long a connection lasts, and how long if nothing happens: an open one holds a request of the server."""
LATEST, MOST_TURNS = 5, 50
"""Turns that are read if the conversation has changed: the latest ones, and more if so many have come."""
ANALYSED_WITHIN = timedelta(minutes=10)
"""A document is not looked at for its analysis for longer than this."""


class DocumentNow(Event):
    """A document as the list shows it; one that is new, or has changed."""

    kind = "document"
    document: DocumentView

    def data(self) -> dict[str, Any]:
        return self.document.model_dump(mode="json")


class DocumentWork(Event):
    """What is being done with a document. `total` is 0 while it is not known."""

    kind = "document_progress"
    document_id: str
    done: int
    total: int
    message: str


class DocumentRemoved(Event):
    """A document is no longer there."""

    kind = "document_removed"
    document_id: str


class TurnStarted(Event):
    """A turn is being answered; its own stream has its events."""

    kind = "turn_started"
    turn_id: str
    seq: int


class TurnEnded(Event):
    """A turn has ended."""

    kind = "turn_ended"
    turn_id: str
    seq: int
    status: TurnStatus


class Snapshot(Event):
    """The events before this one are the present state. What it does not name is not there any more."""

    kind = "snapshot"
    document_ids: list[str]
    running: list[str]
    turn_count: int


class Quiet(Event):
    """Nothing has happened for a while, and the stream ends. Connect again when a user looks."""

    kind = "quiet"


class TurnState(NamedTuple):
    """How far a turn is."""

    seq: int
    status: TurnStatus
    attempt: str

    @property
    def is_running(self) -> bool:
        return self.status is TurnStatus.PENDING


@dataclass(frozen=True)
class Seen:
    """What is known of a conversation."""

    head: Head | None = None
    documents: Mapping[str, DocumentView] = field(default_factory=dict)
    work: Mapping[str, JobProgress] = field(default_factory=dict)
    turns: Mapping[str, TurnState] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running, or work on a document is known."""
        unfinished = any(not document.status.is_final for document in self.documents.values())
        return unfinished or bool(self.work) or any(turn.is_running for turn in self.turns.values())


# Why it reads the stores and no broker: docs/decisions/conversation-stream.md.
class ConversationReader:
    """Reads a conversation from the stores, no more of it than may have changed."""

    def __init__(self, library: DocumentService, log: TurnLog, owner: Owner) -> None:
        self._library = library
        self._log = log
        self._owner = owner

    async def read(self, before: Seen, *, has_changed: bool) -> Seen:
        """The present state. `has_changed`: something has changed, as this server knows. Raises NotFound."""
        head, records = await asyncio.gather(self._log.head(self._owner), self._library.recorded(self._owner))
        if head is None and (before.head is not None or not records):
            raise NotFound("There is no such conversation.")
        turns = await self._turns(before, head, has_changed=has_changed)
        # The documents that have been analysed; of those that were, only changes are asked for.
        known = {
            each.document_id
            for each in records
            if (view := before.documents.get(each.document_id))
            and view.summary_available
            and view.updated_at == each.updated_at
        }
        unknown = [each for each in records if each.document_id not in known]
        asked = [each for each in unknown if before.head is None or _may_change(each, known)]
        summarised = known | (await self._library.summarised(asked) if asked else set())
        documents = {
            each.document_id: DocumentView.of(each, summary_available=each.document_id in summarised)
            for each in records
        }
        changing = [each for each in records if _may_change(each, summarised)]
        progress = await asyncio.gather(*map(self._library.progress, changing))
        work = {
            document.document_id: job
            for document, job in zip(changing, progress, strict=True)
            if job is not None and job.what
        }
        return Seen(head, documents, work, turns)

    async def _turns(self, before: Seen, head: Head | None, *, has_changed: bool) -> dict[str, TurnState]:
        known = dict(before.turns)
        if head is None:
            return {}
        again = head.retried[-LATEST:]  # they may be earlier ones
        if has_changed or before.head is None or head.version != before.head.version:
            new = head.turn_count - before.head.turn_count if before.head else 0
            page = await self._log.page(self._owner, limit=min(max(LATEST, new), MOST_TURNS))
            read = [*page.turns] if page else []
            one = [self._log.turns(self._owner, after_seq=seq - 1, limit=1) for seq in again]
            read += [turn for turns in await asyncio.gather(*one) for turn in turns]
        else:
            read = []
        named = {turn.turn_id for turn in read}
        running = [turn_id for turn_id, turn in known.items() if turn.is_running and turn_id not in named]
        found = await asyncio.gather(*(self._log.turn(self._owner, turn_id) for turn_id in running))
        read += [turn for turn in found if turn is not None]
        known |= {turn.turn_id: TurnState(turn.seq, turn.status, turn.attempt) for turn in read}
        latest = sorted(known.items(), key=lambda item: item[1].seq)[-MOST_TURNS:]
        others = {each: turn for each, turn in known.items() if turn.is_running or turn.seq in again}
        return dict(latest) | others


def _may_change(document: Document, summarised: set[str]) -> bool:
    """Whether work on the document may be going on."""
    if not document.status.is_final:
        return True
    is_recent = datetime.now(UTC) - document.updated_at < ANALYSED_WITHIN
    return is_recent and document.document_id not in summarised


def changes_between(before: Seen, after: Seen) -> list[Event]:
    """The events that lead from one state to the other; from nothing, those of the present state."""
    head, known = after.head, before.head
    events: list[Event] = [
        *(DocumentRemoved(document_id=each) for each in before.documents if each not in after.documents),
        *(DocumentNow(document=v) for each, v in after.documents.items() if before.documents.get(each) != v),
        *(
            DocumentWork(document_id=each, done=job.done, total=job.total, message=job.what)
            for each, job in after.work.items()
            if before.work.get(each) != job
        ),
    ]
    shown = known and (known.title, known.title_by)
    if head is not None and head.title and shown != (head.title, head.title_by):
        by = head.title_by or TitleBy.WORDS
        events.append(TitleUpdated(conversation_id=head.conversation_id, title=head.title, by=by))
    for turn_id, turn in sorted(after.turns.items(), key=lambda item: item[1].seq):
        earlier = before.turns.get(turn_id)
        if turn == earlier or (before.head is None and not turn.is_running):
            continue
        if earlier is None or earlier.attempt != turn.attempt:
            events.append(TurnStarted(turn_id=turn_id, seq=turn.seq))
        if not turn.is_running:
            events.append(TurnEnded(turn_id=turn_id, seq=turn.seq, status=turn.status))
    return events


def snapshot_of(seen: Seen) -> Snapshot:
    """What the present state consists of."""
    return Snapshot(
        document_ids=list(seen.documents),
        running=[turn_id for turn_id, turn in seen.turns.items() if turn.is_running],
        turn_count=seen.head.turn_count if seen.head else 0,
    )


async def follow_conversation(
    reader: ConversationReader,
    present: Seen,
    woken: asyncio.Event,
    trace_id: str,
    *,
    goes_on: bool,
    until: float = math.inf,
) -> AsyncIterator[tuple[int, Event]]:
    """The present state, its snapshot, and unless `goes_on` is false what changes, until it is quiet.

    It ends at `until` (epoch seconds) at the latest.
    """
    number = 0
    for event in [*changes_between(Seen(), present), snapshot_of(present)]:
        number += 1
        yield number, event
    wait, news = FIRST_LOOK_SECONDS, time.monotonic()
    end = news + FOLLOWED_SECONDS
    while goes_on and time.monotonic() < end and time.time() < until:
        has_changed = await _rest(woken, wait)
        try:
            now = await reader.read(present, has_changed=has_changed)
        except OrcError as exc:
            yield number + 1, Failed(problem=problem_of(exc, trace_id))
            return
        wait = min(1.5 * wait, BUSY_SECONDS if now.is_busy else IDLE_SECONDS)
        for event in changes_between(present, now):
            wait, number, news = FIRST_LOOK_SECONDS, number + 1, time.monotonic()
            yield number, event
        present = now
        if now.is_busy:
            news = time.monotonic()
        elif time.monotonic() > news + QUIET_SECONDS:
            yield number + 1, Quiet()
            return


async def _rest(woken: asyncio.Event, seconds: float) -> bool:
    """Wait until something is known to have changed, or for so long; whether it is known."""
    try:
        await asyncio.wait_for(woken.wait(), seconds)
    except TimeoutError:
        return False
    woken.clear()
    return True
