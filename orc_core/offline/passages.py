"""The passages of the sources that come closest to a question, each with its best sentence word for word.

A sentence is shown below its heading and its header row.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from orc_core.grounding.citations import marker
from orc_core.grounding.claims import BULLET
from orc_core.grounding.closest import closest_label, not_found_answer
from orc_core.grounding.sources import FencedSource
from orc_core.models import PROPERTIES, Page
from orc_core.search.bm25 import Candidate, TextRanking
from orc_core.search.mentions import compares
from orc_core.text.file_names import without_names
from orc_core.text.parts import Find, named_parts, parts_of_file
from orc_core.text.sentences import Piece, sentences, split_pieces
from orc_core.text.terms import has_digit, is_stop_word, stems, words
from orc_core.text.wording import has_subject

MOST_PASSAGES, LEAST_PASSAGES = 5, 2
SHARE_OF_BEST = 1 / 3
"""What a passage behind the least ones covers of the question, as a share of what the best of all covers."""

SAME_STATEMENT = 0.5
"""The share of equal words in two versions of a statement."""

PageKey = tuple[str, int]
"""A document and the number of its page."""
LONGEST_QUOTE = 1500
"""Characters of a sentence or a row; a longer one is a list without end."""
RUNNING_PAGES, AT_THE_EDGE = 3, 2
"""One of the first or last pieces, on so many pages of a document, is a running header or footer."""
FIRST_WORDS = 4
"""A running header is the same on all pages up to here; the name of the chapter may follow."""

_ENDS = (".", "!", "?", "。", "！", "？")
_DIGITS = re.compile(r"\d+")
_RULE = re.compile(r"[|\s:-]+")
"""The line below the header of a table in Markdown."""
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|_{4,}")


class Place(NamedTuple):
    """A piece of a source, both by index."""

    source: int
    piece: int


class Material:
    """The pieces of the sources, and the `places` of those that can be quoted."""

    def __init__(self, sources: Sequence[FencedSource]) -> None:
        self.sources = sources
        self._pieces = [list(_single_sentences(source.text)) for source in sources]
        pages = defaultdict(set)
        for source, pieces in zip(self.sources, self._pieces, strict=True):
            for piece in {*pieces[:AT_THE_EDGE], *pieces[-AT_THE_EDGE:]}:
                pages[source.blob_name, _masked(piece.text)].add(source.page)
        self._running = {line for line, found in pages.items() if len(found) >= RUNNING_PAGES}
        self._headers = [headers(pieces) for pieces in self._pieces]
        above = {Place(number, at) for number, found in enumerate(self._headers) for at in found.values()}
        self.places = [
            place
            for number, pieces in enumerate(self._pieces)
            for index, piece in enumerate(pieces)
            if is_quotable(piece)
            and (place := Place(number, index)) not in above
            and not self._is_running(number, piece.text)
        ]

    def candidates(self) -> Iterator[Candidate]:
        """The places as they are compared with a question: a row has the names of its columns."""
        for place in self.places:
            piece, header = self._piece(place), self._header_of(place)
            text = f"{piece.heading} {header} {piece.text}" if piece.kind == "row" else piece.text
            document = self.sources[place.source].blob_name
            yield Candidate(text, piece.heading, document, place.source, not piece.is_whole)

    def page_of(self, place: Place) -> tuple[str, int]:
        """The document and the page of a place."""
        source = self.sources[place.source]
        return source.blob_name, source.page

    def text_of(self, place: Place) -> str:
        """The sentence, item or row at a place."""
        return BULLET.sub("", self._piece(place).text)

    def rest_of(self, place: Place) -> Iterator[Place]:
        """Where a sentence goes on that ends with its page: the next one begins with it, below its header."""
        source = self.sources[place.source]
        if not self._piece(place).is_whole and place == self._edges(place.source)[-1]:
            for number, other in enumerate(self.sources):
                if (other.blob_name, other.page) == (source.blob_name, source.page + 1):
                    begins = self._edges(number)[:1]
                    yield from (at for at in begins if at.piece or self._piece(at).text[0].islower())

    def _edges(self, number: int) -> list[Place]:
        """The pieces of a source without its running headers and footers."""
        found = enumerate(self._pieces[number])
        return [Place(number, at) for at, each in found if not self._is_running(number, each.text)]

    def render(self, places: Iterable[Place]) -> Iterator[str]:
        """The quotes with their markers, below the header of their table and the lead of their list.

        A heading is shown above the first of the quotes that follow each other below it.
        """
        above = ("", "")
        for place in places:
            heading = (self.page_of(place)[0], self._heading_of(place))
            header, text = self._header_of(place), self.text_of(place)
            cited = marker(self.sources[place.source].number)
            quote = _table(header, text, cited) or "\n\n".join([*filter(None, [header]), f"{text} {cited}"])
            shown = heading[1] if heading != above else ""
            yield "\n\n".join([*filter(None, [shown, self._lead_of(place)]), quote])
            above = heading

    def _piece(self, place: Place) -> Piece:
        return self._pieces[place.source][place.piece]

    def _header_of(self, place: Place) -> str:
        header = self._headers[place.source].get(place.piece)
        return "" if header is None else self._pieces[place.source][header].text

    def _heading_of(self, place: Place) -> str:
        pieces = self._pieces[place.source][: place.piece + 1]
        for piece, below in reversed(list(pairwise(pieces))):
            is_of_table = below.kind == "row" and pieces[-1].kind != "row"
            if piece.kind == "heading" and not is_of_table and not self._is_running(place.source, piece.text):
                return f"**{piece.text.lstrip('# ')}**"
        section = self.sources[place.source].section
        return f"**{section}**" if section else ""

    def _lead_of(self, place: Place) -> str:
        """The sentence with a colon above the list of which the place is an item."""
        pieces, at = self._pieces[place.source], place.piece
        while at and pieces[at].kind == "item":
            at -= 1
        lead = pieces[at]
        is_above = at < place.piece and lead.kind == "sentence" and lead.text.endswith(":")
        return lead.text if is_above else ""

    def _is_running(self, number: int, text: str) -> bool:
        return (self.sources[number].blob_name, _masked(text)) in self._running


def _single_sentences(text: str) -> Iterator[Piece]:
    for piece in split_pieces(text):
        parts = sentences(piece.text) if piece.kind == "item" else [piece.text]
        yield from (piece._replace(text=part) for part in parts)


def headers(pieces: Sequence[Piece]) -> dict[int, int]:
    """The header row of each table row that has one, both by index.

    It is the first row of the table if a line is below it, if it has no digit, or if the cells of the next
    row repeat its names.
    """
    found: dict[int, int] = {}
    first = 0
    for index, (before, piece) in enumerate(pairwise(pieces), 1):
        if piece.kind != "row" or before.kind != "row":
            first = index
        elif first + 1 == index and not _is_header(before.text, piece.text):
            first = len(pieces)
        elif first < index:
            found[index] = first
    return found


def is_quotable(piece: Piece) -> bool:
    """Whether it states something: no heading, question, lead, line of contents or piece of a sentence."""
    text = piece.text
    if piece.kind == "heading" or text.endswith(("?", "？", ":")) or len(text) > LONGEST_QUOTE:
        return False
    if (not piece.is_whole and text[0].islower()) or _LEADERS.search(text):
        return False
    return any(not is_stop_word(word) and not has_digit(word) for word in words(text))


def _is_header(row: str, below: str) -> bool:
    repeats = below.startswith(f"{_cells(row)[0]}: ")
    return _RULE.fullmatch(below) is not None or not has_digit(row) or repeats


def _table(header: str, row: str, cited: str) -> str:
    """Both rows as a table in Markdown; nothing if their cells do not belong together."""
    names, cells = _cells(header), _cells(row)
    if len(names) < 2 or len(names) != len(cells):
        return ""
    lines = names, ["---"] * len(names), [*cells[:-1], f"{cells[-1]} {cited}"]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip(" |").split("|")]


def _masked(line: str) -> str:
    """How the line begins, without the number of its page; a sentence as it is."""
    if line.endswith(_ENDS):
        return line
    return " ".join(_DIGITS.sub("0", line).split()[:FIRST_WORDS])


def closest_passages(question: str, sources: Sequence[FencedSource], *, are_found: bool = False) -> str:
    """A line that says what they are, and up to five passages; or the sentence that nothing was found.

    Nothing is found if the sources have no word of the question. A search that has found them (`are_found`)
    knows other forms of words, so each of its pages is shown. If the question names files, or parts such as
    page 3, only they are. What a file says of itself comes first if the question is about the file and has a
    word of it, second if it has none, and last if it has another subject.
    """
    asked, named = without_names(question, {source.blob_name for source in sources})
    sources = [source for source in sources if source.blob_name in named] or sources
    parts = list(_parts(asked, sources, named_parts))
    of_file = [] if parts else list(_parts(asked, sources, parts_of_file))
    said = {word for source in of_file for word in stems(words(source.text), "en")}
    leads = not said.isdisjoint(filter(None, stems(words(asked), "en")))
    material = Material(parts or sorted(sources, key=lambda source: (source in of_file) != leads))
    chosen = _matching(asked, material, are_found) if has_subject(asked) else _beginnings(material, of_file)
    if parts:
        chosen = list(dict.fromkeys([*chosen, *range(len(material.places))]))
    if not chosen and compares(asked):
        chosen = _beginnings(material)  # no document says what it is compared by
    if not chosen:
        return not_found_answer(question)
    chosen = list(_with_versions(chosen, material))
    places = (material.places[index] for index in chosen[:MOST_PASSAGES])
    shown = material.render(each for place in places for each in (place, *material.rest_of(place)))
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


def _beginnings(material: Material, second: Sequence[FencedSource] = ()) -> list[int]:
    """The first source of each document, and its text from its beginning: the question has no words.

    The documents come in turn. `second`: sources that come second at the latest.
    """
    early = {(source.blob_name, source.page) for source in second}
    found: dict[str, list[tuple[int, int]]] = {}
    for index, place in enumerate(material.places):
        name, number = material.page_of(place)
        found.setdefault(name, []).append((number, index))
    read = [
        dict.fromkeys([each[0], *(at for at in each if (name, at[0]) in early), *sorted(each)])
        for name, each in found.items()
    ]
    return [each[1] for in_turn in zip_longest(*read) for each in in_turn if each is not None]


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
    # What a file says of itself has its title, but says nothing of it.
    said = {(source.blob_name, source.page) for source in material.sources if source.label == PROPERTIES}
    pages = sorted(best, key=lambda page: (page not in said, ranks[page]), reverse=True)
    ordered = [*(best[page] for page in pages), *others]
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
