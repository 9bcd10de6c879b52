"""document_chat: an answer over named documents in scope, every citation checked against its page."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import Field

from core.documents.ports import Attachment, ProviderFiles
from core.documents.scope import Scope
from core.documents.service import DocumentService
from core.errors import NoReadableDocument, NotFound, OrcError, Unavailable
from core.grounding.citations import CitationWriter, ReadBoxes, mark_truncated, with_rectangles
from core.grounding.models import Grounding, Revision
from core.grounding.sources import fence, label, withdrawn
from core.llm.chat_model import ChatModel, Meter, empty_reply
from core.llm.errors import ReplyCut
from core.llm.messages import QuestionMessage
from core.llm.tokens import TokenCounter, measure_sections
from core.mcp_contract import DocumentChatMetadata, DocumentChatResult, FileStatus
from core.models import Document, DocumentStatus, FileRef, Record
from core.names import missing_document, resolve_blob_name
from core.storage.provider_files import PDF, plain_name
from core.text.strip_stream import Trimmed
from mcp_server.tools.context_fitting import fitted
from mcp_server.tools.document_context import Plan, Reader, Reading

LONGEST_NAME = 200
MODEL_CALLS = 2
"""One answers. Another one is made where the model refused the files that it was given."""
READ_FILES = (
    "Every page of an attached file is a source. The label before the file says which: its pages and its"
    " sources run side by side, so that the page after that of S7 is S8."
)


class Reporter(Protocol):
    """Tells the caller how the work goes on."""

    def working(self, done: int, total: int, message: str) -> None:
        """Note a step; it may be skipped when steps come fast."""

    async def text(self, delta: str) -> None:
        """Pass on text of the answer."""


class Writing(Record):
    """Who writes the answer, None being the usual model, and how long it may become."""

    model: str | None = Field(default=None, max_length=LONGEST_NAME)
    max_tokens: int | None = Field(default=None, ge=1)


USUALLY = Writing()


@dataclass
class _Answering:
    """One call: what is read, how it is handed over, and what has come of it so far."""

    question: str
    plan: Plan
    handed: list[Attachment]
    reporter: Reporter
    stream: bool
    model: ChatModel
    max_tokens: int | None
    revision: Revision | None
    meter: Meter
    shown: str = ""
    trimmed: Trimmed = field(default_factory=Trimmed)
    cut: bool = False
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def reads_more(self) -> bool:
        return self.revision is not None and self.revision.read_more

    @property
    def wanted(self) -> str:
        """What the documents are searched for."""
        query = self.revision.query if self.revision else ""
        return f"{self.question} {query}".strip()

    @property
    def told(self) -> str:
        """What the model is told beside the sources."""
        return f"{self.question}\n{withdrawn(self.revision)}" if self.revision else self.question

    def grounding(self, writer: CitationWriter) -> Grounding:
        """What the checks found, and that the end is missing, if it is."""
        if self.max_tokens is None or not self.cut:
            return writer.grounding
        return mark_truncated(writer.grounding, self.max_tokens)


class DocumentChat:
    """Reads the documents, asks the model once and checks what it cites."""

    def __init__(
        self,
        *,
        library: DocumentService,
        reader: Reader,
        read_boxes: ReadBoxes,
        files: ProviderFiles,
        named: Callable[[str | None], ChatModel],
        counter: TokenCounter,
        window: int,
        prompt: str,
        revise: str,
    ) -> None:
        self._library = library
        self._reader = reader
        self._read_boxes = read_boxes
        self._files = files
        self._named = named
        self._counter = counter
        self._window = window
        self._prompt = prompt
        self._revise = revise

    async def answer(
        self,
        scope: Scope,
        question: str,
        document_names: Sequence[str],
        cached: Sequence[FileRef],
        reporter: Reporter,
        *,
        stream: bool,
        writing: Writing = USUALLY,
        revision: Revision | None = None,
    ) -> DocumentChatResult:
        """An answer over the named documents, which must all be in `scope`.

        A document that cannot be read is reported in `metadata.files`; if none can, NoReadableDocument is
        raised. `cached` ids count only if the catalog holds them for these very documents. InvalidInput for
        a model that is not configured here. `revision`: the answer mends an earlier one.
        """
        model = self._named(writing.model)
        documents = await self._in_scope(scope, document_names)
        ready = await asyncio.gather(*(self._ready(document, reporter) for document in documents))
        readable = [document for document in ready if document.readable]
        if not readable:
            raise NoReadableDocument(_all_failed(ready))
        plan = self._reader.plan(readable)
        handed = await self._files.attach(plan.whole)
        searched = [Attachment(document, await self._files.ensure(document)) for document in plan.searched]
        meter = Meter(max_calls=MODEL_CALLS)
        work = _Answering(
            question, plan, handed, reporter, stream, model, writing.max_tokens, revision, meter
        )
        reading, writer = await self._answer(work)
        return DocumentChatResult(
            answer=work.shown,
            files=_in_order(readable, work.handed + searched),
            citations=await with_rectangles(writer.citations, reading.sources, self._read_boxes),
            metadata=DocumentChatMetadata(
                mode=reading.mode,
                reason=" ".join([reading.reason, *_how_sent(work.handed)]),
                pages_read=reading.pages,
                passages=len(reading.sources),
                left_out=reading.left_out,
                retrieval=reading.steps,
                prompt=work.sizes,
                usage=work.meter.usage,
                files=_statuses(ready, work.handed + searched, cached),
                grounding=await asyncio.to_thread(work.grounding, writer),
            ),
        )

    async def _ready(self, document: Document, reporter: Reporter) -> Document:
        """The document once it can be read, or as `failed` with the reason why it cannot."""
        try:
            return await self._library.readable(document, reporter.working)
        except (NotFound, Unavailable) as exc:
            failure = {"status": DocumentStatus.FAILED, "reason_code": exc.code, "reason": exc.message}
            return document.model_copy(update=failure)

    async def _in_scope(self, scope: Scope, names: Sequence[str]) -> list[Document]:
        reachable = set(scope.document_ids)
        for name in names:
            if resolve_blob_name(name, scope.owner).document_id not in reachable:
                raise missing_document(name)
        return await self._library.resolve(scope.owner, names)

    async def _answer(self, work: _Answering) -> tuple[Reading, CitationWriter]:
        """Ask the model; once more where it refuses the files before it has said anything."""
        try:
            return await self._ask(work)
        except OrcError as exc:
            again = None if work.shown else await self._files.reattach(work.handed, exc)
            if again is None:
                raise
        work.handed = again
        return await self._ask(work)

    async def _ask(self, work: _Answering) -> tuple[Reading, CitationWriter]:
        files = {each.document.document_id: each for each in work.handed if each.sent_as != "text"}
        found = await self._reader.read(work.wanted, work.plan, files, more=work.reads_more)
        reading = fitted(found, work.told, self._window, self._counter, work.max_tokens)
        work.reporter.working(1, 2, f"Reading {reading.pages} pages")
        messages = self._messages(work, reading, files)
        writer = CitationWriter(reading.sources, work.question)
        _, work.sizes = await asyncio.gather(
            _write(messages, writer, work), measure_sections(messages, work.question, self._counter)
        )
        return reading, writer

    def _messages(
        self, work: _Answering, reading: Reading, files: dict[str, Attachment]
    ) -> list[BaseMessage]:
        asked = QuestionMessage(content=_content(work.question, reading, files), question=work.question)
        if work.revision is None:
            return [SystemMessage(self._prompt), asked]
        system = SystemMessage(f"{self._prompt}\n{self._revise}")
        return [system, HumanMessage(withdrawn(work.revision)), asked]


async def _write(messages: Sequence[BaseMessage], writer: CitationWriter, work: _Answering) -> None:
    """Pass the answer on as it comes. One that reaches its limit is kept, and said to be cut."""
    if not work.stream and work.max_tokens is None:
        text = writer.feed(await work.model.complete(messages, meter=work.meter)) + writer.finish()
        work.shown = text.strip()
        if not work.shown:
            raise empty_reply()
        return
    pieces = work.model.stream(messages, meter=work.meter, max_tokens=work.max_tokens)
    try:
        async with aclosing(pieces) as deltas:
            async for delta in deltas:
                await _pass_on(writer.feed(delta), work)
    except ReplyCut as exc:
        if work.max_tokens is None or not exc.at_limit or not work.shown:
            raise
        work.cut = True
    await _pass_on(writer.finish(), work)
    if not work.shown:
        raise empty_reply()


async def _pass_on(text: str, work: _Answering) -> None:
    if text := work.trimmed.feed(text):
        work.shown += text
        await work.reporter.text(text)


def _content(
    question: str, reading: Reading, files: dict[str, Attachment]
) -> str | list[str | dict[Any, Any]]:
    fenced = [source for source in reading.sources if source.document_id not in files]
    asked = f"{fence(fenced)}\n\nQuestion: {question}"
    if not files:
        return asked
    content: list[str | dict[Any, Any]] = []
    for file in reading.files:
        content += [{"type": "text", "text": label(file)}, _block(files[file.document_id])]
    return [*content, {"type": "text", "text": f"{READ_FILES}\n\n{asked}"}]


def _block(handed: Attachment) -> dict[Any, Any]:
    if handed.sent_as == "file":
        return {"type": "file", "file_id": handed.ref.file_id}
    return {
        "type": "file",
        "base64": base64.b64encode(handed.content).decode(),
        "mime_type": PDF,
        "filename": plain_name(handed.document),
    }


def _how_sent(handed: Sequence[Attachment]) -> list[str]:
    """What of the documents went as files, and why others did not."""
    sentences = []
    for way, how in (("file", "by file id"), ("base64", "as a file within the request"), ("text", "as text")):
        for reason in dict.fromkeys(each.reason for each in handed if each.sent_as == way):
            names = [
                each.document.blob_name for each in handed if (each.sent_as, each.reason) == (way, reason)
            ]
            if way != "text" or reason:
                sentences.append(f"Sent {how}: {', '.join(names)}.{' ' * bool(reason)}{reason}")
    return sentences


def _in_order(documents: Sequence[Document], handed: Sequence[Attachment]) -> list[FileRef]:
    refs = {each.document.document_id: each.ref for each in handed}
    return [refs[document.document_id] for document in documents]


def _statuses(
    ready: Sequence[Document], handed: Sequence[Attachment], cached: Sequence[FileRef]
) -> list[FileStatus]:
    by_id = {each.document.document_id: each for each in handed}
    return [_status(document, by_id.get(document.document_id), cached) for document in ready]


def _status(document: Document, handed: Attachment | None, cached: Sequence[FileRef]) -> FileStatus:
    return FileStatus(
        blob_name=document.blob_name,
        status="failed" if handed is None else "reused" if handed.ref in cached else "created",
        sent_as=handed.sent_as if handed else None,
        reason=document.reason,
        pages=document.pages,
        pages_without_text=document.pages_without_text,
    )


def _all_failed(documents: Sequence[Document]) -> str:
    reasons = "; ".join(f"{d.blob_name}: {d.reason or 'its text is not ready'}" for d in documents)
    return f"None of the documents can be read. {reasons}"
