"""Number formats of spreadsheets: leading zeros, currencies, units and hours beyond a day."""

import re
from datetime import datetime, time, timedelta
from functools import cache

_LITERAL = re.compile(r'"([^"]*)"|\[\$([^\]-]*)(?:-[^\]]*)?\]|\\(.)|[_*].|\[[^\]]*\]')
_PLACES = re.compile(r"[0#?][0#?.,]*")
_ZEROS = re.compile(r"0{2,}")
_MOMENT, _SECONDS = re.compile("[dmyhs]", re.IGNORECASE), re.compile(r"s\.0+", re.IGNORECASE)
_DAY_ZERO = datetime(1899, 12, 30)
_DAYS_TO_1904, _MARCH_1900 = 1462, 60
_LAST_DAY = 2_957_000
"""In the year 9995: later than any date, by both ways to count."""
HIDING = ";;;"
"""The format of cells whose values are not shown."""
_HOURS = re.compile(r"\[h+\]", re.IGNORECASE)
"""Of a format that counts hours beyond a day."""


def show_number(value: float, *, is_share: bool = False) -> str:
    """The number without rounding errors; a share as a percentage."""
    return f"{value * 100:.10g}%" if is_share else f"{value:.15g}"


def show_moment(value: datetime) -> str:
    """ISO form, without the time if it is midnight."""
    return value.date().isoformat() if value.time() == time.min else value.isoformat(" ")


def show_formatted(value: float, code: str) -> str:
    """The exact number with the zeros before it, currency, unit or percent sign of its format."""
    zeros, before, behind = _affixes(code or "General")
    shown = show_number(value, is_share="%" in code)
    if zeros and float(value).is_integer():
        shown = f"{value:0{zeros}.0f}"
    return f"{before}{shown}{behind}"


def show_duration(value: timedelta) -> str:
    """Hours and minutes, also beyond a day: `37:30`."""
    seconds = round(abs(value.total_seconds()))
    sign = "-" if value.total_seconds() < 0 else ""
    shown = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}"
    return f"{shown}:{seconds % 60:02d}" if seconds % 60 else shown


def show_dated(value: float, code: str, *, since_1904: bool) -> str:
    """A date, a time of day if the number has no day, hours, or the number, as the format says."""
    if _HOURS.match(code):
        return show_duration(timedelta(days=value))
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
def _affixes(code: str) -> tuple[int, str, str]:
    """The least number of figures, and the text before and behind the number."""
    literals: list[str] = []

    def note(found: re.Match[str]) -> str:
        literals.append(found[1] or found[2] or found[3] or "")
        return chr(0xE000 + len(literals) - 1)

    plain = _LITERAL.sub(note, code.partition(";")[0])
    places = _PLACES.search(plain)
    if places is None or places[0].endswith(",") or len(literals) > 20:  # `,` shows thousands or millions
        return 0, "", ""
    before, behind = plain[: places.start()], plain[places.end() :].removeprefix("%")
    texts = [_shown(part, literals) for part in (before, behind)]
    if None in texts:
        return 0, "", ""
    zeros = len(places[0]) if _ZEROS.fullmatch(places[0]) else 0
    return zeros, texts[0] or "", texts[1] or ""


def _shown(part: str, literals: list[str]) -> str | None:
    """The literal text; None if there is more, such as an exponent or a fraction."""
    text = ""
    for character in part:
        if "\ue000" <= character < chr(0xE000 + len(literals)):
            text += literals[ord(character) - 0xE000]
        elif character in " $€£¥()+-":
            text += "" if character in "()" else character
        else:
            return None
    return text
