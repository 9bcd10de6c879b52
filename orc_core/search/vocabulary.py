"""Expands questions with the vocabulary of a domain: the terms that documents use, and kinds of pages."""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from orc_core.text.terms import stems, words

SUFFIX = ".toml"
"""Of data files; the rest of the name is that of the domain."""
MIN_KNOWN_PHRASES = 3
"""Phrases of `known_by` that a document of the domain has."""

Phrase = tuple[str, ...]
"""Words in the spelling of `terms.words`, not stemmed."""


def _phrases(texts: Sequence[str]) -> tuple[Phrase, ...]:
    return tuple(tuple(words(text)) for text in texts)


Phrases = Annotated[tuple[Phrase, ...], BeforeValidator(_phrases)]
"""Texts of a data file, split into words."""


class _TermEntry(BaseModel):
    """A term of a data file; accounting.toml explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: list[str] = Field(min_length=1)
    finds: list[str] = []
    uses: list[str] = []
    on: list[str] = []


class PageKind(BaseModel):
    """A kind of page, recognised by its title, its lines, and whether it is mostly figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    titles: Phrases
    lines: Phrases = ()
    figures: bool = False
    aside: bool = False


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    known_by: Phrases
    page: list[PageKind] = []
    term: list[_TermEntry]

    @model_validator(mode="after")
    def check_references(self) -> Self:
        terms = {term.says[0] for term in self.term}
        pages = {page.name for page in self.page}
        for term in self.term:
            if missing := (set(term.uses) - terms) | (set(term.on) - pages):
                raise ValueError(f"{term.says[0]!r} refers to unknown terms or pages: {sorted(missing)}")
        return self


class QueryExpansion(NamedTuple):
    """The additions of a `domain` to a question: concepts, found by any of their phrases, and kinds of pages.

    It applies to documents that have some of the phrases in `known_by`. `asides` are the kinds of pages
    that only lead to others, unless the question asks for them. `measures` are the question's words for
    what is computed from the concepts, and for statements themselves.
    """

    domain: str
    known_by: tuple[Phrase, ...]
    concepts: tuple[tuple[Phrase, ...], ...]
    kinds: tuple[PageKind, ...]
    asides: tuple[PageKind, ...]
    measures: frozenset[str]

    def phrases(self) -> Iterator[Phrase]:
        """Every phrase that has to be looked up."""
        for concept in self.concepts:
            yield from concept
        for kind in (*self.kinds, *self.asides):
            yield from kind.titles
            yield from kind.lines


class Vocabulary:
    """The terms of one domain; found in questions by the stems of the question's language, longest first."""

    def __init__(self, toml: str, domain: str = "") -> None:
        content = _File.model_validate(tomllib.loads(toml))
        self.domain = domain
        self.known_by = content.known_by
        self._terms = {term.says[0]: term for term in content.term}
        self._concepts = {name: _phrases([*term.says, *term.finds]) for name, term in self._terms.items()}
        self._kinds = {page.name: page for page in content.page}
        self._by_language: dict[str, tuple[dict[Phrase, str], int]] = {}

    @property
    def terms(self) -> list[str]:
        """The first name of every term."""
        return list(self._terms)

    def expand(self, spelled: Sequence[str], language: str) -> QueryExpansion | None:
        """The expansion of a question, given as its words; None if it has no term of this domain.

        The name of a statement is no concept: any prose may mention a balance sheet.
        """
        found = list(self._find(spelled, language))
        asked = list(dict.fromkeys(name for name, _ in found))
        used = [name for term in asked for name in self._terms[term].uses]
        concepts = [name for name in dict.fromkeys([*asked, *used]) if not self._names_statement(name)]
        kinds = dict.fromkeys(name for term in asked for name in self._terms[term].on)
        if not concepts and not kinds:
            return None
        return QueryExpansion(
            domain=self.domain,
            known_by=self.known_by,
            concepts=tuple(self._concepts[name] for name in concepts),
            kinds=tuple(self._kinds[name] for name in kinds),
            asides=tuple(kind for name, kind in self._kinds.items() if kind.aside and name not in kinds),
            # Other terms stand for a term that is computed from them, or that names a statement.
            measures=frozenset(
                word
                for name, said in found
                if self._terms[name].uses or self._names_statement(name)
                for word in said
            ),
        )

    def _names_statement(self, term: str) -> bool:
        return term in self._kinds and self._kinds[term].figures

    def _find(self, spelled: Sequence[str], language: str) -> Iterator[tuple[str, Sequence[str]]]:
        if language not in self._by_language:
            # The terms by what they are called in the language, and the words of the longest name.
            names = {
                phrase: name
                for name, term in self._terms.items()
                for said in term.says
                if (phrase := tuple(filter(None, stems(words(said), language))))
            }
            self._by_language[language] = names, max(map(len, names), default=0)
        names, longest = self._by_language[language]
        significant = [(w, st) for w, st in zip(spelled, stems(list(spelled), language), strict=True) if st]
        terms = tuple(st for _, st in significant)
        start = 0
        while start < len(terms):
            for end in range(min(start + longest, len(terms)), start, -1):
                if name := names.get(terms[start:end]):
                    yield name, [w for w, _ in significant[start:end]]
                    start = end - 1
                    break
            start += 1


@cache
def shipped_vocabularies() -> tuple[Vocabulary, ...]:
    """The vocabularies that are part of the product, loaded once."""
    folder = files("orc_core.search") / "domains"
    found = sorted((file for file in folder.iterdir() if file.name.endswith(SUFFIX)), key=lambda f: f.name)
    return tuple(Vocabulary(file.read_text(encoding="utf-8"), file.name[: -len(SUFFIX)]) for file in found)
