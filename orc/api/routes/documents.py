"""The documents of a conversation: upload (through the API or a presigned URL), list, follow, delete."""

import asyncio
import re
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Query, Request, Response, UploadFile
from fastapi.responses import FileResponse
from pydantic import BaseModel, WithJsonSchema
from starlette.background import BackgroundTask

from orc.api.dependencies import (
    IN_CONTEXT,
    IN_CONVERSATION,
    AppDep,
    BeganDep,
    CallerDep,
    EditorDep,
    OwnerDep,
    PrincipalDep,
    ReaderDep,
    TraceIdDep,
)
from orc.api.errors import log_cause, render
from orc.api.responses import EVENTS, responses, stream
from orc.api.schemas import (
    DocumentsResponse,
    DocumentView,
    ReadingResponse,
    TicketRequest,
    UploadResponse,
    UploadTicketView,
    example,
)
from orc.bootstrap import App
from orc.contexts.rights import Right
from orc.events import Event, Failed
from orc.identity import Principal
from orc.problems import FieldProblem, problem, problem_of
from orc_core.documents.service import READING_SECONDS, DocumentService
from orc_core.errors import DocumentTooLarge, InvalidInput, OrcError
from orc_core.infra.exhaustion import TEMPORARY, naming_the_disk
from orc_core.infra.temporary_folders import temporary_folder
from orc_core.models import Document, JobProgress
from orc_core.names import Owner, name_for_upload

FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.2, 2.0
"""If services keep documents, each look costs a few requests: after a while without news there are fewer."""
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


class FailedView(BaseModel):
    """How many documents were `failed` and are read again, or removed."""

    model_config = example(documents=2)
    documents: int


Check = Callable[[], Awaitable[object]]
"""Raises an OrcError if the caller may not read the document any more."""


async def follow_document(
    library: DocumentService, document: Document, trace_id: str, check: Check
) -> AsyncIterator[tuple[int, Event]]:
    """The events of a document from now on, numbered from 1; the last is `done`, or `error`.

    After half an hour they end without either; the client can connect again. `check` is made at each look.
    """
    number = 0
    try:
        async for event in _changes(library, document, check):
            number += 1
            yield number, event
    except OrcError as exc:
        yield number + 1, Failed(problem=problem_of(exc, trace_id))


async def _changes(library: DocumentService, document: Document, check: Check) -> AsyncIterator[Event]:
    shown: Document | None = None
    last_progress: JobProgress | None = None
    wait, end = FIRST_LOOK_SECONDS, time.monotonic() + FOLLOWED_SECONDS
    while not document.status.is_final:
        if time.monotonic() > end:
            return
        wait = min(1.5 * wait, LONGEST_LOOK_SECONDS)
        if document != shown:
            shown, wait = document, FIRST_LOOK_SECONDS
            yield DocumentChanged(document=DocumentView.of(document))
        progress = await library.progress(document)
        if progress is not None and progress != last_progress and progress.what:
            last_progress, wait = progress, FIRST_LOOK_SECONDS
            yield DocumentProgress(done=progress.done, total=progress.total, message=progress.what)
        await asyncio.sleep(wait)
        await check()
        document = await library.find(document.owner, document.document_id)
    yield DocumentReady(document=DocumentView.of(document))


MAX_FILES_PER_UPLOAD = 20

router = APIRouter(prefix="/conversations/{conversation_id}", tags=["documents"])
of_conversations = APIRouter(
    prefix="/conversations/{conversation_id}/documents", tags=["documents"], dependencies=IN_CONVERSATION
)
of_contexts = APIRouter(prefix="/contexts/{context_id}/documents", tags=["contexts"], dependencies=IN_CONTEXT)

