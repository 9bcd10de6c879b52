"""Signs that change what a quote says: minus, brackets of accounts, comparisons, currencies, per cent."""

import re
import unicodedata
from functools import lru_cache

from core.text.numbers import CURRENCY_CODES, CURRENCY_SIGNS

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"
LOSS = (
    rf"\((?=\s?(?:[A-Z]{{0,3}}[{CURRENCY_SIGNS}]\s?)?\d[\d.,'’]{{0,30}}+"
    rf"(?:\s?[%‰])?(?:\s?[{CURRENCY_SIGNS}])?[\s|]{{0,3}}\))"
)
"""A pattern of the bracket before a number that is alone in brackets, as a loss is: `(138)`, `($ 1.5)`.

The closing bracket may have a separate column: `(138 | )`.
"""
BEHIND_NUMBER = re.compile(
    "(?<=\\d)(?=[\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\u00bc-\u00be\u2150-\u215e])|(?<=\\w)(?=\u207b)"
)
"""The place between a number and its fraction, exponent or footnote, and before the minus of an exponent.

`3½` is not `31/2`, and `10⁻³` not `10³`.
"""
SIGN_BEFORE_CODE = re.compile(rf"(?<!\w)(?:[-\u2212]|(?<!\d\s)[\u2010-\u2014])(?=(?:{CURRENCY_CODES})\s?\d)")
"""The sign of an amount before the code of its currency: `-EUR 5`."""
TICKS = "✓✔✅✗✘✖❌☐☑☒"
_MARKS_OF_UNITS = frozenset("%‰‱°")
_LIST_MARKS = frozenset(">+→")
_WITHOUT_MEANING = frozenset("|©®")
_SAME = dict(zip("∼≈≦≧⩽⩾✔✅✘✖❌", "~~≤≥≤≥✓✓✗✗✗", strict=True))


@lru_cache(1024)
def is_currency(character: str) -> bool:
    """Whether it is the sign of a currency."""
    return unicodedata.category(character) == "Sc"


@lru_cache(1024)
def is_sign(character: str) -> bool:
    """Whether it is a sign before a number, or one that states something itself: `<`, `±`, `+`, `↑`, `✓`."""
    return unicodedata.category(character) in ("Sm", "So") and character not in _WITHOUT_MEANING


def is_bullet(sign: str, following: str) -> bool:
    """Whether a sign at the beginning of a line, before this character, only marks an item of a list."""
    is_drawn = unicodedata.category(sign) == "So" and sign not in TICKS
    return following.isalpha() and (is_drawn or sign in _LIST_MARKS)


def is_unit_mark(character: str) -> bool:
    """Whether it is a mark directly behind a number, such as `%`."""
    return character in _MARKS_OF_UNITS


def one_spelling(sign: str) -> str:
    """One sign for those that mean the same."""
    return _SAME.get(sign, sign)
