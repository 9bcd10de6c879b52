"""Dates, amounts, percentages, and addresses, by the way they are written."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from core.analysis.vocabulary import CURRENCY_CODES, CURRENCY_WORDS, SCALES, UNITS
from core.text.numbers import MONTHS


class Mention(NamedTuple):
    """Characters `start` to `end` of a text name something of this type."""

    start: int
    end: int
    name: str
    type: str


def _any(words: list[str]) -> str:
    return "|".join(map(re.escape, sorted(set(words), key=lambda word: (-len(word), word))))


_DIGITS = r"\d{1,15}(?:[.,'’]\d{1,3}){0,5}"
_MONTH = rf"(?:{_any([*MONTHS])})\b\.?"
_YEAR = r"(?:1[5-9]|20)\d\d(?!\d|[.,]\d)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?!\d)"
_SCALE = rf"(?:\s?(?:{_any(SCALES)})\b\.?)"
_RANGE = rf"(?:\s?[-\u2013]\s?{_DIGITS})?"
_SYMBOL = r"(?:(?:US|CA|A)?\$|[€£¥₹₩])"
_MONEY = _any(CURRENCY_WORDS)
_CODE = "|".join(CURRENCY_CODES)

_QUANTITY = re.compile(
    rf"""
    (?=\d|(?:[-\u2212+$€£¥₹₩]|\b[^\W\d_])[^\d]{{0,14}}\d)
    (?:
    (?P<date>
        \b(?:19|20)\d\d-[01]\d-[0-3]\d\b
        | \b{_DAY}[./]\s?[01]?\d[./]\s?(?:19|20)?\d\d\b(?![./]\d)
        | \b{_MONTH}\s{_DAY}(?:st|nd|rd|th)?(?:\s?[-\u2013]\s?{_DAY})?(?:,\s?|\s){_YEAR}
        | \b{_DAY}(?:st|nd|rd|th|\.|º|er)?\s(?:de\s|of\s)?{_MONTH}(?:\s(?:de\s|del\s)?{_YEAR})?
        | \b{_MONTH}(?:\s(?:de\s|del\s)?|,\s){_YEAR}
        | \b{_MONTH}\s{_DAY}(?:st|nd|rd|th)?\b(?!\s?%)
        | \b(?:Q[1-4]|[1-4]Q)[ ]?(?:FY)?[ ]?'?(?:{_YEAR}|\d\d\b)
        | \b(?:fiscal\s(?:year\s)?|FY[ ]?'?)(?:{_YEAR}|\d\d\b)
        | (?<=\b(?:in|im|by|en)\s){_YEAR} | (?<=\b(?:from|seit|anno|Jahr)\s){_YEAR}
        | (?<=\b(?:since|until|Jahre|desde|hasta|après|avant)\s){_YEAR}
        | (?<=\bdepuis\s){_YEAR} | (?<=\baño\s){_YEAR}
        | \d{{4}}年(?:\s?\d{{1,2}}月(?:\s?\d{{1,2}}日)?)? | \d{{4}}년(?:\s?\d{{1,2}}월(?:\s?\d{{1,2}}일)?)?
    )
    | (?P<percentage>[-\u2212+]?(?<![\w.,]){_DIGITS}{_RANGE}\s?
        (?:%|percent\b|per\scent\b|Prozent\b|por\sciento\b|pour\scent\b|per\scento\b))
    | (?P<amount>
        (?:{_SYMBOL}|\b(?:{_CODE}))\s?{_DIGITS}{_SCALE}?(?:{_RANGE}{_SCALE}?)
        | (?<![\w.,]){_DIGITS}{_RANGE}{_SCALE}?\s?(?:{_SYMBOL}|(?:(?:US\s|de\s)?(?:{_MONEY})|{_CODE})\b)
        | (?<![\w.,]){_DIGITS}{_RANGE}[ -]?(?:(?:calendar|business|working)\s)?(?:{_any(UNITS)})\b
        | (?<![\w.,]){_DIGITS}\s?[万億亿兆]?\s?[円元원]
    )
    )
    """,
    re.X | re.I,
)
_ADDRESS = re.compile(
    r"(?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6})"
    r"|(?P<url>\b(?:https?://|www\.)[^\s<>\"“”'’)\]]{3,300})",
    re.I,
)
_HAS_DIGIT = re.compile(r"\d")


def find_quantities(text: str) -> Iterator[Mention]:
    """The dates, percentages and amounts in a sentence, in order."""
    if _HAS_DIGIT.search(text):
        for match in _QUANTITY.finditer(text):
            kind = match.lastgroup or "amount"
            yield Mention(match.start(), match.end(), " ".join(match[0].split()), kind)


def find_addresses(text: str) -> Iterator[Mention]:
    """The e-mail addresses and links in a text, in order."""
    if "@" in text or "://" in text or "www." in text.lower():
        for match in _ADDRESS.finditer(text):
            name = match[0].rstrip(".,;:!?")
            yield Mention(match.start(), match.start() + len(name), name, match.lastgroup or "url")
