"""document_chat: an answer over named documents in scope, every citation checked against its page."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Protocol

from langchain_core.messages import HumanMessage, SystemMessage

from core.contract import DocumentChatMetadata, DocumentChatResult, FileStatus
from core.documents.library import DocumentLibrary
from core.documents.models import Document, DocumentStatus, FileRef
from core.documents.names import missing_document, resolve_blob_name
from core.documents.ports import ProviderFiles
from core.errors import NoReadableDocument, NotFound, Unavailable
from core.grounding.highlights import ReadBoxes, with_rectangles
from core.grounding.markers import CitationWriter
from core.grounding.sources import Source, fence
from core.llm.model import ChatModel, Meter
from core.scope import Scope
from mcp_server.tools.reading import Reader

MODEL_CALLS = 1


class Reporter(Protocol):
    """Tells the caller how the work goes on."""

    def working(self, done: int, total: int, message: str) -> None:
        """Note a step; it may be skipped when steps come fast."""

    async def text(self, delta: str) -> None:
        """Pass on text of the answer."""


class DocumentChat:
    """Reads the documents, asks the model once and checks what it cites."""

    def __init__(
        self,
        *,
        library: DocumentLibrary,
        reader: Reader,
        read_boxes: ReadBoxes,
        files: ProviderFiles,
        model: ChatModel,
        prompt: str,
    ) -> None:
        self._library = library
        self._reader = reader
        self._read_boxes = read_boxes
        self._files = files
        self._model = model
        self._prompt = prompt

    async def answer(
        self,
        scope: Scope,
        question: str,
        document_names: Sequence[str],
        cached: Sequence[FileRef],
        reporter: Reporter,
        *,
        stream: bool,
    ) -> DocumentChatResult:
        """An answer over the named documents, which must all be in `scope`.

        A document that cannot be read is reported in `metadata.files`; if none can, NoReadableDocument is
        raised. `cached` ids count only if the catalog holds them for these very documents.
        """
        documents = await self._in_scope(scope, document_names)
        ready = await asyncio.gather(*(self._ready(document, reporter) for document in documents))
        readable = [document for document in ready if document.readable]
        if not readable:
            raise NoReadableDocument(_all_failed(ready))
        refs = [await self._files.ensure(document) for document in readable]
        reading = await self._reader.read(question, readable)
        reporter.working(1, 2, f"Reading {reading.pages} pages")
        writer, text, meter = await self._write(question, reading.sources, reporter, stream=stream)
        return DocumentChatResult(
            answer=text,
            files=refs,
            citations=await with_rectangles(writer.citations, reading.sources, self._read_boxes),
            metadata=DocumentChatMetadata(
                mode=reading.mode,
                reason=reading.reason,
                pages_read=reading.pages,
                passages=len(reading.sources),
                retrieval=reading.steps,
                usage=meter.usage,
                files=_statuses(ready, refs, cached),
                grounding=writer.grounding,
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

    async def _write(
        self, question: str, sources: Sequence[Source], reporter: Reporter, *, stream: bool
    ) -> tuple[CitationWriter, str, Meter]:
        meter = Meter(max_calls=MODEL_CALLS)
        writer = CitationWriter(sources)
        messages = [SystemMessage(self._prompt), HumanMessage(f"{fence(sources)}\n\nQuestion: {question}")]
        if not stream:
            text = writer.feed(await self._model.complete(messages, meter=meter)) + writer.finish()
            return writer, text.strip(), meter
        shown: list[str] = []
        async with aclosing(self._model.stream(messages, meter=meter)) as deltas:
            async for delta in deltas:
                await _pass_on(writer.feed(delta), shown, reporter)
        await _pass_on(writer.finish(), shown, reporter)
        return writer, "".join(shown), meter


async def _pass_on(text: str, shown: list[str], reporter: Reporter) -> None:
    if text:
        shown.append(text)
        await reporter.text(text)


def _statuses(
    ready: Sequence[Document], refs: Sequence[FileRef], cached: Sequence[FileRef]
) -> list[FileStatus]:
    known = set(cached)
    by_name = {ref.blob_name: ref for ref in refs}
    return [_status(document, by_name.get(document.blob_name), known) for document in ready]


def _status(document: Document, ref: FileRef | None, known: set[FileRef]) -> FileStatus:
    return FileStatus(
        blob_name=document.blob_name,
        status="failed" if ref is None else "reused" if ref in known else "created",
        reason=document.reason,
        pages=document.pages,
        pages_without_text=document.pages_without_text,
    )


def _all_failed(documents: Sequence[Document]) -> str:
    reasons = "; ".join(f"{d.blob_name}: {d.reason or 'its text is not ready'}" for d in documents)
    return f"None of the documents can be read. {reasons}"
