"""Dates in one spelling, however they are written: `2023-04-05`."""

import re
from collections.abc import Iterator

_MONTHS = {
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
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"(?<!\d)(?P<year>(?:1[89]|20)\d\d)(?:[-/.](?P<month>\d\d?)[-/.]|年(?P<kanji>\d\d?)月)(?P<day>\d\d?)(?!\d)"
    r"|(?<![\d.])(?P<first>\d\d?)(?P<mark>[./-])(?P<second>\d\d?)(?P=mark)(?P<last>(?:1[89]|20)\d\d)(?!\d|\.\d)"
    rf"|(?<!\d)(?P<day1>\d\d?)(?:st|nd|rd|th|er|\.|º)?\s(?:of\s|de\s)?(?P<name1>{_MONTH})\.?,?\s(?:de\s|del\s)?(?P<year1>(?:1[89]|20)\d\d)"
    rf"|\b(?P<name2>{_MONTH})\.?\s(?P<day2>\d\d?)(?:st|nd|rd|th)?,?\s(?P<year2>(?:1[89]|20)\d\d)"
)
_YEAR = re.compile(r"(?:1[89]|20)\d\d")


def find_dates(text: str) -> list[str]:
    """Every date of a text as year-month-day; both readings where day and month could change places."""
    if _YEAR.search(text) is None:
        return []
    return [date for match in _DATE.finditer(text.casefold()) for date in _readings(match)]


def _readings(match: re.Match[str]) -> Iterator[str]:
    if match["year"]:
        yield from _date(match["year"], int(match["month"] or match["kanji"]), match["day"])
    elif match["last"]:
        yield from _date(match["last"], int(match["second"]), match["first"])
        if match["mark"] != "." and match["first"] != match["second"]:
            yield from _date(match["last"], int(match["first"]), match["second"])
    elif match["name1"]:
        yield from _date(match["year1"], _MONTHS[match["name1"]], match["day1"])
    else:
        yield from _date(match["year2"], _MONTHS[match["name2"]], match["day2"])


def _date(year: str, month: int, day: str) -> Iterator[str]:
    if 1 <= month <= 12 and 1 <= int(day) <= 31:
        yield f"{year}-{month:02}-{int(day):02}"
