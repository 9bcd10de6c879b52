"""The check of a cited sentence that code can make: in linear time, and without knowing what words mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from core.grounding.cells import Row, are_in_cells, row_of
from core.grounding.units import Unit, page_units
from core.grounding.values import Values, missing
from core.grounding.wording import Words, language_of
from core.text.sentences import sentences

Check = Literal["quoted", "reworded", "differs"]

MOST_SENTENCES = 8
"""Of what is checked as one sentence, that may each be in other units."""


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """The verdict on a sentence, and the numbers of it, as written, that are nowhere on the cited pages."""

    check: Check
    missing: tuple[str, ...] = ()


class Page:
    """A page's text with what checks compare, read when it is first needed and once for all sentences."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words: dict[tuple[int, ...], tuple[Words, Sequence[int]]] = {}

    @cached_property
    def units(self) -> list[Unit]:
        return page_units(self.text)

    @cached_property
    def values(self) -> Values:
        return Values(self.text)

    @cached_property
    def language(self) -> str:
        return language_of(self.text)

    def words_of(self, units: tuple[int, ...]) -> tuple[Words, Sequence[int]]:
        """The words of the parts of these units, and the numbers of the parts; sentences share them.

        Between units that are no neighbours on the page is a part that has no words.
        """
        if units not in self._words:
            texts: list[str] = []
            cited: list[int] = []
            for before, number in pairwise((*units[:1], *units)):
                texts.extend([""] if number > before + 1 else [])
                parts = self.units[number].parts
                cited.extend(range(len(texts), len(texts) + len(parts)))
                texts.extend(self.text[part.start : part.end] for part in parts)
            self._words[units] = Words(texts, self.language), cited
        return self._words[units]

    def rows(self, units: Sequence[int]) -> Iterator[Row]:
        """Those of these units that are rows with cells."""
        for unit in (self.units[number] for number in units):
            if unit.kind == "row" and (
                row := row_of(self._of(unit), *map(self._at, (unit.header, unit.above)))
            ):
                yield row

    def _at(self, number: int | None) -> str:
        return "" if number is None else self._of(self.units[number])

    def _of(self, unit: Unit) -> str:
        return self.text[unit.start : unit.end]


class Cited(NamedTuple):
    """The unit of a page with this number, from 0."""

    page: Page
    unit: int


def check(sentence: str, units: Sequence[Cited], pages: Sequence[Page], question: str = "") -> CodeCheck:
    """Compare a sentence of an answer with the units that it cites and the pages that these are from.

    `quoted`: it uses the words of the units, in their order, adds none, and negates as often; or it names a
    row of a table and its numbers are in cells of it. `differs`: a number, date or amount of it is neither on
    the pages nor in the question in any usual way of writing, and is no sum, difference, product, ratio or
    percentage of two numbers of the units. `reworded` is the rest: it may be right or wrong, and code cannot
    know.
    """
    cited = list(dict.fromkeys(units))
    for page in dict.fromkeys(each.page for each in cited):
        numbers = tuple(sorted(unit for other, unit in cited if other is page))
        if _is_quoted(sentence, page, numbers) or are_in_cells(sentence, page.rows(numbers), page.language):
            return CodeCheck("quoted")
    language = cited[0].page.language if cited else ""
    spans = [(page.text, page.units[unit]) for page, unit in cited]
    evidence = Values("\n".join(text[unit.start : unit.end] for text, unit in spans))
    everywhere = (evidence, Values(question), *(page.values for page in pages))
    differing = missing(sentence, language, everywhere, evidence)
    return CodeCheck("differs", tuple(differing)) if differing else CodeCheck("reworded")


def _is_quoted(sentence: str, page: Page, units: tuple[int, ...]) -> bool:
    """Whether all that is said is in the words of the cited units of one page."""
    words, parts = page.words_of(units)
    several = list(islice(sentences(" ".join(sentence.split())), MOST_SENTENCES + 1))
    said = Words([sentence, *several], page.language)
    if words.have(said.wording(0), parts):
        return True
    numbers = range(1, len(several) + 1)
    return 1 < len(several) <= MOST_SENTENCES and all(
        words.have(said.wording(number), parts) for number in numbers
    )
