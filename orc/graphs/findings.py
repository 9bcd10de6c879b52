"""What tools quoted during a turn, numbered through: the only sources that an answer can cite."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from core.grounding.look_alikes import visible_name
from core.grounding.sources import Source, fence

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
        numbered = dict(content)
        for name in QUOTING:
            if isinstance(items := content.get(name), list):
                numbered[name] = [await self._numbered(item) for item in items]
        return numbered

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

    async def _numbered(self, item: Any) -> Any:
        if not (isinstance(item, dict) and item.get("text")):
            return item
        if "document_id" not in item:
            return self._numbered_web_page(item) if "url" in item else item
        source = await self._source(item)
        rest = {name: value for name, value in item.items() if name not in ("source", "text")}
        return {"source": f"S{source.number}", **rest}

    def _numbered_web_page(self, item: dict[str, Any]) -> dict[str, Any]:
        """The title goes into the fence with the text: both are somebody else's words."""
        source = self._add(_web_page(item))
        return {"source": f"S{source.number}", "url": source.url}

    async def _source(self, item: dict[str, Any]) -> Source:
        document_id, page = str(item["document_id"]), int(item.get("page") or item["page_number"])
        found = Source(
            number=0,
            document_id=document_id,
            blob_name=str(item.get("blob_name", "")),
            page=page,
            start=int(item.get("start", 0)),
            text=str(item["text"]),
            page_text="",
        )
        if known := self._known(found):
            return known
        return self._add(found.model_copy(update={"page_text": await self._whole_text(document_id, page)}))

    async def _whole_text(self, document_id: str, page: int) -> str:
        for source in self._sources.values():
            if (source.document_id, source.page) == (document_id, page):
                return source.page_text
        return await self._page_text(document_id, page)

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
