"""documents_analyze: an answer from the whole of a document that no model could read at once."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import SystemMessage

from core.documents.ports import Retriever
from core.documents.scope import Scope
from core.errors import OrcError
from core.grounding.citations import CitationWriter, ReadBoxes, with_rectangles
from core.grounding.claims import NOT_FOUND_ANSWER
from core.grounding.models import Citation, Grounding
from core.grounding.sources import Source, fence
from core.llm.chat_model import ChatModel, Meter
from core.llm.messages import QuestionMessage
from core.llm.tokens import TokenCounter
from core.mcp_contract import DocumentsAnalyzeMetadata, DocumentsAnalyzeResult, QuotedPassage
from core.models import Document, Hit, Page, Progress, Record
from core.names import page_id
from mcp_server.tools.chunks import Part, Plan, Sized, Stretch, cut, join, pack, plan_parts, thin_out, total
from mcp_server.tools.part_readers import PartReader
from mcp_server.tools.scope_filter import Library, document_in_reach, read_document, unreadable

AT_ONCE = 3
MATCHING_PASSAGES = 50
"""How many passages a search may name as those to read first, where not all can be read."""
READING_SHARE = 0.75
"""The share of the model calls that goes into reading; the others bring together what was found."""


class Limits(Record):
    """What one answer may cost."""

    model_calls: int = 40
    part_tokens: int = 6000
    largest_part_tokens: int = 12_000


@dataclass
class _Run:
    """One answer in the making."""

    question: str
    meter: Meter
    progress: Progress
    failures: dict[str, set[int]] = field(default_factory=dict)
    errors: list[OrcError] = field(default_factory=list)
    is_whole: bool = True
    rounds: int = 0
    condensed_to: float = math.inf
    parts: int = 0
    parts_read: int = 0

    @property
    def calls_left(self) -> int:
        return self.meter.max_calls - self.meter.usage.model_calls

    @property
    def pages_failed(self) -> set[int]:
        return set().union(*self.failures.values())

    def begin_round(self, parts: int) -> None:
        self.rounds += 1
        self.parts, self.parts_read = parts, 0

    def fail(self, part: Part, error: OrcError) -> None:
        self.errors.append(error)
        self.failures.setdefault(error.message, set()).update(stretch.page for stretch in part)

    def step(self) -> None:
        self.parts_read += 1
        what = "Reading the document in parts" if self.rounds == 1 else "Going through what was found"
        self.progress(self.parts_read, self.parts, what)


class DocumentsAnalyze:
    """Reads a document part by part, keeps the passages that matter, and answers from those.

    Only passages go from one step to the next, never a model's own words: so every citation of the answer
    can be checked against its page, and nothing that a document says is taken for an instruction later on.
    """

    def __init__(
        self,
        *,
        library: Library,
        retriever: Retriever,
        reader: PartReader,
        model: ChatModel,
        prompt: str,
        counter: TokenCounter,
        read_boxes: ReadBoxes,
        limits: Limits,
    ) -> None:
        self._library = library
        self._retriever = retriever
        self._reader = reader
        self._model = model
        self._prompt = prompt
        self._counter = counter
        self._read_boxes = read_boxes
        self._limits = limits

    async def answer(
        self, scope: Scope, document_id: str, question: str, progress: Progress
    ) -> DocumentsAnalyzeResult:
        """An answer from all pages of the document, whether or not its ingestion has ended.

        A part that no model could be made to read is told in the metadata; if that is so for all of them,
        the first one's error is raised.
        """
        document = await document_in_reach(self._library, scope, document_id)
        document = await read_document(self._library, document, progress)
        pages = [page for page in await self._library.text(document) if page.text.strip()]
        if not pages:
            raise unreadable(document)
        run = _Run(question, Meter(self._limits.model_calls), progress)
        plan = await self._plan(document, pages, run)
        relevant = await self._condense(plan.parts, run)
        sources = [sized.source for stretch in relevant for sized in stretch.sources]
        writer, text = await self._write(sources, run)
        return DocumentsAnalyzeResult(
            answer=text,
            citations=await with_rectangles(writer.citations, sources, self._read_boxes),
            passages=_cited_passages(sources, writer.citations),
            metadata=_metadata(document, pages, plan, run, await asyncio.to_thread(lambda: writer.grounding)),
        )

    async def _plan(self, document: Document, pages: Sequence[Page], run: _Run) -> Plan:
        stretches = await asyncio.to_thread(
            cut, document, pages, self._limits.part_tokens, self._counter.count
        )
        if total(stretches) <= self._limits.largest_part_tokens:
            return Plan([stretches], is_whole=True)
        calls = max(1, int(self._limits.model_calls * READING_SHARE))
        plan = await asyncio.to_thread(
            plan_parts,
            stretches,
            await self._matching(document, run.question),
            calls=calls,
            usual=self._limits.part_tokens,
            largest=self._limits.largest_part_tokens,
        )
        run.is_whole = plan.is_whole
        return plan

    async def _matching(self, document: Document, question: str) -> list[Hit]:
        found = await self._retriever.search(question, [document.document_id], MATCHING_PASSAGES)
        return found.hits

    async def _condense(self, parts: list[Part], run: _Run) -> list[Stretch]:
        """What of the parts bears on the question, and fits into one call: asked until it does."""
        budget = self._limits.largest_part_tokens
        while len(parts) > 1:
            stretches = [stretch for part in parts for stretch in part]
            if len(parts) >= run.calls_left or total(stretches) >= run.condensed_to:
                run.is_whole = False
                return thin_out(stretches, budget)
            run.condensed_to = total(stretches)
            parts = pack(await self._read_parts(parts, run), budget)
        return parts[0] if parts else []

    async def _read_parts(self, parts: Sequence[Part], run: _Run) -> list[Stretch]:
        run.begin_round(len(parts))
        gate, failed_before = asyncio.Semaphore(AT_ONCE), len(run.errors)

        async def read(part: Part) -> list[Sized]:
            async with gate:
                relevant = await self._relevant(part, run)
            run.step()
            return relevant

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(part)) for part in parts]
        if len(run.errors) - failed_before == len(parts):
            raise run.errors[failed_before]
        relevant = [sized for task in tasks for sized in task.result()]
        return join(relevant, self._limits.part_tokens)

    async def _relevant(self, part: Part, run: _Run) -> list[Sized]:
        sized = [each for stretch in part for each in stretch.sources]
        try:
            found = await self._reader.relevant(run.question, [each.source for each in sized], run.meter)
        except OrcError as exc:
            run.fail(part, exc)
            return []
        return [each for each in sized if each.source.number in found]

    async def _write(self, sources: Sequence[Source], run: _Run) -> tuple[CitationWriter, str]:
        writer = CitationWriter(sources, run.question)
        said = await self._ask(sources, run) if sources else NOT_FOUND_ANSWER
        text = await asyncio.to_thread(lambda: writer.feed(said) + writer.finish())
        return writer, text.strip()

    async def _ask(self, sources: Sequence[Source], run: _Run) -> str:
        request = f"{fence(sources)}\n\nQuestion: {run.question}"
        return await self._model.complete(
            [SystemMessage(self._prompt), QuestionMessage(content=request, question=run.question)],
            meter=run.meter,
        )


def _cited_passages(sources: Sequence[Source], citations: Sequence[Citation]) -> list[QuotedPassage]:
    """The passages that the answer's quotes stand in; a claim that was not verified has no quote."""
    quotes = [(citation.page, citation.start, citation.end) for citation in citations]
    return [
        _passage(source)
        for source in sources
        if any(page == source.page and _overlaps(source, start, end) for page, start, end in quotes)
    ]


