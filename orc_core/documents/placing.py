"""Lets documents that an earlier version indexed be found by places."""

import logging

from orc_core.documents.catalog import Catalog
from orc_core.documents.ports import PassageIndex

log = logging.getLogger(__name__)


async def place_documents(catalog: Catalog, index: PassageIndex) -> int:
    """Note in the index where each document is stored, if it does not say so yet; returns how many were new.

    It can be interrupted and repeated. Documents without a record are left out.
    """
    missing, placed = set(await index.unplaced()), 0
    if not missing:
        return 0
    for document in await catalog.completed():
        if document.document_id in missing:
            await index.place(document.document_id, document.owner)
            placed += 1
    log.info("documents are found by places now count=%d", placed)
    return placed
