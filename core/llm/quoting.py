"""Answers a question with sentences of its sources, word for word and each followed by its marker."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.grounding.answers import NOT_FOUND_ANSWER
from core.grounding.markers import marker
from core.grounding.sources import FencedSource
from core.llm.ranking import Candidate, Ranking, Terms
from core.llm.sentences import Piece, split_pieces

MAX_QUOTES = 4
MAX_ITEMS = 8
SHARE_OF_BEST = 0.6
"""A further quote scores at least this share of the best one."""
SAME = 0.6
"""Two quotes that share this much of their words say the same."""

_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|_{4,}")
_BULLET = re.compile(r"^[•●▪◦‣·*–-]\s+")
_MIN_CHARACTERS = 12
_ENDS = (".", "!", "?", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class _Place:
    """Pieces `first` to `last` of one source."""

    source: int
    first: int
    last: int


def answer_from(question: str, sources: Sequence[FencedSource]) -> str:
    """One to four quotes in reading order, or NOT_FOUND_ANSWER where the sources do not speak of it."""
    pieces = [split_pieces(source.text) for source in sources]
    places, candidates = _candidates(sources, pieces)
    ranking = Ranking(question, candidates, Terms.for_question(question))
    best = sorted(range(len(places)), key=lambda i: -ranking.scored[i].score)
    if not best or not _speaks_of(ranking, candidates, best[0]):
        return NOT_FOUND_ANSWER
    chosen = [_widened(places[i], pieces, ranking, candidates[i]) for i in _distinct(ranking, candidates, best)]
    return _render(_merged(chosen), sources, pieces)


def _candidates(
    sources: Sequence[FencedSource], pieces: list[list[Piece]]
) -> tuple[list[_Place], list[Candidate]]:
    places, candidates = [], []
    for number, source in enumerate(sources):
        for index, piece in enumerate(pieces[number]):
            if _is_quotable(piece):
                places.append(_Place(number, index, index))
                candidates.append(Candidate(piece.text, piece.heading, source.blob_name, number))
    return places, candidates


def _is_quotable(piece: Piece) -> bool:
    too_short = len(piece.text.encode()) < _MIN_CHARACTERS
    return not (piece.kind == "heading" or too_short or piece.text.endswith(("?", "？")) or _LEADERS.search(piece.text))


def _speaks_of(ranking: Ranking, candidates: Sequence[Candidate], best: int) -> bool:
    """Whether enough of the question, its rare words above all, is found where the best quote stands."""
    place, name = candidates[best].place, candidates[best].document
    nearby = set(ranking.terms.of(name.replace("_", " "))).intersection(ranking.asked)
    anywhere: set[str] = set()
    for candidate, scored in zip(candidates, ranking.scored, strict=True):
        anywhere |= scored.covered
        if candidate.place == place:
            nearby |= scored.covered
    support = ranking.coverage(frozenset(nearby))
    known = len(anywhere) / max(1, len(ranking.asked))
    return (support >= 0.55 and known >= 0.6) or (support >= 0.3 and known >= 0.8)


def _distinct(ranking: Ranking, candidates: Sequence[Candidate], best: list[int]) -> list[int]:
    """The best candidates that say something new and come close to the first."""
    chosen: list[int] = []
    covered: set[str] = set()
    for index in best[: MAX_QUOTES * 4]:
        scored = ranking.scored[index]
        if chosen and scored.score < SHARE_OF_BEST * ranking.scored[chosen[0]].score:
            break
        if any(_same(ranking, candidates[index], candidates[other]) for other in chosen):
            continue
        chosen.append(index)
        covered |= scored.covered
        if len(chosen) == MAX_QUOTES:
            break
    return chosen


def _same(ranking: Ranking, one: Candidate, other: Candidate) -> bool:
    a, b = set(ranking.terms.of(one.text)), set(ranking.terms.of(other.text))
    return len(a & b) > SAME * max(1, min(len(a), len(b)))


def _widened(place: _Place, pieces: list[list[Piece]], ranking: Ranking, candidate: Candidate) -> _Place:
    """The place with what it cannot be read without: a list's items, an item's lead-in."""
    around, piece = pieces[place.source], pieces[place.source][place.first]
    if piece.text.endswith(":"):
        return _Place(place.source, place.first, _end_of_items(around, place.first + 1))
    if piece.kind != "item" or not set(ranking.asked).intersection(ranking.terms.of(candidate.heading)):
        return place
    first = place.first
    while first > 0 and around[first - 1].kind == "item":
        first -= 1
    own = set(ranking.asked).intersection(ranking.terms.of(piece.text))
    return place if len(own) > 1 else _Place(place.source, max(0, first - 1), _end_of_items(around, first))


def _end_of_items(pieces: list[Piece], first: int) -> int:
    """The index of the last item of the list that begins at `first`, or of a long list's last one shown."""
    last = first - 1
    while last + 1 < min(len(pieces), first + MAX_ITEMS) and pieces[last + 1].kind == "item":
        last += 1
    return last


def _merged(places: list[_Place]) -> list[_Place]:
    merged: list[_Place] = []
    for place in sorted(places, key=lambda p: (p.source, p.first)):
        if merged and merged[-1].source == place.source and place.first <= merged[-1].last:
            before = merged.pop()
            place = _Place(place.source, before.first, max(before.last, place.last))
        merged.append(place)
    return merged


def _render(places: list[_Place], sources: Sequence[FencedSource], pieces: list[list[Piece]]) -> str:
    parts = []
    for place in places:
        quoted = pieces[place.source][place.first : place.last + 1]
        parts.extend(_quotes(quoted, marker(sources[place.source].number)))
    return "".join(parts).strip()


def _quotes(pieces: list[Piece], cited: str) -> Iterator[str]:
    """Each finished sentence with its marker; a list's items go on new lines and end with one."""
    for index, piece in enumerate(pieces):
        text = _BULLET.sub("", piece.text)
        is_last = index == len(pieces) - 1
        yield f"\n- {text}" if piece.kind == "item" else f"\n{text}" if piece.kind == "row" else f" {text}"
        if is_last or text.endswith(_ENDS):
            yield f" {cited}"
