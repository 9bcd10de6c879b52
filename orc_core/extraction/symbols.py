"""Characters of the fonts Symbol and Wingdings, which office files have instead of text: `≥`, `±`, `☒`."""

import re

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
