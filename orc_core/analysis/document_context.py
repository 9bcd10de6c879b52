"""Statistics of a whole document that the analysis of each page needs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orc_core.analysis.page_text import LONGEST_READ, find_running
from orc_core.models import Page
from orc_core.search.bm25 import idf
from orc_core.text.terms import LANGUAGE_SAMPLE_WORDS, detect_language, has_digit, stems, words


@dataclass(frozen=True)
class DocumentContext:
    """Counts of one document, computed once for all of its pages.

    `pages_with`: the number of pages with a term. `running`: the masked lines of headers and footers.
    """

    language: str
    pages: int
    pages_with: Mapping[str, int]
    running: frozenset[str]

    @classmethod
    def of(cls, pages: Sequence[Page]) -> "DocumentContext":
        """The context of a document's pages; takes about a millisecond a page."""
        spelled = [words(page.text[:LONGEST_READ]) for page in pages]
        share = LANGUAGE_SAMPLE_WORDS // max(1, len(pages)) + 1
        language = detect_language(word for found in spelled for word in found[:share])
        pages_with = Counter(term for found in spelled for term in set(stems(found, language)))
        return cls(language, len(pages), pages_with, find_running(pages))

    def terms(self, spelled: list[str]) -> list[str]:
        """One term for each word; empty for stop words and numbers."""
        found = zip(spelled, stems(spelled, self.language), strict=True)
        return ["" if has_digit(word) else term for word, term in found]

    def rarity(self, term: str) -> float:
        """How well a term distinguishes pages: above 0, higher for terms on fewer pages.

        Pages with the term count twice in the total, so that a term on all pages still has some weight.
        """
        pages_with = self.pages_with.get(term, 0)
        return idf(pages_with, self.pages + pages_with)
