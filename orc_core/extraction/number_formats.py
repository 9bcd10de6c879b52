"""Number formats of spreadsheets: leading zeros, currencies, units and hours beyond a day."""

import re
from datetime import datetime, time, timedelta
from functools import cache
from operator import eq, ge, gt, le, lt, ne

_LITERAL = re.compile(r'"([^"]*)"|\[\$([^\]-]*)(?:-[^\]]*)?\]|\\(.)|[_*].|\[[^\]]*\]')
_PLACES = re.compile(r"[0#?][0#?.,]*")
_ZEROS = re.compile(r"0{2,}")
_MOMENT, _SECONDS = re.compile("[dmyhs]", re.IGNORECASE), re.compile(r"s\.0+", re.IGNORECASE)
_DAY_ZERO = datetime(1899, 12, 30)
_DAYS_TO_1904, _MARCH_1900 = 1462, 60
_LAST_DAY = 2_957_000
"""In the year 9995: later than any date, by both ways to count."""
_COLOUR = re.compile(r"(?:\[[a-z]+\d*\])+", re.IGNORECASE)
LONGEST_FORMAT = 255  # as in Excel
HIDING = ";;;"
"""The format of cells whose values are not shown."""
_HOURS = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
"""Of a format that counts hours beyond a day, or minutes beyond an hour."""
_SECTION = re.compile(r'((?>(?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[])*))(?:;|\Z)')
_CONDITION = re.compile(r"(?:\[[a-z]+\])?\[(<[=>]?|>=?|=)(-?\d+(?:\.\d+)?)\]", re.IGNORECASE)
_HOLDS = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "<>": ne}
_LITERAL_ZERO = 0xF0000
"""Literal characters of a format stand so far behind their place in Unicode, to be known from its signs."""
_SIGNS = "\U000f0000-\U000fffff $€£¥()+-"
_MORE, _MASK = re.compile(f"[^{_SIGNS}]"), re.compile(rf"\(?[0#]+(?:[{_SIGNS}]+[0#]+)+")


def show_number(value: float, *, is_share: bool = False) -> str:
    """The number without rounding errors; a share as a percentage."""
    return f"{value * 100:.10g}%" if is_share else f"{value:.15g}"


def show_moment(value: datetime) -> str:
    """ISO form, without the time if it is midnight."""
    return value.date().isoformat() if value.time() == time.min else value.isoformat(" ")


def show_formatted(value: float, code: str) -> str:
    """The exact number with the zeros before it, currency, unit or percent sign of its format.

    Of a format without a number (`"Yes";"Yes";"No"`) its text.
    """
    section = _section(value, code[:LONGEST_FORMAT] or "General")
    places, before, behind = _affixes(section)
    if not places and before:
        return before.strip("\0")
    shown = show_number(value, is_share="%" in section)
    if float(value).is_integer() and "%" not in section:
        shown = _masked(f"{value:.0f}", places) if _MASK.fullmatch(places) and value >= 0 else shown
        shown = f"{value:0{len(places)}.0f}" if _ZEROS.fullmatch(places) else shown
    return f"{before.replace('-', '') if value < 0 else before}{shown}{behind}"


def _section(value: float, code: str) -> str:
    """The part of the format for this number."""
    sections: list[str] = _SECTION.findall(code)[:-1] or [code]
    conditions = [_CONDITION.match(each) for each in sections]
    if any(conditions):
        holds = (found is None or _HOLDS[found[1]](value, float(found[2])) for found in conditions)
        return next((each for each, is_held in zip(sections, holds, strict=True) if is_held), "General")
    return sections[1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0]


def _masked(figures: str, places: str) -> str:
    """The figures with the signs between them: `012-34-5678`."""
    waiting, shown = list(figures), ""
    for sign in reversed(places):
        if sign in "0#":
            shown = (waiting.pop() if waiting else sign.replace("#", "")) + shown
        else:
            shown = chr(ord(sign) & 0xFFFF) + shown
    return "".join(waiting) + shown


def show_duration(value: timedelta) -> str:
    """Hours and minutes, also beyond a day: `37:30`."""
    seconds = round(abs(value.total_seconds()))
    sign = "-" if value.total_seconds() < 0 else ""
    shown = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}"
    return f"{shown}:{seconds % 60:02d}" if seconds % 60 else shown


def show_dated(value: float, code: str, *, since_1904: bool) -> str:
    """A date, a time of day if the number has no day, hours, or the number, as the format says."""
    code = code[:LONGEST_FORMAT]
    if _HOURS.match(code):
        return show_duration(timedelta(days=value)) if abs(value) < _LAST_DAY else show_number(value)
    if not _is_moment(code) or not 0 <= value < _LAST_DAY:
        return show_formatted(value, code)
    # The days before March 1900 are one too high: Lotus had a 29 February 1900.
    days = value + (_DAYS_TO_1904 if since_1904 else 1 <= value < _MARCH_1900)
    moment = _DAY_ZERO + timedelta(seconds=round(days * 86_400))
    return moment.time().isoformat() if value < 1 else show_moment(moment)


@cache
def _is_moment(code: str) -> bool:
    plain = _LITERAL.sub("", code.partition(";")[0])
    return _MOMENT.search(plain) is not None and _PLACES.search(_SECONDS.sub("s", plain)) is None


@cache
def _affixes(section: str) -> tuple[str, str, str]:
    """The places for figures, and the text before and behind the number; "\0" at the end of mere text."""

    def moved(found: re.Match[str]) -> str:
        text = found[1] or found[2] or found[3] or ""
        return "".join(chr(_LITERAL_ZERO + ord(each)) for each in text if ord(each) < 0x10000)

    plain = _LITERAL.sub(moved, "0" if _COLOUR.fullmatch(section) else section)
    places = _MASK.search(plain) or _PLACES.search(plain)
    if places is None:
        return "", f"{text}\0" if (text := _shown(plain)) is not None else "", ""
    texts = [_shown(plain[: places.start()]), _shown(plain[places.end() :].removeprefix("%"))]
    if None in texts or places[0].endswith(","):  # it shows thousands or millions
        return "0", "", ""
    return places[0], texts[0] or "", texts[1] or ""


def _shown(part: str) -> str | None:
    """The literal text; None if there is more, such as an exponent or a fraction."""
    if _MORE.search(part):
        return None
    return "".join(chr(ord(each) & 0xFFFF) for each in part if each not in "()")
