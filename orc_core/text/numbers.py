"""Scales, currencies and months, and dates in one form (`2023-04-05`)."""

import re
from collections.abc import Iterator

SCALE_ABBREVIATIONS = {
    name: scale
    for scale, names in (
        ("thousand", "tsd тыс"),
        ("million", "m mn mio mill mln млн"),
        ("billion", "bn mrd md mds mld млрд"),
        ("trillion", "tn trn"),
    )
    for name in names.split()
}
"""They can have a point: `30 Mio. Euro`."""
SCALES = SCALE_ABBREVIATIONS | {
    name: scale
    for scale, names in (
        ("thousand", "thousand tausend mille mil mila duizend тысяч тысячи"),
        (
            "million",
            "million millions millionen millón millones milione milioni miljoen milhão milhões миллион"
            " миллиона миллионов",
        ),
        (
            "billion",
            "billion billions milliarde milliarden milliard milliards miliardo miliardi miljard bilhão"
            " bilhões миллиард миллиарда миллиардов",
        ),
        ("trillion", "trillion trillions billionen billones"),
    )
    for name in names.split()
}
"""Words for powers of ten. A German `Billion` is an English trillion; only the plural shows the language."""
SCALE_VALUES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
CURRENCY_SIGNS = "$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20c0"
"""A character class of a regular expression."""
CURRENCIES = {sign: sign for sign in re.findall(f"[{CURRENCY_SIGNS}]", "".join(map(chr, range(0x2100))))} | {
    name: code
    for names, code in (
        ("$ usd dollar dollars", "USD"),
        ("€ eur euro euros", "EUR"),
        ("£ gbp pound pounds", "GBP"),
        ("¥ jpy yen", "JPY"),
        ("₹ inr", "INR"),
        ("₩ krw", "KRW"),
        ("₽ rub", "RUB"),
        ("₪ ils", "ILS"),
        ("฿ thb", "THB"),
        *(
            (code.lower(), code)
            for code in "CHF SEK NOK DKK PLN CZK HUF AUD NZD CAD HKD SGD TWD BRL MXN CNY".split()
        ),
        ("% percent prozent", "%"),
        ("‰ permille promille", "‰"),
    )
    for name in names.split()
}

MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier enero gennaio janeiro januari",
            "february feb februar février febrero febbraio fevereiro februari",
            "march mar märz mars marzo março maart",
            "april apr avril abril aprile",
            "may mai mayo maggio maio mei",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto augustus",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember décembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
MONTH_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
"""A pattern of the name of a month, in lower case."""
_DATE = re.compile(
    r"(?<!\d)(?P<year>(?:1[89]|20)\d\d)(?:[-/.](?P<month>\d\d?)[-/.]|年(?P<kanji>\d\d?)月)(?P<day>\d\d?)(?!\d)"
    r"|(?<![\d.])(?P<first>\d\d?)(?P<mark>[./-])(?P<second>\d\d?)(?P=mark)(?P<last>(?:1[89]|20)\d\d)(?!\d|\.\d)"
    rf"|(?<!\d)(?P<day1>\d\d?)(?:st|nd|rd|th|er|\.|º)?[\s-]?(?:of\s|de\s)?(?P<name1>{MONTH_NAMES})(?!\w)"
    r"(?:\.?,?[\s-](?:de\s|del\s)?(?P<year1>(?:1[89]|20)\d\d))?"
    rf"|\b(?P<name2>{MONTH_NAMES})(?:\.?\s(?P<day2>\d\d?)(?:st|nd|rd|th)?(?!\w|[.,:]\d|\s(?:{MONTH_NAMES})\b)"
    r"(?:,?\s(?P<year2>(?:1[89]|20)\d\d))?|\.?,?[\s-](?:de\s|del\s)?(?P<year3>(?:1[89]|20)\d\d)(?!\w|[-.,:/]\d))"
)
Date = tuple[int, int, int]
"""Year, month and day; the year or the day may be 0, if it is not said."""
_BEGINS_MONTH = "".join({name[0] for name in MONTHS})
_ENDS_MONTH = "|".join({name[1:] for name in MONTHS})
_OF_DATE = re.compile(
    rf"[-/.年{_BEGINS_MONTH}](?:(?<=[-/.])(?=\d\d?[-/.]\d)|(?<=年)|(?<![^\W\d_dhrtº].)(?=(?:{_ENDS_MONTH})(?!\w)))"
)
"""A character of each date: one of its marks, or the first of its month. Only these are looked at."""
_AROUND = 40
"""More characters than a date has before or after it."""


def find_dates(text: str) -> list[str]:
    """The whole dates of a text as year-month-day; both readings if day and month could be exchanged."""
    return [
        f"{year}-{month:02}-{day:02}"
        for match in _dates_in(text.casefold())
        for year, month, day in _readings(match)
        if year and day
    ]


def dates_of(text: str) -> tuple[list[tuple[str, list[Date]]], str]:
    """The dates of a text, each as it is written and in all its readings, and the text without them."""
    found: list[tuple[str, list[Date]]] = []
    rest, done, folded = list[str](), 0, text.lower()
    written = text if len(text) == len(folded) else folded
    for match in _dates_in(folded):
        if dates := list(_readings(match)):
            start, end = match.span()
            found.append((written[start:end], dates))
            rest += folded[done:start], "|" * (end - start)
            done = end
    return found, "".join([*rest, folded[done:]])


def _dates_in(text: str) -> Iterator[re.Match[str]]:
    """What looks like a date, in order: most text is far from a year and from a month."""
    done = 0
    while near := _OF_DATE.search(text, done):
        found = _DATE.search(text, max(done, near.start() - _AROUND), near.end() + _AROUND)
        if found and found.start() < near.end():
            yield found
            done = found.end()
        else:
            done = near.end()


def _readings(match: re.Match[str]) -> Iterator[Date]:
    if match["year"]:
        yield from _date(match["year"], int(match["month"] or match["kanji"]), match["day"])
    elif match["last"]:
        yield from _date(match["last"], int(match["second"]), match["first"])
        if match["mark"] != "." and match["first"] != match["second"]:
            yield from _date(match["last"], int(match["first"]), match["second"])
    elif match["name1"]:
        yield from _date(match["year1"], MONTHS[match["name1"]], match["day1"])
    else:
        yield from _date(match["year2"] or match["year3"], MONTHS[match["name2"]], match["day2"])


def _date(year: str | None, month: int, day: str | None) -> Iterator[Date]:
    if 1 <= month <= 12 and int(day or 1) <= 31:
        yield int(year or 0), month, int(day or 0)
