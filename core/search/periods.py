"""The years and quarters that a question, a file name or a cover page speaks of."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

CENTURY_TURN = 70
COVER_CHARACTERS = 3000

_YEAR = (
    r"(?:fy\s?['’]?|fiscal(?:\s+year)?\s+|year\s+)?['’]?(?P<year{0}>(?:19|20)\d\d|(?<=fy)\d\d|(?<=['’])\d\d)"
)
_GAP = r"[\s,/_-]*(?:of\s+|in\s+|the\s+|de\s+|du\s+|del\s+|des\s+)*"
_ORDINALS = {
    **dict.fromkeys(("first", "1st", "erstes", "ersten", "premier", "primer", "primo", "primeiro"), 1),
    **dict.fromkeys(("second", "2nd", "zweites", "zweiten", "deuxième", "segundo", "secondo"), 2),
    **dict.fromkeys(("third", "3rd", "drittes", "dritten", "troisième", "tercer", "terzo", "terceiro"), 3),
    **dict.fromkeys(("fourth", "4th", "viertes", "vierten", "quatrième", "cuarto", "quarto"), 4),
}
_QUARTER = (
    r"(?:(?:q|quarter\s)\s?(?P<after{0}>[1-4])(?!\d)|(?<![\w.])(?P<before{0}>[1-4])q(?![a-z])"
    rf"|\b(?P<ordinal{{0}}>{'|'.join(_ORDINALS)})\s+(?:fiscal\s+)?(?:quarter|quartal|trimest\w+))"
)
_SHORT_YEAR = r"['’]?(?P<short{0}>\d\d)(?!\d)"
_PERIOD = re.compile(
    "|".join(
        (
            _QUARTER.format(1) + _GAP + "(?:" + _YEAR.format(1) + r"(?!\d)|" + _SHORT_YEAR.format(1) + ")",
            r"(?<!\d)" + _YEAR.format(2) + _GAP + _QUARTER.format(2),
            r"(?<![\d.,])(?P<from>(?:19|20)\d\d)\s?[/–]\s?(?P<to>\d\d)(?!\d)",
            r"(?<![\d.,])(?P<dated>(?:19|20)\d\d)(?:[01]\d[0-3]\d)?(?!\d|[.,]\d)",
            r"(?<![a-z])fy\s?['’]?(?P<fiscal>\d\d)(?!\d)",
        )
    )
)

_ENDED = re.compile(
    r"(?:year|quarter|quarterly period|months|period)\s+end(?:ed|ing)"
    r"[^\d]{0,20}(?:\d{1,2}\D{1,12})?(?P<year>(?:19|20)\d\d)"
    r"|(?:annual report|geschäftsbericht|jahresabschluss|geschäftsjahr|rapport annuel|exercice"
    r"|memoria anual|informe anual|ejercicio|relazione annuale|bilancio|relatório anual|jaarverslag)"
    r"\D{0,40}(?P<report>(?:19|20)\d\d)",
)


class Period(NamedTuple):
    """A year, or one of its quarters; quarter 0 is the whole year."""

    year: int
    quarter: int = 0


def find_periods(text: str) -> list[Period]:
    """The distinct periods that a text names, in order: `FY22`, `Q3 2023`, `3Q23`, `2023_Q1`, `2021/22`."""
    folded = text.casefold().replace("_", " ")
    return list(dict.fromkeys(_period(match) for match in _PERIOD.finditer(folded)))


def cover_period(text: str) -> Period | None:
    """The period that a document reports on, from the text of its first page; None where it names none."""
    cover = " ".join(text[:COVER_CHARACTERS].casefold().split())
    for match in _ENDED.finditer(cover):
        return Period(int(match["year"] or match["report"]), _quarter_named(cover))
    named = Counter(period.year for period in find_periods(cover))
    if not named:
        return None
    return Period(max(named, key=lambda year: (named[year], year)), _quarter_named(cover))


def _quarter_named(cover: str) -> int:
    return next((period.quarter for period in find_periods(cover) if period.quarter), 0)


def _period(match: re.Match[str]) -> Period:
    found = {name: value for name, value in match.groupdict().items() if value}
    return Period(_year(found), next(_quarters(found), 0))


def _year(found: dict[str, str]) -> int:
    if "to" in found:
        start = int(found["from"])
        return start - start % 100 + int(found["to"])
    named = next(found[name] for name in ("year1", "short1", "year2", "dated", "fiscal") if name in found)
    if len(named) == 4:
        return int(named)
    return (1900 if int(named) >= CENTURY_TURN else 2000) + int(named)


def _quarters(found: dict[str, str]) -> Iterator[int]:
    for name, value in found.items():
        if name.startswith("ordinal"):
            yield _ORDINALS[value]
        elif name.startswith(("after", "before")):
            yield int(value)
