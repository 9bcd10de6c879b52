"""What an extraction gives back."""

from core.extraction.pages import count_letters
from core.models import Page, Record

MIN_PDF_LETTERS = 16
"""A PDF with fewer letters in all is a scan with a stray stamp or page number on it."""


class Extraction(Record):
    """The pages of one file in their order; a page without usable text has the text ""."""

    pages: list[Page]
    media_type: str
    sha256: str

    @property
    def pages_without_text(self) -> int:
        return sum(not page.text for page in self.pages)

    @property
    def has_text(self) -> bool:
        """False where the file opened but holds nothing to search: it needs OCR."""
        wanted = MIN_PDF_LETTERS if self.media_type == "application/pdf" else 1
        found = 0
        for page in self.pages:
            found += count_letters(page.text)
            if found >= wanted:
                return True
        return False
