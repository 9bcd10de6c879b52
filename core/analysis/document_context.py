"""Statistics of a whole document that the analysis of each page needs."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core.analysis.anchors import Target, find_targets
from core.analysis.page_text import (
    LONGEST_READ,
    Lexicon,
    find_running,
    language_of,
    printed_number,
    spelled,
    terms,
)
from core.models import Page
from core.search.bm25 import idf
from core.text.terms import detect_language

SAMPLE_WORDS = 2000

_AFTER_LOWER_CASE = re.compile(r"\b[a-zß-öø-ÿ][\w'’-]{0,60}+,?\s([^\W\d_][\w&-]*)")


@dataclass(frozen=True)
class DocumentContext:
    """Counts and positions of one document, computed once for all of its pages.

    `pages_with`: the number of pages with a term. `lower_case` and `capitalised`: how often a word is spelt
    so within sentences. `targets`: the pages of captions and numbered headings. `page_offset`: the printed
    page number minus the position in the file.
    """

    language: str
    pages: int
    pages_with: Mapping[str, int]
    lower_case: Mapping[str, int]
    capitalised: Mapping[str, int]
    running: frozenset[str]
    targets: Mapping[Target, int]
    page_offset: int | None
    _lexicons: dict[str, Lexicon] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def of(cls, pages: Sequence[Page]) -> "DocumentContext":
        """The context of a document's pages; takes about a millisecond a page."""
        language = _language(pages)
        running = find_running(pages)
        pages_with: Counter[str] = Counter()
        spellings: Counter[str] = Counter()
        within: Counter[str] = Counter()
        for page in pages:
            found = spelled(page.text[:LONGEST_READ])
            pages_with.update(set(terms(list(set(found)), language_of(found, language))))
            spellings.update(found)
            within.update(_AFTER_LOWER_CASE.findall(page.text[:LONGEST_READ]))
        lower = {word: times for word, times in spellings.items() if word[0].islower()}
        capitalised = {word: times for word, times in within.items() if word[0].isupper()}
        targets, offset = find_targets(pages, running), _page_offset(pages)
        return cls(language, len(pages), pages_with, lower, capitalised, running, targets, offset)

    def lexicon(self, language: str) -> Lexicon:
        """The terms of the words of the pages in a language that have been analysed so far."""
        return self._lexicons.setdefault(language, Lexicon(language))

    def rarity(self, term: str) -> float:
        """How well a term distinguishes pages: above 0, higher for terms on fewer pages.

        Pages with the term count twice in the total, so that a term on all pages still has some weight.
        """
        return _rarity(self.pages_with.get(term, 0), self.pages)

    def is_name(self, word: str) -> bool:
        """Whether a word is written with a capital within sentences, and rarely without."""
        capitalised = self.capitalised.get(word, 0)
        return capitalised > 0 and capitalised > self.lower_case.get(word[0].lower() + word[1:], 0)

    def page_printed(self, number: int) -> int | None:
        """The position in the file of the page with this printed number; None if there is no such page."""
        place = number - (self.page_offset or 0)
        return place if 1 <= place <= self.pages else None


@lru_cache
def _rarity(pages_with: int, pages: int) -> float:
    return idf(pages_with, pages + pages_with)


def _language(pages: Sequence[Page]) -> str:
    sample: list[str] = []
    for page in pages:
        sample += spelled(page.text[:LONGEST_READ])
        if len(sample) >= SAMPLE_WORDS:
            break
    return detect_language(word.casefold() for word in sample)


def _page_offset(pages: Sequence[Page]) -> int | None:
    """The difference of printed number and position on most pages; None if few pages have a number."""
    numbers = [(page.number, printed_number(page)) for page in pages]
    offsets = Counter(printed - place for place, printed in numbers if printed is not None)
    if not offsets:
        return None
    offset, times = offsets.most_common(1)[0]
    return offset if times > 1 and times >= len(pages) / 2 else None
