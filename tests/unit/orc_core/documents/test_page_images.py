"""Pictures of pages for prompts: which pages, how many, how large, and what follows a failure."""

import asyncio
import io

import pytest
from PIL import Image

from orc_core.documents import page_images
from orc_core.documents.image_limits import ImageCounts, ImageLimits, with_image_tokens
from orc_core.documents.page_images import (
    MOST_PIXELS,
    TOO_SLOW,
    UNFORESEEN,
    WantedPage,
    draw_pages,
    names_document,
    pages_without_text,
)
from orc_core.documents.pictures import webp_size
from orc_core.errors import UnsupportedDocument
from orc_core.infra.model_settings import ModelFacts
from orc_core.models import BlobProperties, Document, Page
from orc_core.names import BlobPath, Owner

pytestmark = pytest.mark.slow

SEES = ModelFacts(images=True, image_tokens=1000)
DOCUMENT = Document.first_seen(
    BlobProperties(path=BlobPath(Owner("o", "u", "c"), "Bill 7.pdf"), etag="e", size=1)
).model_copy(update={"media_type": "application/pdf", "pages": 9, "pages_without_text": 3})


def webp(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(buffer, "WEBP")
    return buffer.getvalue()


class Drawn:
    """Draws pages of one shape. `broken`: what happens instead, by page."""

    def __init__(self, shape: float = 1.4, broken: dict[int, BaseException] | None = None) -> None:
        self.shape = shape
        self.broken = broken or {}
        self.drawn: list[tuple[int, int]] = []
        self.never = asyncio.Event()

    async def get(self, document: Document, page: int, width: int) -> bytes:
        self.drawn.append((page, width))
        if (problem := self.broken.get(page)) is not None:
            if isinstance(problem, TimeoutError):
                await self.never.wait()
            raise problem
        return webp(width, int(width * self.shape))


def wanted(*pages: int) -> list[WantedPage]:
    return [WantedPage(DOCUMENT, page, has_text=False) for page in pages]


async def drawn_by(pictures: Drawn, *pages: int, most: int = 3) -> tuple[list[int], list[str]]:
    images, failures, _ = await draw_pages(pictures, wanted(*pages), most)  # type: ignore[arg-type]
    return [each.page for each in images], failures


async def test_as_many_are_drawn_as_may_be_sent_and_no_more() -> None:
    pictures = Drawn()
    assert await drawn_by(pictures, 4, 2, 9, 1) == ([4, 2, 9], [])
    assert pictures.drawn == [(4, 1200), (2, 1200), (9, 1200)]


async def test_another_page_takes_the_place_of_one_that_cannot_be_drawn() -> None:
    pictures = Drawn(broken={2: UnsupportedDocument("It is damaged."), 4: ValueError("a bug")})
    assert await drawn_by(pictures, 4, 2, 9, 1, 3) == ([9, 1, 3], [UNFORESEEN, "It is damaged."])


async def test_not_all_pages_of_a_hostile_file_are_tried() -> None:
    pictures = Drawn(broken={page: UnsupportedDocument("No.") for page in range(1, 100)})
    pages, failures = await drawn_by(pictures, *range(1, 100))
    assert (pages, len(failures), len(pictures.drawn)) == ([], 6, 6)


async def test_drawing_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_images, "SECONDS", 0.05)
    assert await drawn_by(Drawn(broken={2: TimeoutError()}), 2, most=1) == ([], [TOO_SLOW])


async def test_a_page_that_is_too_long_is_drawn_narrower() -> None:
    images, *_ = await draw_pages(Drawn(shape=3.0), wanted(1), 1)  # type: ignore[arg-type]
    width, height = webp_size(images[0].content)
    assert width == 800
    assert width * height <= MOST_PIXELS
    assert (await draw_pages(Drawn(shape=95.0), wanted(1), 1)).failures == [UNFORESEEN]  # type: ignore[arg-type]


def test_the_budget_and_the_model_decide_how_many() -> None:
    def number(most: int, tokens: int, facts: ModelFacts = SEES) -> int:
        return ImageLimits(most=most, tokens=tokens).number(facts)

    assert [number(3, 2999), number(3, 3000), number(3, 9000), number(0, 9000)] == [2, 3, 3, 0]
    assert number(3, 9000, ModelFacts()) == 0
    limits = ImageLimits(most=3, tokens=900)
    assert limits.why_none("m", ModelFacts()) == "the model m does not read pictures"
    assert "up to 1,000 tokens of m" in limits.why_none("m", SEES)
    assert ImageLimits(most=1, tokens=1000).why_none("m", SEES) == ""


def test_tokens_of_pictures_are_part_of_the_total() -> None:
    sizes = {"question": 5, "total": 5}
    assert with_image_tokens(sizes, ImageCounts()) == sizes
    counted = with_image_tokens(sizes, ImageCounts(sent=2, tokens=2000))
    assert counted == {"question": 5, "images": 2000, "total": 2005}


@pytest.mark.parametrize(
    ("question", "named"),
    [("What does bill 7 cost?", True), ("Bill 7.PDF?", True), ("bill 77?", False), ("The bill?", False)],
)
def test_a_question_names_a_document_by_its_whole_name(question: str, named: bool) -> None:
    assert names_document(question, DOCUMENT) is named


@pytest.mark.parametrize(
    ("name", "question", "named"),
    [
        ("plan.pdf", "What is the plan?", False),
        ("plan.pdf", "What is in Plan.pdf?", True),
        ("a.pdf", "Is there a fee?", False),
        ("2024.pdf", "What was the rent in 2024?", False),
        ("site_plan.pdf", "What does site_plan show?", True),
        ("README", "What does readme say?", True),
    ],
)
def test_a_mere_word_names_a_document_only_with_its_extension(name: str, question: str, named: bool) -> None:
    assert names_document(question, DOCUMENT.model_copy(update={"blob_name": name})) is named


def test_pages_without_text_that_are_named_come_first() -> None:
    pages = [Page(number=n, text="Text" if n in (1, 4) else " ") for n in range(1, 6)]
    found = pages_without_text(DOCUMENT, pages, "What is on page 5?")
    assert [each.page for each in found] == [5, 2, 3]
    word = DOCUMENT.model_copy(update={"media_type": "application/msword"})
    assert pages_without_text(word, pages, "page 5") == []
