"""Makes the vectors of documents again: those stored without any, or for another embedding model."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from orc_core.documents.stores import Stores
from orc_core.models import Document, JobKind

POLL_SECONDS = 1.0
Sleep = Callable[[float], Awaitable[object]]
Report = Callable[[int, int, str], object]
"""Called with the documents that are done, all documents, and what is under way."""


async def queue_vectors(stores: Stores, conversation_id: str | None = None) -> list[Document]:
    """Queue the vectors of all completed documents, or of those of one conversation; returns these documents.

    A job that is queued already is kept, so that an interrupted run can be repeated.
    """
    found = await stores.catalog.completed()
    documents = [each for each in found if conversation_id in (None, each.owner.conversation_id)]
    for document in documents:
        await stores.queue.enqueue(document, JobKind.EMBED)
    return documents


async def follow(
    stores: Stores,
    documents: Sequence[Document],
    report: Report,
    sleep: Sleep = asyncio.sleep,
    kind: JobKind = JobKind.EMBED,
) -> None:
    """Report how far a worker is with the jobs of a kind for these documents, until none of them is left."""
    left = list(documents)
    while left:
        jobs = [(each, await stores.queue.progress(each.document_id)) for each in left]
        unfinished = [(each, found[kind]) for each, found in jobs if kind in found]
        left = [each for each, _ in unfinished]
        going_on = [f"{each.blob_name}: {at.done} of {at.total}" for each, at in unfinished if at.done]
        report(len(documents) - len(left), len(documents), ", ".join(going_on))
        if left:
            await sleep(POLL_SECONDS)
