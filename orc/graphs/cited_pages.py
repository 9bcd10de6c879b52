"""The pages that citations are from: their text, and as sources of a prompt."""

import asyncio
from collections.abc import Sequence

from core.grounding.models import Citation
from core.grounding.sources import Source
from core.llm.tokens import TokenCounter
from orc.graphs.models import ConversationState, Deps

_SHRINK = 0.8

PageKey = tuple[str, int]


def key_of(cited: Source | Citation) -> PageKey:
    """What a page is known by: its document and its number."""
    return cited.document_id, cited.page


async def cited_texts(
    citations: Sequence[Citation], state: ConversationState, deps: Deps
) -> dict[PageKey, str]:
    """The text of each cited page: of the sources, and for an answer of document_chat of the store.

    Raises DependencyDown if the store does not answer.
    """
    known = {key_of(source): source.page_text for source in state.attempt.sources}

    async def read(page: PageKey) -> str:
        return known[page] if page in known else await deps.page_text(*page)

    pages = list(dict.fromkeys(map(key_of, citations)))
    return dict(zip(pages, await asyncio.gather(*map(read, pages)), strict=True))


async def cited_pages(
    citations: Sequence[Citation], state: ConversationState, deps: Deps, tokens: int
) -> list[Source]:
    """The cited pages, numbered from 1, each with its share of the tokens around its quotes.

    A page that no longer has its quotes is left out. Raises DependencyDown if the store does not answer.
    """
    cited: dict[PageKey, list[Citation]] = {}
    for citation in citations:
        cited.setdefault(key_of(citation), []).append(citation)
    texts = await cited_texts(citations, state, deps)
    share = tokens // max(1, len(cited))
    return [
        _as_source(number, quoted, text, share, deps.counter)
        for number, (quoted, text) in enumerate(zip(cited.values(), texts.values(), strict=True), 1)
        if text and all(text[each.start : each.end] == each.quote for each in quoted)
    ]


def _as_source(
    number: int, citations: Sequence[Citation], text: str, tokens: int, counter: TokenCounter
) -> Source:
    first, last = min(each.start for each in citations), max(each.end for each in citations)
    start, shown, length = 0, text, len(text)
    while counter.count(shown) > tokens and length > 1:
        length = int(length * _SHRINK)
        start = max(0, min(first, (first + last - length) // 2))
        shown = text[start : start + length]
    citation = citations[0]
    shared = Source.model_fields.keys() & Citation.model_fields.keys() - {"start", "page_label"}
    fields = {name: getattr(citation, name) for name in shared}
    label = citation.page_label or ""
    return Source(number=number, start=start, text=shown, page_text=text, page_label=label, **fields)
