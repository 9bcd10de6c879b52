"""Brackets in a model's answer: markers, forged citations, and what may still become one of them."""

import re
import unicodedata

OPENING = re.compile(r"[\[\uff3b\u3010\u3014\u27e6]")
_CLOSING = frozenset("]\uff3d\u3011\u3015\u27e7")
LONGEST_VISIBLE = 200
LONGEST = 4000

_MARKER = re.compile(r"\[\s*S\d{1,4}(?:\s*[,;]\s*S?\d{1,4})*\s*\]", re.I)
_FORGED = re.compile(r"\[(?:(?=.*\bpages?\b)(?=.*\bdocuments?\b)|(?=.*\bweb\W*pages?\b))", re.I | re.S)
_IGNORED = re.compile(r"[*_`~\\]")
_TWINS = {
    "a": "\u0430\u0251\u03b1\u0410\u0391",
    "b": "\u042c\u044c\u0412\u0392\u0432",
    "c": "\u0441\u03c2\u0421",
    "d": "\u0501\u0500",
    "e": "\u0435\u0415\u0395",
    "g": "\u0261\u0581",
    "m": "\u043c\u041c\u039c",
    "n": "\u0578\u043f\u039d",
    "o": "\u043e\u03bf\u0585\u041e\u039f",
    "p": "\u0440\u03c1\u0420\u03a1",
    "s": "\u0455\u0405",
    "t": "\u0442\u03c4\u0422\u03a4",
    "u": "\u03c5\u057d",
    "w": "\u051d\u0461\u03c9\u051c",
}
"""By the letters of what may be forged: those of Cyrillic, Greek and other scripts that pass for them."""
_UNTWINNED = str.maketrans({twin: letter for letter, twins in _TWINS.items() for twin in twins})
_BRACKETS = str.maketrans("\uff3b\u3010\u3014\u27e6\uff3d\u3011\u3015\u27e7", "[[[[]]]]")


def bracketed(text: str, *, is_all: bool) -> str | None:
    """What stands in the bracket that `text` opens with, or None while more text could change that.

    It ends at its closing bracket or when it gets too long, whatever the pieces the text arrives in.
    """
    depth = visible = 0
    for index, character in enumerate(text[:LONGEST]):
        depth += bool(OPENING.match(character)) - (character in _CLOSING)
        visible += not (character.isspace() or unicodedata.category(character) == "Cf")
        if depth == 0 or visible == LONGEST_VISIBLE:
            return text[: index + 1]
    return text[:LONGEST] if is_all or len(text) >= LONGEST else None


def cited_numbers(bracket: str) -> list[int]:
    """The source numbers of a marker, each once; none if it is no marker."""
    plain = _plain(bracket)
    if not _MARKER.fullmatch(plain):
        return []
    return list(dict.fromkeys(int(digits) for digits in re.findall(r"\d+", plain)))


def is_forged(bracket: str) -> bool:
    """Whether it reads like a checked citation, which only code may write."""
    return _FORGED.match(_plain(bracket).translate(_UNTWINNED)) is not None


def visible_name(blob_name: str) -> str:
    """A file name that cannot close a citation or open another one."""
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in blob_name)
    plain = OPENING.sub("(", plain.replace('"', "'"))
    return "".join(")" if character in _CLOSING else character for character in plain)


def _plain(text: str) -> str:
    seen = "".join(c for c in text.translate(_BRACKETS) if unicodedata.category(c) != "Cf")
    return " ".join(_IGNORED.sub("", unicodedata.normalize("NFKC", seen)).split())
