"""Numbered sources: the quotes in tool results, which alone an answer can cite."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from orc_core.grounding.sources import Source
from orc_core.markdown.brackets import visible_name
from orc_core.models import Page

PageText = Callable[[str, int], Awaitable[str]]
"""The full text of a page, by document id and number; empty if the page no longer exists."""
PageLabel = Callable[[str, int], str]
"""The name in its file of a page whose text has been read; empty if it has none."""


def unlabelled(_document_id: str, _number: int) -> str:
    """The PageLabel of pages without names."""
    return ""


QUOTING = ("passages", "pages", "results")
"""The lists of a tool result whose items may quote a page: `text`, from character `start`.

Items of `results` have a `url`; their `text` is what a search engine quotes of that web page.
"""

_NUMBERED = re.compile(r"S[0-9]+")


# Why models cite numbers and code finds the place: docs/decisions/citations.md.
class SourceRegistry:
    """Numbers quoted passages. The same span of a page keeps its number, whichever tool found it.

    `known` are sources that have numbers already.
    """

    def __init__(
        self, page_text: PageText, known: Sequence[Source] = (), page_label: PageLabel = unlabelled
    ) -> None:
        self._page_text = page_text
        self._page_label = page_label
        self._sources = {source.number: source for source in known}
        self._last = max(self._sources, default=0)

    @property
    def sources(self) -> list[Source]:
        """All sources by number; there may be gaps."""
        return sorted(self._sources.values(), key=lambda source: source.number)

    async def add(self, content: dict[str, Any]) -> dict[str, Any]:
        """The result with source numbers in place of the quoted texts."""
        quoting = {name: content[name] for name in QUOTING if isinstance(content.get(name), list)}
        texts = await self._texts_of([item for items in quoting.values() for item in items])
        numbered = {name: [self._numbered(item, texts) for item in items] for name, items in quoting.items()}
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

    async def _texts_of(self, items: Sequence[Any]) -> dict[tuple[str, int], str]:
        """The full text of each page that the items quote, read concurrently."""
        known = {(source.document_id, source.page): source.page_text for source in self._sources.values()}
        wanted = dict.fromkeys(_page_of(item) for item in items if _quotes_a_page(item))
        new = [page for page in wanted if page not in known]
        read = await asyncio.gather(*(self._page_text(*page) for page in new))
        return known | dict(zip(new, read, strict=True))

    def _numbered(self, item: Any, texts: Mapping[tuple[str, int], str]) -> Any:
        if not (isinstance(item, dict) and item.get("text")):
            return item
        if not _quotes_a_page(item):
            if "url" not in item:
                return item
            # The title goes into the fence with the text: both are untrusted.
            source = self._add(_web_page(item))
            return {"source": f"S{source.number}", "url": source.url}
        page = _page_of(item)
        source = self._add(_passage(item, texts[page], self._page_label(*page)))
        rest = {name: value for name, value in item.items() if name not in ("source", "text", "heading")}
        return {"source": f"S{source.number}", **rest}

    def _add(self, found: Source) -> Source:
        """The source with its number, a new one for a new span."""
        for known in self._sources.values():
            if _span(known) == _span(found):
                return known
        self._last += 1
        self._sources[self._last] = found.model_copy(update={"number": self._last})
        return self._sources[self._last]


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


class PageTexts:
    """A PageText that caches each page of a turn, with its label; a failed read is not cached."""

    def __init__(self, read: Callable[[str, int], Awaitable[Page | None]]) -> None:
        self._read = read
        self._pages: dict[tuple[str, int], Page | None] = {}

    async def __call__(self, document_id: str, number: int) -> str:
        key = (document_id, number)
        if key not in self._pages:
            self._pages[key] = await self._read(document_id, number)
        page = self._pages[key]
        return page.text if page else ""

    def label(self, document_id: str, number: int) -> str:
        """The PageLabel of these pages."""
        page = self._pages.get((document_id, number))
        return page.label if page else ""
