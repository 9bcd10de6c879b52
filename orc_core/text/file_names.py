"""Finds the names of known files in a question."""

import re
from collections.abc import Iterable

from orc_core.text.normal_forms import normalized

_ONE_FORM = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\u202f": " "})
_IN_WORD = r"[^\W\u2e80-\ufaff]"
"""A letter or digit, but for scripts without blanks between words: where a word ends is not known."""
_BEFORE_NAME = rf"(?<!{_IN_WORD})(?<![-.&+~])"
"""Not within a word, nor behind a sign that joins parts of a name."""


def in_one_form(text: str) -> str:
    """The text in NFC, with the simplest forms of apostrophes and blanks; upper and lower case stay."""
    return normalized("NFC", text).translate(_ONE_FORM)


def comparable(name: str) -> str:
    """A name as it is compared: in one form, in lower case, with one blank for each white space."""
    return " ".join(_lower(in_one_form(name)).split())


def has_name(question: str, name: str) -> bool:
    """Whether a question has this name, or the part of one without its ending, in upper or lower case."""
    return bool(without_names(question, [name])[1])


def without_names(question: str, names: Iterable[str], instead: str = " ") -> tuple[str, list[str]]:
    """The question, in one form, with `instead` for each of these names, and those of them that it has.

    Longer names are looked for first: `old plan.pdf` has no `plan.pdf`.
    """
    question, names = in_one_form(question), list(names)
    folded = _lower(question)
    asked, forms = " ".join(folded.split()), [comparable(name) for name in names]
    present = sorted({form for form in forms if form and form in asked}, key=len, reverse=True)
    if not present:
        return question, []
    # One pattern for all: each search reads the whole question, and there may be thousands of names.
    wanted = "|".join(r"\s+".join(map(re.escape, form.split())) for form in present)
    places = list(re.finditer(rf"{_BEFORE_NAME}(?:{wanted})(?!{_IN_WORD})", folded))
    found = {" ".join(place[0].split()) for place in places}
    starts, ends = [place.start() for place in places], [place.end() for place in places]
    kept = (question[end:start] for end, start in zip([0, *ends], [*starts, None], strict=True))
    return instead.join(kept), [name for name, form in zip(names, forms, strict=True) if form in found]


def _lower(text: str) -> str:
    """The text in lower case, with as many characters: that of a capital I with a dot has two."""
    return text.replace("İ", "i").lower()
