"""What tools quoted during a turn, numbered through: the only sources that an answer can cite."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from core.grounding.sources import Source, fence

PageText = Callable[[str, int], Awaitable[str]]
"""The whole text of a page, by document id and number; empty where there is none any more."""

QUOTING = ("passages", "pages")
"""The lists of a tool's result whose items may quote a page: `text` from character `start` on."""


class Findings:
    """Collects quoted passages. The same stretch of a page keeps its number, whichever tool found it."""

    def __init__(self, page_text: PageText) -> None:
        self._page_text = page_text
        self.sources: list[Source] = []

    async def take(self, content: dict[str, Any]) -> tuple[dict[str, Any], list[Source]]:
        """A result with the numbers of sources in place of quoted texts, and the sources that are new."""
        known = len(self.sources)
        numbered = dict(content)
        for name in QUOTING:
            if isinstance(items := content.get(name), list):
                numbered[name] = [await self._numbered(item) for item in items]
        return numbered, self.sources[known:]

    async def _numbered(self, item: Any) -> Any:
        if not (isinstance(item, dict) and item.get("text") and "document_id" in item):
            return item
        source = await self._source(item)
        return {"source": f"S{source.number}", **{k: v for k, v in item.items() if k != "text"}}

    async def _source(self, item: dict[str, Any]) -> Source:
        document_id, page = str(item["document_id"]), int(item.get("page") or item["page_number"])
        start, text = int(item.get("start", 0)), str(item["text"])
        for source in self.sources:
            if (source.document_id, source.page, source.start, source.text) == (
                document_id,
                page,
                start,
                text,
            ):
                return source
        source = Source(
            number=len(self.sources) + 1,
            document_id=document_id,
            blob_name=str(item.get("blob_name", "")),
            page=page,
            start=start,
            text=text,
            page_text=await self._page_text(document_id, page),
        )
        self.sources.append(source)
        return source


def as_material(json_text: str, sources: Sequence[Source]) -> str:
    """A tool's result for a model: the result itself, and after it the sources that it speaks of."""
    return f"{json_text}\n{fence(sources)}" if sources else json_text
