"""get_page: the one page that was named, and no other."""

import pytest

from mcp_server.tools.pages import Pages, page_reference
from orc_core.analysis.models import PageAnalysis
from orc_core.errors import InvalidInput, NoReadableDocument, NotFound
from orc_core.models import Document, DocumentStatus
from orc_core.names import page_id
from tests.unit.mcp_server.stand_ins import BOB, Analyses, FakeLibrary, scope_of, unheard


@pytest.fixture
def pages(library: FakeLibrary, analyses: Analyses) -> Pages:
    return Pages(library, analyses, characters=10)


@pytest.fixture
def document(library: FakeLibrary) -> Document:
    return library.add("a.pdf", "One.", "The second page.")


async def test_a_page_comes_with_its_text_label_and_analysis(
    pages: Pages, analyses: Analyses, document: Document
) -> None:
    await analyses.analysed(document, PageAnalysis(page=1, summary="First."))
    [page] = (await pages.get(scope_of(document), (document.document_id, 1), unheard)).pages
    assert (page.text, page.start, page.end, page.truncated) == ("One.", 0, 4, False)
    assert (page.label, page.blob_name) == ("Part 1", "a.pdf")
    assert page.page_id == page_id(document.document_id, 1)
    assert page.analysis == PageAnalysis(page=1, summary="First.")


async def test_a_long_page_is_cut_and_says_so(pages: Pages, document: Document) -> None:
    [page] = (await pages.get(scope_of(document), (document.document_id, 2), unheard)).pages
    assert (page.text, page.end, page.characters, page.truncated) == ("The second", 10, 16, True)
    assert page.analysis is None


async def test_a_page_that_is_not_there_and_one_out_of_scope_are_the_same(
    pages: Pages, library: FakeLibrary, document: Document
) -> None:
    unscoped = library.add("b.pdf", "Text.")
    foreign = library.add("a.pdf", "Text.", owner=BOB)
    places = [
        (document.document_id, 3),
        ("d0c", 1),
        (unscoped.document_id, 1),
        (foreign.document_id, 1),
    ]
    shown = set()
    for place in places:
        with pytest.raises(NotFound) as raised:
            await pages.get(scope_of(document, foreign), place, unheard)
        shown.add(raised.value.message)
    assert len(shown) == 1


async def test_a_page_of_a_document_without_text_says_why(pages: Pages, library: FakeLibrary) -> None:
    scan = library.add("scan.pdf", status=DocumentStatus.FAILED, readable=False, reason="It looks scanned.")
    with pytest.raises(NoReadableDocument, match="It looks scanned"):
        await pages.get(scope_of(scan), (scan.document_id, 1), unheard)


def test_a_page_goes_by_its_id_or_by_document_and_number() -> None:
    assert page_reference("doc.p5.p12", None, None) == ("doc.p5", 12)
    assert page_reference(None, "doc", 12) == ("doc", 12)


@pytest.mark.parametrize(
    ("page", "document", "number"),
    [
        (None, None, None),
        ("doc.p1", "doc", 1),
        ("doc.p1", "doc", None),
        ("doc.p1", None, 1),
        (None, "doc", None),
        (None, None, 1),
    ],
)
def test_any_other_way_of_naming_a_page_is_refused(
    page: str | None, document: str | None, number: int | None
) -> None:
    with pytest.raises(InvalidInput):
        page_reference(page, document, number)


@pytest.mark.parametrize("made_up", ["doc", "doc.p", "doc.p0x", "doc.p01", "doc.p-1", "doc.p٣", ".p"])
def test_what_cannot_be_the_id_of_a_page_is_not_found(made_up: str) -> None:
    with pytest.raises(NotFound):
        page_reference(made_up, None, None)
