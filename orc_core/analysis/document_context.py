"""Statistics of a whole document that the analysis of each page needs."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from orc_core.models import Page
from orc_core.search.bm25 import idf
from orc_core.text.terms import LANGUAGE_SAMPLE_WORDS, detect_language, has_digit, stems, words

LONGEST_READ = 40_000
"""Characters of one page that are analysed: some files have all of their text on one page."""
EDGE_LINES = 3
RUNNING_PAGES = 3
RUNNING_SHARE = 1 / 8

_SENTENCE_ENDS = (".", "!", "?", "。")
_DIGITS = re.compile(r"\d+")
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s{0,3}\n\s{0,3}(?=[^\W\d_])")


def text_of(page: Page, running: Collection[str] = ()) -> str:
    """The text of a page without its `running` lines, if others are left; broken words are joined."""
    lines = page.text[:LONGEST_READ].splitlines()
    edge = edges(lines)
    kept = [line for i, line in enumerate(lines) if i not in edge or masked(line) not in running]
    # Pages that are all alike, such as forms, have nothing but running lines.
    return _LINE_END_HYPHEN.sub("", "\n".join(kept if any(map(str.strip, kept)) else lines))


def edges(lines: Sequence[str]) -> set[int]:
    """The indexes of the first and the last lines that are not empty."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return {*filled[:EDGE_LINES], *filled[-EDGE_LINES:]}


def find_running(pages: Sequence[Page]) -> frozenset[str]:
    """The lines, digits masked, that occur at the edges of so many pages that they are headers or footers."""
    found: Counter[str] = Counter()
    for page in pages:
        lines = page.text[:LONGEST_READ].splitlines()
        found.update({masked(lines[index]) for index in edges(lines)})
    most = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    return frozenset(line for line, times in found.items() if times > most)


def masked(line: str) -> str:
    """A line as it is compared between pages: without its digits, which differ in headers and footers."""
    plain = " ".join(line.split())
    return plain if plain.endswith(_SENTENCE_ENDS) else _DIGITS.sub("0", plain)


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
