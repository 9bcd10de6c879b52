"""Lazy retrieval: pages by their summaries and best sentences first, in full where a critic asks for more."""

import asyncio
from collections.abc import Sequence
from typing import Any

from core.errors import OrcError
from orc.graphs.models import Deps, PageReference, ToolResult
from orc.graphs.retrieval import Call, LookedUp, call_tool
from orc.tools.ports import GET_PAGE, SEARCH_PAGES

Texts = dict[tuple[str, int], str]
"""Whole pages by document id and number."""

TOLD_OF_A_PAGE = ("document_id", "page_id", "page_number", "blob_name")


def as_summaries(result: ToolResult, texts: Texts) -> ToolResult:
    """What search_pages found as `pages` with summary and topics, and `passages` that can be cited.

    Those are the sentences that match best, or where there are none, a page found by its meaning alone,
    the passage of it that was found. Any other result is left as it is.
    """
    if result.name != SEARCH_PAGES or result.error:
        return result
    found = result.content.get("pages", [])
    passages = [passage for page in found for passage in _quoted(page, texts[_key(page)])]
    pages = [{**_place(page), "summary": page["summary"], "topics": page["topics"]} for page in found]
    return result.model_copy(update={"content": {**result.content, "passages": passages, "pages": pages}})


def references_in(results: Sequence[ToolResult]) -> list[PageReference]:
    """The pages that search_pages found, best first."""
    return [
        PageReference(document_id=page["document_id"], page=page["page_number"])
        for result in results
        if result.name == SEARCH_PAGES
        for page in result.content.get("pages", [])
    ]


async def texts_of(references: Sequence[PageReference], deps: Deps) -> Texts:
    """The whole text of each page."""
    texts = await asyncio.gather(*(deps.page_text(page.document_id, page.page) for page in references))
    return {(page.document_id, page.page): text for page, text in zip(references, texts, strict=True)}


async def read_in_full(references: Sequence[PageReference], deps: Deps) -> LookedUp:
    """The pages themselves, one result for all that could be read, in their order."""
    read = await asyncio.gather(*(_read(page, deps) for page in references))
    pages = [page for result in read for page in result.content.get("pages", [])]
    calls = [_call(result) for result in read if result.error]
    errors = dict.fromkeys(str(call.result.error).rstrip(".") for call in calls)
    reasons = [f"{GET_PAGE} failed: {error}." for error in errors]
    if not pages:
        return LookedUp(calls=calls, reasons=reasons)
    whole = ToolResult(name=GET_PAGE, content={"pages": pages})
    told = f"{len(pages)} of the pages that were found were read in full with {GET_PAGE}."
    return LookedUp(calls=[_call(whole), *calls], reasons=[told, *reasons], enough=True)


async def _read(page: PageReference, deps: Deps) -> ToolResult:
    arguments = {"document_id": page.document_id, "page_number": page.page}
    try:
        result = await call_tool(GET_PAGE, arguments, deps)
    except OrcError as exc:
        return ToolResult(name=GET_PAGE, error=exc.message)
    told = (*TOLD_OF_A_PAGE, "text", "start")
    pages = [{name: page[name] for name in told if name in page} for page in result.content.get("pages", [])]
    return result.model_copy(update={"content": {"pages": pages}})


def _call(result: ToolResult) -> Call:
    return Call(name=result.name, arguments={}, result=result)


def _key(page: dict[str, Any]) -> tuple[str, int]:
    return str(page["document_id"]), int(page["page_number"])


def _place(page: dict[str, Any]) -> dict[str, Any]:
    return {name: page[name] for name in TOLD_OF_A_PAGE}


def _quoted(page: dict[str, Any], text: str) -> list[dict[str, Any]]:
    starts = {match: text.find(match) for match in page["matches"]}
    sentences = [
        {**_place(page), "text": match, "start": start} for match, start in starts.items() if start >= 0
    ]
    return sentences or [{**_place(page), "text": page["text"], "start": page["start"]}]
