"""Whether a context has documents that a question can be answered from."""

from orc.contexts.turn_scope import TurnScope
from orc_core.documents.places import Accessible, session_place
from orc_core.documents.service import DocumentService
from orc_core.errors import Conflict
from orc_core.models import DocumentStatus
from orc_core.names import Owner

MOST_FAILED = 100
"""Of so many documents that could not be read, it is not asked whether there are others."""
SECONDS = 5
"""After which a retry may find a document that is being read now."""


async def check_ready(library: DocumentService, owner: Owner, scope: TurnScope) -> None:
    """Raise Conflict with counts if nothing of the focus, nor of the session, can be read."""
    near = tuple(place for place in scope.places if place.near)
    accessible = Accessible(owner, (session_place(owner), *near))
    counted = await library.count(accessible)
    total, ready = sum(each.total for each in counted), sum(each.readable for each in counted)
    if ready:
        return
    page = await library.page(accessible, limit=MOST_FAILED, status=DocumentStatus.FAILED)
    failed = len(page.documents)
    if not total:
        error = Conflict("There are no documents here yet.", code="workspace_empty")
    elif failed == min(total, MOST_FAILED):
        why = page.documents[0].reason or ""
        error = Conflict(f"None of the documents could be read. {why}".strip(), code="workspace_unreadable")
    else:
        error = Conflict("None of the documents can be read yet.", code="workspace_not_ready")
        error.retryable, error.retry_after = True, SECONDS
    error.documents = {"uploaded": total, "ready": ready, "failed": failed}
    raise error
