"""Pictures of pages for a prompt: chosen pages, drawn within limits of number, size and time."""

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from orc_core.documents.image_limits import ImageCounts
from orc_core.documents.pictures import PagePictures, has_pictures, webp_size
from orc_core.errors import OrcError
from orc_core.models import Document, Page, Record
from orc_core.text.file_names import has_name
from orc_core.text.parts import pages_named

WIDTHS_TRIED = (1200, 800, 160)
MOST_PIXELS = 2_400_000
"""Of one picture; A4 has 2.0 million at a width of 1,200. A page that is too long is drawn narrower."""
MOST_BYTES = 4 * 1024 * 1024
"""Of one picture; pages have some 100 KB."""
SECONDS = 15.0
"""For all pictures of a prompt together."""
MORE_TRIED = 3
"""Pages that are drawn in the place of others that cannot be."""
UNFORESEEN, TOO_SLOW = "It could not be drawn.", "Drawing took too long."

SHORTEST_STEM = 5
log = logging.getLogger(__name__)


class WantedPage(NamedTuple):
    """A page whose picture is wanted. Without text it can be cited only from its picture."""

    document: Document
    page: int
    has_text: bool


class PageImage(Record):
    """The picture of a page, a WebP file, and the version of the document that it was drawn from."""

    document: Document
    page: int
    has_text: bool
    content: bytes = Field(repr=False)

    @property
    def key(self) -> tuple[str, int]:
        """The page."""
        return self.document.document_id, self.page


class DrawnPages(NamedTuple):
    """The pictures that could be drawn, in the order they were wanted, and why others could not.

    `left_out` are the pages without text that were not tried.
    """

    images: list[PageImage]
    failures: list[str]
    left_out: int

    def counts(self, image_tokens: int) -> ImageCounts:
        """How many there are, if each takes so many tokens."""
        sent = len(self.images)
        return ImageCounts(sent=sent, failed=len(self.failures), tokens=sent * image_tokens)


async def draw_pages(pictures: PagePictures, wanted: Sequence[WantedPage], most: int) -> DrawnPages:
    """The first `most` pages that can be drawn. No failure is raised.

    The caller has verified that each document is in scope.
    """
    images: list[PageImage] = []
    failures: list[str] = []
    waiting, ends_at = list(wanted[: most + MORE_TRIED]), asyncio.get_running_loop().time() + SECONDS
    while waiting and len(images) < most:
        free = most - len(images)
        now, waiting = waiting[:free], waiting[free:]
        for made in await asyncio.gather(*(_draw(pictures, each, ends_at) for each in now)):
            if isinstance(made, PageImage):
                images.append(made)
            else:
                failures.append(made)
    untried = wanted[len(images) + len(failures) :]
    return DrawnPages(images, failures, sum(not each.has_text for each in untried))


async def _draw(pictures: PagePictures, wanted: WantedPage, ends_at: float) -> PageImage | str:
    """The picture, or why there is none."""
    document, page, has_text = wanted
    try:
        async with asyncio.timeout_at(ends_at):
            for width in WIDTHS_TRIED:
                content = await pictures.get(document, page, width)
                across, down = webp_size(content)
                if across * down <= MOST_PIXELS and len(content) <= MOST_BYTES:
                    return PageImage(document=document, page=page, has_text=has_text, content=content)
    except TimeoutError:
        return TOO_SLOW
    except OrcError as exc:
        return exc.message
    except Exception:
        # A turn goes on without a picture, whatever a file made of its drawing.
        log.exception("page_image.failed document_id=%s page=%d", document.document_id, page)
    return UNFORESEEN


def names_document(question: str, document: Document) -> bool:
    """Whether a question has the name of the file.

    The extension may be left out if the rest is no mere word: it has SHORTEST_STEM characters or more, and
    not only letters. Otherwise each question with the word `plan` would name `plan.pdf`.
    """
    stem = document.blob_name.rpartition(".")[0]
    is_no_word = len(stem) >= SHORTEST_STEM and not stem.isalpha()
    return has_name(question, stem if is_no_word else document.blob_name)


def pages_without_text(document: Document, pages: Sequence[Page], question: str) -> list[WantedPage]:
    """The pages that can be seen only: those that the question names first, then in order."""
    if not (document.pages_without_text and has_pictures(document)):
        return []
    blank = [page.number for page in pages if not page.text.strip()]
    named = set(pages_named(question))
    blank.sort(key=lambda number: number not in named)
    return [WantedPage(document, number, has_text=False) for number in blank]
