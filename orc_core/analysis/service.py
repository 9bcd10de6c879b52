"""Analyses a document in the background: page by page, resumable, with its cost recorded."""

import asyncio
import contextlib
import logging
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.extractive import analyse_page
from orc_core.analysis.llm import PageReader, Summariser, batches, load_prompts
from orc_core.analysis.models import EXTRACTIVE, AnalysisStatus, DocumentAnalysis, PageAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.analysis.summaries import Overview, overview
from orc_core.errors import BudgetExceeded, OrcError, Unavailable
from orc_core.infra.slices import slices
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.models import Document, Page, Progress, Usage

PAGES_PER_SAVE = 25
CONCURRENCY = 4
MAX_CALLS = 2000
MOST_PAGES_NAMED = 10
UNEXPECTED = (
    "The analysis failed unexpectedly; see the log. Analyse the document again, or upload it in another"
    " format."
)

log = logging.getLogger(__name__)


@dataclass
class _Run:
    """One attempt to complete the analysis of a document."""

    document: Document
    pages: Sequence[Page]
    analysis: DocumentAnalysis
    done: set[int]
    budget: CallBudget
    progress: Progress | None
    earlier: Usage
    counted_calls: int = 0
    saving: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def missing(self) -> list[Page]:
        return [page for page in self.pages if page.number not in self.done]

    def now(self, **changes: object) -> DocumentAnalysis:
        """The record as it is now, with the cost of this and of all earlier attempts."""
        spent = self.earlier + self.budget.usage
        facts = {**spent.model_dump(), "pages_done": len(self.done), **changes}
        self.analysis = self.analysis.model_copy(update=facts)
        return self.analysis

    def report(self, what: str) -> None:
        if self.progress is not None:
            self.progress(len(self.done), len(self.pages), what)


class DailyTokens:
    """Counts tokens by organization for the present day, in UTC. Each process counts for itself."""

    def __init__(self, most: int, today: Callable[[], date] = lambda: datetime.now(UTC).date()) -> None:
        self._most = most
        self._today = today
        self._day = today()
        self._used: Counter[str] = Counter()

    def add(self, organization_id: str, usage: Usage) -> None:
        """Count the tokens of finished calls."""
        self._begin_day()
        self._used[organization_id] += usage.input_tokens + usage.output_tokens

    def are_used_up(self, organization_id: str) -> bool:
        """Whether no further call may be made today."""
        self._begin_day()
        return self._used[organization_id] >= self._most

    def _begin_day(self) -> None:
        if (day := self._today()) != self._day:
            self._day = day
            self._used.clear()


