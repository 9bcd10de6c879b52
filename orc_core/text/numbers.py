"""Scales, currencies and months, and dates in one form (`2023-04-05`)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    rf"|(?<!\d)(?P<day1>\d\d?)(?:st|nd|rd|th|er|\.|º)?\s(?:of\s|de\s)?(?P<name1>{MONTH_NAMES})\.?,?\s(?:de\s|del\s)?(?P<year1>(?:1[89]|20)\d\d)"
    rf"|\b(?P<name2>{MONTH_NAMES})\.?\s(?P<day2>\d\d?)(?:st|nd|rd|th)?,?\s(?P<year2>(?:1[89]|20)\d\d)"
)
_PART_OF_DATE = re.compile(
    rf"(?<!\d)(?P<day1>\d\d?)(?:st|nd|rd|th|er|\.|º)?[\s-]?(?:of\s|de\s)?(?P<name1>{MONTH_NAMES})(?!\w)"
    rf"|\b(?P<name2>{MONTH_NAMES})(?:\.?\s(?P<day2>\d\d?)(?:st|nd|rd|th)?(?!\w|[.,:]\d)"
    rf"|\.?,?[\s-](?:de\s|del\s)?(?P<year2>(?:1[89]|20)\d\d)(?!\w|[.,:]\d))"
)
"""A day of a month, or a month of a year."""
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_AROUND_YEAR = 40
"""More characters than a date has before or after its year."""


def find_dates(text: str) -> list[str]:
    """The dates of a text as year-month-day; both readings if day and month could be exchanged."""
    if _YEAR.search(text) is None:
        return []
    folded = text.casefold()
    return [
        date
        for start, end in _around_years(folded)
        for match in _DATE.finditer(folded, start, end)
        for date in _readings(match)
    ]


class Date(NamedTuple):
    """A reading of a date; the day or the year is 0 if it is not said."""

    year: int
    month: int
    day: int

    def may_be(self, other: "Date") -> bool:
        """Whether both can be the same date: neither has another day, month or year than the other says."""
        return all(one == two or not (one and two) for one, two in zip(self, other, strict=True))


class Dates(NamedTuple):
    """The dates of a text, each as it is written and in all its readings, and the text without them."""

    found: Sequence[tuple[str, Sequence[Date]]]
    rest: str


def dates_of(text: str) -> Dates:
    """The dates that have a day and a month, a month and a year, or all three."""
    found: list[tuple[str, Sequence[Date]]] = []
    folded = text.lower()
    written = text if len(text) == len(folded) else folded

    def take(match: re.Match[str]) -> str:
        if match.re is _DATE:
            readings = [Date(*map(int, each.split("-"))) for each in _readings(match)]
        else:
            month, (day, year) = MONTHS[match["name1"] or match["name2"]], match.group("day2", "year2")
            readings = [Date(int(year or 0), month, int(match["day1"] or day or 0))]
        if readings:
            found.append((written[match.start() : match.end()], readings))
        return "|" * len(match[0]) if readings else match[0]

    return Dates(found, _PART_OF_DATE.sub(take, _DATE.sub(take, folded)))


def _around_years(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that can contain dates, in order: most text is far from a year."""
    start = end = 0
    for year in _YEAR.finditer(text):
        if year.start() - _AROUND_YEAR > end:
            if end:
                yield start, end
            start = year.start() - _AROUND_YEAR
        end = year.end() + _AROUND_YEAR
    if end:
        yield max(start, 0), end


def _readings(match: re.Match[str]) -> Iterator[str]:
    if match["year"]:
        yield from _date(match["year"], int(match["month"] or match["kanji"]), match["day"])
    elif match["last"]:
        yield from _date(match["last"], int(match["second"]), match["first"])
        if match["mark"] != "." and match["first"] != match["second"]:
            yield from _date(match["last"], int(match["first"]), match["second"])
    elif match["name1"]:
        yield from _date(match["year1"], MONTHS[match["name1"]], match["day1"])
    else:
        yield from _date(match["year2"], MONTHS[match["name2"]], match["day2"])


def _date(year: str, month: int, day: str) -> Iterator[str]:
    if 1 <= month <= 12 and 1 <= int(day) <= 31:
        yield f"{year}-{month:02}-{int(day):02}"
