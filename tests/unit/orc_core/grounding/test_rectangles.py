"""Citations get the rectangles of their quotes."""

import asyncio

import pytest

from orc_core.errors import DependencyDown, NotFound, Unavailable
from orc_core.extraction.word_boxes import SCALE, Box, pack
from orc_core.grounding.models import Citation, Rectangle
from orc_core.grounding.rectangles import rectangles, with_rectangles
from orc_core.grounding.sources import Source
from orc_core.names import page_id

TEXT = "one two"
BOXES = pack([[Box(0, 0, 13107, 6553)], [Box(19660, 0, 32767, 6553)]])
TWO = [Rectangle(left=0.3, top=0, right=0.5, bottom=0.1)]


def source(document_id: str, page: int) -> Source:
    return Source(
        number=1, document_id=document_id, blob_name="a.pdf", page=page, start=0, text=TEXT, page_text=TEXT
    )


def citation(document_id: str, page: int, *, quote: str = "two") -> Citation:
    return Citation(
        document_id=document_id,
        blob_name="a.pdf",
        page=page,
        page_id=page_id(document_id, page),
        quote=quote,
        start=4,
        end=7,
        check="reworded",
    )


class Boxes:
    """Boxes of some pages. Every read waits until there are `readers` concurrent ones."""

    def __init__(self, pages: dict[tuple[str, int], bytes], *, readers: int = 1) -> None:
        self._pages = pages
        self._all_here = asyncio.Barrier(readers)
        self.asked: list[tuple[str, int]] = []

    async def read(self, document_id: str, number: int) -> bytes:
        self.asked.append((document_id, number))
        await asyncio.wait_for(self._all_here.wait(), 5)
        if (document_id, number) not in self._pages:
            raise DependencyDown("The database cannot be used right now.", dependency="store")
        return self._pages[document_id, number]


def test_rectangles_are_fractions_of_the_page() -> None:
    assert rectangles(TEXT, BOXES, 4, 7) == TWO
    assert rectangles(TEXT, b"", 4, 7) == []
    whole = rectangles("word", pack([[Box(0, 0, SCALE, SCALE)]]), 0, 4)
    assert whole == [Rectangle(left=0, top=0, right=1, bottom=1)]


async def test_each_cited_page_is_read_once_and_concurrently() -> None:
    boxes = Boxes({("d1", 1): BOXES, ("d1", 2): BOXES}, readers=2)
    cited = [citation("d1", 1), citation("d1", 2), citation("d1", 1)]
    found = await with_rectangles(cited, [source("d1", 1), source("d1", 2), source("d2", 1)], boxes.read)
    assert found == [each.model_copy(update={"rectangles": TWO}) for each in cited]
    assert boxes.asked == [("d1", 1), ("d1", 2)]


async def test_a_citation_without_a_quote_has_no_rectangles_and_costs_no_read() -> None:
    boxes = Boxes({})
    cited = [citation("d1", 1, quote="")]
    assert await with_rectangles(cited, [source("d1", 1)], boxes.read) == cited
    assert boxes.asked == []


async def test_pages_without_boxes_leave_citations_unchanged() -> None:
    boxes = Boxes({("d1", 1): b""})
    cited = [citation("d1", 1)]
    assert await with_rectangles(cited, [source("d1", 1)], boxes.read) == cited


async def test_citations_survive_an_unavailable_page_store() -> None:
    boxes = Boxes({("d1", 2): BOXES}, readers=2)
    cited = [citation("d1", 1), citation("d1", 2)]
    found = await with_rectangles(cited, [source("d1", 1), source("d1", 2)], boxes.read)
    assert [each.rectangles for each in found] == [[], TWO]


@pytest.mark.parametrize("fault", [NotFound("gone"), Unavailable("busy"), ValueError("a bug")])
async def test_citations_survive_any_error_of_the_page_store(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def read(_document_id: str, number: int) -> bytes:
        if number == 1:
            raise fault
        return BOXES

    cited = [citation("d1", 1), citation("d1", 2)]
    found = await with_rectangles(cited, [source("d1", 1), source("d1", 2)], read)
    assert [each.rectangles for each in found] == [[], TWO]
    assert len(caplog.records) == 1
    assert ("Traceback" in caplog.text) is isinstance(fault, ValueError)


def test_stored_citations_without_rectangles_can_be_read() -> None:
    old = citation("d1", 1).model_dump(exclude={"rectangles"})
    assert Citation.model_validate(old).rectangles == []
