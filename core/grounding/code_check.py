"""The check of a cited sentence that code can make: in linear time, and without knowing what words mean."""

from collections.abc import Sequence
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

    @cached_property
    def units(self) -> list[Unit]:
        return page_units(self.text)

    @cached_property
    def values(self) -> Values:
        return Values(self.text)

    @cached_property
    def language(self) -> str:
        return language_of(self.text)

    def of(self, unit: Unit) -> str:
        """The text of a unit."""
        return self.text[unit.start : unit.end]


class Passage:
    """What is cited of a page: the units with characters from `start` up to `end`, by default all."""

    def __init__(self, page: Page, start: int = 0, end: int | None = None) -> None:
        self.page = page
        end = len(page.text) if end is None else end
        self.units = [unit for unit in page.units if unit.start < end and start < unit.end]

    @cached_property
    def words(self) -> Words:
        return Words(map(self.page.of, self.units), self.page.language)

    @cached_property
    def rows(self) -> list[Row]:
        """Those with cells, each once."""
        page, units = self.page, self.page.units
        found = (
            row_of(
                page.of(unit), *("" if n is None else page.of(units[n]) for n in (unit.header, unit.above))
            )
            for unit in self.units
            if unit.kind == "row" and "|" in page.of(unit)
        )
        return list(filter(None, dict.fromkeys(found)))

    @cached_property
    def operands(self) -> list[float]:
        """The numbers of the units that can be calculated with."""
        return Values("\n".join(map(self.page.of, self.units))).operands

    def quotes(self, sentence: str) -> bool:
        """Whether the units have the words of a sentence, or its numbers in the cells that it names."""
        language = self.page.language
        is_said = bool(self.units) and self.words.have(wording_of(sentence, language))
        return is_said or are_in_cells(sentence, self.rows, language)

    def closest(self, sentence: str) -> Span | None:
        """The place of the passage that shares most words and numbers with a sentence: a sentence, a row, an
        item, or two of these next to each other; the first one if none shares any, None without units."""
        if not self.units:
            return None
        found = self.words.closest(wording_of(sentence, self.page.language)) or [0]
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
