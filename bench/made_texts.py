"""Texts whose words are as common and as rare as in real ones (Zipf's law)."""

import random
from itertools import accumulate

from orc_core.documents.passages import split_pages
from orc_core.models import Page, Passage

SENTENCES_PER_PAGE = 20
WORDS = 30_000
COMMON = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which but have"
    " an they you were her she there been one all we their has would when if so no will him"
).split()
ONSETS = "b c d f g h j k l m n p r s t v w br ch cl cr dr fl gr pl pr sh sp st th tr".split()
VOWELS = "a e i o u ai ea ee io ou".split()
CODAS = ["", "", "", *"b ck d g l m n nd ng nt p r rd rs s st t x".split()]


class Texts:
    """Passages, and questions about them."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        made = {self._word() for _ in range(3 * WORDS)}
        self.words = [*COMMON, *source.sample(sorted(made), WORDS)]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def passages(self, document_id: str, count: int) -> list[Passage]:
        """The passages of a new document."""
        passages: list[Passage] = []
        page = 0
        while len(passages) < count:
            page += 1
            passages += split_pages(document_id, [Page(number=page, text=self._page(page))])
        return passages[:count]

    def question(self) -> str:
        """A plausible question about any document."""
        rare = self._source.sample(self.words[len(COMMON) : 3000], 3)
        return f"What is the {rare[0]} of {rare[1]} in {self._source.randint(1990, 2030)} and the {rare[2]}?"

    def _word(self) -> str:
        syllables = self._source.randint(1, 4)
        return "".join(
            self._source.choice(part) for _ in range(syllables) for part in (ONSETS, VOWELS, CODAS)
        )

    def _page(self, number: int) -> str:
        sentences = " ".join(self._sentence() for _ in range(SENTENCES_PER_PAGE))
        return f"{number}. {self._sentence()}\n\n{sentences}"

    def _sentence(self) -> str:
        words = self._source.choices(self.words, cum_weights=self._weights, k=self._source.randint(8, 30))
        words[-1:] = [str(self._source.randint(1, 9999))] if self._source.random() < 0.2 else words[-1:]
        return " ".join(words).capitalize() + "."
