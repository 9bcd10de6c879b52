"""Chooses the OCR engine from settings, and adds its text to pages without text."""

import logging
import shutil
from collections import Counter
from pathlib import Path

from pydantic import Field

from orc_core.errors import InvalidInput, OrcError
from orc_core.extraction.extractor import LIMITS, PROCESSES, Extraction
from orc_core.extraction.formats import Format
from orc_core.extraction.pages import clean, count_letters
from orc_core.infra.azure import Credentials
from orc_core.infra.sandbox import Sandbox
from orc_core.infra.settings import CoreSettings
from orc_core.models import Page, Progress, Record
from orc_core.ocr.azure import AzureDocumentIntelligence
from orc_core.ocr.ports import MEDIA_TYPES, Ocr, OcrPage
from orc_core.ocr.tesseract import Tesseract

PROGRAM = "tesseract"
OCR_SECONDS = 1800.0
"""Time limit of the OCR of one file."""


def build_ocr(settings: CoreSettings, credentials: Credentials, sandbox: Sandbox) -> Ocr | None:
    """The engine to use, or None: then pages without text are reported as such.

    `auto` means Azure if its endpoint is set, otherwise Tesseract if it is installed. Raises InvalidInput
    if the configured engine is not available. Nothing is started or contacted yet.
    """
    if settings.ocr == "off":
        return None
    endpoint, key = settings.azure_document_intelligence_endpoint, settings.azure_document_intelligence_key
    if settings.ocr == "azure" or (settings.ocr == "auto" and endpoint):
        if not endpoint:
            raise InvalidInput("OCR by Azure needs AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT.")
        return AzureDocumentIntelligence(
            endpoint.rstrip("/"),
            key.get_secret_value() if key else credentials,
            sandbox,
            seconds=OCR_SECONDS,
            memory_bytes=LIMITS.memory_bytes,
        )
    if program := shutil.which(PROGRAM):
        return Tesseract(
            Path(program),
            sandbox,
            languages=settings.ocr_languages,
            seconds=OCR_SECONDS,
            memory_bytes=LIMITS.memory_bytes,
            processes=PROCESSES,
        )
    if settings.ocr == "tesseract":
        raise InvalidInput("ORC_OCR is tesseract, but that program is not installed (Debian: tesseract-ocr).")
    return None


MIN_CONFIDENCE = 0.3
"""A lower mean confidence means that the engine took parts of a picture for letters."""

_SET_UP = "no OCR is set up: install Tesseract or configure an Azure Document Intelligence endpoint"

log = logging.getLogger(__name__)


class OcrOutcome(Record):
    """An extraction after OCR, and the outcome for pages that had no text."""

    extraction: Extraction
    ocr_pages: list[int] = Field(default=[], description="numbers of the pages with text from OCR")
    reason: str = Field(default="", description="tells people why pages still have no text; otherwise empty")
    retryable: bool = Field(default=False, description="whether another attempt may succeed later")


async def add_ocr(
    extraction: Extraction, source: Path, ocr: Ocr | None, progress: Progress | None = None
) -> OcrOutcome:
    """The extraction of the file at `source` with OCR text on pages that had none.

    Errors of the file or engine do not raise: those pages stay without text, and the outcome has the
    reason. Existing text is kept, except for the few letters of a file without usable text.
    """
    everything = not extraction.has_text
    wanted = [page.number for page in extraction.pages if everything or not page.text]
    if not wanted:
        return OcrOutcome(extraction=extraction)
    if ocr is None or extraction.media_type not in MEDIA_TYPES:
        why = _SET_UP if extraction.media_type in MEDIA_TYPES else "OCR reads PDFs and images only"
        return OcrOutcome(extraction=extraction, reason=_no_text_message(len(wanted), why))
    read: dict[int, OcrPage] = {}
    problem, retryable = "", False

    def take(page: OcrPage) -> None:
        read[page.number] = page
        if progress is not None:
            progress(len(read), len(wanted), "Recognising the text of scanned pages")

    try:
        await ocr.read_pages(source, extraction.media_type, wanted, take)
    except OrcError as error:
        problem, retryable = error.message, error.retryable
        log.warning(
            "ocr.failed engine=%s code=%s pages=%d of %d", ocr.name, error.code, len(read), len(wanted)
        )
    result, filled = _fill(extraction, read)
    missing = sorted(set(wanted) - set(filled))
    if result.has_text:  # otherwise a few letters on a page do not count
        missing = [number for number in missing if not result.pages[number - 1].text]
    if missing and not problem:  # the pages of a file usually fail for the same reason
        problem = Counter(_problem(read.get(number)) for number in missing).most_common(1)[0][0]
    reason = _no_text_message(len(missing), problem) if missing else ""
    return OcrOutcome(
        extraction=result, ocr_pages=filled, reason=reason, retryable=retryable and bool(missing)
    )


def _fill(extraction: Extraction, read: dict[int, OcrPage]) -> tuple[Extraction, list[int]]:
    """The extraction with the legible text of these pages, and the numbers of the pages that got text."""
    pages: list[Page] = []
    filled: list[int] = []
    for page in extraction.pages:
        found = read.get(page.number, OcrPage(page.number))
        is_legible = found.confidence is None or found.confidence >= MIN_CONFIDENCE
        text = clean(found.text) if is_legible else ""
        if count_letters(text) > count_letters(page.text):
            filled.append(page.number)
            boxes = found.boxes if extraction.media_type == Format.PDF.media_type else b""
            pages.append(page.model_copy(update={"text": text, "boxes": boxes}))
        else:
            pages.append(page)
    return extraction.model_copy(update={"pages": pages}), filled


def _problem(page: OcrPage | None) -> str:
    if page is None:
        return "OCR did not reach them"
    return page.problem or (
        "the text that OCR found is not legible" if clean(page.text) else "OCR found no text"
    )


def _no_text_message(pages: int, why: str) -> str:
    what = "1 page has no text" if pages == 1 else f"{pages} pages have no text"
    return f"{what}: {why.rstrip('.')}."
