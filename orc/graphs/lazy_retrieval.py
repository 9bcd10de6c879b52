"""Lazy retrieval: pages as summaries and best sentences first, in full if a critic asks for more."""

import asyncio
from collections.abc import Sequence
from typing import Any

from orc.graphs.models import PageReference, Run, ToolResult
from orc.graphs.retrieval import RetrievalOutcome, call_tool, failed_step
from orc.lookups import LookupStep
from orc.tools.ports import GET_PAGE, SEARCH_PAGES
from orc_core.errors import OrcError

Texts = dict[tuple[str, int], str]
"""Full pages by document id and number."""

PLACE = ("document_id", "page_id", "page_number", "blob_name")


async def summarized(
    outcome: RetrievalOutcome, run: Run
) -> tuple[RetrievalOutcome, list[PageReference], int]:
    """The outcome with pages as summaries, references to those pages, and the tokens of their full text."""
    references = _references_in(outcome.lookups)
    try:
        read = await asyncio.gather(*(run.page_text(page.document_id, page.page) for page in references))
    except OrcError as exc:
        failed = ToolResult(name=SEARCH_PAGES, error=exc.message)
        steps = [*outcome.steps, failed_step(SEARCH_PAGES, exc.message)]
        return outcome.model_copy(update={"lookups": [failed], "steps": steps}), [], 0
    texts = {(page.document_id, page.page): text for page, text in zip(references, read, strict=True)}
    lookups = [_as_summaries(lookup, texts) for lookup in outcome.lookups]
    if not references:
        return outcome.model_copy(update={"lookups": lookups}), [], 0
    tokens = sum(map(run.resources.counter.count, texts.values()))
    step = LookupStep(tool=SEARCH_PAGES, reason_code="summaries_only", hits=len(references), tokens=tokens)
    steps = [*outcome.steps, step]
    return outcome.model_copy(update={"lookups": lookups, "steps": steps}), references, tokens


async def read_in_full(references: Sequence[PageReference], run: Run) -> RetrievalOutcome:
    """Read the pages: one lookup for all that could be read, in their order, and one for each failure."""
    read = await asyncio.gather(*(_read(page, run) for page in references))
    pages = [page for result in read for page in result.content.get("pages", [])]
    failures = [result for result in read if result.error]
    steps = [failed_step(GET_PAGE, error) for error in dict.fromkeys(str(each.error) for each in failures)]
    if not pages:
        return RetrievalOutcome(lookups=failures, steps=steps)
    whole = ToolResult(name=GET_PAGE, content={"pages": pages})
    done = LookupStep(tool=GET_PAGE, reason_code="read_in_full", hits=len(pages))
    return RetrievalOutcome(lookups=[whole, *failures], steps=[done, *steps], enough=True)


def _as_summaries(result: ToolResult, texts: Texts) -> ToolResult:
    """The result of search_pages as `pages` with summary and topics, and `passages` that can be cited.

    The passages are the sentences that match best. A page that was found by its meaning alone has none: then
    it is the passage that was found.
    """
    if result.name != SEARCH_PAGES or result.error:
        return result
    found = result.content.get("pages", [])
    passages = [
        passage
        for page in found
        for passage in _quoted(page, texts[str(page["document_id"]), int(page["page_number"])])
    ]
    pages = [{**_place(page), "summary": page["summary"], "topics": page["topics"]} for page in found]
    return result.model_copy(update={"content": {**result.content, "passages": passages, "pages": pages}})


def _references_in(lookups: Sequence[ToolResult]) -> list[PageReference]:
    """The pages that search_pages found, best first."""
    return [
        PageReference(document_id=page["document_id"], page=page["page_number"])
        for lookup in lookups
        if lookup.name == SEARCH_PAGES
        for page in lookup.content.get("pages", [])
    ]


async def _read(page: PageReference, run: Run) -> ToolResult:
    arguments = {"document_id": page.document_id, "page_number": page.page}
    try:
        result = await call_tool(GET_PAGE, arguments, run)
    except OrcError as exc:
        return ToolResult(name=GET_PAGE, error=exc.message)
    wanted, found = (*PLACE, "text", "start"), result.content.get("pages", [])
    pages = [{name: page[name] for name in wanted if name in page} for page in found]
    return result.model_copy(update={"content": {"pages": pages}})


def _place(page: dict[str, Any]) -> dict[str, Any]:
    return {name: page[name] for name in PLACE}


def _quoted(page: dict[str, Any], text: str) -> list[dict[str, Any]]:
    place, starts = _place(page), {match: text.find(match) for match in page["matches"]}
    sentences = [{**place, "text": match, "start": start} for match, start in starts.items() if start >= 0]
    return sentences or [{**place, "text": page["text"], "start": page["start"]}]