def _overlaps(source: Source, start: int, end: int) -> bool:
    return start < source.start + len(source.text) and source.start < end


def _passage(source: Source) -> QuotedPassage:
    return QuotedPassage(
        document_id=source.document_id,
        blob_name=source.blob_name,
        page=source.page,
        page_id=page_id(source.document_id, source.page),
        text=source.text,
        start=source.start,
        end=source.start + len(source.text),
    )


def _metadata(
    document: Document, pages: Sequence[Page], plan: Plan, run: _Run, grounding: Grounding
) -> DocumentsAnalyzeMetadata:
    chosen = {stretch.page for part in plan.parts for stretch in part}
    return DocumentsAnalyzeMetadata(
        status=document.status,
        reason=_reason(len(chosen), len(pages), plan, run),
        pages=len(pages),
        pages_read=len(chosen - run.pages_failed),
        pages_failed=sorted(run.pages_failed),
        failures=list(run.failures),
        truncated=not run.is_whole,
        chunks=len(plan.parts),
        usage=run.meter.usage,
        grounding=grounding,
    )


def _reason(chosen: int, pages: int, plan: Plan, run: _Run) -> str:
    if len(plan.parts) == 1:
        return f"All {pages} pages with text fit into one call."
    how = f"{chosen} of {pages} pages with text were given to the model in {len(plan.parts)} parts."
    left_out = f" Some text was left out to stay within {run.meter.max_calls} model calls."
    failed = f" {len(run.pages_failed)} pages could not be read."
    return how + left_out * (not run.is_whole) + failed * bool(run.pages_failed)