class Analyser:
    """Makes and stores analyses: by the model, or extractive if there is none.

    `max_calls` limits the model calls of one attempt; the next attempt continues from there. Once an
    organization has used its `tokens` of a day, the rest of its pages is extractive until the next.
    """

    def __init__(
        self,
        store: AnalysisStore,
        model: ChatModel | None,
        *,
        max_calls: int = MAX_CALLS,
        tokens: DailyTokens | None = None,
    ) -> None:
        self._store = store
        self._model = model
        self._max_calls = max_calls
        self._tokens = tokens or DailyTokens(sys.maxsize)

    @property
    def method(self) -> str:
        """The `method` of the analyses that this makes."""
        return self._model.name if self._model else EXTRACTIVE

    async def analyse(
        self, document: Document, pages: Sequence[Page], progress: Progress | None = None
    ) -> DocumentAnalysis:
        """The finished analysis of these pages; pages that an earlier attempt has stored are not read again.

        On failure the stored record gives the reason and the error is raised. BudgetExceeded and Unavailable
        are worth another try. Unavailable is also raised if the document was replaced or deleted meanwhile.
        """
        run = await self._begin(document, pages, progress)
        if run.analysis.status is AnalysisStatus.DONE:
            return run.analysis
        try:
            context = await asyncio.to_thread(DocumentContext.of, pages)
            if self._model is None:
                await self._extract(run, run.missing, context)
                analysed = await self._summarised_pages(run)
                return await self._finish(run, await asyncio.to_thread(overview, analysed, context))
            prompts = await asyncio.to_thread(load_prompts)
            await self._ask(run, context, PageReader(self._model, prompts.pages, run.budget))
            analysed = await self._summarised_pages(run)
            used_up = self._are_tokens_used_up(run)
            if used_up:
                found, is_complete = await asyncio.to_thread(overview, analysed, context), False
            else:
                summariser = Summariser(self._model, prompts, run.budget, context)
                found, is_complete = await summariser.summarise(analysed)
            return await self._finish(run, found, _note(pages, analysed, is_complete, used_up=used_up))
        except Exception as exc:
            await self._record_failure(run, exc)
            raise
        finally:
            self._are_tokens_used_up(run)

    async def _begin(self, document: Document, pages: Sequence[Page], progress: Progress | None) -> _Run:
        document_id = document.document_id
        known = (await self._store.get([document_id])).get(document_id)
        fresh = DocumentAnalysis(
            document_id=document_id, etag=document.etag, method=self.method, pages=len(pages)
        )
        done: set[int] = set()
        if known and (known.etag, known.method, known.pages) == (fresh.etag, fresh.method, fresh.pages):
            done = {page.page for page in await self._store.pages(document_id)}
        else:
            await self._store.delete(document_id)
            known = None
        analysis = known or fresh
        earlier = Usage(**{name: getattr(analysis, name) for name in Usage.model_fields})
        run = _Run(document, pages, analysis, done, CallBudget(self._max_calls), progress, earlier)
        if analysis.status is not AnalysisStatus.DONE:
            await self._store.save(run.now(status=AnalysisStatus.RUNNING, reason=None))
        return run

    async def _extract(self, run: _Run, pages: Sequence[Page], context: DocumentContext) -> None:
        for some in slices(pages, PAGES_PER_SAVE):
            await self._save(run, await asyncio.to_thread(_analyse_all, some, context))

    async def _ask(self, run: _Run, context: DocumentContext, reader: PageReader) -> None:
        """Several calls at once; if one fails, the results of those under way are still stored."""
        await self._extract(run, [page for page in run.missing if not page.text.strip()], context)
        waiting = deque(batches(run.missing))

        async def work() -> None:
            while waiting and not self._are_tokens_used_up(run):
                batch = waiting.popleft()
                try:
                    drafts = await asyncio.to_thread(_analyse_all, batch, context)
                    outcome = await reader.read(batch, {draft.page: draft for draft in drafts})
                    if outcome.analyses:
                        await self._save(run, outcome.analyses)
                except BaseException:
                    waiting.clear()
                    raise
                waiting.extendleft(reversed(outcome.again))

        ended = await asyncio.gather(*(work() for _ in range(CONCURRENCY)), return_exceptions=True)
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        await self._extract(run, run.missing, context)

    def _are_tokens_used_up(self, run: _Run) -> bool:
        """Whether the organization may use no more tokens today, those of this run included."""
        organization_id = run.document.organization_id
        for call in run.budget.calls[run.counted_calls :]:
            self._tokens.add(organization_id, call.usage)
        run.counted_calls = len(run.budget.calls)
        return self._tokens.are_used_up(organization_id)

    async def _summarised_pages(self, run: _Run) -> list[PageAnalysis]:
        run.report("Summarising the document")
        return await self._store.pages(run.document.document_id)

    async def _finish(self, run: _Run, found: Overview, note: str = "") -> DocumentAnalysis:
        done = run.now(
            status=AnalysisStatus.DONE, summary=found.summary, detailed_summary=found.detailed, note=note
        )
        await self._store_or_stop(done, [])
        log.info("analysis done document_id=%s pages=%d", done.document_id, done.pages)
        return done

    async def _save(self, run: _Run, analyses: Sequence[PageAnalysis]) -> None:
        async with run.saving:
            done = run.done | {analysis.page for analysis in analyses}
            await self._store_or_stop(run.now(pages_done=len(done)), analyses)
            run.done = done
        run.report("Analysing pages")

    async def _store_or_stop(self, analysis: DocumentAnalysis, pages: Sequence[PageAnalysis]) -> None:
        if not await self._store.save_pages(analysis, pages):
            raise Unavailable("The document was replaced or deleted while it was analysed.")

    async def _record_failure(self, run: _Run, error: Exception) -> None:
        reason = error.message if isinstance(error, OrcError) else UNEXPECTED
        if isinstance(error, BudgetExceeded):
            reason = f"The analysis has used the {self._max_calls} model calls of one attempt."
            reason += " Start it again to continue."
        failed = run.now(status=AnalysisStatus.FAILED, reason=reason)
        document_id = run.document.document_id
        log.warning("analysis failed document_id=%s error=%s", document_id, type(error).__name__)
        # The store may be what failed; the error that matters is the first one.
        with contextlib.suppress(Unavailable):
            await self._store.save_pages(failed, [])


class DocumentAnalyses:
    """Implements the port of orc_core.documents over an analysis store."""

    def __init__(self, store: AnalysisStore) -> None:
        self._store = store

    async def finished(self, documents: Sequence[Document]) -> set[str]:
        etags = {document.document_id: document.etag for document in documents}
        analyses = await self._store.get(list(etags))
        return {key for key, found in analyses.items() if found.is_done and found.etag == etags[key]}

    async def copy(self, source: Document, target: Document) -> bool:
        found = await self._get(source)
        # What has a note was made in part without the model, which is asked again for the same bytes.
        if found is None or not found.is_done or found.note or found.etag != source.etag:
            return False
        await self._store.copy(found.document_id, found.taken_over_by(target))
        return True

    async def keep_for(self, document: Document) -> None:
        known = await self._get(document)
        if known is not None:
            await self._store.save(known.model_copy(update={"etag": document.etag}))

    async def fail(self, document: Document, reason: str) -> None:
        found = await self._get(document)
        if found is None or found.etag != document.etag:
            found = DocumentAnalysis(document_id=document.document_id, etag=document.etag)
        await self._store.save(found.failed(reason))

    async def delete(self, document_id: str) -> None:
        await self._store.delete(document_id)

    async def _get(self, document: Document) -> DocumentAnalysis | None:
        return (await self._store.get([document.document_id])).get(document.document_id)


def _analyse_all(pages: Sequence[Page], context: DocumentContext) -> list[PageAnalysis]:
    return [analyse_page(page, context) for page in pages]


def _note(
    pages: Sequence[Page], analysed: Sequence[PageAnalysis], is_summary_by_model: bool, *, used_up: bool
) -> str:
    """A note for people on the parts that were made without the model."""
    texts = {page.number for page in pages if page.text.strip()}
    left = [page.page for page in analysed if page.method == EXTRACTIVE and page.page in texts]
    named = ", ".join(map(str, left[:MOST_PAGES_NAMED])) + ", …" * (len(left) > MOST_PAGES_NAMED)
    unread = f"The model could not read {len(left)} of {len(pages)} pages ({named}): analysed without it."
    extracted = "A part of the summary was extracted from the pages without the model."
    spent = "The organization had used its tokens for the analysis of that day."
    parts = [unread] * bool(left) + [extracted] * (not is_summary_by_model) + [spent] * used_up
    return " ".join(parts)
