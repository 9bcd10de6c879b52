"""The sentences, list items, table rows and headings of a page, with their places in its text."""

import re
from bisect import bisect_right
from itertools import accumulate

from core.grounding.quotes import Span
from core.text.sentences import Kind, split_pieces
from core.text.sentences import sentences as split_sentences

_VISIBLE_RUN = re.compile(r"\S+")


def page_sentences(text: str) -> list[Span]:
    """The spans of the sentences, list items, table rows and headings of a text."""
    return [span for span, _ in located_pieces(text)]


def located_pieces(text: str) -> list[tuple[Span, Kind]]:
    """The spans of `page_sentences`, each with what it is."""
    words = [match.span() for match in _VISIBLE_RUN.finditer(text)]
    # The visible characters up to the end of each word: pieces have all of them, and other white space.
    behind = list(accumulate(end - start for start, end in words))

    def offset(position: int) -> int:
        """The place in the text of the visible character with this number, from 0."""
        word = bisect_right(behind, position)
        return words[word][1] - (behind[word] - position)

    found: list[tuple[Span, Kind]] = []
    position = 0
    for piece in split_pieces(text):
        parts = [piece.text] if piece.kind == "sentence" else split_sentences(piece.text)
        for part in parts:
            length = len("".join(part.split()))
            span = Span(offset(position), offset(position + length - 1) + 1)
            found.append((span, piece.kind))
            position += length
    return found
