"""Tesseract's table of words, as text and a confidence."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from core.documents.boxes import CJK

_COLUMNS = 12
_WORD_LEVEL = "5"
_IS_CJK = re.compile(f"[{CJK}]")


class _Word(NamedTuple):
    """A word, and the block, paragraph and line in which it stands."""

    paragraph: tuple[str, str]
    line: str
    text: str
    confidence: float


def parse(table: str) -> tuple[str, float | None]:
    """Lines as they stand, an empty one between paragraphs; the mean confidence of a character, 0 to 1."""
    words = list(_words(table))
    letters = sum(len(word.text) for word in words)
    confidence = sum(word.confidence * len(word.text) for word in words) / letters / 100 if letters else None
    paragraphs = [_paragraph(list(group)) for _, group in groupby(words, key=lambda word: word.paragraph)]
    return "\n\n".join(paragraphs), confidence


def _words(table: str) -> Iterator[_Word]:
    for row in table.splitlines():
        cells = row.split("\t", _COLUMNS - 1)
        if len(cells) == _COLUMNS and cells[0] == _WORD_LEVEL and (text := cells[11].strip()):
            yield _Word((cells[2], cells[3]), cells[4], text, _confidence(cells[10]))


def _confidence(cell: str) -> float:
    try:
        return min(max(float(cell), 0.0), 100.0)
    except ValueError:
        return 0.0


def _paragraph(words: list[_Word]) -> str:
    lines = [[word.text for word in group] for _, group in groupby(words, key=lambda word: word.line)]
    return "\n".join(_joined(line) for line in lines)


def _joined(words: list[str]) -> str:
    """Words with blanks between them, but not between Chinese or Japanese characters."""
    line = words[0]
    for word in words[1:]:
        together = _IS_CJK.match(line[-1]) and _IS_CJK.match(word[0])
        line += word if together else f" {word}"
    return line
