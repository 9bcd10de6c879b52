"""Answers a question with sentences of its sources, word for word and each followed by its marker."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from typing import NamedTuple

from core.grounding.citations import marker
from core.grounding.claims import BULLET, NOT_FOUND_ANSWER
from core.grounding.sentence_facts import has_content
from core.grounding.sources import FencedSource
from core.search.bm25 import Candidate, TextRanking
from core.text.question_type import asks_for_overview
from core.text.sentences import Kind, Piece, sentences, split_pieces
from core.text.terms import has_digit

MAX_QUOTES = 4
FEW_QUOTES = 3
MAX_ITEMS = 8
MIN_BYTES = 12
ENDS = (".", "!", "?", "。", "！", "？")
SUPPORT = ((0.55, 0.7), (0.22, 0.8))
SUPPORT_OF_PAIR = ((0.4, 0.6),)
"""Pairs of shares: an answer needs the first share of the question's weight, by rarity, in the source of the
best quote, and the second share of its terms in any source. Less is enough if two terms are neighbours. Tuned
on 210 questions with an answer and 25 without.
"""
SHARE_OF_BEST = 0.6
"""Further quotes score at least this share of the best one."""
SAME = 0.6
"""Two quotes that share more of their words than this say the same."""

_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|_{4,}")


class _Place(NamedTuple):
    """Pieces `first` to `last` of one source."""

    source: int
    first: int
    last: int


def answer_from(question: str, sources: Sequence[FencedSource]) -> str:
    """Quotes in reading order, or NOT_FOUND_ANSWER if the sources do not answer the question."""
    pieces = [split_pieces(source.text) for source in sources]
    places, candidates = _candidates(sources, pieces)
    if asks_for_overview(question):
        return _render(_openings(places, candidates, sources), sources, pieces) or NOT_FOUND_ANSWER
    ranking = TextRanking(question, candidates)
    best = ranking.best_first()
    is_supported = best and _is_supported(ranking, candidates, best[0])
    chosen = _distinct(ranking, candidates, best) if is_supported else []
    if not chosen:
        return NOT_FOUND_ANSWER
    shown = [_with_list(places[i], pieces[places[i].source], ranking, candidates[i]) for i in chosen]
    shown.extend(header for i in chosen if (header := _header(places[i], pieces[places[i].source])))
    if len(chosen) < FEW_QUOTES and not (
        ranking.question.asks_number and has_digit(candidates[best[0]].text)
    ):
        shown[0] = _with_following(shown[0], pieces[shown[0].source], FEW_QUOTES - len(chosen))
    return _render(_merged(shown), sources, pieces)


def _candidates(
    sources: Sequence[FencedSource], pieces: list[list[Piece]]
) -> tuple[list[_Place], list[Candidate]]:
    places, candidates = [], []
    for number, source in enumerate(sources):
        for index, (piece, following) in enumerate(zip_longest(pieces[number], pieces[number][1:])):
            if _is_quotable(piece, following):
                # A row means nothing without its header, so both are compared with the question.
                text = f"{piece.heading} {piece.text}" if piece.kind == "row" else piece.text
                places.append(_Place(number, index, index))
                candidates.append(
                    Candidate(text, piece.heading, source.blob_name, number, not piece.is_whole)
                )
    return places, candidates


def _is_quotable(piece: Piece, following: Piece | None) -> bool:
    if piece.kind == "heading" or piece.text.endswith(("?", "？")):
        return False
    if piece.text.endswith(":") and (following is None or following.kind != "item"):
        return False
    return len(piece.text.encode()) >= MIN_BYTES and not _LEADERS.search(piece.text)


def _openings(
    places: list[_Place], candidates: Sequence[Candidate], sources: Sequence[FencedSource]
) -> list[_Place]:
    """The first whole sentence of each of the first pages; a sentence of several pages is not an opening."""
    repeated = Counter(candidate.text for candidate in candidates)
    by_page: dict[tuple[int, str], _Place] = {}
    for place, candidate in zip(places, candidates, strict=True):
        source = sources[place.source]
        if not candidate.is_fragment and repeated[candidate.text] == 1:
            by_page.setdefault((source.page, source.blob_name), place)
    return [by_page[page] for page in sorted(by_page)[:MAX_QUOTES]]


def _is_supported(ranking: TextRanking, candidates: Sequence[Candidate], best: int) -> bool:
    """Whether the source of the best quote has enough of the question, weighted by rarity."""
    nearby = set(ranking.scores[best].document_terms)
    anywhere: set[str] = set()
    for candidate, scored in zip(candidates, ranking.scores, strict=True):
        anywhere |= scored.covered
        if candidate.source == candidates[best].source:
            nearby |= scored.covered
    support = ranking.coverage(nearby)
    known = len(anywhere) / max(1, len(ranking.question.terms))
    levels = SUPPORT + SUPPORT_OF_PAIR if ranking.scores[best].has_pair else SUPPORT
    return any(support >= enough and known >= share for enough, share in levels)


def _distinct(ranking: TextRanking, candidates: Sequence[Candidate], best: list[int]) -> list[int]:
    """The best candidates: close to the first in score, meaningful, and not repetitions."""
    chosen: list[int] = []
    least = SHARE_OF_BEST * ranking.scores[best[0]].score
    for index in best:
        own = ranking.scores[index]
        if len(chosen) == MAX_QUOTES or own.score < least:
            break
        says_same = any(
            own.covered <= earlier.covered
            and len(own.terms & earlier.terms) > SAME * max(1, min(len(own.terms), len(earlier.terms)))
            for earlier in (ranking.scores[other] for other in chosen)
        )
        if not says_same and has_content(candidates[index].text):
            chosen.append(index)
    return chosen


def _with_list(place: _Place, around: list[Piece], ranking: TextRanking, candidate: Candidate) -> _Place:
    """A lead-in with its items; an item that only its heading matches, with the whole list."""
    piece, asked = around[place.first], set(ranking.question.terms)
    if piece.text.endswith(":"):
        return _Place(place.source, place.first, _end_of_items(around, place.first + 1))
    own, above = (asked.intersection(ranking.question.terms_of(t)) for t in (piece.text, candidate.heading))
    if piece.kind != "item" or len(own) > 1 or not above:
        return place
    first = place.first
    while first > 0 and around[first - 1].kind == "item":
        first -= 1
    return _Place(place.source, max(0, first - 1), max(place.last, _end_of_items(around, first)))


def _header(place: _Place, around: list[Piece]) -> _Place | None:
    """The heading directly above a row's table."""
    above = place.first
    while above >= 0 and around[above].kind == "row":
        above -= 1
    is_header = place.first > above >= 0 and around[above].kind == "heading"
    return place._replace(first=above, last=above) if is_header else None


