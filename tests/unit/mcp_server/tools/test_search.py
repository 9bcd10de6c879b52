"""semantic_search and search_pages: what they find, in which documents, and what they say of the others."""

import pytest

from mcp_server.tools.search import MATCHES_PER_PAGE, DocumentSearch
from orc_core.analysis.models import PageAnalysis
from orc_core.models import Document, DocumentStatus
from orc_core.names import page_id
from tests.unit.mcp_server.stand_ins import BOB, Analyses, FakeLibrary, WordRetriever, scope_of, unheard

QUAY = "The quay opens at seven.\n\nThe harbour master keeps the key of the quay.\n\nGulls are loud."
FEES = "Fees are due in May."


@pytest.fixture
def retriever(library: FakeLibrary) -> WordRetriever:
    return WordRetriever(library)


@pytest.fixture
def searching(library: FakeLibrary, retriever: WordRetriever, analyses: Analyses) -> DocumentSearch:
    return DocumentSearch(library, retriever, analyses)


@pytest.fixture
def handbook(library: FakeLibrary) -> Document:
    return library.add("handbook.pdf", FEES, QUAY)


async def test_passage_has_its_position_on_the_page(
    searching: DocumentSearch, library: FakeLibrary, handbook: Document
) -> None:
    found = await searching.passages(scope_of(handbook), "quay opens", 5, unheard)
    best = found.passages[0]
    assert (best.document_id, best.blob_name) == (handbook.document_id, "handbook.pdf")
    assert (best.page, best.page_id) == (2, page_id(handbook.document_id, 2))
    page = library.pages[handbook.document_id][1]
    assert page.text[best.start : best.end] == best.text
    assert [step.method for step in found.steps] == ["lexical"]


async def test_only_what_the_scope_names_and_its_owner_has_is_searched(
    searching: DocumentSearch, library: FakeLibrary, retriever: WordRetriever, handbook: Document
) -> None:
    library.add("another.pdf", QUAY)
    foreign = library.add("foreign.pdf", QUAY, owner=BOB)
    found = await searching.passages(scope_of(handbook, foreign), "quay", 5, unheard)
    assert retriever.asked == [[handbook.document_id]]
    assert [document.filename for document in found.documents] == ["handbook.pdf"]


async def test_a_document_that_is_not_completed_is_searched_once_it_can_be_read(
    searching: DocumentSearch, library: FakeLibrary
) -> None:
    fresh = library.add("fresh.pdf", QUAY, status=DocumentStatus.UPLOADED, readable=False)
    found = await searching.passages(scope_of(fresh), "quay", 5, unheard)
    assert found.passages[0].blob_name == "fresh.pdf"
    [shown] = found.documents
    assert (shown.status, shown.searched, shown.reason) == ("uploaded", True, None)


async def test_a_document_that_cannot_be_searched_is_named_with_its_reason(
    searching: DocumentSearch, library: FakeLibrary, retriever: WordRetriever, handbook: Document
) -> None:
    scan = library.add(
        "scan.pdf", "", status=DocumentStatus.FAILED, readable=False, reason="It looks scanned."
    )
    found = await searching.pages(scope_of(handbook, scan), "quay", 5, unheard)
    assert retriever.asked == [[handbook.document_id]]
    shown = {document.filename: document for document in found.documents}["scan.pdf"]
    assert (shown.status, shown.searched, shown.reason) == ("failed", False, "It looks scanned.")


async def test_passages_are_pooled_by_page_with_sentences_that_stand_on_it(
    searching: DocumentSearch, library: FakeLibrary
) -> None:
    long = "\n\n".join(
        f"The quay was repaired in {year}. {'Nothing else was done. ' * 30}" for year in range(1900, 1906)
    )
    document = library.add("log.pdf", FEES, long)
    found = await searching.pages(scope_of(document), "quay repaired", 10, unheard)
    [page] = found.pages
    assert page.page_number == 2
    assert page.text == long[page.start : page.end]
    assert 1 < len(page.matches) <= MATCHES_PER_PAGE
    assert all(match in long and "quay" in match for match in page.matches)


async def test_sentences_that_share_nothing_with_the_query_are_no_matches(
    searching: DocumentSearch, handbook: Document
) -> None:
    [page] = (await searching.pages(scope_of(handbook), "harbour master", 5, unheard)).pages
    assert page.matches == ["The harbour master keeps the key of the quay."]


async def test_no_more_pages_come_than_were_asked_for(
    searching: DocumentSearch, library: FakeLibrary
) -> None:
    document = library.add("many.pdf", *[QUAY] * 8)
    found = await searching.pages(scope_of(document), "quay", 3, unheard)
    assert len({page.page_id for page in found.pages}) == len(found.pages) == 3


async def test_a_page_has_the_summary_of_its_present_version_only(
    searching: DocumentSearch, analyses: Analyses, handbook: Document
) -> None:
    analysis = PageAnalysis(page=2, summary="Opening hours.", topics=["quay"])
    await analyses.analysed(handbook, analysis, etag="v0")
    [page] = (await searching.pages(scope_of(handbook), "quay", 1, unheard)).pages
    assert (page.summary, page.topics) == ("", [])
    await analyses.analysed(handbook, analysis)
    [page] = (await searching.pages(scope_of(handbook), "quay", 1, unheard)).pages
    assert (page.summary, page.topics) == ("Opening hours.", ["quay"])
