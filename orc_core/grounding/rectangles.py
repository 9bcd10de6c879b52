"""Locates the quotes of citations on PDF pages."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from orc_core.errors import OrcError
from orc_core.extraction.word_boxes import SCALE, boxes_between
from orc_core.grounding.models import Citation, Rectangle
from orc_core.grounding.sources import Source

ReadBoxes = Callable[[str, int], Awaitable[bytes]]
"""Reads the word boxes of a document's page by its number, as PageStore.boxes does."""

log = logging.getLogger(__name__)


def rectangles(page_text: str, boxes: bytes, start: int, end: int) -> list[Rectangle]:
    """One rectangle for each line with characters `start` to `end` of a page, in whole words.

    Empty if `boxes` do not belong to this text.
    """
    return [
        Rectangle(**{name: round(edge / SCALE, 4) for name, edge in box._asdict().items()})
        for box in boxes_between(page_text, boxes, start, end)
    ]


async def with_rectangles(
    citations: Sequence[Citation], sources: Sequence[Source], read_boxes: ReadBoxes
) -> list[Citation]:
    """The citations, those with a quote with its rectangles.

    `sources` are those that the answer was written from; web pages have no rectangles. The boxes of each
    cited page are read once, all concurrently. If they cannot be read, citations have no rectangles.
    """
    texts = {(source.document_id, source.page): source.page_text for source in sources if not source.url}
    cited = {(citation.document_id, citation.page) for citation in citations if citation.quote}
    pages = sorted(cited & texts.keys())
    boxes = dict(zip(pages, await asyncio.gather(*(_read(read_boxes, *page) for page in pages)), strict=True))
    return [
        citation.model_copy(
            update={"rectangles": rectangles(texts[page], boxes[page], citation.start, citation.end)}
        )
        if citation.quote and boxes.get(page := (citation.document_id, citation.page))
        else citation
        for citation in citations
    ]


async def _read(read_boxes: ReadBoxes, document_id: str, page: int) -> bytes:
    try:
        return await read_boxes(document_id, page)
    except Exception as exc:
        # Rectangles are optional, and the answer may have been shown already.
        why, is_bug = getattr(exc, "code", "unexpected"), not isinstance(exc, OrcError)
        log.warning("boxes.unavailable document_id=%s page=%d: %s", document_id, page, why, exc_info=is_bug)
        return b""
