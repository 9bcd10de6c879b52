"""Unicode normal forms, in time that grows with the text alone."""

import re
import sys
import unicodedata
from functools import cache
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

LONGEST_RUN = 30
"""Marks on one letter that are brought into order together, as many as in Unicode's stream-safe format."""
SHORT = 1000
"""Characters that are normalised within a thousandth of a second whatever they are."""
_WITHOUT_MARKS = range(0x3400, 0xA000), range(0xAC00, 0xD800)
_LAST_MARK = 0x1F000
_HIGH = "\U00010000"


def normalized(form: Form, text: str) -> str:
    """The text in a normal form; if a letter has more than 30 marks, each 30 of them by themselves.

    unicodedata.normalize moves each mark of a letter over all that belong behind it: 100,000 marks of two
    kinds on one letter take 8 seconds, and nothing else runs meanwhile.
    """
    if text.isascii():
        return text
    if len(text) <= SHORT:
        return unicodedata.normalize(form, text)
    done, pieces = 0, []
    for run in _long_runs().finditer(text):
        pieces.append(unicodedata.normalize(form, text[done : run.end()]))
        done = run.end()
    pieces.append(unicodedata.normalize(form, text[done:]))
    return "".join(pieces)


@cache
def _long_runs() -> re.Pattern[str]:
    """Matches 30 marks in a row, or characters that become marks."""
    points = (
        point for point in range(0x300, _LAST_MARK) if not any(point in each for each in _WITHOUT_MARKS)
    )
    marks = "".join(filter(is_mark, map(chr, points)))
    few = "".join(mark for mark in marks if mark < _HIGH)
    # A set with ranges above U+FFFF is compared range by range: up to 80 times slower below U+FFFF.
    return re.compile(f"[{few}{_HIGH}-{chr(sys.maxunicode)}](?<=[{marks}])[{marks}]{{{LONGEST_RUN - 1}}}")


def is_mark(character: str) -> bool:
    """Whether a character is a mark that has a place among those of its letter, or becomes one."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) != 0
