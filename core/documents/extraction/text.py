"""The text of a page as it is kept: plain line ends, no control characters, otherwise as found."""

import re

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_NOISE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
_GARBAGE = re.compile("[\ufffd\ue000-\uf8ff]")
_LETTER = re.compile(r"[^\W_]")


def clean(text: str) -> str:
    """The text without control characters, surrogates, soft hyphens and trailing spaces.

    Where no letter or digit is left, or most of it is unmapped glyphs, the result is "".
    """
    text = _NOISE.sub("", _LINE_ENDS.sub("\n", text))
    if not _is_readable(text):
        return ""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def count_letters(text: str) -> int:
    """How many letters and digits the text has."""
    return len(_LETTER.findall(text))


def _is_readable(text: str) -> bool:
    if not _LETTER.search(text):
        return False
    garbage = len(_GARBAGE.findall(text))
    return not garbage or count_letters(text) > garbage