LEAST_READING_SECONDS = 1.0
"""For each file, however long those before it took: most files that are refused are refused at once."""
TICKET_SECONDS = 15 * 60
_SHOWN = {"application/pdf", "image/png", "image/jpeg", "image/gif", "image/webp"}
"""What a browser can show without running anything of it on the origin of this API."""
ANY_FILE: dict[str, Any] = {
    kind: {"schema": {"type": "string", "format": "binary"}, "example": "%PDF-1.7 ..."}
    for kind in sorted({*_SHOWN, "application/octet-stream"})
}
_FILE_HEADERS = {
    "x-content-type-options": "nosniff",
    # A cache on the way may otherwise keep what has a date and show it to another user.
    "cache-control": "private, no-cache",
    # The page of another site whose link opened the file learns nothing of its tab.
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_NO_TICKETS = "Files cannot be stored directly here. Upload through POST .../documents instead."
FOLLOWED = {"description": "The events, as they come; the last is `done` or `error`.", "content": EVENTS}


Files = Annotated[
    list[Annotated[UploadFile, WithJsonSchema({"type": "string", "format": "binary"})]],
    File(min_length=1, description="one or more files", examples=[["the bytes of handbook.pdf"]]),
]


Download = Annotated[bool, Query(description="a browser saves the file, whatever its format")]


@router.post(
    "/documents", status_code=201, response_model=UploadResponse, responses=responses(400, 413, 415, 429)
)
async def upload(
    file: Files, owner: OwnerDep, caller: PrincipalDep, app: AppDep, trace: TraceIdDep, began: BeganDep
) -> UploadResponse | Response:
    """Store documents and make them searchable. Nothing of a refused file is stored.

    What is not read within about 10 seconds is `processing` and not yet `readable`: it is read in the
    background, and the events of the document show how far that is.

    201 as soon as one file was stored; `errors` says which were not, and why. If none was, the
    response is the problem document of the first, with every file's reason in `errors`.
    """
    stored = await store_files(file, owner, caller, app, trace, began)
    if isinstance(stored, Response):
        return stored
    documents, errors = stored
    await app.log.ensure_conversation(owner, documents[0].blob_name)
    app.turn_service.changes.happened(owner)
    return UploadResponse(conversation_id=owner.conversation_id, documents=documents, errors=errors)


async def store_files(
    files: list[UploadFile],
    owner: Owner,
    caller: Principal,
    app: App,
    trace: str,
    began: datetime,
    *,
    replaces: bool = True,
) -> Response | tuple[list[DocumentView], list[FieldProblem]]:
    """Store each file; returns the documents and the reasons of refusals, or a problem if none was stored.

    Without `replaces` a file is refused if there is a document with its name. Files are listed in the order
    in which they were sent, however long each of them takes.
    """
    if len(files) > MAX_FILES_PER_UPLOAD:
        raise InvalidInput(f"At most {MAX_FILES_PER_UPLOAD} files can be uploaded at once.", field="file")
    stored: list[Document] = []
    refused: list[tuple[str, OrcError]] = []
    end = time.monotonic() + READING_SECONDS
    for number, item in enumerate(files):
        at = began + timedelta(microseconds=number)
        seconds = max(end - time.monotonic(), LEAST_READING_SECONDS)
        try:
            name = name_for_upload(item.filename or "")
            if any(document.blob_name == name for document in stored):
                message = f'Another file of this upload is stored as "{name}". Rename one of them.'
                raise InvalidInput(message, code="duplicate_name")
            async with app.uploads.counted(caller, item.size or 0):
                stored.append(await _store(item, name, owner, app, seconds, at, replaces=replaces))
        except OrcError as exc:
            log_cause(exc)
            refused.append((item.filename or "file", exc))
    errors = [FieldProblem(field=name, reason=exc.message, code=exc.code) for name, exc in refused]
    if not stored:
        name, first = refused[0]
        whole = problem_of(first, trace).model_copy(
            update={"detail": f"{name}: {first.message}", "errors": errors}
        )
        return render(whole)
    return [DocumentView.of(document) for document in stored], errors


@router.post(
    "/uploads", status_code=201, response_model=UploadTicketView, responses=responses(400, 409, 413, 415)
)
async def ticket(
    request: TicketRequest, owner: OwnerDep, app: AppDep, trace: TraceIdDep
) -> UploadTicketView | Response:
    """Create a presigned URL for uploading one large file directly.

    PUT the bytes to `url` before `expires_at`, with `headers`. `url` permits writing this one file and
    nothing else; anyone who has it can write, so keep it secret. After the PUT the document appears in the
    list, and questions can name it by `blob_name`; it replaces a document of that name. 409 if documents
    are stored on the server's disk.
    """
    name = name_for_upload(request.file_name)
    _check_size(request.size, app)
    granted = await app.library.presign_upload(owner, name, request.size, TICKET_SECONDS)
    if granted is None:
        return render(problem(HTTPStatus.CONFLICT, _NO_TICKETS, trace, code="direct_upload_not_offered"))
    await app.log.ensure_conversation(owner, name)
    return UploadTicketView(blob_name=name, **granted.model_dump())


@router.get("/documents", responses=responses(404))
async def list_documents(owner: OwnerDep, app: AppDep) -> DocumentsResponse:
    """The documents of the conversation with their status, oldest first."""
    documents = await app.library.list_documents(owner)
    if not documents:
        await app.log.known_head(owner)
    summarised = await app.library.summarised(documents)
    return DocumentsResponse(
        conversation_id=owner.conversation_id,
        documents=[DocumentView.of(d, summary_available=d.document_id in summarised) for d in documents],
    )


_EVENTS: dict[str, Any] = {"response_class": Response, "responses": {**responses(404, 429), 200: FOLLOWED}}
_CONTENT: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        **responses(404),
        200: {"description": "The bytes of the file.", "content": ANY_FILE},
        304: {"description": "`If-None-Match` has the ETag of these bytes."},
    },
}


