"""Text extraction of documents: extraction, OCR, and reuse of the text of duplicate files."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from orc_core.documents.stores import Stores
from orc_core.errors import DependencyDown
from orc_core.models import PROPERTIES, BlobProperties, Document, DocumentStatus, Page, Progress
from orc_core.names import BlobPath
from orc_core.ocr.ports import Ocr
from orc_core.ocr.service import OcrOutcome, add_ocr

if TYPE_CHECKING:
    from orc_core.extraction.extractor import Extractor
    from orc_core.llm.tokens import TokenCounter

NO_TEXT = "no_text"
_SHARED = {"sha256", "media_type", "readable", "pages", "pages_without_text", "pages_by_ocr", "tokens"}


@dataclass(frozen=True)
class ExtractedText:
    """The result of reading a file, before anything is stored.

    `facts` are fields of the record. `pages` is None if `duplicate`, which has the same bytes, has them.
    """

    facts: dict[str, object]
    pages: list[Page] | None
    duplicate: Document | None = None


class TextExtraction:
    """Extracts and stores the text of files; identical files of a user are extracted once."""

    def __init__(
        self, stores: Stores, extractor: "Extractor", counter: "TokenCounter", ocr: Ocr | None = None
    ) -> None:
        self._stores = stores
        self._extractor = extractor
        self._counter = counter
        self._ocr = ocr

    def is_whole(self, document: Document) -> bool:
        """Whether extracting the file again could not give more text than is stored."""
        return document.readable and not (self._ocr and document.pages_without_text)

    async def read(
        self, path: BlobPath, source: Path, progress: Progress | None = None, *, with_ocr: bool = False
    ) -> ExtractedText:
        """Read a local file as the document at `path`, without storing anything. Raises DocumentRejected.

        Without `with_ocr`, which is slow, pages that are images stay without text for now.
        """
        sha256 = await asyncio.to_thread(sha256_of, source)
        for duplicate in await self.duplicates(path, sha256):
            if (
                self.is_whole(duplicate)
                and await self._stores.is_current(duplicate)
                and self.is_text_of(duplicate, await self._stores.pages.get(duplicate.document_id))
            ):
                # Documents with the same bytes share these facts; the document itself also its status.
                own = {"status", "created_at"} if duplicate.document_id == path.document_id else set()
                return ExtractedText(duplicate.model_dump(include=_SHARED | own), None, duplicate)
        extraction = await self._extractor.extract(source, path.file, progress)
        outcome = OcrOutcome(extraction=extraction)
        if with_ocr and self._ocr is not None:
            outcome = await add_ocr(extraction, source, self._ocr, progress)
            if outcome.retryable and not outcome.extraction.has_text:
                raise DependencyDown(outcome.reason, dependency="ocr")
        return await asyncio.to_thread(self._to_extracted_text, outcome, sha256, may_improve=not with_ocr)

    @staticmethod
    def is_text_of(document: Document, pages: Sequence[Page]) -> bool:
        """Whether these pages can belong to the bytes of the record.

        Stored pages have no version: a process that works on earlier bytes may have written last.
        """
        counted = sum(not page.is_of_file for page in pages), sum(page.tokens for page in pages)
        return counted == (document.pages, document.tokens)

    async def duplicates(self, path: BlobPath, sha256: str) -> list[Document]:
        """The user's readable documents with these bytes and the same file extension.

        Only the user's: the time of an upload must not show what others have uploaded.

        The document at `path` comes first if it is among them.
        """
        kind = _kind(path.file)
        found = await self._stores.catalog.duplicates(path.owner, sha256)
        same = [document for document in found if _kind(document.blob_name) == kind]
        return sorted(same, key=lambda document: document.document_id != path.document_id)

    async def store(
        self, document: Document, extracted: ExtractedText, replaced: BlobProperties | None = None
    ) -> Document | None:
        """Store the text and return the new record; None if the duplicate has changed in the meantime.

        `replaced` is the previous blob, needed if the document is its own duplicate.
        """
        duplicate = extracted.duplicate
        if duplicate is None:
            await self._stores.pages.save(document.document_id, extracted.pages or [])
            await self._stores.make_unsearchable(document.document_id)
        elif not await self._copy_from_duplicate(duplicate, document, replaced):
            return None
        return document.model_copy(update={**extracted.facts, "updated_at": datetime.now(UTC)})

    async def _copy_from_duplicate(
        self, duplicate: Document, document: Document, replaced: BlobProperties | None
    ) -> bool:
        """Copy the pages of a duplicate; returns False if it no longer has them."""
        if duplicate.document_id == document.document_id:
            is_valid = replaced is not None and replaced.etag == duplicate.etag
            is_valid = is_valid and await self._stores.get(duplicate.path) == duplicate
        else:
            await self._stores.pages.copy(duplicate.document_id, document.document_id)
            is_valid = await self._stores.is_current(duplicate)
            await self._stores.make_unsearchable(document.document_id)
        return is_valid and bool(await self._stores.pages.get(document.document_id, [1]))

    def _to_extracted_text(self, outcome: OcrOutcome, sha256: str, *, may_improve: bool) -> ExtractedText:
        extraction = outcome.extraction
        pages = [
            page.model_copy(update={"tokens": self._counter.count(page.text)}) for page in extraction.pages
        ]
        facts: dict[str, object] = {
            "sha256": sha256,
            "media_type": extraction.media_type,
            "readable": extraction.has_text,
            "reason": outcome.reason or None,
            "pages": len(pages),
            "pages_without_text": extraction.pages_without_text,
            "pages_by_ocr": len(outcome.ocr_pages),
            "tokens": sum(page.tokens for page in pages),
        }
        if not extraction.has_text and not (may_improve and self._ocr):
            facts.update(failure(NO_TEXT, _no_text_reason(len(pages), outcome.reason)))
        if extraction.has_text and (said := extraction.properties):
            tokens = self._counter.count(said)
            pages.append(Page(number=len(pages) + 1, text=said, label=PROPERTIES, tokens=tokens))
            facts["tokens"] = sum(page.tokens for page in pages)
        return ExtractedText(facts, pages)


def _kind(file_name: str) -> str:
    """Identical files are read alike only if their extensions name the same format."""
    return PurePath(file_name).suffix.lower()


def failure(code: str, reason: str) -> dict[str, object]:
    """The fields of a record that failed."""
    return {"status": DocumentStatus.FAILED, "reason_code": code, "reason": reason}


UNREAD: dict[str, object] = {"readable": False, "pages": 0, "pages_without_text": 0, "tokens": 0}


def _no_text_reason(pages: int, note: str) -> str:
    what = "Its only page has no text" if pages == 1 else f"None of its {pages} pages has text"
    advice = note or "Run OCR over the file and upload it again, or set up OCR in Orc."
    return f"{what} that can be read: it looks scanned, or its letters are coded wrongly. {advice}"


def sha256_of(source: Path) -> str:
    """The SHA-256 of a file, as records have it. Blocks."""
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
