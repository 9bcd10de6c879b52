"""How a piece of text looks; and the characters of the fonts Symbol and Wingdings: `≥`, `±`, `☒`."""

import re
from typing import NamedTuple

from orc_core.extraction.raised import lowered, raised

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
_PRIVATE = re.compile("[\uf020-\uf0ff]")
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


def with_symbols(text: str, font: str) -> str:
    """The text with the characters that it has in a font of symbols; without a known font, as it is."""
    known = _FONTS.get(font.strip().lower())
    if known is None:
        return text
    if not _PRIVATE.search(text):
        return "".join(known.get(ord(each), each) for each in text)
    return _PRIVATE.sub(lambda found: known.get(ord(found[0]) & 0xFF, UNKNOWN), text)


class Look(NamedTuple):
    """1 if text is raised, -1 if lowered; by which properties it is struck or hidden; its font."""

    rise: int = 0
    gone: frozenset[str] = frozenset()
    font: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether people do not see the text, or see it struck."""
        return bool(self.gone)

    def switched(self, name: str, *, is_on: bool) -> "Look":
        """The look with a property that strikes or hides text on or off; others of the kind stay."""
        return self._replace(gone=self.gone | {name} if is_on else self.gone - {name})

    def shown(self, text: str) -> str:
        """The text as people see it, if it is not gone."""
        text = with_symbols(text, self.font)
        return raised(text) if self.rise > 0 else lowered(text) if self.rise < 0 else text
