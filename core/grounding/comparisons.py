"""Writes numbers in one way before they are parsed: `at least 5 days` as `≥ 5 days`, `A$5` as `AUD 5`."""

import re

from core.grounding.signs import MINUS, SIGN_BEFORE_CODE
from core.text.numbers import CURRENCY_CODES, CURRENCY_SIGNS, DOLLARS, MONTH_NAMES, NUMBER_WORDS, SCALES
from core.text.terms import DEFAULT_LANGUAGE

RANGE = "\u226c"
"""Between the two ends of a range."""
_BEFORE_NUMBER = {
    "≥": "at least,no less than,not less than,no fewer than,not fewer than,a minimum of,minimum of,minimum"
    ",mindestens,wenigstens,nicht weniger als,au moins,au minimum,al menos,por lo menos,como mínimo",
    "≤": "at most,no more than,not more than,up to,a maximum of,maximum of,maximum,not exceeding,höchstens"
    ",maximal,bis,nicht mehr als,bis zu,au plus,au maximum,jusqu'à,como máximo,hasta,no más de",
    ">": "more than,over,above,greater than,larger than,older than,heavier than,longer than,higher than"
    ",exceeding,in excess of,mehr als,über,plus de,más de",
    "<": "less than,fewer than,under,below,smaller than,younger than,lighter than,shorter than"
    ",lower than,weniger als,unter,moins de,menos de",
}
_BEHIND_NUMBER = {
    "≥": "at least,au moins,al menos,como mínimo,or more,or older,or over"
    ",and over,and older,or above,oder mehr,und mehr,ou plus,et plus,o más",
    "≤": "at most,au plus,au maximum,como máximo,or less,or fewer,or under,oder weniger,ou moins,o menos",
}
_SIGNS = {
    phrase: sign
    for table in (_BEFORE_NUMBER, _BEHIND_NUMBER)
    for sign, phrases in table.items()
    for phrase in phrases.split(",")
}


def _any_of(table: dict[str, str]) -> str:
    phrases = sorted(",".join(table.values()).split(","), key=len, reverse=True)
    return "|".join(phrases).replace(" ", r"\s").replace("'", "['’]")


