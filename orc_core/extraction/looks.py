"""How text looks: raised and lowered figures, and the fonts Symbol and Wingdings (`≥`, `±`, `☒`).

Readers write raised figures as Unicode has them, and a page keeps them off numbers: `28¹ days` would be
searched, compared and answered as 281.
"""

import re
from functools import partial
from typing import NamedTuple

UNKNOWN = "\ufffd"
_SYMBOL = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑",
)
_STARTS = 0x20, 0xA0
_WINGDINGS = (
    dict(zip(range(0x81, 0x8B), "①②③④⑤⑥⑦⑧⑨⑩", strict=True))
    | dict(zip(range(0x8C, 0x96), "❶❷❸❹❺❻❼❽❾❿", strict=True))
    | dict(zip(b"(*FJLlmnopqrvx", "☎✉☞☺☹●❍■☐❐❑❒❖☒", strict=True))
    | dict(zip(bytes.fromhex("9fa7a8abd8dfe0e1e2e8f0fbfcfdfe"), "•▪☐★➢←→↑↓➔⇨✗✓☒☑", strict=True))
)
_FONTS: dict[str, dict[int, str]] = {
    "symbol": {
        start + at: character
        for start, text in zip(_STARTS, _SYMBOL, strict=True)
        for at, character in enumerate(text)
    },
    "wingdings": _WINGDINGS,
    "wingdings 2": dict(zip(b"OPQRST\xa3", "✗✓☒☑☒☒☐", strict=True)),
}
PRIVATE = re.compile("[\uf020-\uf0ff]")
_FIRST_PRIVATE = 0xF000


def symbol(code: str, font: str) -> str:
    """The character for the code in hexadecimal digits that a file gives; UNKNOWN if it is not known."""
    try:
        number = int(code, 16)
    except ValueError:
        return UNKNOWN
    is_private = _FIRST_PRIVATE <= number < _FIRST_PRIVATE + 0x100
    known = _FONTS.get(font.strip().lower())
    if known is not None and (is_private or number < 0x100):
        return known.get(number & 0xFF, UNKNOWN)
    return UNKNOWN if is_private or not 0x20 <= number < 0x110000 else chr(number)


def has_symbols(font: str) -> bool:
    return font.strip().lower() in _FONTS


def with_symbols(text: str, font: str) -> str:
    """The text with the characters that it has in a font of symbols; without a known font, as it is."""
    known = _FONTS.get(font.strip().lower())
    if known is None:
        return text
    if not PRIVATE.search(text):
        return "".join(known.get(ord(each), each) for each in text)
    return PRIVATE.sub(lambda found: known.get(ord(found[0]) & 0xFF, UNKNOWN), text)


class Look(NamedTuple):
    """1 if text is raised, -1 if lowered; by which properties it is struck or hidden; its font."""

    rise: int = 0
    gone: frozenset[str] = frozenset()
    font: str = ""

    @property
    def is_gone(self) -> bool:
        return bool(self.gone)

    def switched(self, name: str, *, is_on: bool) -> "Look":
        """The look with a property that strikes or hides text on or off; others of the kind stay."""
        return self._replace(gone=self.gone | {name} if is_on else self.gone - {name})

    def shown(self, text: str) -> str:
        """The text as people see it, if it is not gone."""
        text = with_symbols(text, self.font)
        return raised(text) if self.rise > 0 else lowered(text) if self.rise < 0 else text


SIGNS = "+-−"
_FIGURES, _HIGH, _LOW = f"0123456789{SIGNS}()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾", "₀₁₂₃₄₅₆₇₈₉₊₋₋₍₎"
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
    return _LOWERED_BEFORE.sub(
        r"\1_" if keep_words else r"\1 ",
        _LOWERED.sub(lambda found: "_" + found[0].translate(_TO_PLAIN), text),
    )


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
