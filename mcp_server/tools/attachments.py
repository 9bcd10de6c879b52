"""Documents in a prompt of document_chat: as provider files or as text, and how the result reports them."""

import base64
from collections.abc import Mapping, Sequence, Set
from typing import Any

from mcp_server.tools.document_context import PromptSources
from orc_core.documents.places import DocumentOrigin
from orc_core.documents.ports import PDF, Attachment, plain_name
from orc_core.errors import NoReadableDocument, NotFound
from orc_core.grounding.sources import Parts, fence, label
from orc_core.mcp_contract import FileStatus
from orc_core.models import Document, DocumentStatus

READ_FILES = (
    "Every page of an attached file is a source. The label before the file says which: its pages and its"
    " sources run side by side, so that the page after that of S7 is S8."
)


def document_content(reading: PromptSources, files: dict[str, Attachment]) -> str | Parts:
    """What is the same for each question about the documents: attached files, and fenced text."""
    fenced = fence([source for source in reading.sources if source.document_id not in files])
    if not files:
        return fenced
    content: Parts = []
    for file in reading.files:
        attached = files[file.document_id]
        block: dict[Any, Any] = {"type": "file", "file_id": attached.ref.file_id}
        if attached.sent_as != "file":
            encoded, name = base64.b64encode(attached.content).decode(), plain_name(attached.document)
            block = {"type": "file", "base64": encoded, "mime_type": PDF, "filename": name}
        content += [{"type": "text", "text": label(file)}, block]
    return [*content, {"type": "text", "text": f"{READ_FILES}\n\n{fenced}".rstrip()}]


def question_content(question: str, rules: str, pictures: Parts) -> str | Parts:
    """What differs between questions: the pictures of pages, rules for this turn, and the question itself."""
    asked = "\n\n".join(filter(None, [rules, f"Question: {question}"]))
    return [*pictures, {"type": "text", "text": asked}] if pictures else asked


def how_sent(attached: Sequence[Attachment]) -> list[str]:
    """Sentences that say which documents were sent as files, and why others were not."""
    sentences = []
    for way, how in (("file", "by file id"), ("base64", "as a file within the request"), ("text", "as text")):
        names: dict[str, list[str]] = {}
        for each in attached:
            if each.sent_as == way and (way != "text" or each.reason):
                names.setdefault(each.reason, []).append(each.document.blob_name)
        sentences += [f"Sent {how}: {', '.join(sent)}. {reason}".rstrip() for reason, sent in names.items()]
    return sentences


def created_ids(attached: Sequence[Attachment]) -> set[str]:
    """The ids of the references that were created for these attachments."""
    return {each.ref.file_id for each in attached if each.is_new}


def file_statuses(
    ready: Sequence[Document],
    attached: Mapping[str, Attachment],
    created: Set[str],
    origins: Mapping[str, DocumentOrigin],
) -> list[FileStatus]:
    """The outcome for each document; `attached` are those that the model got, by id, as are `origins`.

    `created` are the ids of the references that were created for this answer.
    """
    sent = ((each, attached.get(each.document_id) if each.readable else None) for each in ready)
    return [
        FileStatus(
            **origins[document.document_id].model_dump(),
            document_id=document.document_id,
            blob_name=document.blob_name,
            status="failed" if each is None else "created" if each.ref.file_id in created else "reused",
            sent_as=each.sent_as if each else None,
            reason=document.reason,
            pages=document.pages,
            pages_without_text=document.pages_without_text,
        )
        for document, each in sent
    ]


def without_gone(documents: Sequence[Document], gone: Set[str]) -> list[Document]:
    """The documents, of which those that are gone count as failed."""
    reason = "it was removed while the question was being answered"
    failure = {
        "readable": False,
        "status": DocumentStatus.FAILED,
        "reason_code": NotFound.code,
        "reason": reason,
    }
    return [each.model_copy(update=failure) if each.document_id in gone else each for each in documents]


def none_readable(documents: Sequence[Document], notes: Sequence[str] = ()) -> NoReadableDocument:
    """The error for a call none of whose documents can be read."""
    reasons = "; ".join(f"{d.blob_name}: {d.reason or 'its text is not ready'}" for d in documents)
    return NoReadableDocument(" ".join([f"None of the documents can be read. {reasons}", *notes]))
