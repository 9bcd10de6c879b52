"""The documents of a conversation: upload (through the API or a presigned URL), list, follow, delete."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Response, UploadFile

from core.documents.service import DocumentService
from core.errors import DocumentTooLarge, InvalidInput, NotFound, OrcError
from core.models import Document, JobProgress
from core.names import Owner, name_for_upload
from orc.api.dependencies import AppDep, OwnerDep, TraceIdDep
from orc.api.errors import render
from orc.api.responses import EVENTS, responses, stream
from orc.api.schemas import DocumentsResponse, DocumentView, TicketRequest, UploadResponse, UploadTicketView
from orc.bootstrap import App
from orc.events import Event, Failed, FieldProblem
from orc.problems import problem, problem_of, status_of

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
        wait = min(1.5 * wait, LONGEST_LOOK_SECONDS)
        if document != shown:
            shown, wait = document, FIRST_LOOK_SECONDS
            yield DocumentChanged(document=DocumentView.of(document))
        progress = await library.progress(document)
        if progress is not None and progress != last_progress and progress.what:
            last_progress, wait = progress, FIRST_LOOK_SECONDS
            yield DocumentProgress(done=progress.done, total=progress.total, message=progress.what)
        await asyncio.sleep(wait)
        document = await library.find(document.owner, document.document_id)
    yield DocumentReady(document=DocumentView.of(document))


MAX_FILES_PER_UPLOAD = 20

router = APIRouter(prefix="/conversations/{conversation_id}", tags=["documents"])

TICKET_SECONDS = 15 * 60
_NO_TICKETS = "Files cannot be stored directly here. Upload through POST .../documents instead."
_FOLLOWED = {"description": "The events, as they come; the last is `done` or `error`.", "content": EVENTS}


@router.post("/documents", status_code=201, response_model=UploadResponse, responses=responses(400, 413, 415))
async def upload(
    file: Annotated[
        list[UploadFile],
        File(min_length=1, description="one or more files", examples=[["the bytes of handbook.pdf"]]),
    ],
    owner: OwnerDep,
    app: AppDep,
    trace: TraceIdDep,
) -> UploadResponse | Response:
    """Store documents and make them searchable. Nothing of a refused file is stored.

    201 as soon as one file was stored; `errors` says which were not, and why. If none was, the
    response is the problem document of the first, with every file's reason in `errors`.
    """
    if len(file) > MAX_FILES_PER_UPLOAD:
        raise InvalidInput(f"At most {MAX_FILES_PER_UPLOAD} files can be uploaded at once.", field="file")
    stored: list[Document] = []
    refused: list[tuple[str, OrcError]] = []
    for item in file:
        try:
            stored.append(await _store(item, _new_name(item, stored), owner, app))
        except OrcError as exc:
            refused.append((item.filename or "file", exc))
    errors = [FieldProblem(field=name, reason=exc.message, code=exc.code) for name, exc in refused]
    if not stored:
        name, first = refused[0]
        detail = f"{name}: {first.message}"
        return render(problem(status_of(first), detail, trace, code=first.code, errors=errors))
    await app.log.ensure_conversation(owner)
    return UploadResponse(
        conversation_id=owner.conversation_id, documents=[DocumentView.of(d) for d in stored], errors=errors
    )


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
    granted = await app.library.presign_upload(owner, name, TICKET_SECONDS)
    if granted is None:
        return render(problem(HTTPStatus.CONFLICT, _NO_TICKETS, trace, code="direct_upload_not_offered"))
    await app.log.ensure_conversation(owner)
    return UploadTicketView(blob_name=name, **granted.model_dump())


@router.get("/documents", response_model=DocumentsResponse, responses=responses(404))
async def list_documents(owner: OwnerDep, app: AppDep) -> DocumentsResponse:
    """The documents of the conversation with their status, oldest first."""
    documents = await app.library.list_documents(owner)
    if not documents and await app.log.head(owner) is None:
        raise NotFound("There is no such conversation.")
    summarised = await app.library.summarised(documents)
    return DocumentsResponse(
        conversation_id=owner.conversation_id,
        documents=[DocumentView.of(d, summary_available=d.document_id in summarised) for d in documents],
    )


@router.get(
    "/documents/{document_id}/events", response_class=Response, responses={**responses(404), 200: _FOLLOWED}
)
async def document_events(document_id: str, owner: OwnerDep, app: AppDep, trace: TraceIdDep) -> Response:
    """How the document comes along, as server-sent events, until it is `completed` or `failed`.

    `status` and the last one, `done`, carry the document as the list shows it; `progress` has done, total
    and message.
    """
    return stream(follow_document(app.library, await app.library.find(owner, document_id), trace))


@router.delete("/documents/{document_id}", status_code=204, responses=responses(404))
async def delete_document(document_id: str, owner: OwnerDep, app: AppDep) -> None:
    """Remove a document: its bytes, its text, its index entries and its references."""
    await app.library.delete(owner, document_id)


def _new_name(item: UploadFile, stored: list[Document]) -> str:
    """The name to store the file under, which no other file of the same upload may have taken."""
    name = name_for_upload(item.filename or "")
    if any(document.blob_name == name for document in stored):
        raise InvalidInput(
            f'Another file of this upload is stored as "{name}". Rename one of them.', code="duplicate_name"
        )
    return name


async def _store(item: UploadFile, name: str, owner: Owner, app: App) -> Document:
    _check_size(item.size or 0, app)
    with tempfile.TemporaryDirectory(prefix="orc-upload-") as folder:
        copy = Path(folder) / "upload"
        await asyncio.to_thread(_save, item, copy)
        return await app.library.upload(owner, name, copy)


def _save(item: UploadFile, target: Path) -> None:
    with target.open("wb") as out:
        shutil.copyfileobj(item.file, out)


def _check_size(size: int, app: App) -> None:
    if size > (limit := app.settings.max_upload_bytes):
        raise DocumentTooLarge(f"The file has {size:,} bytes; at most {limit:,} are taken.")
