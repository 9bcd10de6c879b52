"""The vocabulary of a scope: types of entities and relations, and the names that mean the same."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from core.analysis.aliases import PagesByDocument, ShortForms, key
from core.analysis.models import Alias, Ontology, TypeUse
from core.analysis.relation_patterns import ABBREVIATED_AS, DEFINED_AS

EXAMPLES = 5
MOST_TYPES = 50
MOST_ALIASES = 200
FIGURES = frozenset({"date", "amount", "percentage", "email", "url"})
"""Types whose values have no other names."""


def build_ontology(pages: PagesByDocument) -> Ontology:
    """What the documents speak of, most frequent first. Does no I/O; pure in its argument."""
    entities: dict[str, Counter[str]] = defaultdict(Counter)
    relations: dict[str, Counter[str]] = defaultdict(Counter)
    for analyses in pages.values():
        for page in analyses:
            for entity in page.entities:
                entities[entity.type][entity.name] += 1
            for relation in page.relations:
                relations[relation.type][f"{relation.source} {relation.type} {relation.target}"] += 1
    return Ontology(
        entity_types=_uses(entities), relation_types=_uses(relations), aliases=_aliases(pages)[:MOST_ALIASES]
    )


def _uses(found: dict[str, Counter[str]]) -> list[TypeUse]:
    """A count is how many namings there are, one for each page."""
    uses = [
        TypeUse(type=kind, count=counts.total(), examples=[name for name, _ in counts.most_common(EXAMPLES)])
        for kind, counts in found.items()
    ]
    return sorted(uses, key=lambda use: (-use.count, use.type))[:MOST_TYPES]


def _aliases(pages: PagesByDocument) -> list[Alias]:
    """Names that differ in case, possessives or legal forms, and short forms that mean one thing only."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for name in _names(pages):
        spellings[key(name)][name] += 1
    short_forms = dict(ShortForms(pages).abbreviations())
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for each, counts in spellings.items():
        groups[short_forms.get(each, each)].update(counts)
    found = [(counts.total(), _alias(each, counts)) for each, counts in groups.items() if len(counts) > 1]
    return [alias for _, alias in sorted(found, key=lambda pair: (-pair[0], pair[1].name))]


def _alias(group: str, counts: Counter[str]) -> Alias:
    """The long form in its commonest spelling, then the others."""
    name = max(counts, key=lambda each: (key(each) == group, counts[each], len(each), each))
    return Alias(name=name, aliases=[other for other, _ in counts.most_common() if other != name])


def _names(pages: PagesByDocument) -> Iterator[str]:
    for analyses in pages.values():
        for page in analyses:
            yield from (entity.name for entity in page.entities if entity.type not in FIGURES)
            for relation in page.relations:
                if relation.type in (ABBREVIATED_AS, DEFINED_AS):
                    yield from (relation.source, relation.target)
