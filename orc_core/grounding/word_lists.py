"""The closed lists of words that the code check knows, read once from `words/`: negators and number words.

Nothing else of a language is known to it, but for stop words, stems and the names of months.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from orc_core.text.terms import STOP_WORDS


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("orc_core.grounding") / "words" / name).read_text("utf-8"))


NEGATORS: dict[str, frozenset[str]] = {
    language: frozenset(words.casefold().split()) for language, words in _read("negators.toml").items()
}
"""By ISO 639-1 code."""
ALL_NEGATORS = frozenset[str]().union(*NEGATORS.values())
_numbers = _read("numbers.toml")
_BY_STEP = {"cardinals": (2, 1), "tens": (10, 10)}
CARDINALS: dict[str, dict[str, int]] = {
    language: {
        word: first + step * place
        for table, (first, step) in _BY_STEP.items()
        for place, word in enumerate(_numbers[table].get(language, "").split())
    }
    for language in _numbers["cardinals"]
}
"""By ISO 639-1 code, the words that state a number."""
ALL_CARDINALS = {word: number for words in CARDINALS.values() for word, number in words.items()}
"""Those of all languages: many are other words elsewhere."""
OTHER_FORMS: dict[str, frozenset[int]] = {
    word: frozenset(int(number) for number, others in _numbers["other"].items() if word in others.split())
    for words in _numbers["other"].values()
    for word in words.split()
}
"""Ordinals, fractions and the like with the numbers that they support: `half` is 2 halves and 50 per cent."""
ABOUT = frozenset(_numbers["about"]["words"].split())
"""Words that say of the next number that it was rounded."""


@cache
def negators_in(language: str) -> frozenset[str]:
    """The negators of all languages but for the words that are other stop words of this one.

    So a text whose language is taken for a related one keeps its negators.
    """
    others = STOP_WORDS.get(language, frozenset[str]()) - NEGATORS.get(language, frozenset[str]())
    return ALL_NEGATORS - others
