"""Raised and lowered figures: readers write them as Unicode has them, and a page keeps them off numbers.

`28¹ days` would be searched, compared and answered as 281.
"""

import re
from collections.abc import Callable
from functools import partial

_FIGURES, _HIGH, _LOW = "0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾", "₀₁₂₃₄₅₆₇₈₉₊₋₋₍₎"
_TO_HIGH, _TO_LOW = str.maketrans(_FIGURES, _HIGH), str.maketrans(_FIGURES, _LOW)
_TO_PLAIN = str.maketrans(_HIGH + _LOW, _FIGURES.replace("−", "-") * 2)
_SUPER, _SUB = "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀-₉"
_RAISED = re.compile(rf"[⁺⁻⁽]?[{_SUPER}](?:[,;.⁺⁻⁽⁾–]{{0,2}}[{_SUPER}])*[⁺⁻⁾]?")
_LOWERED = re.compile(rf"(?<=\d)[{_SUB}]+")
_LOWERED_BEFORE = re.compile(rf"([{_SUB}])(?=\d)")
_ANY = re.compile(rf"[{_SUPER}{_SUB}]")
_WORD_BEFORE = re.compile(r"[^\W_]+(?:[.,]\d+)*\Z")
_SHORT_WORD, _LOOK_BACK = 3, 40
_DIGIT = re.compile(r"\d")


def raised(text: str) -> str:
    """The raised text with its figures as `¹²³`; other text, such as the `st` of `1st`, as it is."""
    return text.translate(_TO_HIGH) if _DIGIT.search(text) else text


def lowered(text: str) -> str:
    """The lowered text with its figures as `₁₂₃`; other text as it is."""
    return text.translate(_TO_LOW) if _DIGIT.search(text) else text


def set_apart(text: str, *, keep_words: bool = False) -> str:
    """The text with `28[1]` for `28¹`, `10^6` for `10⁶`, `Deposit[2]` for `Deposit²` and `5 1/2` for `5¹/2`.

    `m²` and `CO₂` stay: no number is before them. `keep_words`: whether no blank may be added.
    """
    if text.isascii() or not _ANY.search(text):
        return text
    text = _RAISED.sub(partial(_set_apart, keep_words=keep_words), text)
    return _LOWERED_BEFORE.sub(r"\1_" if keep_words else r"\1 ", _LOWERED.sub(_with("_"), text))


def _with(sign: str) -> Callable[[re.Match[str]], str]:
    return lambda match: sign + match[0].translate(_TO_PLAIN)


def _set_apart(match: re.Match[str], *, keep_words: bool) -> str:
    plain = match[0].translate(_TO_PLAIN)
    text, start, end = match.string, match.start(), match.end()
    following = text[end : end + 1]
    word = _WORD_BEFORE.search(text, max(0, start - _LOOK_BACK), start)
    before = word[0] if word else ""
    if following == "]" and text[max(0, start - 1) : start] == "[":
        return plain
    if following and following in "/⁄∕":  # a fraction
        separator = "[{}]" if keep_words and before else " {}" if before else "{}"
        return separator.format(plain)
    if before == "10" or (before[:1].isalpha() and before[-1:].isdecimal()):  # `10⁶`, `SO4²⁻`
        return f"^{plain}"
    if before.isalpha() and len(before) <= _SHORT_WORD and not following.isalnum():
        return match[0]
    return f"[{plain}]{'' if keep_words or not following.isalnum() else ' '}"
