"""documents_list, documents_get_summary and documents_get_content: what is there, and what not yet."""

import pytest

from mcp_server.tools.documents import (
    INSTEAD,
    NOT_READY,
    SUMMARY_FAILED,
    DocumentContents,
    content_as_text,
)
from orc_core.analysis.models import AnalysisStatus, DocumentAnalysis
from orc_core.errors import NoReadableDocument, OrcError
from orc_core.models import Document, DocumentStatus
from tests.unit.mcp_server.stand_ins import Analyses, FakeLibrary, scope_of, unheard

LONG = "word " * 40


@pytest.fixture
def contents(library: FakeLibrary, analyses: Analyses) -> DocumentContents:
    return DocumentContents(library, analyses, characters=100)


async def refusal(contents: DocumentContents, document: Document) -> OrcError:
    with pytest.raises(OrcError) as raised:
        await contents.summary(scope_of(document), document.document_id)
    return raised.value


async def test_a_summary_is_given_once_it_is_made(
    contents: DocumentContents, library: FakeLibrary, analyses: Analyses
) -> None:
    document = library.add("a.pdf", "Text.")
    await analyses.analysed(document)
    found = await contents.summary(scope_of(document), document.document_id)
    assert (found.summary, found.method, found.filename) == ("It is about the quay.", "a-model", "a.pdf")
    assert found.note == ""


async def test_what_was_made_without_the_model_is_said_of_it(
    contents: DocumentContents, library: FakeLibrary, analyses: Analyses
) -> None:
    document, why = library.add("a.pdf", LONG), "The model could not read 1 of 9 pages."
    await analyses.analysed(document, note=why)
    assert (await contents.summary(scope_of(document), document.document_id)).note == why
    assert why in (await contents.content(scope_of(document), document.document_id, None, unheard)).reason


@pytest.mark.parametrize("status", [DocumentStatus.UPLOADED, DocumentStatus.PROCESSING])
async def test_a_summary_is_blocked_until_the_document_is_completed(
    status: DocumentStatus, contents: DocumentContents, library: FakeLibrary, analyses: Analyses
) -> None:
    document = library.add("a.pdf", "Text.", status=status)
    await analyses.analysed(document)
    refused = await refusal(contents, document)
    assert (refused.code, refused.retryable) == (NOT_READY, True)
    assert status in refused.message
    assert INSTEAD in refused.message, "documents_analyze reads it meanwhile"


@pytest.mark.parametrize("analysis", [None, AnalysisStatus.PENDING, AnalysisStatus.RUNNING, "earlier bytes"])
async def test_a_summary_is_blocked_until_it_is_made(
    analysis: AnalysisStatus | str | None,
    contents: DocumentContents,
    library: FakeLibrary,
    analyses: Analyses,
) -> None:
    document = library.add("a.pdf", "Text.")
    if analysis == "earlier bytes":
        await analyses.analysed(document, etag="v0")
    elif isinstance(analysis, AnalysisStatus):
        await analyses.save(DocumentAnalysis(document_id=document.document_id, etag="v1", status=analysis))
    refused = await refusal(contents, document)
    assert (refused.code, refused.retryable) == (NOT_READY, True)
    assert "completed" in refused.message


async def test_failed_summary_is_not_retryable(
    contents: DocumentContents, library: FakeLibrary, analyses: Analyses
) -> None:
    document = library.add("a.pdf", "Text.")
    await analyses.save(
        DocumentAnalysis(document_id=document.document_id, etag="v1").failed("The model refused.")
    )
    refused = await refusal(contents, document)
    assert (refused.code, refused.retryable) == (SUMMARY_FAILED, False)
    assert "The model refused." in refused.message
    assert INSTEAD in refused.message


async def test_a_document_without_text_has_no_summary(
    contents: DocumentContents, library: FakeLibrary
) -> None:
    scan = library.add("scan.pdf", status=DocumentStatus.FAILED, readable=False, reason="It looks scanned.")
    refused = await refusal(contents, scan)
    assert isinstance(refused, NoReadableDocument)
    assert not refused.retryable


@pytest.mark.parametrize("status", [DocumentStatus.UPLOADED, DocumentStatus.COMPLETED])
async def test_a_short_text_comes_whole_and_page_by_page_ready_or_not(
    status: DocumentStatus, contents: DocumentContents, library: FakeLibrary
) -> None:
    document = library.add("a.pdf", "One.", "Two.", status=status, readable=False)
    found = await contents.content(scope_of(document), document.document_id, None, unheard)
    assert found.kind == "text"
    assert [(page.page_number, page.text, page.end) for page in found.pages] == [
        (1, "One.", 4),
        (2, "Two.", 4),
    ]
    named = f"a.pdf (document_id {document.document_id})"
    assert content_as_text(found) == f"{named}\n\n[Page 1]\nOne.\n\n[Page 2]\nTwo."


async def test_a_long_text_comes_as_its_detailed_summary_and_says_so(
    contents: DocumentContents, library: FakeLibrary, analyses: Analyses
) -> None:
    document = library.add("a.pdf", LONG)
    await analyses.analysed(document)
    found = await contents.content(scope_of(document), document.document_id, None, unheard)
    assert (found.kind, found.detailed_summary, found.pages) == ("detailed_summary", "Page 1: the quay.", [])
    assert "200 characters" in found.reason
    assert content_as_text(found).endswith("Page 1: the quay.")


async def test_caller_chooses_the_text_limit(contents: DocumentContents, library: FakeLibrary) -> None:
    document = library.add("a.pdf", LONG)
    found = await contents.content(scope_of(document), document.document_id, 200, unheard)
    assert found.kind == "text"
    with pytest.raises(OrcError) as raised:
        await contents.content(scope_of(document), document.document_id, 199, unheard)
    assert raised.value.code == NOT_READY


async def test_the_list_says_which_documents_have_a_summary(library: FakeLibrary, analyses: Analyses) -> None:
    done, stale, new = (library.add(name, "Text.") for name in ("a.pdf", "b.pdf", "c.pdf"))
    library.add("unscoped.pdf", "Text.")
    await analyses.analysed(done)
    await analyses.analysed(stale, etag="v0")
    listed = (await DocumentContents(library, analyses).documents(scope_of(done, stale, new))).documents
    assert [(each.filename, each.summary_available) for each in listed] == [
        ("a.pdf", True),
        ("b.pdf", False),
        ("c.pdf", False),
    ]


async def test_where_no_page_is_analysed_no_summary_is_to_be_waited_for(
    library: FakeLibrary, analyses: Analyses
) -> None:
    refused = await refusal(
        DocumentContents(library, analyses, has_analysis=False), library.add("a.pdf", "Text.")
    )
    assert (refused.code, refused.retryable) == (SUMMARY_FAILED, False)
    assert "documents_analyze" in refused.message
