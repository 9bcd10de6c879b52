"""document_chat: an answer from named documents in scope, with every citation checked against its page."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field, ValidationError

from core.documents.ports import Attachment, ProviderFiles
from core.documents.scope import Scope
from core.documents.service import DocumentService
from core.errors import InvalidInput, NoReadableDocument, NotFound, OrcError, Unavailable, UnsafeName
from core.grounding.citations import (
    CitationWriter,
    ReadBoxes,
    StreamStripper,
    mark_truncated,
    with_rectangles,
)
from core.grounding.models import Revision
from core.grounding.sources import withdrawn
from core.llm.chat_model import CallBudget, ChatModel, empty_reply
from core.llm.errors import ReplyCut
from core.llm.messages import QuestionMessage
from core.llm.tokens import TokenCounter, section_tokens
from core.mcp_contract import CAP_META_KEY, MODEL_META_KEY, DocumentChatMetadata, DocumentChatResult
from core.models import Document, DocumentStatus, FileRef, Record
from core.names import missing_document, resolve_blob_name
from mcp_server.tools.attachments import file_statuses, how_sent, message_content
from mcp_server.tools.document_context import Plan, PromptSources, Reader, fit_to_window, plan_reading
from mcp_server.tools.registration import CallProgress, CallScope, Question, offer, success

MAX_DOCUMENTS = 50

LONGEST_NAME = 200
MODEL_CALLS = 2
"""One call answers. A second one is made if the model refuses the attached files."""


class Reporter(Protocol):
    """Reports progress to the caller."""

    def working(self, done: int, total: int, message: str) -> None:
        """Reports a step; steps in quick succession may be skipped."""

    async def text(self, delta: str) -> None:
        """Sends text of the answer."""


class WriterOptions(Record):
    """The model that writes the answer (None: the default one) and the longest answer in tokens."""

    model: str | None = Field(default=None, max_length=LONGEST_NAME)
    max_tokens: int | None = Field(default=None, ge=1)


DEFAULT_WRITER = WriterOptions()


@dataclass
class _ChatCall:
    """The state of one call: what is read, how it is attached, and the answer so far.

    `cut` is the limit in tokens that the answer has reached; 0 if it is complete.
    """

    question: str
    plan: Plan
    attached: list[Attachment]
    reporter: Reporter
    stream: bool
    model: ChatModel
    max_tokens: int | None
    revision: Revision | None
    budget: CallBudget
    shown: str = ""
    trimmed: StreamStripper = field(default_factory=StreamStripper)
    cut: int = 0
    sizes: dict[str, int] = field(default_factory=dict)


@dataclass(kw_only=True)
class DocumentChat:
    """Reads the documents, asks the model once and checks its citations."""

    library: DocumentService
    reader: Reader
    read_boxes: ReadBoxes
    files: ProviderFiles
    named: Callable[[str | None], ChatModel]
    counter: TokenCounter
    window: int
    prompt: str
    revise: str

    async def answer(
        self,
        scope: Scope,
        question: str,
        document_names: Sequence[str],
        cached: Sequence[FileRef],
        reporter: Reporter,
        *,
        stream: bool,
        writer_options: WriterOptions = DEFAULT_WRITER,
        revision: Revision | None = None,
    ) -> DocumentChatResult:
        """An answer over the named documents, which must all be in `scope`.

        A document that cannot be read is reported in `metadata.files`; if none can be, NoReadableDocument is
        raised. `cached` ids are used only if the catalog has them for these documents. Raises InvalidInput
        for a model that is not configured. With `revision` the answer corrects an earlier one.
        """
        model = self.named(writer_options.model)
        documents = await self._in_scope(scope, document_names)
        ready = await asyncio.gather(*(self._ready(document, reporter) for document in documents))
        readable = [document for document in ready if document.readable]
        if not readable:
            reasons = "; ".join(f"{d.blob_name}: {d.reason or 'its text is not ready'}" for d in ready)
            raise NoReadableDocument(f"None of the documents can be read. {reasons}")
        plan = plan_reading(readable, self.reader.limits)
        attached = await self.files.attach(plan.whole)
        searched = [Attachment(document, await self.files.ensure(document)) for document in plan.searched]
        budget = CallBudget(max_calls=MODEL_CALLS)
        work = _ChatCall(
            question, plan, attached, reporter, stream, model, writer_options.max_tokens, revision, budget
        )
        reading, writer = await self._answer(work)
        sent = {each.document.document_id: each for each in [*work.attached, *searched]}
        grounding = await asyncio.to_thread(lambda: writer.grounding)
        return DocumentChatResult(
            answer=work.shown,
            files=[sent[document.document_id].ref for document in readable],
            citations=await with_rectangles(writer.citations, reading.sources, self.read_boxes),
            metadata=DocumentChatMetadata(
                mode=reading.mode,
                reason=" ".join([reading.reason, *how_sent(work.attached)]),
                pages_read=reading.pages,
                passages=len(reading.sources),
                left_out=reading.left_out,
                retrieval=reading.steps,
                prompt=work.sizes,
                usage=budget.usage,
                files=file_statuses(ready, sent, cached),
                grounding=mark_truncated(grounding, work.cut) if work.cut else grounding,
            ),
        )

    async def _ready(self, document: Document, reporter: Reporter) -> Document:
        """The document once it can be read, or as `failed` with the reason."""
        try:
            return await self.library.readable(document, reporter.working)
        except (NotFound, Unavailable) as exc:
            failure = {"status": DocumentStatus.FAILED, "reason_code": exc.code, "reason": exc.message}
            return document.model_copy(update=failure)

    async def _in_scope(self, scope: Scope, names: Sequence[str]) -> list[Document]:
        in_scope = set(scope.document_ids)
        for name in names:
            if resolve_blob_name(name, scope.owner).document_id not in in_scope:
                raise missing_document(name)
        return await self.library.resolve(scope.owner, names)

    async def _answer(self, work: _ChatCall) -> tuple[PromptSources, CitationWriter]:
        """Asks the model, and a second time if it refuses the files before it has sent any text."""
        try:
            return await self._ask(work)
        except OrcError as exc:
            again = None if work.shown else await self.files.reattach(work.attached, exc)
            if again is None:
                raise
        work.attached = again
        return await self._ask(work)

    async def _ask(self, work: _ChatCall) -> tuple[PromptSources, CitationWriter]:
        question, revision = work.question, work.revision
        files = {each.document.document_id: each for each in work.attached if each.sent_as != "text"}
        query, besides, more = question, question, False
        before: list[BaseMessage] = [SystemMessage(self.prompt)]
        if revision is not None:
            query, besides = f"{question} {revision.query}", f"{question}\n{withdrawn(revision)}"
            before = [SystemMessage(f"{self.prompt}\n{self.revise}"), HumanMessage(withdrawn(revision))]
            more = revision.read_more
        found = await self.reader.read(query.strip(), work.plan, files, more=more)
        reading = fit_to_window(found, besides, self.window, self.counter, work.max_tokens)
        work.reporter.working(1, 2, f"Reading {reading.pages} pages")
        content = message_content(question, reading, files)
        messages = [*before, QuestionMessage(content=content, question=question)]
        writer = CitationWriter(reading.sources, question)
        _, work.sizes = await asyncio.gather(
            _write(messages, writer, work),
            asyncio.to_thread(section_tokens, messages, question, self.counter),
        )
        return reading, writer


async def _write(messages: Sequence[BaseMessage], writer: CitationWriter, work: _ChatCall) -> None:
    """Streams the answer. An answer that reaches its limit is kept and marked as cut."""
    if not work.stream and work.max_tokens is None:
        text = writer.feed(await work.model.complete(messages, budget=work.budget)) + writer.finish()
        work.shown = text.strip()
        if not work.shown:
            raise empty_reply()
        return
    pieces = work.model.stream(messages, budget=work.budget, max_tokens=work.max_tokens)
    try:
        async with aclosing(pieces) as deltas:
            async for delta in deltas:
                await _send(writer.feed(delta), work)
    except ReplyCut as exc:
        if work.max_tokens is None or not exc.at_limit or not work.shown:
            raise
        work.cut = work.max_tokens
    await _send(writer.finish(), work)
    if not work.shown:
        raise empty_reply()


async def _send(text: str, work: _ChatCall) -> None:
    if text := work.trimmed.feed(text):
        work.shown += text
        await work.reporter.text(text)


def register(server: MCPServer[None], chat: DocumentChat, scope: CallScope) -> None:
    """Registers the tool."""

    @offer(server, "Ask documents", NotFound.code, UnsafeName.code, NoReadableDocument.code)
    async def document_chat(
        question: Question,
        document_names: Annotated[
            list[str],
            Field(min_length=1, max_length=MAX_DOCUMENTS, description="names of documents in scope"),
        ],
        ctx: Context[None],
        cached_file_info: Annotated[
            list[FileRef] | None,
            Field(description="the `files` of an earlier answer over the same documents"),
        ] = None,
        revision: Annotated[
            Revision | None,
            Field(description="an earlier answer to the question that this one is to correct"),
        ] = None,
    ) -> Annotated[CallToolResult, DocumentChatResult]:
        """Answer a question from the named documents, with citations that are checked against the page."""
        progress = CallProgress(ctx)
        result = await chat.answer(
            scope(),
            question,
            document_names,
            cached_file_info or [],
            progress,
            stream=progress.streaming,
            writer_options=_writing(ctx),
            revision=revision,
        )
        return success(result, result.answer)


def _writing(ctx: Context[None]) -> WriterOptions:
    """The writer options in the call's `_meta`; InvalidInput if they are invalid."""
    meta = ctx.request_context.meta or {}
    try:
        return WriterOptions(model=meta.get(MODEL_META_KEY), max_tokens=meta.get(CAP_META_KEY))
    except ValidationError:
        raise InvalidInput(f"{MODEL_META_KEY} is a name, {CAP_META_KEY} a number from 1.") from None