def _end_of_items(pieces: list[Piece], first: int) -> int:
    """The index of the last item of the list that begins at `first`, or of the last one to show."""
    items = takewhile(lambda piece: piece.kind == "item", pieces[first : first + MAX_ITEMS])
    return first - 1 + len(list(items))


def _with_following(place: _Place, around: list[Piece], sentences: int) -> _Place:
    """The place with the sentences that follow under the same heading: the first is often an announcement."""
    if around[place.last].kind == "row":
        return place
    following = around[place.last + 1 : place.last + 1 + sentences]
    added = takewhile(lambda piece: piece.kind == "sentence" and piece.text.endswith(ENDS), following)
    return place._replace(last=place.last + len(list(added)))


def _merged(places: list[_Place]) -> list[_Place]:
    merged: list[_Place] = []
    for place in sorted(places):
        before = merged[-1] if merged else None
        if before and before.source == place.source and place.first <= before.last:
            merged[-1] = before._replace(last=max(before.last, place.last))
        else:
            merged.append(place)
    return merged


def _render(places: list[_Place], sources: Sequence[FencedSource], pieces: list[list[Piece]]) -> str:
    """Each sentence with its marker; list items and table rows on separate lines."""
    written: list[str] = []
    previous: Kind = "sentence"
    for place in places:
        cited = marker(sources[place.source].number)
        for index in range(place.first, place.last + 1):
            piece = pieces[place.source][index]
            text = BULLET.sub("", piece.text)
            *earlier, last = sentences(text) or [text]
            # `A3.` is not a sentence that could have a source.
            marked = " ".join([*(f"{part} {cited}" if has_content(part) else part for part in earlier), last])
            gap = "\n" if {piece.kind, previous} & {"item", "row"} else " "
            written.append(gap + ("- " if piece.kind == "item" else "") + marked)
            if index == place.last or piece.kind == "row" or text.endswith(ENDS):
                written.append(f" {cited}")
            previous = piece.kind
    return "".join(written).strip()
