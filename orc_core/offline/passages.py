"""The passages of the sources that come closest to a question, each with its best sentence word for word."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from orc_core.grounding.closest import closest_label, not_found_answer
from orc_core.grounding.sources import FencedSource
from orc_core.models import Page
from orc_core.offline.material import Material
from orc_core.search.bm25 import Candidate, TextRanking
from orc_core.search.mentions import compares
from orc_core.text.file_names import without_names
from orc_core.text.parts import Find, named_parts, parts_of_file
from orc_core.text.terms import words
from orc_core.text.wording import has_subject

MOST_PASSAGES, LEAST_PASSAGES = 5, 2
SHARE_OF_BEST = 1 / 3
"""What a passage behind the least ones covers of the question, as a share of what the best of all covers."""

SAME_STATEMENT = 0.5
"""The share of equal words in two versions of a statement."""

PageKey = tuple[str, int]
"""A document and the number of its page."""


def closest_passages(question: str, sources: Sequence[FencedSource], *, are_found: bool = False) -> str:
    """A line that says what they are, and up to five passages; or the sentence that nothing was found.

    Nothing is found if the sources have no word of the question. A search that has found them (`are_found`)
    knows other forms of words, so each of its pages is shown. If the question names files, or parts such as
    page 3, only they are.
    """
    asked, named = without_names(question, {source.blob_name for source in sources})
    sources = [source for source in sources if source.blob_name in named] or sources
    parts = list(_parts(asked, sources, named_parts))
    of_file = [] if parts else list(_parts(asked, sources, parts_of_file))
    material = Material(parts or sorted(sources, key=lambda source: source not in of_file))
    chosen = _matching(asked, material, are_found) if has_subject(asked) else _beginnings(material)
    if parts:
        chosen = list(dict.fromkeys([*chosen, *range(len(material.places))]))
    if not chosen and compares(asked):
        chosen = _beginnings(material)  # no document says what it is compared by
    if not chosen:
        return not_found_answer(question)
    chosen = list(_with_versions(chosen, material))
    places = material.with_next_page(material.places[index] for index in chosen[:MOST_PASSAGES])
    shown = material.render(dict.fromkeys(places))
    return "\n\n".join([closest_label(question), *shown])


def _parts(question: str, sources: Sequence[FencedSource], find: Find) -> Iterator[FencedSource]:
    """The sources of the parts that the question names, cut to them."""
    for name in dict.fromkeys(source.blob_name for source in sources):
        of_file = [source for source in sources if source.blob_name == name]
        pages = [Page(number=source.page, text=source.text, label=source.label) for source in of_file]
        for at, start, end in find(question, pages):
            yield of_file[at].model_copy(update={"text": of_file[at].text[start:end]})


def _with_versions(chosen: Sequence[int], material: Material) -> Iterator[int]:
    """The places in their order, each followed by those of other documents that say almost the same."""
    waiting = {index: frozenset(words(material.text_of(material.places[index]))) for index in chosen}
    while waiting:
        first = next(iter(waiting))
        said, document = waiting.pop(first), material.page_of(material.places[first])[0]
        yield first
        for index, other in list(waiting.items()):
            is_elsewhere = material.page_of(material.places[index])[0] != document
            if is_elsewhere and len(said & other) >= SAME_STATEMENT * len(said | other):
                del waiting[index]
                yield index


def _beginnings(material: Material) -> list[int]:
    """The first place of each page, in order: the question has no words to look for."""
    found: dict[PageKey, int] = {}
    for index, place in enumerate(material.places):
        found.setdefault(material.page_of(place), index)
    return list(found.values())


def _matching(question: str, material: Material, are_found: bool) -> list[int]:
    """The best place of each page, pages in order; then the next best of all, if that are few.

    The same text is shown once of each document.
    """
    ranking = TextRanking(question, list(material.candidates()))
    best: dict[PageKey, int] = {}
    others: list[int] = []
    seen: set[tuple[str, str]] = set()
    matching = ranking.matching()
    for index in ranking.best_first() if are_found and matching else matching:
        place = material.places[index]
        page = material.page_of(place)
        if (text := (page[0], material.text_of(place))) in seen:
            continue
        seen.add(text)
        if best.setdefault(page, index) != index and ranking.scores[index].covered:
            others.append(index)
    scores = {page: ranking.scores[index].score for page, index in best.items()}
    ranks = _ranks(question, material, scores)
    ordered = [*(best[page] for page in sorted(best, key=ranks.__getitem__, reverse=True)), *others]
    covered = [ranking.coverage(ranking.scores[index].covered) for index in ordered]
    enough = SHARE_OF_BEST * max(covered, default=0.0)
    return [
        index
        for number, (index, share) in enumerate(zip(ordered, covered, strict=True))
        if number < LEAST_PASSAGES or share >= enough
    ]


def _ranks(question: str, material: Material, of_best: Mapping[PageKey, float]) -> Mapping[PageKey, float]:
    """Higher for better pages: in the order of the search, or by their text and their best places.

    Pages that were not searched come in reading order.
    """
    pages = list(dict.fromkeys((source.blob_name, source.page) for source in material.sources))
    if any(one[0] == other[0] and one > other for one, other in pairwise(pages)):
        return {page: -rank for rank, page in enumerate(pages)}
    whole = TextRanking(question, [Candidate(source.text) for source in material.sources]).scores
    of_page: dict[PageKey, float] = {}
    for source, scored in zip(material.sources, whole, strict=True):
        page = source.blob_name, source.page
        of_page[page] = max(scored.score, of_page.get(page, 0.0))
    by_page, by_best = _shares(of_page), _shares(of_best)
    return {page: by_best[page] + by_page[page] for page in of_best}


def _shares(scores: Mapping[PageKey, float]) -> dict[PageKey, float]:
    best = max(scores.values(), default=0.0) or 1.0
    return {page: score / best for page, score in scores.items()}
