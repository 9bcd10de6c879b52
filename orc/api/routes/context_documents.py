"""The documents of a context, which all its members can read and editors change."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from orc.api.dependencies import (
    IN_CONTEXT,
    AppDep,
    BeganDep,
    CallerDep,
    ContextId,
    EditorDep,
    ReaderDep,
    TraceIdDep,
)
from orc.api.responses import responses
from orc.api.routes import documents
from orc.api.routes.contexts import PageDep
from orc.api.routes.documents import Files
from orc.api.schemas import DocumentView
from orc.contexts.models import from_cursor, to_cursor
from orc.contexts.rights import Right
from orc.problems import FieldProblem
from orc_core.documents.places import Accessible
from orc_core.errors import Forbidden, NotFound
from orc_core.models import DocumentStatus


class ContextUploadResponse(BaseModel):
    """The stored documents and the refused files. Nothing of a refused file is stored."""

    context_id: str
    documents: list[DocumentView]
    errors: list[FieldProblem] = Field(default=[], description="one per refused file; `field` is its name")


class ContextDocumentsResponse(BaseModel):
    context_id: str
    documents: list[DocumentView]
    next_cursor: str | None = None


router = APIRouter(prefix="/contexts/{context_id}/documents", tags=["contexts"], dependencies=IN_CONTEXT)


@router.post(
    "",
    status_code=201,
    response_model=ContextUploadResponse,
    responses=responses(400, 404, 409, 413, 415, 429),
)
async def upload_to_context(
    file: Files,
    context_id: ContextId,
    owner: EditorDep,
    caller: CallerDep,
    app: AppDep,
    trace: TraceIdDep,
    began: BeganDep,
    replace: Annotated[bool, Query(description="replace documents of the same names")] = False,
) -> ContextUploadResponse | Response:
    """Store documents in the context, as for a conversation; a name that is taken is refused (409)."""
    stored = await documents.store_files(file, owner, caller.principal, app, trace, began, replaces=replace)
    if isinstance(stored, Response):
        return stored
    shown, errors = stored
    try:
        await app.contexts.owner(caller, owner.conversation_id, Right.CHANGE_DOCUMENTS)
    except (NotFound, Forbidden):
        # The context was deleted, or the role withdrawn, during the upload. With `replace` the documents of
        # a context that is still there stay: what they replaced is not there any more.
        if not (replace and await app.contexts.is_present(owner.organization_id, owner.conversation_id)):
            for document in shown:
                await app.library.delete(owner, document.document_id)
            raise
    return ContextUploadResponse(context_id=context_id, documents=shown, errors=errors)


@router.get("", responses=responses(404))
async def list_context_documents(
    context_id: ContextId,
    owner: ReaderDep,
    app: AppDep,
    asked: PageDep,
    name: Annotated[str, Query(max_length=255, description="part of the name")] = "",
    status: DocumentStatus | None = None,
) -> ContextDocumentsResponse:
    """The documents of the context with their status."""
    page = await app.library.page(
        Accessible.of_owner(owner),
        after=from_cursor(asked.cursor),
        limit=asked.limit,
        name=name,
        status=status,
    )
    summarised = await app.library.summarised(page.documents)
    return ContextDocumentsResponse(
        context_id=context_id,
        documents=[DocumentView.of(d, summary_available=d.document_id in summarised) for d in page.documents],
        next_cursor=to_cursor(page.after) if page.after else None,
    )
