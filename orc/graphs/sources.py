"""Numbered sources: the quotes in tool results, which alone an answer can cite, and cited pages in full."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from orc.graphs.models import ConversationState, Run
from orc_core.grounding.models import Citation
from orc_core.grounding.sources import Source
from orc_core.llm.tokens import TokenCounter
from orc_core.markdown.brackets import visible_name
from orc_core.models import Page

ReadPage = Callable[[str, int], Awaitable[Page | None]]
"""A page by document id and number; None if it no longer exists."""

QUOTING = ("passages", "pages", "results")
"""The lists of a tool result whose items may quote a page: `text`, from character `start`.

Items of `results` have a `url`; their `text` is what a search engine quotes of that web page.
"""

_NUMBERED = re.compile(r"S[0-9]+")
_SHRINK = 0.8

PageKey = tuple[str, int]


# Why models cite numbers and code finds the place: docs/decisions/citations.md.
class SourceRegistry:
    """Numbers quoted passages. The same span of a page keeps its number, whichever tool found it.

    `known` are sources that have numbers already, `last` the highest number that was given.
    """

    def __init__(self, read_page: ReadPage, known: Sequence[Source] = (), last: int = 0) -> None:
        self._read_page = read_page
        self._sources = {source.number: source for source in known}
        self.last = max(last, *self._sources, 0)

    @property
    def sources(self) -> list[Source]:
        """All sources by number; there may be gaps."""
        return sorted(self._sources.values(), key=lambda source: source.number)

    async def add(self, content: dict[str, Any]) -> dict[str, Any]:
        """The result with source numbers in place of the quoted texts."""
        quoting = {name: content[name] for name in QUOTING if isinstance(content.get(name), list)}
        # The full text and the label of each page that the items quote, read concurrently.
        pages = {
            (each.document_id, each.page): (each.page_text, each.page_label)
            for each in self._sources.values()
        }
        quoted = [_page_of(item) for items in quoting.values() for item in items if _quotes_a_page(item)]
        new = [page for page in dict.fromkeys(quoted) if page not in pages]
        read = await asyncio.gather(*(self._read_page(*page) for page in new))
        found = [(page.text, page.label) if page else ("", "") for page in read]
        pages |= dict(zip(new, found, strict=True))
        numbered = {name: [self._numbered(item, pages) for item in items] for name, items in quoting.items()}
        return content | numbered

    def of(self, content: dict[str, Any]) -> list[Source]:
        """The sources that a numbered result refers to, in its order."""
        lists = [content[name] for name in QUOTING if isinstance(content.get(name), list)]
        named = [str(item.get("source")) for items in lists for item in items if isinstance(item, dict)]
        numbers = [int(name[1:]) for name in dict.fromkeys(named) if _NUMBERED.fullmatch(name)]
        return [self._sources[number] for number in numbers if number in self._sources]

    def shorten(self, number: int, characters: int) -> Source:
        """Keep only the beginning of a source."""
        source = self._sources[number]
        self._sources[number] = source.model_copy(update={"text": source.text[:characters]})
        return self._sources[number]

    def keep(self, numbers: Collection[int]) -> None:
        """Forget all other sources, so that an answer cannot cite them."""
        self._sources = {number: self._sources[number] for number in self._sources if number in numbers}

    def _numbered(self, item: Any, pages: Mapping[tuple[str, int], tuple[str, str]]) -> Any:
        if not (isinstance(item, dict) and item.get("text")):
            return item
        if not _quotes_a_page(item):
            if "url" not in item:
                return item
            # The title goes into the fence with the text: both are untrusted.
            source = self._add(_web_page(item))
            return {"source": f"S{source.number}", "url": source.url}
        source = self._add(_passage(item, *pages[_page_of(item)]))
        rest = {name: value for name, value in item.items() if name not in ("source", "text", "heading")}
        return {"source": f"S{source.number}", **rest}

    def _add(self, found: Source) -> Source:
        """The source with its number, a new one for a new span."""
        for known in self._sources.values():
            if _span(known) == _span(found):
                return known
        self.last += 1
        self._sources[self.last] = found.model_copy(update={"number": self.last})
        return self._sources[self.last]


def _span(source: Source) -> tuple[str, int, int, str]:
    return source.document_id, source.page, source.start, source.text


def _quotes_a_page(item: Any) -> bool:
    """Whether the item quotes a page of a document, not a web page."""
    return isinstance(item, dict) and bool(item.get("text")) and "document_id" in item


def _page_of(item: dict[str, Any]) -> tuple[str, int]:
    return str(item["document_id"]), int(item.get("page") or item["page_number"])


def _passage(item: dict[str, Any], page_text: str, label: str) -> Source:
    """A span of a document page as a source, without a number yet."""
    document_id, page = _page_of(item)
    return Source(
        number=0,
        document_id=document_id,
        blob_name=str(item.get("blob_name", "")),
        page=page,
        start=int(item.get("start", 0)),
        text=str(item["text"]),
        page_text=page_text,
        document_version=str(item.get("document_version", "")),
        media_type=str(item.get("media_type", "")),
        page_label=label,
        heading=str(item.get("heading") or ""),
        context_type=item.get("context_type"),
        context_id=item.get("context_id"),
        context_name=item.get("context_name"),
        focus=item.get("focus", True),
    )


def _web_page(item: dict[str, Any]) -> Source:
    """A web page as a source, without a number yet; only its quoted text is known."""
    url, text = str(item["url"]), str(item["text"])
    page = Source(
        number=0,
        document_id=f"web:{hashlib.sha256(url.encode()).hexdigest()[:16]}",
        blob_name="",
        page=1,
        start=0,
        text=text,
        page_text=text,
        url=url,
    )
    return page.model_copy(update={"blob_name": visible_name(str(item.get("title", ""))) or page.host})


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
    own = [each for each in citations if key_of(each) == key_of(source) and each.quote]
    first, last = min((each.start for each in own), default=0), max((each.end for each in own), default=0)
    start, shown, length = 0, source.page_text, len(source.page_text)
    while counter.count(shown) > tokens and length > 1:
        length = int(length * _SHRINK)
        start = max(0, min(first, (first + last - length) // 2))
        shown = source.page_text[start : start + length]
    return source.model_copy(update={"start": start, "text": shown})