@of_contexts.get("/{document_id}/events", operation_id="context_document_events", **_EVENTS)
@of_conversations.get("/{document_id}/events", **_EVENTS)
async def document_events(
    document_id: str, owner: ReaderDep, caller: CallerDep, app: AppDep, trace: TraceIdDep
) -> Response:
    """How the document comes along, as server-sent events, until it is `completed` or `failed`.

    `status` and the last one, `done`, carry the document as the list shows it; `progress` has done, total
    and message. Those of a context end if the caller may not read it any more.
    """
    document = await app.library.find(owner, document_id)

    async def check() -> None:
        if owner.context_id is not None:
            await app.contexts.read(caller, owner.context_id, Right.READ_DOCUMENTS)

    return stream(follow_document(app.library, document, trace, check), trace)


@of_contexts.head("/{document_id}/content", include_in_schema=False)
@of_conversations.head("/{document_id}/content", include_in_schema=False)
@of_contexts.get("/{document_id}/content", operation_id="context_document_content", **_CONTENT)
@of_conversations.get("/{document_id}/content", **_CONTENT)
async def document_content(
    document_id: str, owner: ReaderDep, app: AppDep, request: Request, download: Download = False
) -> Response:
    """The file as it was uploaded. A browser shows a PDF or an image; it saves any other file.

    The ETag changes with the bytes: 304 if the request has it in `If-None-Match`.
    """
    document = await app.library.find(owner, document_id)
    tag = document.version.replace('"', "")
    headers = {**_FILE_HEADERS, "etag": f'"{tag}"'}
    if tag and tag in re.findall(r'"([^"]*)"', request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    stack = AsyncExitStack()
    path = await stack.enter_async_context(app.library.local_copy(document))
    is_shown = document.media_type in _SHOWN
    return FileResponse(
        path,
        media_type=document.media_type if is_shown else "application/octet-stream",
        filename=document.blob_name,
        content_disposition_type="inline" if is_shown and not download else "attachment",
        headers=headers if tag else _FILE_HEADERS,
        background=BackgroundTask(stack.aclose),
    )


@of_contexts.get("/reading", operation_id="context_documents_being_read", responses=responses(404))
@of_conversations.get("/reading", responses=responses())
async def documents_being_read(owner: ReaderDep, app: AppDep) -> ReadingResponse:
    """How many pages are read of the files of uploads that this process has not answered yet."""
    return ReadingResponse(files={name: each for (of, name), each in app.reading.items() if of == owner})


@of_contexts.post("/failed", operation_id="retry_failed_context_documents", responses=responses(404))
@of_conversations.post("/failed", responses=responses(404))
async def retry_failed_documents(owner: EditorDep, app: AppDep) -> FailedView:
    """Read all documents again that could not be read, for example after OCR was set up."""
    await _check_known(owner, app)
    found = FailedView(documents=await app.library.retry_failed(owner))
    app.turn_service.changes.happened(owner)
    return found


@of_contexts.delete("/failed", operation_id="delete_failed_context_documents", responses=responses(404))
@of_conversations.delete("/failed", responses=responses(404))
async def delete_failed_documents(owner: EditorDep, app: AppDep) -> FailedView:
    """Remove all documents that could not be read."""
    await _check_known(owner, app)
    found = FailedView(documents=await app.library.delete_failed(owner))
    app.turn_service.changes.happened(owner)
    return found


@of_contexts.delete(
    "/{document_id}", operation_id="delete_context_document", status_code=204, responses=responses(404)
)
@of_conversations.delete("/{document_id}", status_code=204, responses=responses(404))
async def delete_document(document_id: str, owner: EditorDep, app: AppDep) -> None:
    """Remove a document: its bytes, its text, its index entries and its references."""
    await app.library.delete(owner, document_id)
    app.turn_service.changes.happened(owner)


async def _check_known(owner: Owner, app: App) -> None:
    if owner.context_id is None:
        await app.log.known_head(owner)


async def _store(
    item: UploadFile, name: str, owner: Owner, app: App, seconds: float, at: datetime, *, replaces: bool
) -> Document:
    _check_size(item.size or 0, app)

    def report(done: int, total: int, what: str) -> None:
        app.reading[owner, name] = JobProgress(done=done, total=total, what=what)

    with naming_the_disk(*TEMPORARY), temporary_folder() as folder:
        copy = folder / "upload"
        await asyncio.to_thread(_save, item, copy)
        try:
            return await app.library.upload(
                owner, name, copy, report, seconds=seconds, replaces=replaces, at=at
            )
        finally:
            app.reading.pop((owner, name), None)


def _save(item: UploadFile, target: Path) -> None:
    with target.open("wb") as out:
        shutil.copyfileobj(item.file, out)


def _check_size(size: int, app: App) -> None:
    if size > (limit := app.settings.max_upload_bytes):
        raise DocumentTooLarge(f"The file has {size:,} bytes; at most {limit:,} are taken.")
