"""`orc check` and `orc reindex`: what is to be made again of documents, by a worker, and how far that is."""

import uuid
from collections.abc import Sequence

from rich.console import Console

from orc.cli.doctor import report
from orc.conversations.turn_log import TurnLog
from orc.settings import Settings
from orc_core.bootstrap import open_documents
from orc_core.documents.consistency import compare, repair
from orc_core.documents.reindexing import follow, queue_vectors
from orc_core.documents.stores import Stores
from orc_core.errors import InvalidInput
from orc_core.models import Document, JobKind


async def check(settings: Settings, console: Console, *, repairs: bool, rebuilds: bool) -> bool:
    """Print where records, files, texts and index do not fit, and repair that; whether nothing is missing."""
    async with open_documents(settings) as documents:
        stores = documents.stores
        found = await compare(stores)
        report(list(found.findings), console)
        if not (repairs or rebuilds):
            return not any(each.is_damage for each in found.findings)
        log = TurnLog(await documents.clients.items("conversations"))
        for path in found.new:
            if path.owner.context_id is None:
                # Its user would not see the file without a session.
                await log.ensure_conversation(path.owner, path.file)
        queued = await repair(stores, found, everything=rebuilds)
        await _follow(stores, queued, console, JobKind.INGEST)
        left = await compare(stores)
        report(list(left.findings), console)
        return not any(each.is_damage for each in left.findings)


async def make_vectors(settings: Settings, console: Console, conversation: uuid.UUID | None) -> int:
    """Make the vectors of all documents again, or of those of a conversation; returns of how many."""
    async with open_documents(settings) as documents:
        if documents.embedder is None:
            raise InvalidInput("There is no embedding model, so documents have no vectors.")
        queued = await queue_vectors(documents.stores, str(conversation) if conversation else None)
        await _follow(documents.stores, queued, console, JobKind.EMBED)
        return len(queued)


async def _follow(stores: Stores, queued: Sequence[Document], console: Console, kind: JobKind) -> None:
    with console.status("") as status:

        def show(done: int, total: int, now: str) -> None:
            status.update(f"{done} of {total} documents. {now or 'Waiting for a worker.'}")

        await follow(stores, queued, show, kind=kind)
