"""The brackets of an answer: those that cite a source, and those that only look like a checked citation."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, Protocol

from orc_core.text.normal_forms import normalized

MAX_VISIBLE_BRACKET = 200
MAX_BRACKET = 4000
MAX_DEPTH = 4

_BRACKETS = {
    character: category
    for character in ("[", "]", *map(chr, (*range(0x2000, 0x3100), *range(0xFE00, 0xFFFE))))
    if (category := unicodedata.category(character)) in ("Ps", "Pe")
    and not re.search("PARENTHESIS|CURLY|QUOTATION", unicodedata.name(character))
}
_OPENINGS = frozenset(character for character, category in _BRACKETS.items() if category == "Ps")
_CLOSINGS = _BRACKETS.keys() - _OPENINGS
_QUOTING = re.compile("ANGLE|CORNER")
"""Brackets that are quotation marks in East Asia, and may be part of a name."""
OPENING = re.compile(f"[{re.escape(''.join(sorted(_OPENINGS)))}]")
"""Opening brackets of Unicode; no round or curly ones, no quotation marks."""

_CURLED = {ord(bracket): "{" if bracket in _OPENINGS else "}" for bracket in _BRACKETS}
_CITING = str.maketrans("\uff3b\u3010\u3014\u27e6\uff3d\u3011\u3015\u27e7", "[[[[]]]]")
_RANGE = r"\^?S?\d{1,4}\^?(?:\s*[-\u2013]\s*S?\d{1,4})?"
_NAMED = r"(?:(?:sources?|cit(?:e|ation)s?)\s*[:#]?\s*|[^\W\d_]{1,20}\s*:\s*(?=\^?S\d))?"
_NEXT = r"(?:\s*[,;&/+]\s*(?:[^\W\d_]{1,4}\s+(?=S\d))?|\s+(?:[^\W\d_]{1,4}\s+)?(?=S\d))"
_LIST = rf"{_NAMED}{_RANGE}(?:{_NEXT}{_NAMED}{_RANGE})*"
_MARKER = re.compile(
    rf"\[\s*(?=\^?s\d|source|cit|[^\W\d_]+\s*:)({_LIST})\s*"
    r"(?:\u2020[^\[\]]*|[:,;|(\u2013-]\s*(?:[^\W\d_]|[\"'\u201c\u201e])[^\[\]]*)?\]",
    re.I,
)
"""`[S3]`, `[Source 3]`, `[S1-S3]`, `[S1, S2]`, and with what it says of the place: `[S1: a.pdf, page 5]`."""
_NOTE = r"\^?\d{1,4}\^?(?:\s*[-\u2013]\s*\d{1,4})?"
_BARE_MARKER = re.compile(rf"\[({_NOTE}(?:\s*[,;]\s*{_NOTE})*)(?:\u2020[^\[\]]*)?\]")
"""Without blanks at its beginning: so prompts show the numbers of notes on a page."""
_SOURCE = re.compile(r"[sd]\W*\d|source|cit", re.I)
"""What each named marker, and each handle, has, and few other brackets."""
_SPAN = re.compile(r"(\d{1,4})(?:\s*[-\u2013]\s*[S^]?(\d{1,4}))?", re.I)
MOST_IN_RANGE = 20
_HANDLE = re.compile(r"\[d\d{1,3}\.p(\d{1,4})\]")
"""A page as tools name it."""
_WORDS_OF_PLACE = 30
"""Letters next to the name in a bracket that only says a place: `Page 5 of Document`, `Seite 5 von`."""
_ROUND = re.compile(r"\(([^()\[\]<>\n]{1,120})\)|<\s?/?source\b([^<>]{0,300})>", re.I)
_MAY_BE_ROUND = re.compile(r"(?:\([^()\[\]<>\n]{0,120}|<\s?/?(?:[a-z]{0,5}|source\b[^<>]{0,300}))\Z", re.I)
_ID = re.compile(r"\bid\s*=\s*[\"']?S?(\d{1,4})", re.I)

Status = Literal["none", "talk"]
_STATUS_MARKERS: Mapping[str, Status] = {"[none]": "none", "[talk]": "talk"}


class Place(Protocol):
    """A source, as far as a marker names it."""

    @property
    def blob_name(self) -> str: ...
    @property
    def document_id(self) -> str: ...
    @property
    def page(self) -> int: ...


_NUMBER = re.compile(r"\[[\s^#]*\d[\d\s,;.:^#\-\u2013]*\]")
ENTITY = re.compile(r"&(?:#\d{1,30}|#[xX][0-9a-fA-F]{1,30}|[A-Za-z][A-Za-z0-9]{1,31});")
"""A reference to a character, which is passed on as a whole."""
_IGNORED = re.compile(r"[*_`~\\]")
_TAG = re.compile(r"< ?[/!?A-Za-z][^<>]*>")
_FILLERS = frozenset("\u115f\u1160\u2065\u3164\uffa0")
_IGNORABLE_CATEGORIES = ("Cf", "Mn", "Me")

_ANY = "\x00"
"""Replaces a letter of another script within a Latin word, which may look like any letter."""
_WORD = re.compile(r"[A-Za-z\u0080-\U0010ffff]+")


def _pattern(word: str) -> str:
    """A pattern of a word, or its plural, in letters that look like its own."""
    return f"(?<![a-z]){''.join(f'[{letter}{_ANY}]' for letter in word)}[s{_ANY}]?(?![a-z])"


_PAGE, _DOCUMENT = re.compile(_pattern("page")), re.compile(_pattern("document"))
_PLACE = re.compile(rf"\d[\do]*\W+{_pattern('of')}\W+{_pattern('document')}")
"""`5 of Document`, whatever the page before it is called."""
_WEB_PAGE = re.compile(rf"{_pattern('web')}[^a-z{_ANY}]*{_pattern('page')}|{_pattern('webpage')}")

_IN_NAMES = str.maketrans({'"': "'", "`": "'", "<": "\u2039", ">": "\u203a", "|": "\u00a6"})
_IN_NAMES |= {
    ord(bracket): "(" if bracket in _OPENINGS else ")"
    for bracket in _BRACKETS
    if not _QUOTING.search(unicodedata.name(bracket))
}
_ACTIVE_IN_NAMES = re.compile(r"&(?=#?\w+;)|//|www\.", re.I)


def bracketed(text: str, *, is_all: bool) -> str | None:
    """The bracket that `text` begins with, or None if more text could change it.

    It ends at its closing bracket or at a maximum of length or depth, however the text is split into pieces.
    """
    depth = visible = in_entity = 0
    for index, character in enumerate(text[:MAX_BRACKET]):
        if index < in_entity:
            continue
        if character == "&" and (entity := ENTITY.match(text, index)):
            in_entity = entity.end()
        elif character in _OPENINGS:
            depth += 1
        elif character in _CLOSINGS:
            depth -= 1
        visible += not (character.isspace() or is_ignorable(character))
        if depth in (0, MAX_DEPTH + 1) or visible == MAX_VISIBLE_BRACKET:
            return text[: index + 1]
    return text[:MAX_BRACKET] if is_all or len(text) >= MAX_BRACKET else None


def cited_numbers(bracket: str, known: Mapping[int, Place]) -> list[int]:
    """The source numbers of a marker, each once; none if it is no marker.

    Models write `[S3]`, as prompts ask for, and the forms above. Numbers alone are a marker only if they are
    those of `known` sources; a place, such as `[a.pdf, p. 5]`, is one only if a known source is there.
    """
    plain = _plain(bracket.translate(_CITING))
    if found := _MARKER.fullmatch(plain):
        return list(dict.fromkeys(_numbers(found[1])))
    if found := _BARE_MARKER.fullmatch(plain):
        numbers = list(dict.fromkeys(_numbers(found[1])))
        return numbers if all(map(known.__contains__, numbers)) else []
    return list(_at_place(plain, known)) if known and plain.endswith("]") else []


def _numbers(text: str) -> Iterator[int]:
    for first, last in _SPAN.findall(text):
        is_range = last and 0 < int(last) - int(first) < MOST_IN_RANGE
        yield from range(int(first), int(last) + 1) if is_range else map(int, filter(None, (first, last)))


def _at_place(plain: str, known: Mapping[int, Place]) -> Iterator[int]:
    """The first source of each page that a bracket names, by the name of its document or by its handle."""
    if found := _HANDLE.fullmatch(plain):
        there = {number: each for number, each in known.items() if each.page == int(found[1])}
        yield from list(there)[: len({each.document_id for each in there.values()}) == 1]
        return
    inner = plain[1:-1].casefold()
    names = {_name_in_text(each.blob_name) for each in known.values()}
    name = max((name for name in names if len(name) > 2 and name in inner), key=len, default="")
    rest = inner.replace(name, " ", 1)
    if not name or sum(map(str.isalpha, rest)) > _WORDS_OF_PLACE:
        return
    for page in dict.fromkeys(re.findall(r"\d{1,6}", rest)):
        for number, each in known.items():
            if each.page == int(page) and _name_in_text(each.blob_name) == name:
                yield number
                break


@lru_cache(maxsize=1000)
def _name_in_text(name: str) -> str:
    return _plain(visible_name(name)).casefold()


def status_of(bracket: str) -> Status | None:
    """What `[none]` or `[talk]` says of the sentences before it; None for other brackets."""
    return _STATUS_MARKERS.get(_plain(bracket.translate(_CITING)).casefold())


def squared(text: str, known: Mapping[int, Place], *, is_all: bool) -> tuple[str, str]:
    """The text with square brackets for other markers of `known` sources: `(S1)`, `(a.pdf, p. 5)` and
    `<source id="S1">`.

    Behind it the end of the text that may become one; with `is_all` there is no more text.
    """
    held = None if is_all else _MAY_BE_ROUND.search(text)
    end = held.start() if held else len(text)

    def square(found: re.Match[str]) -> str:
        if found[1]:
            return bracket if (bracket := _cites_round(found, known)) else found[0]
        number = _ID.search(found[2])
        return f"[S{number[1]}]" if number else ""

    return _ROUND.sub(square, text[:end]), text[end:]


def _cites_round(found: re.Match[str], known: Mapping[int, Place]) -> str:
    """The marker of known sources that this round bracket is, in square ones; a number alone is none."""
    bracket = f"[{found[1].strip()}]"
    numbers = [] if _BARE_MARKER.fullmatch(_plain(bracket)) else cited_numbers(bracket, known)
    return bracket if numbers and all(map(known.__contains__, numbers)) else ""


def without_places(text: str, known: Mapping[int, Place]) -> str:
    """Text of a source with curly brackets for those that would cite or say something in an answer."""
    names = {_name_in_text(each.blob_name) for each in known.values()}
    plain = _plain(text).casefold()
    has_name = any(map(plain.__contains__, names))

    def curled(found: re.Match[str]) -> str:
        may_cite = found[1] and (has_name or _SOURCE.search(_plain(found[1])))
        return f"{{{found[1]}}}" if may_cite and _cites_round(found, known) else found[0]

    def cites(bracket: str) -> bool:
        return bool(status_of(bracket) or cited_numbers(bracket, known))

    return _ROUND.sub(curled, _changed(text, cites, lambda bracket: bracket.translate(_CURLED)))


def without_citations(text: str) -> str:
    """An answer without its checked citations, and without what looks like one."""
    return _changed(text, is_forged, lambda _: "")


def _changed(text: str, does: Callable[[str], bool], change: Callable[[str], str]) -> str:
    """The text with another text for some of its brackets."""
    shown, end = "", 0
    for opening in OPENING.finditer(text):
        start = opening.start()
        if start >= end and does(bracket := bracketed(text[start : start + MAX_BRACKET], is_all=True) or ""):
            new = change(bracket)
            shown += text[end:start] if new else text[end:start].rstrip(" ")
            shown, end = shown + new, start + len(bracket)
    return shown + text[end:]


def is_forged(bracket: str) -> bool:
    """Whether a bracket looks like a checked citation, which only code may write.

    What cannot be seen, tags, markers, references to characters and look-alike letters make no difference.
    """
    if len(bracket) >= MAX_BRACKET:
        # Only what cannot be seen makes a bracket this long.
        return True
    plain = _plain(html.unescape(_TAG.sub("", bracket)).translate(_CITING))
    # The text in lower case, with one letter or digit for those that look the same.
    seen = _WORD.sub(_latin_word, _MARKER.sub("", plain)).lower().replace("rn", "m").replace("0", "o")
    if _WEB_PAGE.search(seen) or _PLACE.search(seen):
        return True
    return bool(_PAGE.search(seen) and _DOCUMENT.search(seen))


def rounded_end(bracket: str) -> str:
    """The bracket with a round one at its end, if it is closed."""
    return f"{bracket[:-1]})" if bracket[-1] in _CLOSINGS else bracket


def without_numbers(text: str) -> str:
    """The text with round brackets around numbers: `[1]` would look like the number of a checked source."""

    def is_number(bracket: str) -> bool:
        plain = _plain(html.unescape(_TAG.sub("", bracket)).translate(_CITING))
        return _NUMBER.fullmatch(plain) is not None

    return _changed(text, is_number, lambda bracket: f"({bracket[1:-1]})")


def visible_name(name: str) -> str:
    """A file name or title that can neither close a citation nor open one, nor act within it."""
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in name)
    return _ACTIVE_IN_NAMES.sub(r"\g<0> ", plain.translate(_IN_NAMES))


def is_ignorable(character: str) -> bool:
    """Whether a character cannot be seen by itself."""
    if character.isascii():
        return False
    return unicodedata.category(character) in _IGNORABLE_CATEGORIES or character in _FILLERS


def _plain(text: str) -> str:
    """The text without what cannot be seen, marks on letters and emphasis."""
    if not text.isascii():
        text = normalized("NFKD", text)
        text = "".join(character for character in text if not is_ignorable(character))
    return " ".join(_IGNORED.sub("", text).replace("\u2800", " ").split())


def _latin_word(match: re.Match[str]) -> str:
    """A word; no language mixes its script with Latin letters within one."""
    word = match[0]
    if word.isascii() or not any(unicodedata.name(each, "").startswith("LATIN") for each in word):
        return word
    return "".join(
        _ANY if not character.isascii() and unicodedata.category(character)[0] in "LS" else character
        for character in word
    )
