"""Answers a question with sentences of its sources, word for word and each followed by its marker."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from core.grounding.claims import has_content
from core.grounding.closest import closest_label, not_found_answer, part_not_found
from core.grounding.sources import FencedSource
from core.offline.chat import with_subject_of
from core.offline.closest import MOST_CLOSEST, best_of_pages
from core.offline.material import ENDS, Material, Place
from core.offline.overview import about_documents, asks_about_documents
from core.offline.support import answers, asks_figure, can_answer, has_only_names, is_one_of_many, own_terms
from core.offline.tables import asks_to_count_rows, extreme_row, rows_alike
from core.search.bm25 import Candidate, CandidateScore, QuestionTerms, TextRanking
from core.text.answer_type import asks_yes_or_no, counted_words, is_negated
from core.text.file_names import without_names
from core.text.question_type import asked_parts, asks_about_whole, asks_for_explanation, refers_back
from core.text.sentences import Piece
from core.text.terms import in_language_of

MAX_QUOTES = 4
MAX_ITEMS = 8
SHARE_OF_BEST = 0.6
"""Further quotes score at least this share of the best one."""
RIVAL = 0.7
"""A rival's score and coverage are at least this share of the best's."""
LONGEST_EXAMINED = 2000
"""Characters of a candidate in which it must have a content word."""
_THIS_DOCUMENT = {"en": "this document", "de": "dieses Dokument", "fr": "ce document", "es": "este documento"}
SAME = 0.6
"""Two quotes that share more of their words than this say the same."""


def answer_from(question: str, sources: Sequence[FencedSource]) -> str:
    """Quotes in reading order; if they do not answer the question, the closest passages, labelled as such.

    If it consists of several, the answer names the parts that are not answered. If no source has anything in
    common with the question, the answer says so in its language. If it names files, only they are quoted.
    """
    question, sources = _with_named_files(question, sources)
    material = Material.read(sources)
    parts = _understandable_parts(question)
    found = [_answering_part(part, material) for part in parts]
    if len(parts) > 1 and not all(found):
        whole = _answering(question, material)
        found = [
            own or _covering(part.asked, whole, material) for part, own in zip(parts, found, strict=True)
        ]
        # `When and where is the fair?`: the first part asks nothing alone.
        found = found if all(map(_asks_something, parts)) else []
    if any(found):
        quoted = material.render(place for shown in found for place in shown)
        missing = [part_not_found(number, question) for number, shown in enumerate(found) if not shown]
        return "\n\n".join([quoted, *missing])
    if asks_about_documents(question, material):
        return not_found_answer(question)
    return _closest(question, material) or not_found_answer(question)


def _with_named_files(question: str, sources: Sequence[FencedSource]) -> tuple[str, Sequence[FencedSource]]:
    """The question with `this document` for each name of a file, and the sources from these files."""
    this = in_language_of(question, _THIS_DOCUMENT)
    question, named = without_names(question, (source.blob_name for source in sources), this)
    return question, [source for source in sources if source.blob_name in named] or sources


class _Part(NamedTuple):
    """One of the questions in one, as it is asked, and with its subject if it refers to the first one."""

    asked: str
    full: str


def _understandable_parts(question: str) -> list[_Part]:
    """The questions in one. If the subject of one is not known, the question is one."""
    first, *others = asked_parts(question)
    parts = [_Part(first, first)]
    for part in others:
        needs_subject = refers_back(part) and not _is_about_whole(part, first)
        full = with_subject_of(part, first) if needs_subject else part
        if needs_subject and full == part:
            return [_Part(question, question)]
        parts.append(_Part(part, full))
    return parts


def _asks_something(part: _Part) -> bool:
    return bool(QuestionTerms(part.full).terms) or asks_about_whole(part.full) is not None


def _is_about_whole(part: str, first: str) -> bool:
    """Whether `it` is a document: in `What is an excess and what does it cover?` it is not."""
    asked = asks_about_whole(part)
    return asked is not None and (asked != "overview" or asks_about_whole(first) is not None)


def _answering_part(part: _Part, material: Material) -> list[Place]:
    """The places that answer it; none if they are about its subject only."""
    places = _answering(part.full, material)
    return places if part.full == part.asked else _covering(part.asked, places, material)


def _answering(question: str, material: Material) -> list[Place]:
    """The places that answer the question; none if it is not answered."""
    if asked := asks_about_documents(question, material):
        return about_documents(asked, material)
    # A quote is no summary of a topic: the closest passages are shown.
    return [] if asks_about_whole(question) else _direct(question, material)


def _covering(part: str, places: list[Place], material: Material) -> list[Place]:
    """The places if they have at least half of the terms of this part, as it is asked, and not only names."""
    terms = QuestionTerms(part)
    pieces = [piece for place in places for piece in material.around(place)[place.first : place.last + 1]]
    known = set(terms.terms_of(" ".join(f"{piece.heading} {piece.text}" for piece in pieces)))
    has_half = 2 * len(known.intersection(terms.terms)) >= max(1, len(terms.terms))
    return places if has_half and not has_only_names(terms, known) else []


def _direct(question: str, material: Material) -> list[Place]:
    """The places that answer the question; none if it is not answered."""
    ranking = TextRanking(question, material.candidates)
    best = (index for index in ranking.best_first() if can_answer(index, ranking, material))
    chosen = _distinct(ranking, material.candidates, best)
    own = [index for index in chosen if own_terms(index, ranking, material)]
    chosen = own if answers(ranking, material, own) else chosen
    if not chosen or not answers(ranking, material, chosen):
        return []
    if is_one_of_many(chosen[0], ranking, material):
        return []
    first = material.places[chosen[0]]
    if _asks_to_count_rows(ranking, first, material) or _extreme(ranking, first, material) != first:
        return []
    needed = _needed(ranking, material, chosen)
    lists = [_with_list(material.places[index], ranking, material) for index in needed]
    shown = [each for places in lists for each in places]
    if not shown or max(map(len, lists)) > MAX_ITEMS:
        return []
    shown.extend(header for index in needed if (header := material.header_of(material.places[index])))
    if asks_for_explanation(question) and len(needed) == 1:
        shown[0] = _with_following(shown[0], material.around(shown[0]))
    return shown


def _closest(question: str, material: Material) -> str:
    """A label and the closest passages, the closest first; empty without any."""
    ranking = TextRanking(question, material.candidates)
    best = [material.places[index] for index in best_of_pages(ranking, material)]
    if not best:
        return ""
    written = [
        "- " + material.render([place, header] if header else [place]).removeprefix("- ")
        for place in _with_extreme(best, ranking, material)
        for header in [material.header_of(place)]
    ]
    return "\n".join([closest_label(ranking.question.language) + "\n", *written])


def _with_extreme(best: list[Place], ranking: TextRanking, material: Material) -> list[Place]:
    """The places; if the question asks for the largest or smallest of a table, with that row first."""
    for place in best:
        first = _extreme(ranking, place, material)
        if first != place:
            return [first, *(each for each in best if each != first)][:MOST_CLOSEST]
    return best


def _extreme(ranking: TextRanking, place: Place, material: Material) -> Place:
    """The row with the largest or smallest number if the question asks for it; else the place itself."""
    around = material.around(place)
    if around[place.first].kind != "row":
        return place
    row = extreme_row(ranking.question, around, place.first)
    return place._replace(first=row, last=row)


def _distinct(ranking: TextRanking, candidates: Sequence[Candidate], best: Iterable[int]) -> list[int]:
    """The best candidates: close to the first in score, meaningful, and not repetitions."""
    chosen: list[int] = []
    least = 0.0
    for index in best:
        own = ranking.scores[index]
        least = least or SHARE_OF_BEST * own.score
        if len(chosen) == MAX_QUOTES or own.score < least:
            break
        says_same = any(
            _says_same(own, ranking.scores[other], candidates[index].document == candidates[other].document)
            for other in chosen
        )
        if not says_same and has_content(candidates[index].text[:LONGEST_EXAMINED]):
            chosen.append(index)
    return chosen


def _says_same(own: CandidateScore, earlier: CandidateScore, is_same_document: bool) -> bool:
    """Whether the candidate repeats one before it.

    Documents of one kind have sentences that differ in a figure only: `The deposit is 50 euros.`
    """
    of_own, of_earlier = (each.covered | each.document_terms for each in (own, earlier))
    if not is_same_document and of_own == of_earlier and own.terms != earlier.terms:
        return False
    shared, fewer = len(own.terms & earlier.terms), min(len(own.terms), len(earlier.terms))
    return own.covered <= earlier.covered and shared > SAME * max(1, fewer)


def _needed(ranking: TextRanking, material: Material, chosen: list[int]) -> list[int]:
    """The chosen candidates without those that add nothing.

    The rest answers, has as much of the question, and each rival of the best. The reader takes each checked
    quote for a part of the answer.
    """
    needed = chosen
    for index in reversed(chosen):
        rest = [other for other in needed if other != index]
        if not rest or _is_rival(ranking, material, index, rest):
            continue
        if _covered(ranking, rest) >= _covered(ranking, needed) and answers(ranking, material, rest):
            needed = rest
    return needed


def _is_rival(ranking: TextRanking, material: Material, index: int, others: list[int]) -> bool:
    """Whether it answers about as well as the best of the others: a figure, on another page, to the contrary.

    `All other methods are accredited` is no answer without the method that is not.
    """
    if not answers(ranking, material, [index]):
        return False
    is_alone = all(material.page_of(other) != material.page_of(index) for other in others)
    negated = [is_negated(material.candidates[each].text) for each in (index, *others)]
    is_contrary = asks_yes_or_no(ranking.question.text) and negated[0] not in negated[1:]
    own = ranking.scores[index]
    best = max((ranking.scores[other] for other in others), key=lambda scored: scored.score)
    return (
        (is_alone or is_contrary or asks_figure(ranking.question.text))
        and own.score >= RIVAL * best.score
        and _covered(ranking, [index]) >= RIVAL * max(_covered(ranking, [other]) for other in others)
    )


def _covered(ranking: TextRanking, indexes: list[int]) -> float:
    return ranking.coverage(term for index in indexes for term in ranking.scores[index].covered)


def _asks_to_count_rows(ranking: TextRanking, place: Place, material: Material) -> bool:
    """Whether the place is a row of a table whose rows the question asks to count."""
    around, terms_of = material.around(place), ranking.question.terms_of
    counted = terms_of(counted_words(ranking.question.text))
    if around[place.first].kind != "row" or not counted:
        return False
    return asks_to_count_rows(counted, around, place.first, terms_of)


def _with_list(place: Place, ranking: TextRanking, material: Material) -> list[Place]:
    """A row with those like it; a lead-in with its items; an item that only its heading matches, with all.

    The lines of a slide that only its heading matches are a place each.
    """
    around, asked = material.around(place), set(ranking.question.terms)
    piece = around[place.first]
    if piece.kind == "row":
        rows = rows_alike(ranking.question, around, place.first)
        return [place._replace(first=row, last=row) for row in rows]
    if piece.text.endswith(":"):
        return [Place(place.source, place.first, _end_of_items(around, place.first + 1))]
    own, above = (asked.intersection(ranking.question.terms_of(t)) for t in (piece.text, piece.heading))
    if _is_line_of_slide(piece) and not own and above:
        return _lines_around(place, around)
    if piece.kind != "item" or len(own) > 1 or not above:
        return [place]
    first = place.first
    while first > 0 and around[first - 1].kind == "item":
        first -= 1
    return [Place(place.source, max(0, first - 1), max(place.last, _end_of_items(around, first)))]


def _is_line_of_slide(piece: Piece) -> bool:
    return piece.kind == "sentence" and not piece.text.endswith(ENDS)


def _lines_around(place: Place, around: list[Piece]) -> list[Place]:
    """The lines of the slide below the same heading, at most MAX_ITEMS."""
    heading = around[place.first].heading
    lines = [
        place._replace(first=index, last=index)
        for index, piece in enumerate(around)
        if piece.heading == heading and _is_line_of_slide(piece)
    ]
    at = lines.index(place)
    return lines[max(0, at + 1 - MAX_ITEMS) :][:MAX_ITEMS]


def _end_of_items(pieces: list[Piece], first: int) -> int:
    """The index of the last item of the list that begins at `first`, or of the last one to show."""
    items = takewhile(lambda piece: piece.kind == "item", pieces[first : first + MAX_ITEMS])
    return first - 1 + len(list(items))


def _with_following(place: Place, around: list[Piece]) -> Place:
    """The place with the sentence that follows under the same heading, if there is one."""
    following = around[place.last + 1 : place.last + 2]
    added = takewhile(lambda piece: piece.kind == "sentence" and piece.text.endswith(ENDS), following)
    return place._replace(last=place.last + len(list(added)))
