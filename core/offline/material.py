"""The quotable pieces of the sources of a question, and how chosen ones are written down as quotes."""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from core.grounding.citations import marker
from core.grounding.claims import BULLET, has_content
from core.grounding.sources import FencedSource
from core.offline.tables import headers, naming_rows
from core.search.bm25 import Candidate
from core.text.sentences import Kind, Piece, sentences, split_pieces

ENDS = (".", "!", "?", "。", "！", "？")

_ANNOUNCES = re.compile(
    r"\b(?:this|the) (?:\w+ )?(?:document|guide|manual|brochure|report|section|chapter|policy|booklet"
    r"|handbook|page|leaflet|paper) (?:explains|describes|outlines|summari[sz]es|tells)\b"  # prose: data
    r"|\bdiese[rs]? (?:\w+ )?\w+ (?:beschreib|erklär|erläuter)\w*"
    r"|\b(?:ce|cette) \w+ (?:décrit|explique|présente)\b",
    re.I,
)
"""A sentence that says what a document is about shares words with most questions and answers none."""
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|_{4,}")
_CLAUSE = re.compile(r"\d+(?:\.\d+)+\.?\s+")


class Place(NamedTuple):
    """Pieces `first` to `last` of one source."""

    source: int
    first: int
    last: int


class Material(NamedTuple):
    """Sources, their pieces, and those pieces that can be quoted, as places and as candidates to rank."""

    sources: Sequence[FencedSource]
    pieces: Sequence[list[Piece]]
    places: Sequence[Place]
    candidates: Sequence[Candidate]

    @classmethod
    def read(cls, sources: Sequence[FencedSource]) -> "Material":
        """The material of these sources."""
        pieces = [split_pieces(source.text) for source in sources]
        places, candidates = [], []
        for number, (source, around) in enumerate(zip(sources, pieces, strict=True)):
            header_of = headers(around)
            above = {*header_of.values(), *naming_rows(around)}
            for index, (piece, following) in enumerate(zip_longest(around, around[1:])):
                is_word = any(map(str.isalpha, piece.text))
                if index not in above and is_word and _is_quotable(piece, following):
                    header = around[header_of[index]] if index in header_of else None
                    text, cut = _with_header(piece, header), not piece.is_whole
                    places.append(Place(number, index, index))
                    candidates.append(Candidate(text, piece.heading, source.blob_name, number, cut))
        return cls(sources, pieces, places, candidates)

    def around(self, place: Place) -> list[Piece]:
        """The pieces of the source of a place."""
        return self.pieces[place.source]

    def piece(self, index: int) -> Piece:
        """The piece of a candidate."""
        place = self.places[index]
        return self.pieces[place.source][place.first]

    def page_of(self, index: int) -> tuple[str, int]:
        """The document and the page of a candidate."""
        return page_of(self.sources[self.candidates[index].source])

    def header_of(self, place: Place) -> Place | None:
        """The header of a row's table."""
        header = headers(self.around(place)).get(place.first)
        return None if header is None else place._replace(first=header, last=header)

    def render(self, places: Iterable[Place]) -> str:
        """Each sentence of the places with its marker. Items and rows are lines, documents paragraphs."""
        written: list[str] = []
        previous: Kind = "sentence"
        document = ""
        for place in merged(places):
            source = self.sources[place.source]
            cited = marker(source.number)
            for index in range(place.first, place.last + 1):
                piece = self.around(place)[index]
                text = BULLET.sub("", piece.text)
                *earlier, last = sentences(text)
                # `A3.` is not a sentence that could have a source.
                parts = (f"{part} {cited}" if has_content(part) else part for part in earlier)
                gap = "\n" if {piece.kind, previous} & {"item", "row"} else " "
                gap = gap if source.blob_name == document else "\n\n"
                written.append(gap + ("- " if piece.kind == "item" else "") + " ".join([*parts, last]))
                if index == place.last or piece.kind == "row" or text.endswith(ENDS):
                    written.append(f" {cited}")
                previous, document = piece.kind, source.blob_name
        return "".join(written).strip()


def page_of(source: FencedSource) -> tuple[str, int]:
    """The document and the page that a source is from."""
    return source.blob_name, source.page


def merged(places: Iterable[Place]) -> list[Place]:
    """The places in reading order; those that overlap are one."""
    found: list[Place] = []
    for place in sorted(places):
        before = found[-1] if found else None
        if before and before.source == place.source and place.first <= before.last:
            found[-1] = before._replace(last=max(before.last, place.last))
        else:
            found.append(place)
    return found


def _with_header(piece: Piece, header: Piece | None) -> str:
    """The text to compare with the question: a row means nothing without its header."""
    if piece.kind != "row":
        numbered = _CLAUSE.match(piece.text)
        return piece.text[numbered.end() :] if numbered else piece.text
    named = f" {header.text}" if header and header.kind == "row" else ""
    return f"{piece.heading}{named} {piece.text}"


def _is_quotable(piece: Piece, following: Piece | None) -> bool:
    if piece.kind == "heading" or piece.text.endswith(("?", "？")):
        return False
    if piece.text.endswith(":") and (following is None or following.kind != "item"):
        return False
    return _LEADERS.search(piece.text) is None and _ANNOUNCES.search(piece.text) is None
