"""Relations and names across documents: aliases, the ontology of a scope, and following a relation."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from orc_core.analysis.models import (
    ABBREVIATED_AS,
    DEFINED_AS,
    Alias,
    Connection,
    Ontology,
    PageAnalysis,
    Relation,
    TypeUse,
)
from orc_core.text.normal_forms import normalized
from orc_core.text.terms import DEFAULT_LANGUAGE, stems, words

KEPT_KEYS = 50_000
DEFINITIONS = (ABBREVIATED_AS, DEFINED_AS)
LEGAL_FORMS = frozenset(
    "inc corp corporation co llc ltd limited plc lp llp gmbh mbh ag kg kgaa se ug ohg ev sa spa sl sarl srl "
    "sas bv nv ab as aps oy oyj kk pty pte lda ltda".split()
)

PagesByDocument = Mapping[str, Sequence[PageAnalysis]]

_POSSESSIVE = re.compile(r"[’'`]s?(?=\s|$)")
_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")
_OPENINGS = frozenset(("the", "der", "die", "das", "el", "la", "le", "il"))


@lru_cache(maxsize=KEPT_KEYS)
def key(name: str) -> str:
    """The form in which names are compared: without case, article, possessive and legal form."""
    folded = normalized("NFKC", name).casefold()
    found = _WORD.findall(_POSSESSIVE.sub("", folded).replace("&", " and "))
    first = next((at for at, word in enumerate(found) if word not in _OPENINGS), len(found) - 1)
    found = found[max(first, 0) :]
    while len(found) > 1 and found[-1].replace(".", "") in LEGAL_FORMS:
        del found[-1]
        if len(found) > 1 and found[-1] == "and":
            del found[-1]
    return " ".join(found) or folded.strip()


class ShortForms:
    """The short forms of names, by key.

    An abbreviation is valid in all documents unless they disagree about it. A defined term, such as
    `the “Company”`, is valid in its own document only.
    """

    def __init__(self, pages: PagesByDocument) -> None:
        self._within: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._anywhere: dict[str, set[str]] = defaultdict(set)
        for document_id, _, relation in _relations(pages):
            if relation.type not in DEFINITIONS:
                continue
            long, short = key(relation.source), key(relation.target)
            if long == short:
                continue
            self._within[document_id][short].add(long)
            if relation.type == ABBREVIATED_AS:
                self._anywhere[short].add(long)

    def long_forms(self, short: str, document_id: str) -> set[str]:
        """The keys of the long form of `short` in a document; empty if there is none or more than one."""
        found = self._within.get(document_id, {}).get(short) or self._anywhere.get(short, set())
        return found if len(found) == 1 else set()

    def spellings(self, name: str, document_id: str) -> set[str]:
        """The keys of all names that the document may use for `name`."""
        long = self.long_forms(key(name), document_id) or {key(name)}
        shorts = {*self._within.get(document_id, {}), *self._anywhere}
        return long | {key(name)} | {short for short in shorts if self.long_forms(short, document_id) & long}

    def abbreviations(self) -> dict[str, str]:
        """Each short form that has one meaning in all documents that define it, with its long form."""
        everywhere: dict[str, set[str]] = defaultdict(set)
        for short, longs in chain.from_iterable(each.items() for each in self._within.values()):
            everywhere[short] |= longs
        return {short: next(iter(longs)) for short, longs in everywhere.items() if len(longs) == 1}


def _relations(pages: PagesByDocument) -> Iterator[tuple[str, PageAnalysis, Relation]]:
    for document_id, analyses in pages.items():
        for page in analyses:
            for relation in page.relations:
                yield document_id, page, relation


EXAMPLES = 5
MOST_TYPES = 50
MOST_ALIASES = 200
FIGURES = frozenset({"date", "amount", "percentage", "email", "url"})
"""Types whose values have no aliases."""


def build_ontology(pages: PagesByDocument) -> Ontology:
    """The ontology of these documents, most frequent types first. Does no I/O."""
    entities: dict[str, Counter[str]] = defaultdict(Counter)
    relations: dict[str, Counter[str]] = defaultdict(Counter)
    for page in chain.from_iterable(pages.values()):
        for entity in page.entities:
            entities[entity.type][entity.name] += 1
        for relation in page.relations:
            relations[relation.type][f"{relation.source} {relation.type} {relation.target}"] += 1
    return Ontology(
        entity_types=_uses(entities), relation_types=_uses(relations), aliases=_aliases(pages)[:MOST_ALIASES]
    )


def _uses(found: dict[str, Counter[str]]) -> list[TypeUse]:
    """Each type with the number of times that a page names it."""
    uses = [
        TypeUse(type=kind, count=counts.total(), examples=[name for name, _ in counts.most_common(EXAMPLES)])
        for kind, counts in found.items()
    ]
    return sorted(uses, key=lambda use: (-use.count, use.type))[:MOST_TYPES]


def _aliases(pages: PagesByDocument) -> list[Alias]:
    """Names that differ only in case, possessive or legal form, and unambiguous short forms."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for name in _names(pages):
        spellings[key(name)][name] += 1
    short_forms = ShortForms(pages).abbreviations()
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for each, counts in spellings.items():
        groups[short_forms.get(each, each)].update(counts)
    found: list[tuple[int, Alias]] = []
    for group, counts in groups.items():
        if len(counts) > 1:
            # The long form in its most frequent spelling.
            name = max(counts, key=lambda each: (key(each) == group, counts[each], len(each), each))
            others = [other for other, _ in counts.most_common() if other != name]
            found.append((-counts.total(), Alias(name=name, aliases=others)))
    return [alias for _, alias in sorted(found, key=lambda pair: (pair[0], pair[1].name))]


