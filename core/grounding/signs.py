"""Signs that change what a number means: minus, brackets of accounts, comparisons, currencies, per cent."""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from core.grounding.opposites import SIDE_OF
from core.text.numbers import CURRENCY_CODES, CURRENCY_SIGNS

Sign = Literal["", "minus", "either", "loss", "last", "aside"]
"""What is around a number: nothing, a minus, a plus or minus, or brackets.

Brackets in a row of numbers are a loss; those at the end of a sentence or row can be one or an aside.
"""

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"
LOSS = (
    rf"\((?=\s?(?:[A-Z]{{0,3}}[{CURRENCY_SIGNS}]\s?)?\d[\d.,'’]{{0,30}}+"
    rf"(?:\s?[%‰])?(?:\s?[{CURRENCY_SIGNS}])?[\s|]{{0,3}}\))"
)
"""A pattern of the bracket before a number that is alone in brackets, as a loss is: `(138)`, `($ 1.5)`.

The closing bracket may have a separate column: `(138 | )`.
"""
BOUNDS = {
    sign: SIDE_OF[word]
    for signs, word in (
        ("<", "below"),
        (">", "above"),
        ("≤ <=", "maximum"),
        ("≥ >=", "minimum"),
        ("▲ △ ↑", "up"),
        ("▼ ▽ ↓", "down"),
    )
    for sign in signs.split()
} | {"≠": "≠"}
"""The words that signs before a number stand for, each with its side of a pair of opposites."""
BEHIND_NUMBER = re.compile(
    "(?<=\\d)(?=[\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\u00bc-\u00be\u2150-\u215e])|(?<=\\w)(?=\u207b)"
)
"""The place between a number and its fraction, exponent or footnote, and before the minus of an exponent.

`3½` is not `31/2`, and `10⁻³` not `10³`.
"""
MINUS = frozenset("minus negative moins menos".split())
"""Words that are a sign directly before a number or its currency."""
SIGN_BEFORE_CODE = re.compile(rf"(?<!\w)(?:[-\u2212]|(?<!\d\s)[\u2010-\u2014])(?=(?:{CURRENCY_CODES})\s?\d)")
"""The sign of an amount before the code of its currency: `-EUR 5`."""
TICKS = "✓✔✅✗✘✖❌☐☑☒"
LOSSES = frozenset(
    "loss losses lost deficit deficits negative outflow outflows shortfall decrease reduction verlust"
    " verluste fehlbetrag rückgang perte pertes déficit négatif baisse pérdida pérdidas negativo perdita"
    " perdite verlies tekort".split()  # prose: data
)
"""Words of a claim that say in place of a minus or of brackets that a number is negative."""
SPENDING = frozenset(
    "used paid expense expenses repayment repayments purchase purchases depreciation amortization"
    " amortisation impairment charge charges aufwand aufwendungen abschreibungen"
    " auszahlungen gastos".split()  # prose: data
)
"""Words of a claim about amounts that accounts write in brackets; they say nothing of a minus."""
_MARKS_OF_UNITS = frozenset("%‰‱°")
_LIST_MARKS = frozenset(">+→")
_WITHOUT_MEANING = frozenset("|©®")
_SAME = dict(zip("∼≈≦≧⩽⩾✔✅✘✖❌", "~~≤≥≤≥✓✓✗✗✗", strict=True))
IN_BRACKETS = ("loss", "last", "aside")
_NEGATIVE = ("minus", "loss", "last")
_SMALL_OR_YEAR = re.compile(r"\d\d?|(?:19|20)\d\d")
_AREA_CODE = re.compile(r"0\d*")
_CELL_BEFORE = re.compile(r"(?:[\d)%|]|^)\s*$")
_CELL_BEHIND = re.compile(rf"\s*(?:[-\u2212]?[\d(|{CURRENCY_SIGNS}]|thousand|[mb]illion|Mi[ol]|Mrd|Tsd)")


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


def bracket_sign(number: str, before: str, behind: str) -> Sign:
    """What brackets around a number say, from the text before and behind them in the sentence or row."""
    if _AREA_CODE.fullmatch(number):
        return "aside"
    if is_currency(before[-1:] or " ") or _CELL_BEHIND.match(behind):
        return "loss"
    if _CELL_BEFORE.search(before) and not behind.strip(" |"):
        return "loss"
    return "aside" if behind.strip(" .|") or _SMALL_OR_YEAR.fullmatch(number) else "last"


def same_sign(claimed: Sign, found: Sign, *, says_loss: bool, spends: bool) -> bool:
    """Whether a number of a page has the sign of a claim.

    `says_loss`: the claim has one of LOSSES instead of the sign; `spends`: it has one of SPENDING.
    """
    if "either" in (claimed, found):
        return claimed == found
    if claimed in ("minus", "loss"):
        return found in (*_NEGATIVE, "aside")
    if claimed or found not in _NEGATIVE:
        return True
    return says_loss or (spends and found != "minus")
