"""document_chat: an answer from named documents in scope, with every citation checked against its page."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.tools import attachments
from mcp_server.tools.call_options import DEFAULT_OPTIONS, CallOptions, options_of
from mcp_server.tools.document_context import (
    PromptSources,
    Reader,
    ReadingPlan,
    fit_to_window,
    plan_reading,
    refuse_too_long,
    with_origin,
)
from mcp_server.tools.page_images import (
    AllowedImages,
    DocumentImages,
    SeenPages,
    with_pictures,
    with_seen_pages,
)
from mcp_server.tools.registration import CallProgress, CallScope, ContextName, Question, offer, success
from mcp_server.tools.scope_filter import origin_of
from orc_core.documents.image_limits import with_image_tokens
from orc_core.documents.places import ALL, SELECTIONS, DocumentOrigin
from orc_core.documents.ports import Attachment, ProviderFiles
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.errors import NoReadableDocument, NotFound, OrcError, Unavailable, UnsafeName
from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.rectangles import ReadBoxes, with_rectangles
from orc_core.grounding.sources import picture_parts
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.errors import ReplyCut, empty_reply
from orc_core.llm.messages import QuestionMessage, memory_message
from orc_core.llm.tokens import TokenCounter, message_tokens, section_tokens
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult
from orc_core.models import Document, DocumentStatus, FileRef
from orc_core.names import missing_document, path_named

MAX_DOCUMENTS = 50
MAX_LOOK_FOR = 1000
MODEL_CALLS = 2
"""One call answers. A second one is made if the model refuses the attached files."""


@dataclass
class _ChatCall:
    """The state of one call: what is read whole and searched, how it is attached, and the answer so far.

    `gone` are the ids of documents whose pages were removed after the plan was made, `created` those of file
    references that this call created.
    """

    question: str
    plan: ReadingPlan
    attached: list[Attachment]
    reporter: CallProgress
    model: ChatModel
    options: CallOptions
    look_for: str | None
    budget: CallBudget = field(default_factory=lambda: CallBudget(max_calls=MODEL_CALLS))
    gone: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)
    shown: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    origins: dict[str, DocumentOrigin] = field(default_factory=dict)
    allowed: AllowedImages = field(default_factory=AllowedImages)
    seen: SeenPages = field(default_factory=SeenPages)


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
    wishes: str
    images: DocumentImages | None = None

    async def answer(
        self,
        scope: Scope,
        question: str,
        document_names: Sequence[str],
        reporter: CallProgress,
        *,
        options: CallOptions = DEFAULT_OPTIONS,
        look_for: str | None = None,
        context: str = ALL,
    ) -> DocumentChatResult:
        """An answer over the named documents, which must all be in `scope`.

        A document that cannot be read is reported in `metadata.files`; if none can be, NoReadableDocument is
        raised. File references that are still valid are reused. Raises InvalidInput for a model that is not
        configured. With `look_for`, even if it is empty, more passages are read, found with these words too.
        """
        model = self.named(options.model)
        documents = await self._in_scope(scope, context, document_names)
        ready = list(documents)
        if not all(document.readable for document in documents):
            ready = await asyncio.gather(*(self._ready(document, reporter) for document in documents))
        readable = [document for document in ready if document.readable]
        allowed = AllowedImages()
        if self.images is not None:
            allowed = await self.images.allowed(options.images, model.name, self.window, question, ready)
        if not readable and not allowed.unread:
            raise attachments.none_readable(ready)
        plan = plan_reading(readable, self.reader.limits, options.whole_documents)
        attached = await self.files.attach(plan.whole)
        work = _ChatCall(question, plan, attached, reporter, model, options, look_for)
        work.allowed = allowed
        work.origins = {each.document_id: origin_of(scope, each) for each in documents}
        return await self._result(work, ready, *await self._answer(work, ready))

    async def _result(
        self, work: _ChatCall, ready: Sequence[Document], reading: PromptSources, writer: CitationWriter
    ) -> DocumentChatResult:
        citations, searched = await asyncio.gather(
            with_rectangles(writer.citations, reading.sources, self.read_boxes),
            # The model is not given these references, so its text did not wait for them.
            asyncio.gather(*map(self.files.ensure, work.plan.searched)),
        )
        ready = attachments.without_gone(ready, work.gone)
        sent = {each.document.document_id: each for each in [*work.attached, *searched]}
        created = work.created | attachments.created_ids(searched)
        seen = [with_seen_pages(each, work.seen) for each in ready]
        return DocumentChatResult(
            answer=work.shown,
            files=[sent[document.document_id].ref for document in ready if document.readable],
            citations=citations,
            metadata=DocumentChatMetadata(
                mode=reading.mode,
                reason=" ".join([reading.reason, *attachments.how_sent(work.attached), *work.seen.notes]),
                pages_read=reading.pages,
                passages=len(reading.sources),
                left_out=reading.left_out,
                retrieval=reading.steps,
                prompt=with_image_tokens(work.sizes, work.seen.counts),
                images=work.seen.counts,
                usage=work.budget.usage,
                files=attachments.file_statuses(seen, sent, created, work.origins),
                grounding=writer.grounding,
            ),
        )

    async def _ready(self, document: Document, reporter: CallProgress) -> Document:
        """The document once it can be read, or as `failed` with the reason."""
        try:
            return await self.library.readable(document, reporter.working)
        except (NotFound, Unavailable) as exc:
            failure = {"status": DocumentStatus.FAILED, "reason_code": exc.code, "reason": exc.message}
            return document.model_copy(update=failure)

    async def _in_scope(self, scope: Scope, context: str, names: Sequence[str]) -> list[Document]:
        """The documents with these names, in order, each once.

        A name is that of a file of the session (or of the one context that is selected), a full path, or the
        id of a document.
        """
        accessible = scope.accessible.narrowed(context)
        owner = accessible.areas[0].owner if context not in SELECTIONS else scope.owner
        wanted = {name: path_named(name, owner).document_id for name in names}
        found = await self.library.find_accessible(accessible, [*wanted.values(), *names])
        known = {document.document_id: document for document in found}
        documents = []
        for name, document_id in wanted.items():
            document = known.get(document_id) or known.get(name)
            if document is None:
                raise missing_document(name)
            documents.append(document)
        return list({document.document_id: document for document in documents}.values())

    async def _answer(
        self, work: _ChatCall, documents: Sequence[Document]
    ) -> tuple[PromptSources, CitationWriter]:
        """Asks the model, and a second time if it refuses the files before it has sent any text."""
        try:
            return await self._ask(work, documents)
        except OrcError as exc:
            again = None if work.shown else await self.files.reattach(work.attached, exc)
            if again is None:
                raise
        work.attached = again
        return await self._ask(work, documents)

    async def _ask(
        self, work: _ChatCall, documents: Sequence[Document]
    ) -> tuple[PromptSources, CitationWriter]:
        question, options = work.question, work.options
        files = {each.document.document_id: each for each in work.attached if each.sent_as != "text"}
        shown = memory_message(options.remembered)
        past = [
            HumanMessage(said.content) if said.role == "user" else AIMessage(said.content)
            for said in options.history
        ]
        besides = "\n".join([question, *(str(message.text) for message in (*past, *shown))])
        query = f"{question} {work.look_for or ''}".strip()
        found = await self.reader.read(query, work.plan, files, more=work.look_for is not None)
        work.created |= attachments.created_ids(work.attached)
        read = {source.document_id for source in found.sources}
        # A search may find nothing in a document; one that is read whole has pages.
        planned = work.plan.whole if read else documents
        work.gone = {each.document_id for each in planned if each.readable} - read
        placed = [with_origin(source, work.origins[source.document_id]) for source in found.sources]
        found = found.model_copy(update={"sources": placed})
        cap, taken = work.options.max_tokens, work.allowed.reserved
        reading = fit_to_window(found, besides, self.window, self.counter, cap, taken)
        if self.images is not None and work.options.images is not None:
            work.seen = await self.images.draw(work.allowed, reading, documents, files)
            reading = with_pictures(reading, work.seen, work.origins, files if work.allowed.most else ())
        if not reading.sources:
            refuse_too_long(found, besides.removeprefix(question), self.window, self.counter, cap, taken)
            raise attachments.none_readable(attachments.without_gone(documents, work.gone), work.seen.notes)
        work.reporter.working(1, 2, f"Reading {reading.pages} pages")
        pictures = picture_parts(work.seen.images, reading.sources)
        # What is the same in the next turn comes first: providers read it from a cache.
        documents_first = QuestionMessage(
            content=attachments.document_content(reading, files), question=question
        )
        asked = attachments.question_content(question, self.wishes if shown else "", pictures)
        last = [*past, *shown, QuestionMessage(content=asked, question=question)]
        messages = [SystemMessage(self.prompt), documents_first, *last]
        writer = CitationWriter(reading.sources, question)
        # Counted while the model answers.
        counting = asyncio.create_task(asyncio.to_thread(self._count, messages, question))
        await _write(messages, writer, work)
        work.sizes = await counting
        return reading, writer

    def _count(self, messages: Sequence[BaseMessage], question: str) -> dict[str, int]:
        """The tokens of each part of the prompt."""
        instructions, documents_first, *last = messages
        sizes = section_tokens([instructions, *last], question, self.counter)
        text = message_tokens(documents_first, self.counter)
        return sizes | {"retrieval": sizes["retrieval"] + text, "total": sizes["total"] + text}


async def _write(messages: Sequence[BaseMessage], writer: CitationWriter, work: _ChatCall) -> None:
    """Writes the answer. An answer that reaches a length limit is kept and marked as cut."""
    cut: ReplyCut | None = None
    cap = work.options.max_tokens
    try:
        async with aclosing(work.model.stream(messages, budget=work.budget, max_tokens=cap)) as deltas:
            async for delta in deltas:
                await _send(writer.feed(delta), writer, work)
    except ReplyCut as exc:
        if not exc.is_kept:
            raise
        cut = exc
    await _send(writer.finish(), writer, work)
    if not work.shown:
        raise cut or empty_reply()
    if cut is not None:
        writer.cut(cap)
    await _send(writer.add_notes(), writer, work)


async def _send(text: str, writer: CitationWriter, work: _ChatCall) -> None:
    if text:
        work.shown += text
        await work.reporter.text(text)
    await work.reporter.marks(writer.take_marks())


def register(server: MCPServer[None], chat: DocumentChat, scope: CallScope) -> None:
    """Registers the tool."""

    @offer(server, NotFound.code, UnsafeName.code, NoReadableDocument.code)
    async def document_chat(
        question: Question,
        document_names: Annotated[
            list[str],
            Field(min_length=1, max_length=MAX_DOCUMENTS, description="names of documents in scope"),
        ],
        ctx: Context[None],
        cached_file_info: Annotated[  # noqa: ARG001 part of the contract with clients
            list[FileRef] | None,
            Field(
                description="the `files` of an earlier answer over the same documents. It has no effect: ids"
                " are taken from the catalog, and reused while they are valid, whether they are sent or not"
            ),
        ] = None,
        look_for: Annotated[
            str | None,
            Field(
                max_length=MAX_LOOK_FOR,
                description="read three times the passages, found with these words too; they may be empty",
            ),
        ] = None,
        context: ContextName = ALL,
    ) -> Annotated[CallToolResult, DocumentChatResult]:
        """Answer a question from the named documents, with citations that are checked against the page."""
        async with CallProgress(ctx) as progress:
            result = await chat.answer(
                scope(),
                question,
                document_names,
                progress,
                options=options_of(ctx),
                look_for=look_for,
                context=context,
            )
        return success(result, result.answer)