def _names(pages: PagesByDocument) -> Iterator[str]:
    for page in chain.from_iterable(pages.values()):
        yield from (entity.name for entity in page.entities if entity.type not in FIGURES)
        for relation in page.relations:
            if relation.type in DEFINITIONS:
                yield from (relation.source, relation.target)


Direction = Literal["source", "target", "both"]

LEAST_PART = 4
"""Characters a name needs to match as part of a longer name."""


class _Wanted(NamedTuple):
    """The keys to look for. `is_whole`: a name must equal a key; otherwise it may contain one."""

    keys: frozenset[str]
    is_whole: bool

    def is_named_by(self, name: str) -> bool:
        found = key(name)
        if self.is_whole or found in self.keys:
            return found in self.keys
        return any(f" {each} " in f" {found} " for each in self.keys if len(each) >= LEAST_PART)


def follow(
    pages: PagesByDocument,
    entity_value: str,
    relation_type: str | None = None,
    direction: Direction = "both",
    limit: int | None = None,
) -> list[Connection]:
    """The pages where `entity_value` is the source or the target of a relation, then those that name it.

    If a type is asked for, those that only name it are left out.

    Aliases count as the entity, and case is ignored. If no page has the whole name, longer names that contain
    it match. A connection for a page that only names the entity has no relation. Does no I/O.
    """
    short_forms = ShortForms(pages)
    for is_whole in (True, False):
        wanted = {
            document_id: _Wanted(frozenset(short_forms.spellings(entity_value, document_id)), is_whole)
            for document_id in pages
        }
        related = list(_related(wanted, relation_type, direction, pages))
        # A page that only names the entity states no relation of the wanted type.
        naming = [] if (relation_type or "").strip() else _naming(wanted, related, pages)
        if found := [*related, *naming]:
            return found[:limit]
    return []


def _related(
    wanted: dict[str, _Wanted], relation_type: str | None, direction: Direction, pages: PagesByDocument
) -> Iterator[Connection]:
    wanted_root = _root(relation_type) if relation_type and relation_type.strip() else None
    for document_id, page, relation in _relations(pages):
        both = (relation.source, relation.target)
        ends = {"source": both[:1], "target": both[1:]}.get(direction, both)
        named = next(filter(wanted[document_id].is_named_by, ends), None)
        if named is not None and wanted_root in (None, _root(relation.type)):
            places = (each.target_page for each in page.anchors if each.text == relation.target)
            target_page = next(filter(None, places), None)
            yield Connection(
                document_id=document_id,
                page=page.page,
                relation=relation,
                named=named,
                target_page=target_page,
            )


def _naming(
    wanted: dict[str, _Wanted], related: list[Connection], pages: PagesByDocument
) -> Iterator[Connection]:
    known = {(connection.document_id, connection.page) for connection in related}
    for document_id, analyses in pages.items():
        for page in analyses:
            entities, anchors = (each.name for each in page.entities), (each.text for each in page.anchors)
            names = filter(wanted[document_id].is_named_by, chain(entities, page.topics, anchors))
            if (document_id, page.page) not in known and (named := next(names, None)):
                yield Connection(document_id=document_id, page=page.page, named=named)


def _root(relation_type: str) -> tuple[str, ...]:
    """The word stems of a type: `acquires` and `acquired` are one type."""
    found = tuple(stem for stem in stems(words(relation_type), DEFAULT_LANGUAGE) if stem)
    return found or (relation_type.casefold().strip(),)
