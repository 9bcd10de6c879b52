"""The brackets of an answer: those that cite a source, and those that only look like a checked citation."""

import html
import re
import unicodedata
from collections.abc import Container

from core.text.normal_forms import normalized

MAX_VISIBLE_BRACKET = 200
MAX_BRACKET = 4000
MAX_DEPTH = 4

_ROUND = re.compile("PARENTHESIS|CURLY|QUOTATION")
_BRACKETS = {
    character: category
    for character in ("[", "]", *map(chr, (*range(0x2000, 0x3100), *range(0xFE00, 0xFFFE))))
    if (category := unicodedata.category(character)) in ("Ps", "Pe")
    and not _ROUND.search(unicodedata.name(character))
}
_OPENINGS = frozenset(character for character, category in _BRACKETS.items() if category == "Ps")
_CLOSINGS = _BRACKETS.keys() - _OPENINGS
_QUOTING = re.compile("ANGLE|CORNER")
"""Brackets that are quotation marks in East Asia, and may be part of a name."""
OPENING = re.compile(f"[{re.escape(''.join(sorted(_OPENINGS)))}]")
"""Opening brackets of Unicode; no round or curly ones, no quotation marks."""

_CITING = str.maketrans("\uff3b\u3010\u3014\u27e6\uff3d\u3011\u3015\u27e7", "[[[[]]]]")
_MARKER = re.compile(r"\[\s*(?:S|sources?\s*S?)\d{1,4}(?:\s*[,;&]\s*(?:source\s*)?S?\d{1,4})*\s*\]", re.I)
_BARE_MARKER = re.compile(r"\[\d{1,4}(?:\s*[,;]\s*\d{1,4})*\]")
"""Without blanks at its beginning: so prompts show the numbers of notes on a page."""
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


def cited_numbers(bracket: str, known: Container[int]) -> list[int]:
    """The source numbers of a marker, each once; none if it is no marker.

    Models write `[S3]`, as prompts ask for, and `[Source 3]` or `[3]`. Numbers alone are a marker only if
    they are those of `known` sources.
    """
    plain = _plain(bracket.translate(_CITING))
    is_bare = _BARE_MARKER.fullmatch(plain) is not None
    if not (is_bare or _MARKER.fullmatch(plain)):
        return []
    numbers = list(dict.fromkeys(int(digits) for digits in re.findall(r"\d+", plain)))
    return numbers if not is_bare or all(map(known.__contains__, numbers)) else []


def is_forged(bracket: str) -> bool:
    """Whether a bracket looks like a checked citation, which only code may write.

    What cannot be seen, tags, markers, references to characters and look-alike letters make no difference.
    """
    if len(bracket) >= MAX_BRACKET:
        # Only what cannot be seen makes a bracket this long.
        return True
    plain = _plain(html.unescape(_TAG.sub("", bracket)).translate(_CITING))
    seen = _as_latin(_MARKER.sub("", plain))
    return bool(_WEB_PAGE.search(seen) or (_PAGE.search(seen) and _DOCUMENT.search(seen)))


def rounded_end(bracket: str) -> str:
    """The bracket with a round one at its end, if it is closed."""
    return f"{bracket[:-1]})" if bracket[-1] in _CLOSINGS else bracket


def without_numbers(text: str) -> str:
    """The text with round brackets around numbers: `[1]` would look like the number of a checked source."""
    shown, end = "", 0
    for opening in OPENING.finditer(text):
        start = opening.start()
        if start < end:
            continue
        bracket = bracketed(text[start : start + MAX_BRACKET], is_all=True) or ""
        if _NUMBER.fullmatch(_plain(html.unescape(_TAG.sub("", bracket)).translate(_CITING))):
            shown += f"{text[end:start]}({bracket[1:-1]})"
            end = start + len(bracket)
    return shown + text[end:]


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


def _as_latin(text: str) -> str:
    """The text in lower case, with one letter or digit for those that look the same."""
    return _WORD.sub(_latin_word, text).lower().replace("rn", "m").replace("0", "o")


def _latin_word(match: re.Match[str]) -> str:
    """A word; no language mixes its script with Latin letters within one."""
    word = match[0]
    if word.isascii() or not any(map(_is_latin, word)):
        return word
    return "".join(
        _ANY if not character.isascii() and unicodedata.category(character)[0] in "LS" else character
        for character in word
    )


def _is_latin(character: str) -> bool:
    return unicodedata.name(character, "").startswith("LATIN")
