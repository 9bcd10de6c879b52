"""The check of a cited sentence that code can make: in linear time, and without knowing what words mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from core.grounding.units import Unit, page_units
from core.grounding.values import Values, missing
from core.grounding.wording import Wording, is_in_words, language_of, wordings
from core.text.sentences import sentences

Check = Literal["quoted", "reworded", "differs"]


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """The verdict on a sentence, and the numbers of it, as written, that are nowhere on the cited pages."""

    check: Check
    missing: tuple[str, ...] = ()


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

    @cached_property
    def wordings(self) -> list[list[Wording]]:
        """Of each part of each unit."""
        spans = [[self.text[part.start : part.end] for part in unit.parts] for unit in self.units]
        found = iter(wordings((text for texts in spans for text in texts), self.language))
        return [[next(found) for _ in texts] for texts in spans]


class Cited(NamedTuple):
    """The unit of a page with this number, from 0."""

    page: Page
    unit: int


def check(sentence: str, units: Sequence[Cited], pages: Sequence[Page], question: str = "") -> CodeCheck:
    """Compare a sentence of an answer with the units that it cites and the pages that these are from.

    `quoted`: it uses the words of the units, in their order, adds none, and negates as often. `differs`: a
    number, date or amount of it is neither on the pages nor in the question in any usual way of writing, and
    is no sum, difference, product, ratio or percentage of two numbers of the units. `reworded` is the rest:
    it may be right or wrong, and code cannot know.
    """
    cited = list(dict.fromkeys(units))
    if any(_is_quoted(sentence, page, cited) for page in dict.fromkeys(each.page for each in cited)):
        return CodeCheck("quoted")
    language = cited[0].page.language if cited else ""
    text = "\n".join(page.text[page.units[at].start : page.units[at].end] for page, at in cited)
    values = [Values(question), *(page.values for page in pages)]
    differing = tuple(missing(sentence, language, values, Values(text)))
    return CodeCheck("differs", differing) if differing else CodeCheck("reworded")


def _is_quoted(sentence: str, page: Page, cited: Sequence[Cited]) -> bool:
    """Whether all that is said is in the words of the cited units of one page."""
    numbers = sorted(each.unit for each in cited if each.page is page)
    parts = [part for number in numbers for part in page.wordings[number]]
    whole, *said = wordings([sentence, *sentences(" ".join(sentence.split()))], page.language)
    return is_in_words(whole, parts, page.language) or (
        len(said) > 1 and all(is_in_words(each, parts, page.language) for each in said)
    )
