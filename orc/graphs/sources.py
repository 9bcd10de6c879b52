"""What tools quoted during a turn, numbered through: the only sources that an answer can cite."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from core.grounding.sources import Source, fence, visible_name

PageText = Callable[[str, int], Awaitable[str]]
"""The whole text of a page, by document id and number; empty where there is none any more."""

QUOTING = ("passages", "pages", "results")
"""The lists of a tool's result whose items may quote a page: `text` from character `start` on.

Items of `results` have a `url`: `text` is what a search engine quotes of that page of the web.
"""

_NUMBERED = re.compile(r"S[0-9]+")


class Findings:
    """Collects quoted passages. The same stretch of a page keeps its number, whichever tool found it.

    `known` are the sources of an earlier attempt, under their numbers.
    """

    def __init__(self, page_text: PageText, known: Sequence[Source] = ()) -> None:
        self._page_text = page_text
        self._sources = {source.number: source for source in known}
        self._last = max(self._sources, default=0)

    @property
    def sources(self) -> list[Source]:
        """All that can be cited, by number; there may be gaps."""
        return sorted(self._sources.values(), key=lambda source: source.number)

    async def take(self, content: dict[str, Any]) -> dict[str, Any]:
        """A result with the numbers of sources in place of quoted texts."""
        quoting = {name: content[name] for name in QUOTING if isinstance(content.get(name), list)}
        texts = await self._texts_of([item for items in quoting.values() for item in items])
        numbered = {name: [self._numbered(item, texts) for item in items] for name, items in quoting.items()}
        return content | numbered

    def of(self, content: dict[str, Any]) -> list[Source]:
        """The sources that a numbered result speaks of, in its order."""
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
        """Forget all other sources: what a model is not shown it cannot cite."""
        self._sources = {number: self._sources[number] for number in self._sources if number in numbers}

    async def _texts_of(self, items: Sequence[Any]) -> dict[tuple[str, int], str]:
        """The whole text of each page that these quote, all read side by side."""
        known = {(source.document_id, source.page): source.page_text for source in self._sources.values()}
        wanted = dict.fromkeys(_page_of(item) for item in items if _quotes_a_page(item))
        new = [page for page in wanted if page not in known]
        read = await asyncio.gather(*(self._page_text(*page) for page in new))
        return known | dict(zip(new, read, strict=True))

    def _numbered(self, item: Any, texts: Mapping[tuple[str, int], str]) -> Any:
        if not (isinstance(item, dict) and item.get("text")):
            return item
        if not _quotes_a_page(item):
            return self._numbered_web_page(item) if "url" in item else item
        source = self._add(_passage(item, texts[_page_of(item)]))
        rest = {name: value for name, value in item.items() if name not in ("source", "text")}
        return {"source": f"S{source.number}", **rest}

    def _numbered_web_page(self, item: dict[str, Any]) -> dict[str, Any]:
        """The title goes into the fence with the text: both are somebody else's words."""
        source = self._add(_web_page(item))
        return {"source": f"S{source.number}", "url": source.url}

    def _known(self, found: Source) -> Source | None:
        return next(
            (source for source in self._sources.values() if _stretch(source) == _stretch(found)), None
        )

    def _add(self, found: Source) -> Source:
        """The source under its number, which is a new one for a new stretch."""
        if known := self._known(found):
            return known
        self._last += 1
        self._sources[self._last] = found.model_copy(update={"number": self._last})
        return self._sources[self._last]


def _stretch(source: Source) -> tuple[str, int, int, str]:
    return source.document_id, source.page, source.start, source.text


def _quotes_a_page(item: Any) -> bool:
    """Whether it quotes a document's page, not one of the web."""
    return isinstance(item, dict) and bool(item.get("text")) and "document_id" in item


def _page_of(item: dict[str, Any]) -> tuple[str, int]:
    return str(item["document_id"]), int(item.get("page") or item["page_number"])


def _passage(item: dict[str, Any], page_text: str) -> Source:
    """A stretch of a document's page as a source, yet without a number."""
    document_id, page = _page_of(item)
    return Source(
        number=0,
        document_id=document_id,
        blob_name=str(item.get("blob_name", "")),
        page=page,
        start=int(item.get("start", 0)),
        text=str(item["text"]),
        page_text=page_text,
    )


def _web_page(item: dict[str, Any]) -> Source:
    """A page of the web as a source, yet without a number; its text is all that is known of it."""
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


def as_material(json_text: str, sources: Sequence[Source]) -> str:
    """A tool's result for a model: the result itself, and after it the sources that it speaks of."""
    return f"{json_text}\n{fence(sources)}" if sources else json_text


class PageTexts:
    """A PageText that keeps what `read` gave; what it could not give is asked for again."""

    def __init__(self, read: PageText) -> None:
        self._read = read
        self._texts: dict[tuple[str, int], str] = {}

    async def __call__(self, document_id: str, number: int) -> str:
        page = (document_id, number)
        if page not in self._texts:
            self._texts[page] = await self._read(document_id, number)
        return self._texts[page]
