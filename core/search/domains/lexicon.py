"""A field's own words: what questions say, what documents say instead, and on which kind of page."""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.text.terms import stems, words

LEAST_KNOWN = 3

Phrase = tuple[str, ...]
"""Words in the spelling of `terms.words`, not stemmed."""


class Term(BaseModel):
    """An entry of a data file; accounting.toml explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: list[str] = Field(min_length=1)
    finds: list[str] = []
    uses: list[str] = []
    on: list[str] = []


class PageKind(BaseModel):
    """A kind of page, told by its title, by what stands in it, and by whether it is mostly figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    titles: list[str]
    lines: list[str] = []
    figures: bool = False
    aside: bool = False


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    known_by: list[str]
    page: list[PageKind] = []
    term: list[Term]

    @model_validator(mode="after")
    def refer_to_what_is_there(self) -> Self:
        terms = {term.says[0] for term in self.term}
        pages = {page.name for page in self.page}
        for term in self.term:
            if missing := (set(term.uses) - terms) | (set(term.on) - pages):
                raise ValueError(f"{term.says[0]!r} refers to what is not there: {sorted(missing)}")
        return self


class Kind(NamedTuple):
    """A kind of page, its phrases split into words."""

    name: str
    titles: tuple[Phrase, ...]
    lines: tuple[Phrase, ...]
    figures: bool
    aside: bool


class Meaning(NamedTuple):
    """What a question means in a field's terms: things to find, each by any of its phrases, and where.

    `asides` are the kinds of pages that only lead to others, unless they are what is asked for. `measures`
    are the question's words for what is computed from the concepts, and for statements themselves.
    """

    concepts: tuple[tuple[Phrase, ...], ...]
    kinds: tuple[Kind, ...]
    asides: tuple[Kind, ...]
    measures: frozenset[str]

    def phrases(self) -> Iterator[Phrase]:
        """Every phrase that has to be looked up."""
        for concept in self.concepts:
            yield from concept
        for kind in (*self.kinds, *self.asides):
            yield from kind.titles
            yield from kind.lines


class Vocabulary:
    """The terms of one field, found in questions by the stems of the question's language, longest first."""

    def __init__(self, toml: str) -> None:
        content = _File.model_validate(tomllib.loads(toml))
        self.known_by = _phrases(content.known_by)
        self._terms = {term.says[0]: term for term in content.term}
        self._concepts = {name: _phrases([*term.says, *term.finds]) for name, term in self._terms.items()}
        self._kinds = {
            page.name: Kind(page.name, _phrases(page.titles), _phrases(page.lines), page.figures, page.aside)
            for page in content.page
        }
        self._asides = [page.name for page in content.page if page.aside]
        self._by_language: dict[str, dict[Phrase, str]] = {}

    @property
    def terms(self) -> list[str]:
        """The first name of every term."""
        return list(self._terms)

    def understand(self, spoken: Sequence[str], language: str) -> Meaning:
        """The meaning of a question's words; empty where none of them is the field's.

        The name of a statement is not looked for: prose speaks of balance sheets, the page itself need not.
        """
        found = list(self._find(spoken, language))
        asked = list(dict.fromkeys(name for name, _ in found))
        measures = frozenset(word for name, said in found if self._replaces(name) for word in said)
        used = [name for term in asked for name in self._terms[term].uses]
        concepts = (name for name in dict.fromkeys([*asked, *used]) if not self._names_statement(name))
        kinds = dict.fromkeys(name for term in asked for name in self._terms[term].on)
        return Meaning(
            tuple(self._concepts[name] for name in concepts),
            tuple(self._kinds[name] for name in kinds),
            tuple(self._kinds[name] for name in self._asides if name not in kinds),
            measures,
        )

    def _replaces(self, term: str) -> bool:
        """Whether the words of a term say little: it is computed from others, or names a statement."""
        return bool(self._terms[term].uses) or self._names_statement(term)

    def _names_statement(self, term: str) -> bool:
        return term in self._kinds and self._kinds[term].figures

    def _find(self, spoken: Sequence[str], language: str) -> Iterator[tuple[str, Sequence[str]]]:
        names = self._by_language.get(language) or self._by_language.setdefault(
            language, self._index(language)
        )
        longest = max(map(len, names), default=0)
        told = [(w, st) for w, st in zip(spoken, stems(list(spoken), language), strict=True) if st]
        terms = tuple(st for _, st in told)
        start = 0
        while start < len(terms):
            for end in range(min(start + longest, len(terms)), start, -1):
                if name := names.get(terms[start:end]):
                    yield name, [w for w, _ in told[start:end]]
                    start = end - 1
                    break
            start += 1

    def _index(self, language: str) -> dict[Phrase, str]:
        return {
            phrase: name
            for name, term in self._terms.items()
            for said in term.says
            if (phrase := _stemmed(words(said), language))
        }


@cache
def shipped_vocabularies() -> tuple[Vocabulary, ...]:
    """Every vocabulary that comes with the product, read once."""
    folder = files("core.search.domains")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda f: f.name)
    return tuple(Vocabulary(file.read_text(encoding="utf-8")) for file in found)


def _stemmed(spelled: Sequence[str], language: str) -> Phrase:
    return tuple(stem for stem in stems(list(spelled), language) if stem)


def _phrases(texts: Sequence[str]) -> tuple[Phrase, ...]:
    return tuple(tuple(words(text)) for text in texts)
