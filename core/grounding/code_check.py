"""The check of a cited sentence that code can make: in linear time, and without knowing what words mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from core.grounding.cells import Row, are_in_cells, row_of
from core.grounding.units import Unit, page_units
from core.grounding.values import Values, missing
from core.grounding.wording import Words, language_of, wording_of
from core.text.quotes import Span

Check = Literal["quoted", "reworded", "differs"]

NOTHING_ASKED = Values("")


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """The verdict on a sentence.

    `missing`: its numbers, as it writes them, that are nowhere on the cited pages. `quoted_by`: the places in
    the list of passages, from 0, of those that have its words.
    """

    check: Check
    missing: tuple[str, ...] = ()
    quoted_by: tuple[int, ...] = ()


class Page:
    """A page's text with what checks compare, read when it is first needed and once for all sentences."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words: dict[tuple[Unit, ...], Words] = {}

    @cached_property
    def units(self) -> list[Unit]:
        return page_units(self.text)

    @cached_property
    def values(self) -> Values:
        return Values(self.text)

    @cached_property
    def language(self) -> str:
        return language_of(self.text)

    def words_of(self, units: tuple[Unit, ...]) -> Words:
        """The words of units next to each other; sentences share them."""
        if units not in self._words:
            self._words[units] = Words(map(self._of, units), self.language)
        return self._words[units]

    def rows(self, units: Sequence[Unit]) -> Iterator[Row]:
        """Those of these units that are rows with cells."""
        for unit in units:
            if unit.kind == "row" and "|" in (text := self._of(unit)):
                row = row_of(text, self._at(unit.header), self._at(unit.above))
                yield from [row] if row else ()

    def _at(self, number: int | None) -> str:
        return "" if number is None else self._of(self.units[number])

    def _of(self, unit: Unit) -> str:
        return self.text[unit.start : unit.end]


class Passage:
    """What is cited of a page: the units with characters from `start` up to `end`, by default all."""

    def __init__(self, page: Page, start: int = 0, end: int | None = None) -> None:
        self.page = page
        end = len(page.text) if end is None else end
        self.units = tuple(unit for unit in page.units if unit.start < end and start < unit.end)

    @cached_property
    def operands(self) -> list[float]:
        """The numbers of the units that can be calculated with."""
        texts = (self.page.text[unit.start : unit.end] for unit in self.units)
        return Values("\n".join(texts)).operands

    def quotes(self, sentence: str) -> bool:
        """Whether the units have the words of a sentence, or its numbers in the cells that it names."""
        if not self.units:
            return False
        page, said = self.page, wording_of(sentence, self.page.language)
        is_quoted = page.words_of(self.units).have(said, range(len(self.units)))
        return is_quoted or are_in_cells(sentence, page.rows(self.units), page.language)

    def closest(self, sentence: str) -> Span | None:
        """The place of the passage that shares most words and numbers with a sentence: a sentence, a row, an
        item, or two of these next to each other; the first one if none shares any, None without units."""
        if not self.units:
            return None
        said = wording_of(sentence, self.page.language)
        found = self.page.words_of(self.units).closest(said) or [0]
        return Span(self.units[found[0]].start, self.units[found[-1]].end)


def check(sentence: str, passages: Sequence[Passage], question: Values = NOTHING_ASKED) -> CodeCheck:
    """Compare a sentence of an answer with the passages that it cites and the pages that these are from.

    `quoted`: it uses the words of one passage, in their order, adds none, and negates as often; or it names a
    row of a table and its numbers are in cells of it. `differs`: a number, date or amount of it is neither on
    the pages nor in the question in any usual way of writing, and is no sum, difference, product, ratio or
    percentage of two numbers of the passages. `reworded` is the rest: it may be right or wrong, and code
    cannot know.
    """
    if quoted_by := tuple(number for number, each in enumerate(passages) if each.quotes(sentence)):
        return CodeCheck("quoted", quoted_by=quoted_by)
    language = passages[0].page.language if passages else ""
    operands = sorted({value for passage in passages for value in passage.operands})
    everywhere = (question, *(passage.page.values for passage in passages))
    differing = missing(sentence, language, everywhere, operands)
    return CodeCheck("differs", tuple(differing)) if differing else CodeCheck("reworded")
