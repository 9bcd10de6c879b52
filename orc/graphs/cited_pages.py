"""The pages that citations are from: their text, and as sources of a prompt."""

import asyncio
from collections.abc import Sequence

from orc.graphs.models import ConversationState, Run
from orc_core.grounding.models import Citation
from orc_core.grounding.sources import Source
from orc_core.llm.tokens import TokenCounter

_SHRINK = 0.8

PageKey = tuple[str, int]


def key_of(cited: Source | Citation) -> PageKey:
    """What a page is known by: its document and its number."""
    return cited.document_id, cited.page


async def cited_texts(
    citations: Sequence[Citation], state: ConversationState, run: Run
) -> dict[PageKey, str]:
    """The text of each cited page: of the sources, and for an answer of document_chat of the store.

    Raises DependencyDown if the store does not answer.
    """
    known = {key_of(source): source.page_text for source in state.attempt.sources}

    async def read(page: PageKey) -> str:
        return known[page] if page in known else await run.page_text(*page)

    pages = list(dict.fromkeys(map(key_of, citations)))
    return dict(zip(pages, await asyncio.gather(*map(read, pages)), strict=True))


async def cited_pages(citations: Sequence[Citation], state: ConversationState, run: Run) -> list[Source]:
    """The cited pages in full, numbered from 1; none if one of them no longer has its quotes.

    Raises DependencyDown if the store does not answer.
    """
    texts = await cited_texts(citations, state, run)
    if any(texts[key_of(each)][each.start : each.end] != each.quote for each in citations):
        return []
    first_of_each = {key_of(each): each for each in reversed(citations)}
    shared = Source.model_fields.keys() & Citation.model_fields.keys() - {"start", "page_label"}
    return [
        Source(
            number=number,
            start=0,
            text=text,
            page_text=text,
            page_label=first_of_each[key].page_label or "",
            pictured=first_of_each[key].check == "picture",
            **{name: getattr(first_of_each[key], name) for name in shared},
        )
        for number, (key, text) in enumerate(texts.items(), 1)
    ]


def around_quotes(
    source: Source, citations: Sequence[Citation], tokens: int, counter: TokenCounter
) -> Source:
    """As much of a page around what is cited of it as fits."""
    own = [each for each in citations if key_of(each) == key_of(source)]
    first, last = min(each.start for each in own), max(each.end for each in own)
    start, shown, length = 0, source.page_text, len(source.page_text)
    while counter.count(shown) > tokens and length > 1:
        length = int(length * _SHRINK)
        start = max(0, min(first, (first + last - length) // 2))
        shown = source.page_text[start : start + length]
    return source.model_copy(update={"start": start, "text": shown})
