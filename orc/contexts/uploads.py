"""What becomes of files that were stored in a context while the right to do so ended."""

from collections.abc import Sequence
from contextlib import suppress

from orc.contexts.rights import Right
from orc.contexts.service import Caller, ContextService
from orc_core.documents.service import DocumentService
from orc_core.errors import Conflict, Forbidden, NotFound
from orc_core.models import Document
from orc_core.names import Owner


async def keep_if_allowed(
    contexts: ContextService,
    library: DocumentService,
    caller: Caller,
    owner: Owner,
    added: Sequence[Document],
    *,
    replaces: bool = False,
) -> None:
    """Remove what was added, and raise, if the context was deleted, or the role withdrawn, meanwhile.

    With `replaces` the documents of a context that is still there stay: what they replaced is not there any
    more.
    """
    try:
        await contexts.owner(caller, owner.conversation_id, Right.CHANGE_DOCUMENTS)
    except (NotFound, Forbidden):
        if replaces and await contexts.is_present(owner.organization_id, owner.conversation_id):
            return
        await remove_added(library, added)
        raise


async def remove_added(library: DocumentService, added: Sequence[Document]) -> None:
    """Remove these documents, except those that are gone or were replaced."""
    for document in added:
        with suppress(NotFound, Conflict):
            await library.delete(document.owner, document.document_id, etag=document.etag)
