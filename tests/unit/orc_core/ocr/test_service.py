"""The outcome for pages without text, whatever the engine does."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orc_core.errors import DependencyDown, OrcError, UnreadableDocument
from orc_core.extraction.extractor import Extraction
from orc_core.models import Page
from orc_core.ocr.ports import Found, OcrPage
from orc_core.ocr.service import add_ocr

HERE = Path("a.pdf")
TYPED = "A page with enough typed text."


class ScriptedOcr:
    """Reports these pages, then fails if configured to; records the requests."""

    name = "Scripted"

    def __init__(self, *pages: OcrPage, error: OrcError | None = None) -> None:
        self.pages = pages
        self.error = error
        self.asked: list[list[int]] = []

    async def read_pages(self, source: Path, media_type: str, pages: Sequence[int], found: Found) -> None:
        self.asked.append(list(pages))
        for page in self.pages:
            found(page)
        if self.error is not None:
            raise self.error

    async def ping(self) -> None: ...

    async def close(self) -> None: ...


def extraction(*texts: str, media_type: str = "application/pdf") -> Extraction:
    pages = [Page(number=number, text=text, label=f"p{number}") for number, text in enumerate(texts, 1)]
    return Extraction(pages=pages, media_type=media_type)


def texts(extraction: Extraction) -> list[str]:
    return [page.text for page in extraction.pages]


async def test_only_pages_without_text_are_read() -> None:
    ocr = ScriptedOcr(OcrPage(3, "three\r\n", 0.8), OcrPage(1, "one", 0.6))
    seen: list[tuple[int, int]] = []
    outcome = await add_ocr(
        extraction("", TYPED, ""), HERE, ocr, lambda done, total, _: seen.append((done, total))
    )
    assert ocr.asked == [[1, 3]]
    assert texts(outcome.extraction) == ["one", TYPED, "three"]
    assert [page.label for page in outcome.extraction.pages] == ["p1", "p2", "p3"]
    assert (outcome.ocr_pages, outcome.reason) == ([1, 3], "")
    assert seen == [(1, 2), (2, 2)]


async def test_a_file_with_text_on_every_page_is_not_read() -> None:
    ocr = ScriptedOcr()
    outcome = await add_ocr(extraction(TYPED, TYPED), HERE, ocr)
    assert (ocr.asked, outcome.ocr_pages, outcome.reason) == ([], [], "")


async def test_a_scan_with_a_stamp_is_read() -> None:
    ocr = ScriptedOcr(OcrPage(1, "The whole page, COPY and all."), OcrPage(2, ""))
    outcome = await add_ocr(extraction("COPY", "7"), HERE, ocr)
    assert ocr.asked == [[1, 2]]
    assert texts(outcome.extraction) == ["The whole page, COPY and all.", "7"]
    assert (outcome.ocr_pages, outcome.reason) == ([1], "")


async def test_a_few_letters_alone_are_not_text() -> None:
    outcome = await add_ocr(extraction("7"), HERE, ScriptedOcr(OcrPage(1, "7")))
    assert texts(outcome.extraction) == ["7"]
    assert outcome.reason == "1 page has no text: the text that OCR found is not legible."


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([OcrPage(1, problem="the file is damaged there")], "1 page has no text: the file is damaged there."),
        ([OcrPage(1, " .\n")], "1 page has no text: OCR found no text."),
        ([OcrPage(1, "ie~ wl J", 0.2)], "1 page has no text: the text that OCR found is not legible."),
        ([], "1 page has no text: OCR did not reach them."),
    ],
)
async def test_an_unread_page_has_a_reason(found: list[OcrPage], reason: str) -> None:
    outcome = await add_ocr(extraction(TYPED, "").model_copy(), HERE, ScriptedOcr(*found))
    assert outcome.extraction.pages_without_text == 1
    assert (outcome.ocr_pages, outcome.retryable) == ([], False)
    assert outcome.reason != ""
    outcome = await add_ocr(extraction(""), HERE, ScriptedOcr(*found))
    assert (outcome.reason, outcome.ocr_pages) == (reason, [])


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (DependencyDown("The service does not answer", dependency="ocr"), True),
        (UnreadableDocument("The file is damaged.", code="corrupt"), False),
    ],
)
async def test_a_failing_engine_loses_no_existing_text(error: OrcError, retryable: bool) -> None:
    ocr = ScriptedOcr(OcrPage(1, "one"), error=error)
    outcome = await add_ocr(extraction("", TYPED, "", ""), HERE, ocr)
    assert texts(outcome.extraction) == ["one", TYPED, "", ""]
    assert outcome.reason == f"2 pages have no text: {error.message.rstrip('.')}."
    assert (outcome.ocr_pages, outcome.retryable) == ([1], retryable)


async def test_a_failure_after_the_last_page_is_ignored() -> None:
    error = DependencyDown("too late", dependency="ocr")
    outcome = await add_ocr(extraction("", TYPED), HERE, ScriptedOcr(OcrPage(1, "one"), error=error))
    assert (outcome.reason, outcome.retryable) == ("", False)


@pytest.mark.parametrize(
    ("make", "media_type", "words"),
    [
        (lambda: None, "application/pdf", "no OCR is set up"),
        (lambda: None, "image/png", "no OCR is set up"),
        (ScriptedOcr, "application/epub+zip", "OCR reads PDFs and images only"),
    ],
)
async def test_a_missing_engine_is_reported(
    make: Callable[[], ScriptedOcr | None], media_type: str, words: str
) -> None:
    outcome = await add_ocr(extraction("", TYPED, media_type=media_type), HERE, make())
    assert texts(outcome.extraction) == ["", TYPED]
    assert words in outcome.reason


async def test_twenty_thousand_blank_pages_are_counted_at_once() -> None:
    blank = extraction(*[""] * 20_000)
    found = [OcrPage(number) for number in range(1, 20_001)]
    outcome = await add_ocr(blank, HERE, ScriptedOcr(*found))
    assert outcome.reason == "20000 pages have no text: OCR found no text."
