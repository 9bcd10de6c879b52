"""Spellings of one thing: how names are compared, and what the documents say of their short forms."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from core.analysis.models import PageAnalysis
from core.analysis.relation_patterns import ABBREVIATED_AS, DEFINED_AS
from core.analysis.vocabulary import LEGAL_FORMS

KEPT_KEYS = 50_000

PagesByDocument = Mapping[str, Sequence[PageAnalysis]]

_POSSESSIVE = re.compile(r"[’'`]s?(?=\s|$)")
_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")
_OPENINGS = frozenset(("the", "der", "die", "das", "el", "la", "le", "il"))


@lru_cache(maxsize=KEPT_KEYS)
def key(name: str) -> str:
    """What spellings of one name have in common: no case, article, possessive or legal form."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    found = _WORD.findall(_POSSESSIVE.sub("", folded).replace("&", " and "))
    while len(found) > 1 and found[0] in _OPENINGS:
        del found[0]
    while len(found) > 1 and found[-1].replace(".", "") in LEGAL_FORMS:
        del found[-1]
        if len(found) > 1 and found[-1] == "and":
            del found[-1]
    return " ".join(found) or folded.strip()


class ShortForms:
    """Which names stand for which, by key.

    An abbreviation holds in all documents unless they disagree about it; a defined term, such as
    `the “Company”`, holds in its own document only.
    """

    def __init__(self, pages: PagesByDocument) -> None:
        self._within: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._anywhere: dict[str, set[str]] = defaultdict(set)
        for document_id, kind, long, short in _definitions(pages):
            self._within[document_id][short].add(long)
            if kind == ABBREVIATED_AS:
                self._anywhere[short].add(long)

    def long_forms(self, short: str, document_id: str) -> set[str]:
        """The keys of what a short form stands for in a document; none where that is not clear."""
        found = self._within.get(document_id, {}).get(short) or self._anywhere.get(short, set())
        return found if len(found) == 1 else set()

    def spellings(self, name: str, document_id: str) -> set[str]:
        """The keys under which a document may name what `name` names."""
        long = self.long_forms(key(name), document_id) or {key(name)}
        shorts = {*self._within.get(document_id, {}), *self._anywhere}
        return long | {key(name)} | {short for short in shorts if self.long_forms(short, document_id) & long}

    def abbreviations(self) -> Iterator[tuple[str, str]]:
        """Every short form that stands for one thing in all documents that say so, with that thing."""
        everywhere: dict[str, set[str]] = defaultdict(set)
        for by_short in self._within.values():
            for short, longs in by_short.items():
                everywhere[short] |= longs
        for short, longs in everywhere.items():
            if len(longs) == 1:
                yield short, next(iter(longs))


def _definitions(pages: PagesByDocument) -> Iterator[tuple[str, str, str, str]]:
    for document_id, analyses in pages.items():
        for page in analyses:
            for relation in page.relations:
                if relation.type in (ABBREVIATED_AS, DEFINED_AS):
                    long, short = key(relation.source), key(relation.target)
                    if long != short:
                        yield document_id, relation.type, long, short
