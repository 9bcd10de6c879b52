"""Cuts a document into parts that a model can read one by one, within a number of calls."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from core.documents.passages import split_pages
from core.grounding.sources import Source
from core.models import Document, Hit, Page

STRETCHES_PER_PART = 4
"""A stretch is at most this fraction of a part, so that little room is left over when parts are packed."""

Count = Callable[[str], int]


class Sized(NamedTuple):
    """A source and its tokens."""

    source: Source
    tokens: int


class Stretch(NamedTuple):
    """Neighbouring sources of one page, which are read together or not at all."""

    page: int
    sources: tuple[Sized, ...]

    @property
    def tokens(self) -> int:
        return sum(sized.tokens for sized in self.sources)


Part = list[Stretch]


class Plan(NamedTuple):
    """The parts to read, and whether all of the document is in them."""

    parts: list[Part]
    is_whole: bool


def cut(document: Document, pages: Sequence[Page], part_tokens: int, count: Count) -> list[Stretch]:
    """The document's text in reading order; its sources are numbered from 1."""
    texts = {page.number: page.text for page in pages}
    sized = []
    for number, passage in enumerate(split_pages(document.document_id, pages), 1):
        source = Source(
            number=number,
            document_id=document.document_id,
            blob_name=document.blob_name,
            page=passage.page,
            start=passage.start,
            text=passage.text,
            page_text=texts[passage.page],
        )
        sized.append(Sized(source, count(passage.text)))
    return join(sized, part_tokens // STRETCHES_PER_PART)


def join(sized: Iterable[Sized], most: int) -> list[Stretch]:
    """Neighbouring sources of a page joined into stretches of at most `most` tokens, or of one source."""
    stretches: list[Stretch] = []
    for page, on_page in itertools.groupby(sized, key=lambda each: each.source.page):
        gathered: list[Sized] = []
        for each in on_page:
            if gathered and sum(one.tokens for one in gathered) + each.tokens > most:
                stretches.append(Stretch(page, tuple(gathered)))
                gathered = []
            gathered.append(each)
        stretches.append(Stretch(page, tuple(gathered)))
    return stretches


def total(stretches: Iterable[Stretch]) -> int:
    """The tokens of all of them."""
    return sum(stretch.tokens for stretch in stretches)


def pack(stretches: Iterable[Stretch], budget: int) -> list[Part]:
    """Parts of at most `budget` tokens, or of one stretch, in the same order."""
    parts: list[Part] = []
    used = 0
    for stretch in stretches:
        if not parts or used + stretch.tokens > budget:
            parts.append([])
            used = 0
        parts[-1].append(stretch)
        used += stretch.tokens
    return parts


def plan_parts(
    stretches: Sequence[Stretch], best: Sequence[Hit], *, calls: int, usual: int, largest: int
) -> Plan:
    """At most `calls` parts of `usual` tokens, or larger where it takes that to hold all.

    Where even the largest parts cannot hold all, the stretches around the `best` hits are read, and as many
    others as there is room for, from all over the document.
    """
    biggest = max(stretch.tokens for stretch in stretches)
    # Packing leaves less than the biggest stretch unused in a part, so this many tokens always fit.
    capacity = calls * max(1, largest - biggest)
    if total(stretches) <= capacity:
        needed = math.ceil(total(stretches) / calls) + biggest
        return Plan(pack(stretches, min(largest, max(usual, needed))), is_whole=True)
    return Plan(pack(_selected(stretches, best, capacity), largest)[:calls], is_whole=False)


def _selected(stretches: Sequence[Stretch], best: Sequence[Hit], capacity: int) -> list[Stretch]:
    chosen: set[int] = set()
    left = capacity
    for index in _matching(stretches, best):
        if stretches[index].tokens <= left:
            chosen.add(index)
            left -= stretches[index].tokens
    others = [index for index in range(len(stretches)) if index not in chosen]
    spread = set(thin_out([stretches[index] for index in others], left))
    chosen.update(index for index in others if stretches[index] in spread)
    return [stretches[index] for index in sorted(chosen)]


def _matching(stretches: Sequence[Stretch], best: Sequence[Hit]) -> list[int]:
    """The places of the stretches that the hits overlap, best first."""
    found: dict[int, None] = {}
    for hit in best:
        for index, stretch in enumerate(stretches):
            if stretch.page == hit.passage.page and _overlaps(stretch, hit):
                found[index] = None
    return list(found)


def _overlaps(stretch: Stretch, hit: Hit) -> bool:
    first, last = stretch.sources[0].source, stretch.sources[-1].source
    return first.start < hit.passage.end and hit.passage.start < last.start + len(last.text)


def thin_out(stretches: Sequence[Stretch], budget: int) -> list[Stretch]:
    """As many of these as fit, spread evenly; all of them where all fit."""
    everything = total(stretches)
    kept: list[Stretch] = []
    seen = used = 0
    for stretch in stretches:
        seen += stretch.tokens
        if (used + stretch.tokens) * everything <= budget * seen:
            kept.append(stretch)
            used += stretch.tokens
    return kept
