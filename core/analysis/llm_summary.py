"""The summaries of a whole document by a model: parts of the page summaries first, then the whole."""

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, Field

from core.analysis.document_context import DocumentContext
from core.analysis.llm_pages import REFUSALS, AnalysisPrompts, fill
from core.analysis.models import PageAnalysis
from core.analysis.summaries import Overview, list_pages, page_range, summarise
from core.llm.chat_model import ChatModel, Meter

PART_CHARACTERS = 18_000
"""Of summaries in one call, about 6000 tokens."""
SUMMARY_WORDS = 150
CONCURRENCY = 4

log = logging.getLogger(__name__)


class SectionLine(BaseModel):
    """What one section of the document says."""

    first_page: int
    last_page: int
    text: str = Field(description="one or two sentences")


class PartSummary(BaseModel):
    """What a part of a document says."""

    summary: str = Field(description="one paragraph")
    lines: list[SectionLine] = Field(default=[], description="the sections of this part, in order")


class DocumentSummary(BaseModel):
    """What a document says."""

    summary: str = Field(description="one paragraph")


class _Part(NamedTuple):
    first_page: int
    summary: str
    lines: list[str]
    is_by_model: bool


class Summariser:
    """Map and reduce over page summaries. Raises BudgetExceeded and DependencyDown."""

    def __init__(
        self, model: ChatModel, prompts: AnalysisPrompts, meter: Meter, context: DocumentContext
    ) -> None:
        self._model = model
        self._part_prompt = prompts.part_summary.format(words=SUMMARY_WORDS)
        self._document_prompt = prompts.document_summary.format(words=SUMMARY_WORDS)
        self._meter = meter
        self._context = context
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def summarise(self, pages: Sequence[PageAnalysis]) -> tuple[Overview, bool]:
        """The overview, and whether the model wrote all of it; the rest is picked from the pages."""
        parts = [part for part in _parts(pages) if part]
        told = list(await asyncio.gather(*(self._read(part) for part in parts)))
        detailed = "\n".join(line for part in told for line in part.lines)
        is_complete = all(part.is_by_model for part in told)
        summary = await self._reduce([(part.first_page, part.summary) for part in told])
        if summary is None:
            return Overview(summarise(pages, self._context), detailed), False
        return Overview(summary, detailed), is_complete

    async def _read(self, pages: Sequence[PageAnalysis]) -> _Part:
        sources = [(page.page, page.summary) for page in pages]
        try:
            async with self._slots:
                told = await fill(self._model, self._part_prompt, sources, PartSummary, self._meter)
        except REFUSALS as exc:
            log.info("model refused summaries pages=%d error=%s", len(pages), exc.code)
            own = list_pages(pages, self._context)
            return _Part(pages[0].page, summarise(pages, self._context), own, is_by_model=False)
        first, last = pages[0].page, pages[-1].page
        lines = [
            f"{page_range(line.first_page, line.last_page)}: {' '.join(line.text.split())}"
            for line in told.lines
            if first <= line.first_page <= line.last_page <= last and line.text.strip()
        ]
        is_by_model = bool(lines and told.summary.strip())
        summary = " ".join(told.summary.split()) or summarise(pages, self._context)
        return _Part(first, summary, lines or list_pages(pages, self._context), is_by_model)

    async def _reduce(self, summaries: Sequence[tuple[int, str]]) -> str | None:
        """One summary of many; None where the model refuses. Too many for one call are reduced in groups."""
        if len(summaries) <= 1:
            return summaries[0][1] if summaries else ""
        groups = _groups(summaries)
        if len(groups) == 1:
            return await self._condense(groups[0])
        condensed = await asyncio.gather(*(self._condense(group) for group in groups))
        shorter = [(group[0][0], text) for group, text in zip(groups, condensed, strict=True) if text]
        return await self._reduce(shorter) if len(shorter) == len(groups) else None

    async def _condense(self, summaries: Sequence[tuple[int, str]]) -> str | None:
        try:
            async with self._slots:
                told = await fill(self._model, self._document_prompt, summaries, DocumentSummary, self._meter)
        except REFUSALS as exc:
            log.info("model refused to condense count=%d error=%s", len(summaries), exc.code)
            return None
        return " ".join(told.summary.split()) or None


def _parts(pages: Sequence[PageAnalysis]) -> list[list[PageAnalysis]]:
    """The pages that say something, in as many parts as it takes for each to fit a call."""
    parts: list[list[PageAnalysis]] = [[]]
    spent = 0
    for page in pages:
        if not page.summary:
            continue
        if parts[-1] and spent + len(page.summary) > PART_CHARACTERS:
            parts.append([])
            spent = 0
        parts[-1].append(page)
        spent += len(page.summary)
    return parts


def _groups(summaries: Sequence[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    """At least two summaries together, so that every round leaves fewer."""
    groups: list[list[tuple[int, str]]] = [[]]
    spent = 0
    for page, text in summaries:
        if len(groups[-1]) > 1 and spent + len(text) > PART_CHARACTERS:
            groups.append([])
            spent = 0
        groups[-1].append((page, text))
        spent += len(text)
    return groups
