"""The brackets of an answer: those that cite a source, and those that only look like a checked citation."""

import html
import re
import unicodedata
from collections.abc import Container

from core.text.normal_forms import normalized

MAX_VISIBLE_BRACKET = 200
MAX_BRACKET = 4000
MAX_DEPTH = 4


_SQUARE_OPENINGS = (
    "[\u23a1\u23a2\u23a3\u0f3a\u0f3c\u169b\u2045\u2308\u230a\u2772\u27c5\u27e6\u27ec\u2987\u2989\u298b\u298d"
    "\u298f\u2993\u2995\u2997\u29d8\u29da\u2e22\u2e24\u2e26\u2e55\u2e57\u3010\u3014\u3016\u3018\u301a\ufe17"
    "\ufe39\ufe3b\ufe47\ufe5d\uff3b"
)
_SQUARE_CLOSINGS = (
    "]\u23a4\u23a5\u23a6\u0f3b\u0f3d\u169c\u2046\u2309\u230b\u2773\u27c6\u27e7\u27ed\u2988\u298a\u298c\u298e"
    "\u2990\u2994\u2996\u2998\u29d9\u29db\u2e23\u2e25\u2e27\u2e56\u2e58\u3011\u3015\u3017\u3019\u301b\ufe18"
    "\ufe3a\ufe3c\ufe48\ufe5e\uff3d"
)
_OTHER_OPENINGS = (
    "\u2329\u276c\u2770\u27e8\u27ea\u2991\u29fc\u3008\u300a\u300c\u300e\ufe3d\ufe3f\ufe41\ufe43\uff62"
)
_OTHER_CLOSINGS = (
    "\u232a\u276d\u2771\u27e9\u27eb\u2992\u29fd\u3009\u300b\u300d\u300f\ufe3e\ufe40\ufe42\ufe44\uff63"
)
_OPENINGS = frozenset(_SQUARE_OPENINGS + _OTHER_OPENINGS)
_CLOSINGS = frozenset(_SQUARE_CLOSINGS + _OTHER_CLOSINGS)
OPENING = re.compile(f"[{re.escape(''.join(sorted(_OPENINGS)))}]")
"""Opening brackets of Unicode and pieces of them; no round or curly ones, no quotation marks."""

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

_LOOK_ALIKES = (
    "a\u0430\u0251\u03b1\u0410\u0391 b\u042c\u044c\u0412\u0392\u0432 c\u0441\u03c2\u0421 d\u0501\u0500"
    " e\u0435\u0415\u0395\u0454 g\u0261\u0581 m\u043c\u041c\u039c n\u0578\u043f\u039d"
    " o\u043e\u03bf\u0585\u041e\u039f\u05e1\u0647\u0966\u06650 p\u0440\u03c1\u0420\u03a1 s\u0455\u0405"
    " t\u0442\u03c4\u0422\u03a4 u\u03c5\u057d\u0446 w\u051d\u0461\u03c9\u051c"
).split()
"""Letters of citations, each with those of Cyrillic, Greek and other scripts that look the same."""
_TO_LATIN = str.maketrans({other: alike[0] for alike in _LOOK_ALIKES for other in alike[1:]})
_COMMON_SCRIPTS = frozenset(
    "CYRILLIC GREEK ARABIC HEBREW DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM"
    " SINHALA THAI LAO TIBETAN MYANMAR KHMER CJK HIRAGANA KATAKANA HANGUL IDEOGRAPHIC BOPOMOFO".split()
)
_ANY = "\x00"
"""Replaces a character that may look like any letter."""
_WORD = re.compile(r"[A-Za-z\u0080-\U0010ffff]+")
_DRAWN_AS = {"d": "cl", "m": "rn", "w": "vv"}


def _pattern(word: str) -> str:
    """A pattern of a word, or its plural, in letters that look like its own."""
    letters = (
        f"(?:[{letter}{_ANY}]|{_DRAWN_AS[letter]})" if letter in _DRAWN_AS else f"[{letter}{_ANY}]"
        for letter in word
    )
    return f"(?<![a-z]){''.join(letters)}[s{_ANY}]?(?![a-z])"


_PAGE, _DOCUMENT = re.compile(_pattern("page")), re.compile(_pattern("document"))
_WEB_PAGE = re.compile(rf"{_pattern('web')}[^a-z{_ANY}]*{_pattern('page')}|{_pattern('webpage')}")

_IN_NAMES = str.maketrans({'"': "'", "`": "'", "<": "\u2039", ">": "\u203a", "|": "\u00a6"})
_IN_NAMES |= dict.fromkeys(map(ord, _SQUARE_OPENINGS), "(") | dict.fromkeys(map(ord, _SQUARE_CLOSINGS), ")")
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
    """The text in lower case, with Latin letters for those that look like them."""
    return _WORD.sub(_latin_word, text).translate(_TO_LATIN).lower()


def _latin_word(match: re.Match[str]) -> str:
    word = match[0]
    if word.isascii():
        return word
    # No language mixes its script with Latin letters within a word.
    mixes = any(character.isascii() for character in word)
    return "".join(
        _ANY if _is_letter_like(character) and (mixes or _is_rare(character)) else character
        for character in word.translate(_TO_LATIN)
    )


def _is_letter_like(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] in "LS"


def _is_rare(character: str) -> bool:
    return unicodedata.name(character, "UNKNOWN").split()[0] not in _COMMON_SCRIPTS
