"""Answers a question with sentences of its sources, word for word and each followed by its marker."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from typing import NamedTuple

from core.grounding.citations import marker
from core.grounding.claims import BULLET
from core.grounding.closest import closest_label, not_found_answer
from core.grounding.sentence_facts import has_content
from core.grounding.sources import FencedSource
from core.offline.closest import best_of_pages, page_of
from core.offline.counting import asks_to_count_rows
from core.offline.support import answers
from core.search.bm25 import Candidate, TextRanking
from core.text.answer_type import counted_words
from core.text.question_type import asks_for_explanation, asks_for_overview
from core.text.sentences import Kind, Piece, sentences, split_pieces

MAX_QUOTES = 4
MAX_ITEMS = 8
MIN_BYTES = 12
ENDS = (".", "!", "?", "。", "！", "？")
SHARE_OF_BEST = 0.6
"""Further quotes score at least this share of the best one."""
WORTH_A_QUOTE = 0.1
"""A further quote adds at least this share of the question, its rare terms counting more."""
RIVAL = 0.7
"""A quote of another page is shown too if its score and coverage are at least this share of the best's."""
SAME = 0.6
"""Two quotes that share more of their words than this say the same."""

_RULE = re.compile(r"[|\s:-]+")
"""The line below the header of a table in Markdown."""
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|_{4,}")


class _Place(NamedTuple):
    """Pieces `first` to `last` of one source."""

    source: int
    first: int
    last: int


def answer_from(question: str, sources: Sequence[FencedSource]) -> str:
    """Quotes in reading order; if they do not answer the question, the closest passages, labelled as such.

    If no source has anything in common with the question, the answer says so in its language.
    """
    nothing = not_found_answer(question)
    pieces = [split_pieces(source.text) for source in sources]
    places, candidates = _candidates(sources, pieces)
    if asks_for_overview(question):
        return _render(_openings(places, candidates, sources), sources, pieces) or nothing
    ranking = TextRanking(question, candidates)
    best = ranking.best_first()
    chosen = _distinct(ranking, candidates, best) if best else []
    if (
        not chosen
        or _asks_to_count_rows(ranking, places[chosen[0]], pieces)
        or not answers(ranking, candidates, chosen, sources)
    ):
        return _closest(ranking, places, candidates, sources, pieces) or nothing
    needed = _needed(ranking, candidates, chosen, sources)
    shown = [_with_list(places[i], pieces[places[i].source], ranking, candidates[i]) for i in needed]
    shown.extend(header for i in needed if (header := _header(places[i], pieces[places[i].source])))
    if asks_for_explanation(question) and len(needed) == 1:
        shown[0] = _with_following(shown[0], pieces[shown[0].source])
    return _render(_merged(shown), sources, pieces)


def _closest(
    ranking: TextRanking,
    places: list[_Place],
    candidates: Sequence[Candidate],
    sources: Sequence[FencedSource],
    pieces: list[list[Piece]],
) -> str:
    """A label and the best passage of each of the closest pages, the closest first; empty without any."""
    best = best_of_pages(ranking, candidates, sources)
    if not best:
        return ""
    written = [
        "- " + _render(_merged([place, header] if header else [place]), sources, pieces).removeprefix("- ")
        for place in (places[index] for index in best)
        for header in [_header(place, pieces[place.source])]
    ]
    return "\n".join([closest_label(ranking.question.language) + "\n", *written])


def _candidates(
    sources: Sequence[FencedSource], pieces: list[list[Piece]]
) -> tuple[list[_Place], list[Candidate]]:
    places, candidates = [], []
    for number, source in enumerate(sources):
        headers = _headers(pieces[number])
        above = set(headers.values())
        for index, (piece, following) in enumerate(zip_longest(pieces[number], pieces[number][1:])):
            if index not in above and _is_quotable(piece, following):
                text = _with_header(piece, pieces[number][headers[index]] if index in headers else None)
                places.append(_Place(number, index, index))
                candidates.append(
                    Candidate(text, piece.heading, source.blob_name, number, not piece.is_whole)
                )
    return places, candidates


