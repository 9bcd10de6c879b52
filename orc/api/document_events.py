"""How a document comes along, as typed events: its record whenever it changes, and progress in between."""

import asyncio
import time
from collections.abc import AsyncIterator

from core.documents.service import DocumentService
from core.errors import OrcError
from core.models import Document, JobProgress
from orc.api.schemas import DocumentView
from orc.events import Event, Failed
from orc.problems import problem_of

FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.2, 2.0
"""A look costs a few requests where services keep documents: after a while without news there are fewer."""
FOLLOWED_SECONDS = 1800.0


class DocumentChanged(Event):
    """The record of the document as it is now."""

    kind = "status"
    document: DocumentView

    def data(self) -> dict[str, object]:
        return self.document.model_dump(mode="json")


class DocumentReady(DocumentChanged):
    """The record as it stays: `completed`, or `failed` with the reason."""

    kind = "done"


class DocumentProgress(Event):
    """What is being done. `total` is 0 while it is not known."""

    kind = "progress"
    done: int
    total: int
    message: str


async def follow_document(
    library: DocumentService, document: Document, trace_id: str
) -> AsyncIterator[tuple[int, Event]]:
    """The events of a document from now on, numbered from 1; the last is `done`, or `error`.

    After half an hour they end without either; the client can connect again.
    """
    number = 0
    try:
        async for event in _changes(library, document):
            number += 1
            yield number, event
    except OrcError as exc:
        yield number + 1, Failed(problem=problem_of(exc, trace_id))


async def _changes(library: DocumentService, document: Document) -> AsyncIterator[Event]:
    shown: Document | None = None
    last_progress: JobProgress | None = None
    wait, end = FIRST_LOOK_SECONDS, time.monotonic() + FOLLOWED_SECONDS
    while not document.status.is_final:
        if time.monotonic() > end:
            return
        before = (shown, last_progress)
        if document != shown:
            shown = document
            yield DocumentChanged(document=DocumentView.of(document))
        progress = await library.progress(document)
        if progress is not None and progress != last_progress and progress.what:
            last_progress = progress
            yield DocumentProgress(done=progress.done, total=progress.total, message=progress.what)
        wait = (
            FIRST_LOOK_SECONDS if (shown, last_progress) != before else min(1.5 * wait, LONGEST_LOOK_SECONDS)
        )
        await asyncio.sleep(wait)
        document = await library.find(document.owner, document.document_id)
    yield DocumentReady(document=DocumentView.of(document))
