"""Finds the names of known files in a question."""

import re
from collections.abc import Iterable

from core.text.normal_forms import normalized

_ONE_FORM = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\u202f": " "})
_BEFORE_NAME = r"(?<![^\W\u2e80-\ufaff])(?<![-.&+~])"
"""Not within a word, which scripts without blanks between words do not show, nor behind a sign that joins
parts of a name."""


def in_one_form(text: str) -> str:
    """The text in NFC, with the simplest forms of apostrophes and blanks; upper and lower case stay."""
    return normalized("NFC", text).translate(_ONE_FORM)


def has_name(question: str, name: str) -> bool:
    """Whether a question has this name, or the part of one without its ending, in upper or lower case."""
    return _pattern(name).search(in_one_form(question)) is not None


def without_names(question: str, names: Iterable[str], instead: str = " ") -> tuple[str, list[str]]:
    """The question, in one form, with `instead` for each of these names, and those of them that it has.

    Longer names are looked for first: `old plan.pdf` has no `plan.pdf`.
    """
    question = in_one_form(question)
    folded, found = question.lower(), []
    present = {name for name in names if in_one_form(name).lower() in folded}
    for name in sorted(present, key=len, reverse=True):
        question, count = _pattern(name).subn(lambda _: instead, question)
        found += [name] if count else []
    return question, found


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEFORE_NAME}{re.escape(in_one_form(name))}(?!\w)", re.I)
