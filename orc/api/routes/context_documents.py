"""The documents of a context, which all its members can read and editors change."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from orc.api.context_schemas import ContextDocumentsResponse, ContextUploadResponse
from orc.api.dependencies import (
    DIGITS,
    AppDep,
    CallerDep,
    ContextId,
    EditorOwnerDep,
    ReaderOwnerDep,
    TraceIdDep,
)
from orc.api.responses import responses, stream
from orc.api.routes import documents
from orc.api.routes.documents import ANY_FILE, FOLLOWED, Download, FailedView, Files
from orc.api.schemas import DocumentView
from orc.bootstrap import App
from orc.contexts.models import from_cursor, to_cursor
from orc.contexts.rights import Right
from orc.contexts.service import Caller
from orc_core.documents.places import Accessible
from orc_core.errors import Forbidden, NotFound
from orc_core.models import DocumentStatus
from orc_core.names import Owner

router = APIRouter(prefix="/contexts/{context_id}/documents", tags=["contexts"])


@router.post(
    "",
    status_code=201,
    response_model=ContextUploadResponse,
    responses=responses(400, 404, 409, 413, 415, 429),
)
async def upload_to_context(
    file: Files,
    context_id: ContextId,
    owner: EditorOwnerDep,
    caller: CallerDep,
    app: AppDep,
    trace: TraceIdDep,
    replace: Annotated[bool, Query(description="replace documents of the same names")] = False,
) -> ContextUploadResponse | Response:
    """Store documents in the context, as for a conversation; a name that is taken is refused (409)."""
    stored = await documents.store_files(file, owner, caller.principal, app, trace, replaces=replace)
    if isinstance(stored, Response):
        return stored
    shown, errors = stored
    await _keep_if_present(shown, owner, caller, app, replaces=replace)
    return ContextUploadResponse(context_id=context_id, documents=shown, errors=errors)


@router.get("", response_model=ContextDocumentsResponse, responses=responses(404))
async def list_context_documents(
    context_id: ContextId,
    owner: ReaderOwnerDep,
    app: AppDep,
    name: Annotated[str, Query(max_length=255, description="part of the name")] = "",
    status: DocumentStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=200), DIGITS] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> ContextDocumentsResponse:
    """The documents of the context with their status."""
    page = await app.library.page(
        Accessible.of_owner(owner), after=from_cursor(cursor), limit=limit, name=name, status=status
    )
    summarised = await app.library.summarised(page.documents)
    return ContextDocumentsResponse(
        context_id=context_id,
        documents=[DocumentView.of(d, summary_available=d.document_id in summarised) for d in page.documents],
        next_cursor=to_cursor(page.after) if page.after else None,
    )


@router.get(
    "/{document_id}/events",
    response_class=Response,
    responses={**responses(404, 429), 200: FOLLOWED},
)
async def context_document_events(
    document_id: str, owner: ReaderOwnerDep, caller: CallerDep, app: AppDep, trace: TraceIdDep
) -> Response:
    """How the document comes along, as for one of a conversation, for as long as the caller may read it."""
    document = await app.library.find(owner, document_id)

    async def check() -> None:
        await app.contexts.read(caller, owner.conversation_id, Right.READ_DOCUMENTS)

    return stream(documents.follow_document(app.library, document, trace, check), trace)


@router.head("/{document_id}/content", include_in_schema=False)
@router.get(
    "/{document_id}/content",
    response_class=Response,
    responses={
        **responses(404),
        200: {"description": "The bytes of the file.", "content": ANY_FILE},
        304: {"description": "`If-None-Match` has the ETag of these bytes."},
    },
)
async def context_document_content(
    document_id: str, owner: ReaderOwnerDep, app: AppDep, request: Request, download: Download = False
) -> Response:
    """The file as it was uploaded."""
    return await documents.document_content(document_id, owner, app, request, download)


@router.post("/failed", response_model=FailedView, responses=responses(404))
async def retry_failed_context_documents(owner: EditorOwnerDep, app: AppDep) -> FailedView:
    """Read all documents of the context again that could not be read."""
    return await documents.retry_failed_documents(owner, app)


@router.delete("/failed", response_model=FailedView, responses=responses(404))
async def delete_failed_context_documents(owner: EditorOwnerDep, app: AppDep) -> FailedView:
    """Remove all documents of the context that could not be read."""
    return await documents.delete_failed_documents(owner, app)


@router.delete("/{document_id}", status_code=204, responses=responses(404))
async def delete_context_document(document_id: str, owner: EditorOwnerDep, app: AppDep) -> None:
    """Remove a document from the context."""
    await app.library.delete(owner, document_id)


async def _keep_if_present(
    shown: list[DocumentView], owner: Owner, caller: Caller, app: App, *, replaces: bool
) -> None:
    """Remove the documents again if the context was deleted, or the role withdrawn, during the upload.

    With `replaces` those of a context that is still there stay: what they replaced is not there any more.
    """
    try:
        await app.contexts.owner(caller, owner.conversation_id, Right.CHANGE_DOCUMENTS)
    except (NotFound, Forbidden):
        if replaces and await app.contexts.is_present(owner.organization_id, owner.conversation_id):
            return
        for document in shown:
            await app.library.delete(owner, document.document_id)
        raise
