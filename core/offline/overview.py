"""What documents are about, in quotes: their titles and the first sentences of their pages."""

import re
from collections import Counter
from itertools import takewhile

from core.offline.material import Material, Place
from core.search.bm25 import QuestionTerms
from core.text.question_type import asks_for_overview

MAX_OPENINGS = 4
MAX_TITLES = 2
"""Lines of headings that a title has at most."""

_HAS_ARTICLE = re.compile(r"\b(?:the|an?|our|my|your)\b", re.I)
"""`What is the rent?` asks for a fact, `What is PerksPlus?` for an overview of the document of that name."""


def asks_what_it_is(question: str, material: Material) -> bool:
    """Whether it asks for an overview, or what the thing is that a document has as its title."""
    if asks_for_overview(question):
        return True
    asked = QuestionTerms(question)
    if _HAS_ARTICLE.search(question) or not asked.defined or asked.defined != list(asked.terms):
        return False
    titles = (" ".join(_text_of(title, material)) for title in _titles(material))
    return any(set(asked.defined) <= set(asked.terms_of(title)) for title in titles)


def overview(material: Material) -> list[Place]:
    """The title of each document, and the first whole sentence of each of the first pages.

    If there are few pages, the first sentence below each heading. A sentence that is repeated is no opening,
    and neither are rows and items.
    """
    repeated = Counter(candidate.text for candidate in material.candidates)
    is_short = len({(source.blob_name, source.page) for source in material.sources}) < MAX_OPENINGS
    found: dict[tuple[int, str, str], Place] = {}
    for place, candidate in zip(material.places, material.candidates, strict=True):
        source, piece = material.sources[place.source], material.around(place)[place.first]
        if piece.kind == "sentence" and piece.is_whole and repeated[candidate.text] == 1:
            section = candidate.heading if is_short else ""
            found.setdefault((source.page, source.blob_name, section), place)
    first = sorted(found.items(), key=lambda item: item[0][:2])[:MAX_OPENINGS]
    return [*_titles(material), *(place for _, place in first)]


def _titles(material: Material) -> list[Place]:
    """The headings above the text of the first page of each document, or its first line."""
    found: dict[str, Place] = {}
    for number, (source, pieces) in enumerate(zip(material.sources, material.pieces, strict=True)):
        if source.page == 1 and pieces and not pieces[0].text.endswith("?"):
            above = takewhile(lambda piece: piece.kind == "heading", pieces[:MAX_TITLES])
            found.setdefault(source.blob_name, Place(number, 0, max(0, len(list(above)) - 1)))
    return list(found.values())


def _text_of(place: Place, material: Material) -> list[str]:
    return [piece.text for piece in material.around(place)[place.first : place.last + 1]]
