"""The rectangles of citations, for a viewer to highlight."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from core.extraction.word_boxes import SCALE, Box, boxes_between
from core.grounding.models import Citation, Rectangle
from core.grounding.sources import Source

ReadBoxes = Callable[[str, int], Awaitable[bytes]]
"""The boxes of a document's page by its number, as PageStore.boxes gives them."""

_DECIMALS = 4

log = logging.getLogger(__name__)


def rectangles(page_text: str, boxes: bytes, start: int, end: int) -> list[Rectangle]:
    """One rectangle for each line that characters `start` to `end` of a page stand on, words kept whole.

    None where `boxes` are not those of this text.
    """
    return [_rectangle(box) for box in boxes_between(page_text, boxes, start, end)]


async def with_rectangles(
    citations: Sequence[Citation], sources: Sequence[Source], read_boxes: ReadBoxes
) -> list[Citation]:
    """The citations, those that are verified with their rectangles.

    `sources` are what the answer was written from; pages of the web have no rectangles. Each cited page's
    boxes are read once, all side by side. The answer has been made: it stands without what cannot be had.
    """
    texts = {(source.document_id, source.page): source.page_text for source in sources if not source.url}
    cited = {(citation.document_id, citation.page) for citation in citations if citation.verified}
    pages = sorted(cited & texts.keys())
    found = await asyncio.gather(*(_read(read_boxes, *page) for page in pages))
    boxes = dict(zip(pages, found, strict=True))
    return [_highlighted(citation, texts, boxes) for citation in citations]


async def _read(read_boxes: ReadBoxes, document_id: str, page: int) -> bytes:
    try:
        return await read_boxes(document_id, page)
    except Exception:
        # The outermost edge of what only adorns an answer that may have been shown.
        log.warning("boxes.unavailable document_id=%s page=%d", document_id, page, exc_info=True)
        return b""


def _highlighted(
    citation: Citation, texts: dict[tuple[str, int], str], boxes: dict[tuple[str, int], bytes]
) -> Citation:
    page = (citation.document_id, citation.page)
    if not citation.verified or not boxes.get(page):
        return citation
    found = rectangles(texts[page], boxes[page], citation.start, citation.end)
    return citation.model_copy(update={"rectangles": found})


def _rectangle(box: Box) -> Rectangle:
    left, top, right, bottom = (round(edge / SCALE, _DECIMALS) for edge in box)
    return Rectangle(left=left, top=top, right=right, bottom=bottom)
