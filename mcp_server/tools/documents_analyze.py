"""documents_analyze: an answer from all pages of a document that is too long for one model call."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from langchain_core.messages import SystemMessage
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from mcp_server.tools import parts
from mcp_server.tools.document_context import with_origin
from mcp_server.tools.parts import PageBlock, Part, PartsPlan, Sized, total
from mcp_server.tools.registration import CallProgress, CallScope, DocumentId, Question, offer, success
from mcp_server.tools.scope_filter import origin_of, read_document, unreadable
from orc_core.documents.places import DocumentOrigin
from orc_core.documents.ports import Retriever
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.errors import NoReadableDocument, NotFound, OrcError
from orc_core.grounding.citations import checked
from orc_core.grounding.closest import not_found_answer
from orc_core.grounding.models import Citation
from orc_core.grounding.rectangles import ReadBoxes, with_rectangles
from orc_core.grounding.sources import Source, fence
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.messages import QuestionMessage
from orc_core.llm.tokens import TokenCounter
from orc_core.mcp_contract import DocumentsAnalyzeMetadata, DocumentsAnalyzeResult, QuotedPassage
from orc_core.models import Document, Page, Progress, Record
from orc_core.names import page_id

AT_ONCE = 3
MATCHING_PASSAGES = 50
"""Passages that a search selects to be read first, if not all can be read."""
READING_SHARE = 0.75
"""The share of the model calls for reading; the others condense what was found."""


class Limits(Record):
    """The limits of one answer."""

    model_calls: int = 40
    part_tokens: int = 6000
    largest_part_tokens: int = 12_000


@dataclass
class _Run:
    """The state of one call."""

    question: str
    budget: CallBudget
    progress: Progress
    failures: dict[str, set[int]] = field(default_factory=dict)
    errors: list[OrcError] = field(default_factory=list)
    is_whole: bool = True
    rounds: int = 0
    condensed_to: float = math.inf
    parts: int = 0
    parts_read: int = 0

    def step(self) -> None:
        self.parts_read += 1
        what = "Reading the document in parts" if self.rounds == 1 else "Condensing what was found"
        self.progress(self.parts_read, self.parts, what)


@dataclass(kw_only=True)
class DocumentsAnalyze:
    """Reads a document part by part, keeps the relevant passages, and answers from those.

    Only passages go from one step to the next, never a model's own words: so every citation of the answer
    can be checked against its page, and no text of a document becomes an instruction.
    """

    library: DocumentService
    retriever: Retriever
    reader: parts.PartReader
    model: ChatModel
    prompt: str
    counter: TokenCounter
    read_boxes: ReadBoxes
    limits: Limits

    async def answer(
        self, scope: Scope, document_id: str, question: str, progress: Progress
    ) -> DocumentsAnalyzeResult:
        """An answer from all pages of the document, even before its ingestion has ended.

        A part that the model could not read is reported in the metadata. If it could read none, the first
        error is raised.
        """
        document = await read_document(self.library, scope, document_id, progress)
        pages = [page for page in await self.library.text(document) if page.text.strip()]
        if not pages:
            raise unreadable(document)
        run = _Run(question, CallBudget(self.limits.model_calls), progress)
        plan = await self._plan(document, pages, run)
        relevant = await self._condense(plan.parts, run)
        origin = origin_of(scope, document)
        sources = [with_origin(sized.source, origin) for block in relevant for sized in block.sources]
        said = await self._ask(sources, run) if sources else not_found_answer(question)
        writer = checked(said, sources, question)
        writer.add_notes()
        chosen = {block.page for part in plan.parts for block in part}
        failed = set().union(*run.failures.values())
        return DocumentsAnalyzeResult(
            answer=writer.text,
            citations=await with_rectangles(writer.citations, sources, self.read_boxes),
            passages=_cited_passages(sources, writer.citations, origin),
            metadata=DocumentsAnalyzeMetadata(
                status=document.status,
                reason=_reason(len(chosen), len(pages), len(failed), plan, run),
                pages=len(pages),
                pages_read=len(chosen - failed),
                pages_failed=sorted(failed),
                failures=list(run.failures),
                truncated=not run.is_whole,
                chunks=len(plan.parts),
                usage=run.budget.usage,
                grounding=writer.grounding,
            ),
        )

    async def _plan(self, document: Document, pages: Sequence[Page], run: _Run) -> PartsPlan:
        usual, largest = self.limits.part_tokens, self.limits.largest_part_tokens
        blocks = await asyncio.to_thread(parts.cut, document, pages, usual, self.counter.count)
        if total(blocks) <= largest:
            return PartsPlan([blocks], is_whole=True)
        calls = max(1, int(self.limits.model_calls * READING_SHARE))
        found = await self.retriever.search(run.question, [document.document_id], MATCHING_PASSAGES)
        plan = await asyncio.to_thread(
            parts.plan_parts, blocks, found.hits, calls=calls, usual=usual, largest=largest
        )
        run.is_whole = plan.is_whole
        return plan

    async def _condense(self, unread: list[Part], run: _Run) -> list[PageBlock]:
        """The blocks relevant to the question: parts are condensed until the rest fits one call."""
        budget = self.limits.largest_part_tokens
        while len(unread) > 1:
            blocks = [block for part in unread for block in part]
            calls_left = run.budget.max_calls - run.budget.usage.model_calls
            if len(unread) >= calls_left or total(blocks) >= run.condensed_to:
                run.is_whole = False
                return parts.thin_out(blocks, budget)
            run.condensed_to = total(blocks)
            unread = parts.pack(await self._read_parts(unread, run), budget)
        return unread[0] if unread else []

    async def _read_parts(self, unread: Sequence[Part], run: _Run) -> list[PageBlock]:
        run.rounds += 1
        run.parts, run.parts_read = len(unread), 0
        gate, failed_before = asyncio.Semaphore(AT_ONCE), len(run.errors)

        async def read(part: Part) -> list[Sized]:
            async with gate:
                relevant = await self._relevant(part, run)
            run.step()
            return relevant

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(part)) for part in unread]
        if len(run.errors) - failed_before == len(unread):
            raise run.errors[failed_before]
        relevant = [sized for task in tasks for sized in task.result()]
        return parts.join(relevant, self.limits.part_tokens)

    async def _relevant(self, part: Part, run: _Run) -> list[Sized]:
        sized = [each for block in part for each in block.sources]
        try:
            found = await self.reader.relevant(run.question, [each.source for each in sized], run.budget)
        except OrcError as exc:
            run.errors.append(exc)
            run.failures.setdefault(exc.message, set()).update(block.page for block in part)
            return []
        return [each for each in sized if each.source.number in found]

    async def _ask(self, sources: Sequence[Source], run: _Run) -> str:
        request = f"{fence(sources)}\n\nQuestion: {run.question}"
        return await self.model.complete(
            [SystemMessage(self.prompt), QuestionMessage(content=request, question=run.question)],
            budget=run.budget,
        )


def _cited_passages(
    sources: Sequence[Source], citations: Sequence[Citation], origin: DocumentOrigin
) -> list[QuotedPassage]:
    """The passages with the quotes of the answer."""
    passages = [
        QuotedPassage(
            document_id=source.document_id,
            blob_name=source.blob_name,
            page=source.page,
            page_id=page_id(source.document_id, source.page),
            text=source.text,
            start=source.start,
            end=source.start + len(source.text),
            document_version=source.document_version,
            media_type=source.media_type,
            **origin.model_dump(),
        )
        for source in sources
    ]
    return [
        each
        for each in passages
        if any(each.page == c.page and c.start < each.end and each.start < c.end for c in citations)
    ]


def _reason(chosen: int, pages: int, failed: int, plan: PartsPlan, run: _Run) -> str:
    if len(plan.parts) == 1:
        return f"All {pages} pages with text fit into one call."
    how = f"{chosen} of {pages} pages with text were given to the model in {len(plan.parts)} parts."
    left_out = f" Some text was left out to stay within {run.budget.max_calls} model calls."
    unread = f" {failed} pages could not be read."
    return how + left_out * (not run.is_whole) + unread * bool(failed)


def register(server: MCPServer[None], analyze: DocumentsAnalyze, scope: CallScope) -> None:
    """Registers the tool."""

    @offer(server, NotFound.code, NoReadableDocument.code)
    async def documents_analyze(
        document_id: DocumentId, question: Question, ctx: Context[None]
    ) -> Annotated[CallToolResult, DocumentsAnalyzeResult]:
        """Answer a question from all pages of one document, however long, with checked citations.

        Slow. Use it if searching is not enough: to count, to compare, to survey.
        """
        async with CallProgress(ctx) as progress:
            result = await analyze.answer(scope(), document_id, question, progress.working)
        return success(result, result.answer)