_NUMBER = rf"(?:[A-Z]{{3}}\s)?[{CURRENCY_SIGNS}]?(?:\d(?:[\d.,]{{0,18}}\d)?|(?:{'|'.join(NUMBER_WORDS)})\b)"
_STARTS_NUMBER = re.compile(_NUMBER)
_UNIT = rf"(?!\.?\s?(?i:uhr|h|[ap]m|o'clock|{MONTH_NAMES})\b)"
"""Behind a number that is neither a time nor a day."""
_BEFORE = rf"(?<!\d\s)(?i:\b(?P<before>{_any_of(_BEFORE_NUMBER)})(?:\s(?:{_any_of(_BEFORE_NUMBER)}))?)\s"
_COMPARED = re.compile(
    rf"{_BEFORE}(?={_NUMBER}(?!\d){_UNIT})"
    rf"|\b(?P<amount>{_NUMBER}(?:\s[^\W\d_]{{1,20}}){{0,3}}?)\s(?P<behind>{_any_of(_BEHIND_NUMBER)})\b"
    rf"(?!\s{_NUMBER})"
)
_AROUND = 40
"""Characters that have the longest comparison, or the number after it."""
_NO_YEAR = r"(?!(?:1\d|20)\d\d\b)"
_RANGE = re.compile(
    rf"(?i:\b(?:between|zwischen|entre))\s{_NO_YEAR}(?P<least>{_NUMBER})\s(?:and|und|et|y)\s(?={_NUMBER})"
    rf"|(?<![\w.,:/-])(?<!from\s)(?<!von\s)(?<!\bde\s){_NO_YEAR}(?P<first>\d[\d.,]{{0,18}}+)"
    rf"(?:\s?[-\u2013]\s?|\s(?:to|bis|à|a)\s)(?={_NUMBER}(?!\d){_UNIT}\s?(?:[%°]|[^\W\d_]))"
)
_TIME_OF_DAY = re.compile(r"\b([AaPp])\.\s?[Mm]\b\.?")
_MINUS_BEFORE = re.compile(rf"\b(?i:{'|'.join(MINUS)})\s(?:(?:{CURRENCY_CODES})\s)?$")
_DOLLAR = re.compile(rf"(?<!\w)({'|'.join(DOLLARS)})\$(?=\s?\d)")
_UNITS = {"l": " litre", "s": " sec", "A": " ampere", "mA": " milliampere"}
"""Letters that can be a function word, and the unit that they are behind a number."""
_UNIT_LETTER = re.compile(r"(?<=\d) ?(?:l|(?<= )s|(?<= )A|mA)(?![\w'’.-])")
_PER = re.compile(r"(?<=\d)(\s?(?:[μmk]?g|t|m?l|[ck]?m|[kMG]?Wh?|EUR|[$€£]))/(?=[^\W\d_])")
_GOES_ON = re.compile(
    rf"[.,:]\d|\s?(?:[%‰]|(?:{'|'.join(map(re.escape, SCALES))}|per\s?cent|prozent)\b)",
    re.I,
)
_DIGIT = re.compile(r"\d")
_DAY_AND_YEAR = re.compile(r"\d(?:st|nd|rd|th)?,?\s(?:1[89]|20)\d\d\b")
_MONTH_FIRST = re.compile(
    rf"\b({MONTH_NAMES})\.?\s(\d\d?)(?:st|nd|rd|th)?,?\s((?:1[89]|20)\d\d)\b", re.IGNORECASE
)
MONTH_IN = {
    language: months.split()
    for language, months in {
        "en": "January February March April May June July August September October November December",
        "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    }.items()
}
_FIGURES_OF_DATE = re.compile(
    r"(?<![\w./-])(?:(?P<year>(?:1[89]|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)"
    r"|(?P<first>\d\d?)\.(?P<middle>\d\d?)\.(?P<last>(?:1[89]|20)\d\d))(?![\w/-]|\.\d)"
)
"""A date in which the order of day and month is certain: `2024-05-17`, `17.5.2024`."""
_GROUP = re.compile(r"\d\s\d{3}(?!\d)")
_YEAR_IN_FIGURES = re.compile(r"(?:1[89]|20)\d\d-\d|\d\.(?:1[89]|20)\d\d")
_THOUSANDS = re.compile(
    r"(?<=:\s)\d{1,3}(?:\s\d{3}){1,2}(?=\s\||$)"
    r"|(?<![\w.,/-])(?<!\d\s)\d{1,3}(?:\s\d{3}){1,2}"
    rf"(?=\s?(?:[{CURRENCY_SIGNS}%]|(?:{CURRENCY_CODES})\b)|\s[^\W\d_A-Z]|\.$)"
)
"""Thousands with blanks between them, in a labelled cell or before a unit.

Elsewhere they can be numbers of two columns.
"""
_PERCENT = re.compile(r"(?<=\d\sper)\s(?=cent\b)")
_NEGATIVE_EXPONENT = re.compile(r"(?<=\d)[eE][-\u2212](?=\d)")


def in_signs(text: str, language: str) -> str:
    """The text with signs for comparisons and ranges, and one spelling of what is next to a number.

    Dates in figures get the name of their month in this language, if it is one of `MONTH_IN`.
    """
    if _DIGIT.search(text):
        if _YEAR_IN_FIGURES.search(text):
            text = _FIGURES_OF_DATE.sub(lambda match: _date(match, language), text)
        text = _alike(text)
    text = _RANGE.sub(_range, text)
    return _COMPARED.sub(_comparison, text)


def _alike(text: str) -> str:
    """The text with one spelling of times of day, dates, rates, negative amounts and foreign dollars."""
    text = _TIME_OF_DAY.sub(r"\1m", text)
    if _GROUP.search(text):
        text = _THOUSANDS.sub(lambda match: "".join(match[0].split()), text)
    text = _DOLLAR.sub(lambda match: f"{DOLLARS[match[1]]} ", text)
    text = _NEGATIVE_EXPONENT.sub(" e -", SIGN_BEFORE_CODE.sub("minus ", text))
    if _DAY_AND_YEAR.search(text):
        text = _MONTH_FIRST.sub(r"\2 \1 \3", text)
    text = _PERCENT.sub("", _PER.sub(r"\1 per ", text))
    return _UNIT_LETTER.sub(lambda match: _UNITS[match[0].strip()], text)


def goes_on(text: str, at: int) -> bool:
    """Whether a number that ends here goes on: `EUR 5` of `EUR 5 million`, `at 5` of `at 5:30`."""
    return text[at - 1 : at].isdigit() and _GOES_ON.match(text, at) is not None


def is_cut(text: str, at: int) -> bool:
    """Whether a comparison, a word for a minus, or the first end of a range belongs to a number here."""
    if _MINUS_BEFORE.search(text[max(0, at - _AROUND) : at]) and _STARTS_NUMBER.match(text, at):
        return True
    around = text[max(0, at - _AROUND) : at + _AROUND]
    found = (match for pattern in (_COMPARED, _RANGE) for match in pattern.finditer(around))
    return any(match.end() == min(at, _AROUND) for match in found)


def _date(match: re.Match[str], language: str) -> str:
    months = MONTH_IN.get(language, MONTH_IN[DEFAULT_LANGUAGE])
    month = int(match["month"] or match["middle"])
    if not 1 <= month <= len(months):
        return match[0]
    return f"{int(match['day'] or match['first'])} {months[month - 1]} {match['year'] or match['last']}"


def _range(match: re.Match[str]) -> str:
    return f"{match['least'] or match['first']} {RANGE} "


def _comparison(match: re.Match[str]) -> str:
    phrase = " ".join((match["before"] or match["behind"]).lower().replace("’", "'").split())
    return f"{_SIGNS[phrase]} {match['amount'] or ''}"