def _with_header(piece: Piece, header: Piece | None) -> str:
    """The text to compare with the question: a row means nothing without its header."""
    if piece.kind != "row":
        return piece.text
    named = f" {header.text}" if header and header.kind == "row" else ""
    return f"{piece.heading}{named} {piece.text}"


def _is_quotable(piece: Piece, following: Piece | None) -> bool:
    if piece.kind == "heading" or piece.text.endswith(("?", "？")) or _RULE.fullmatch(piece.text):
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


def _needed(
    ranking: TextRanking, candidates: Sequence[Candidate], chosen: list[int], sources: Sequence[FencedSource]
) -> list[int]:
    """The chosen candidates without those that add nothing.

    The rest answers, has as much of the question, and the best quote of each page that may be the right one.
    The reader takes each checked quote for a part of the answer.
    """
    needed = chosen
    for index in reversed(chosen):
        rest = [other for other in needed if other != index]
        if not rest or _is_rival(ranking, candidates, index, rest, sources):
            continue
        lost = _covered(ranking, needed) - _covered(ranking, rest)
        if lost < WORTH_A_QUOTE and answers(ranking, candidates, rest, sources):
            needed = rest
    return needed


def _is_rival(
    ranking: TextRanking,
    candidates: Sequence[Candidate],
    index: int,
    others: list[int],
    sources: Sequence[FencedSource],
) -> bool:
    """Whether it is the only one of its page, and about as good as the best of the others."""
    page = page_of(sources[candidates[index].source])
    own = ranking.scores[index]
    best = max((ranking.scores[other] for other in others), key=lambda scored: scored.score)
    return (
        all(page_of(sources[candidates[other].source]) != page for other in others)
        and own.score >= RIVAL * best.score
        and _covered(ranking, [index]) >= RIVAL * max(_covered(ranking, [other]) for other in others)
    )


def _covered(ranking: TextRanking, indexes: list[int]) -> float:
    return ranking.coverage(term for index in indexes for term in ranking.scores[index].covered)


def _asks_to_count_rows(ranking: TextRanking, place: _Place, pieces: list[list[Piece]]) -> bool:
    """Whether the place is a row of a table whose rows the question asks to count."""
    around, terms_of = pieces[place.source], ranking.question.terms_of
    row, counted = around[place.first], terms_of(counted_words(ranking.question.text))
    if row.kind != "row" or not counted:
        return False
    header = _header(place, around)
    first = last = place.first
    while first > 0 and around[first - 1].kind == "row":
        first -= 1
    while last + 1 < len(around) and around[last + 1].kind == "row":
        last += 1
    named = around[header.first] if header else None
    table = [piece for piece in around[first : last + 1] if piece is not named]
    return asks_to_count_rows(counted, row, named, table, terms_of)


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
    """The header of a row's table."""
    header = _headers(around).get(place.first)
    return None if header is None else place._replace(first=header, last=header)


def _headers(pieces: list[Piece]) -> dict[int, int]:
    """The header of each table row that has one, both by index.

    It is the first row of the table if a line is below it, else the heading directly above the table.
    """
    found: dict[int, int] = {}
    first = 0
    for index, piece in enumerate(pieces):
        if piece.kind != "row":
            first = index + 1
        elif index > first and _RULE.fullmatch(pieces[first + 1].text):
            found[index] = first
        elif first and pieces[first - 1].kind == "heading":
            found[index] = first - 1
    return found


def _end_of_items(pieces: list[Piece], first: int) -> int:
    """The index of the last item of the list that begins at `first`, or of the last one to show."""
    items = takewhile(lambda piece: piece.kind == "item", pieces[first : first + MAX_ITEMS])
    return first - 1 + len(list(items))


def _with_following(place: _Place, around: list[Piece]) -> _Place:
    """The place with the sentence that follows under the same heading, if there is one."""
    if around[place.last].kind == "row":
        return place
    following = around[place.last + 1 : place.last + 2]
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
