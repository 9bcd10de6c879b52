"""Azure Document Intelligence: the official SDK against a double of the service's protocol."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devkit.doubles.document_intelligence import KEY, DocumentIntelligenceDouble, Failure, serving
from orc_core.errors import DeadlineExceeded, DependencyDown, DocumentRejected, UnsupportedDocument
from orc_core.infra.sandbox import Sandbox
from orc_core.ocr.azure import MISCONFIGURED, AzureDocumentIntelligence
from orc_core.ocr.ports import OcrPage
from orc_core.ocr.service import add_ocr
from tests.unit.orc_core.ocr.conftest import Extract
from tests.unit.orc_core.ocr.scans import LEASE, QUAY, image_file, scan

pytestmark = pytest.mark.slow


@pytest.fixture
def double() -> DocumentIntelligenceDouble:
    return DocumentIntelligenceDouble({1: LEASE, 2: QUAY, 3: "", 4: "four", 5: "five"})


@pytest.fixture
def endpoint(double: DocumentIntelligenceDouble) -> Iterator[str]:
    with serving(double) as endpoint:
        yield endpoint


@pytest.fixture
async def azure(endpoint: str, box: Sandbox) -> AsyncIterator[AzureDocumentIntelligence]:
    engine = AzureDocumentIntelligence(endpoint, KEY, box, seconds=30, memory_bytes=2**30)
    yield engine
    await engine.close()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "upload"
    source.write_bytes(scan(LEASE, QUAY, "", QUAY, QUAY))
    return source


async def read(azure: AzureDocumentIntelligence, source: Path, *pages: int) -> list[OcrPage]:
    found: list[OcrPage] = []
    await azure.read_pages(source, "application/pdf", pages, found.append)
    return found


async def test_pages_without_text_are_read_in_one_request(
    extract: Extract, azure: AzureDocumentIntelligence, double: DocumentIntelligenceDouble
) -> None:
    extraction, source = await extract("a.pdf", scan(LEASE, QUAY, typed="This page was typed by hand."))
    outcome = await add_ocr(extraction, source, azure)
    assert [page.text for page in outcome.extraction.pages] == [LEASE, QUAY, "This page was typed by hand."]
    assert (outcome.ocr_pages, outcome.reason) == ([1, 2], "")
    assert [(asked.pages, asked.body) for asked in double.asked] == [("1-2", source.read_bytes())]


async def test_pages_are_requested_as_ranges(
    azure: AzureDocumentIntelligence, double: DocumentIntelligenceDouble, source: Path
) -> None:
    found = await read(azure, source, 1, 2, 4)
    assert double.asked[0].pages == "1-2,4"
    assert [(page.number, page.text) for page in found] == [(1, LEASE), (2, QUAY), (4, "four")]
    assert [page.confidence for page in found] == [pytest.approx(0.9)] * 3


async def test_a_page_without_words_has_no_confidence(azure: AzureDocumentIntelligence, source: Path) -> None:
    assert await read(azure, source, 3) == [OcrPage(3, "", None)]


async def test_pages_left_out_by_the_free_tier_are_reported(
    azure: AzureDocumentIntelligence, double: DocumentIntelligenceDouble, source: Path
) -> None:
    double.most_pages = 2
    found = await read(azure, source, 1, 2, 4)
    assert [bool(page.text) for page in found] == [True, True, False]
    assert "free tier" in found[2].problem


@pytest.mark.parametrize(
    ("form", "sent"), [("PNG", b"\x89PNG"), ("JPEG", b"\xff\xd8"), ("GIF", b"\x89PNG"), ("WEBP", b"\x89PNG")]
)
async def test_images_are_converted_to_a_supported_format(
    extract: Extract,
    azure: AzureDocumentIntelligence,
    double: DocumentIntelligenceDouble,
    form: str,
    sent: bytes,
) -> None:
    extraction, source = await extract(f"a.{form.lower()}", image_file(form, LEASE))
    outcome = await add_ocr(extraction, source, azure)
    assert [page.text for page in outcome.extraction.pages] == [LEASE]
    assert double.asked[0].pages is None
    assert double.asked[0].body.startswith(sent)


@pytest.mark.slow
async def test_it_honours_retry_after(
    azure: AzureDocumentIntelligence, double: DocumentIntelligenceDouble, source: Path
) -> None:
    double.failures.append(Failure(429, headers={"Retry-After": "1"}))
    assert (await read(azure, source, 1))[0].text == LEASE
    assert double.requests == 2


@pytest.mark.parametrize(
    ("failure", "error", "code", "retryable"),
    [
        (Failure(429, headers={"retry-after-ms": "10"}), DependencyDown, "dependency_down", True),
        (Failure(503, headers={"retry-after-ms": "10"}), DependencyDown, "dependency_down", True),
        (Failure(403), DependencyDown, MISCONFIGURED, False),
        (Failure(404), DependencyDown, MISCONFIGURED, False),
        (Failure(413), DocumentRejected, "document_rejected", False),
        (Failure(400), UnsupportedDocument, "unsupported_document", False),
    ],
)
async def test_each_status_code_has_its_error(
    azure: AzureDocumentIntelligence,
    double: DocumentIntelligenceDouble,
    source: Path,
    failure: Failure,
    error: type[DependencyDown],
    code: str,
    retryable: bool,
) -> None:
    double.failures.extend([failure] * 10)
    with pytest.raises(error) as caught:
        await read(azure, source, 1)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


async def test_a_wrong_key_is_a_configuration_error(endpoint: str, source: Path, box: Sandbox) -> None:
    azure = AzureDocumentIntelligence(endpoint, "wrong", box, seconds=30, memory_bytes=2**30)
    for attempt in (azure.ping(), read(azure, source, 1)):
        with pytest.raises(DependencyDown) as caught:
            await attempt
        assert (caught.value.code, caught.value.retryable) == (MISCONFIGURED, False)
    await azure.close()


async def test_ping_succeeds_if_the_service_answers(
    azure: AzureDocumentIntelligence, source: Path, box: Sandbox
) -> None:
    await azure.ping()
    gone = AzureDocumentIntelligence("http://127.0.0.1:9", KEY, box, seconds=30, memory_bytes=2**30)
    with pytest.raises(DependencyDown):
        await gone.ping()
    await gone.close()


async def test_a_failed_analysis_is_a_dependency_error(
    azure: AzureDocumentIntelligence, double: DocumentIntelligenceDouble, source: Path
) -> None:
    double.outcome = "failed"
    with pytest.raises(DependencyDown):
        await read(azure, source, 1)


@pytest.mark.parametrize("garbage", [b"{", b"[]", b'"text"', b"{}", b'{"status": "succeeded"}'])
async def test_an_invalid_answer_is_a_dependency_error(
    azure: AzureDocumentIntelligence, double: DocumentIntelligenceDouble, source: Path, garbage: bytes
) -> None:
    double.garbage = garbage
    with pytest.raises(DependencyDown):
        await read(azure, source, 1)


@pytest.mark.slow
async def test_an_endless_analysis_times_out(
    endpoint: str, double: DocumentIntelligenceDouble, source: Path, box: Sandbox
) -> None:
    double.polls = 1_000_000
    azure = AzureDocumentIntelligence(endpoint, KEY, box, seconds=2, memory_bytes=2**30)
    with pytest.raises(DeadlineExceeded):
        await read(azure, source, 1)
    await azure.close()
