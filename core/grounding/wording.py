"""Rule A: whether a sentence is in the words of the units that it cites, in any language."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from core.grounding.values import NUMBER, plain
from core.grounding.word_lists import CARDINALS, negators_in
from core.text.normal_forms import normalized
from core.text.numbers import CURRENCIES, CURRENCY_SIGNS, SCALE_VALUES, SCALES
from core.text.terms import STOP_WORDS, detect_language, stems

LEAST_PAIRS = 0.9
"""The share of a sentence's pairs of neighbouring content words that are neighbours in the units."""
LEAST_OF_UNIT = 0.5
"""The share of the content words of the units' sentences that the sentence has."""
LEAST_STOP_WORDS = 0.12
"""The share of a text's words that are stop words of a language, from which the language is known."""
FEWEST_WORDS = 3
"""Content words of a sentence, below which all of its words must be those of the unit."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U00020000-\U0003ffff"
)
"""Scripts without blanks: each character is a word."""
_SIGNS = f"{CURRENCY_SIGNS}%‰‱°±<>≤≥≠~≈√∞✓✔✗✘☐☑☒↑↓▲▼"
_BORDER = "\x1e"
_PAUSES = ",;:–—、，；：،؛"
_ENDS = ".!?…。！？।؟"
_TOKEN = re.compile(
    rf"[{_BORDER}{_PAUSES}{_ENDS}]|(?:(?<![\w)])[-\u2212])?(?:{NUMBER.pattern})"
    rf"|[{_UNSPACED}][\u0300-\u036f]*|[^\W\d_{_UNSPACED}][^\W\d_{_UNSPACED}\u0300-\u036f\u0591-\u05c7]*"
    rf"(?:[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff][^\W\d_{_UNSPACED}]*)*|[{_SIGNS}]"
)
_CONTRACTED = re.compile(r"can(?:no|['’])t\b|won['’]t\b|n['’]t\b")
_APART = {"c": "can not", "w": "will not", "n": " not"}
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][^\S\n]*\n\s*(?=[^\W\d_])|[\u00ad\u200b\u2060\ufeff\x02]")
_MONTH_OF_MAY = re.compile(r"(?<=\w )May\b")
"""The one name of a month that is a stop word of its language, but for its capital."""
_BEHIND_NUMBER = re.compile("(?<=\\d)(?=[\u00b2\u00b3\u00b9\u2070-\u2089\u00bc-\u00be\u2150-\u215e])")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a sentence in one spelling: all of them, the content words, and those that negate.

    `pauses` are the numbers of the content words before a comma; `is_open`: no mark ends the sentence, so
    that it may go on in the next line.
    """

    every: tuple[str, ...]
    content: tuple[str, ...]
    negators: tuple[str, ...]
    pauses: frozenset[int]
    is_open: bool

    def __add__(self, other: "Wording") -> "Wording":
        return Wording(
            self.every + other.every,
            self.content + other.content,
            tuple(sorted(self.negators + other.negators)),
            self.pauses | {len(self.content) + at for at in other.pauses},
            other.is_open,
        )


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; empty if its stop words are not known or too few."""
    found = [token for token in _tokens(text, "") if token[0].isalpha()]
    language = detect_language(found)
    known = sum(map(STOP_WORDS[language].__contains__, found))
    return language if known and known >= LEAST_STOP_WORDS * len(found) else ""


def wordings(texts: Iterable[str], language: str) -> list[Wording]:
    """The words of each text, in one pass; without a known language all of them are content."""
    tokens = _tokens(_BORDER.join(text.replace(_BORDER, " ") for text in texts) + _BORDER, language)
    stemmed = stems(tokens, language) if language else tokens
    negators = negators_in(language)
    found: list[Wording] = []
    start = 0
    for end in (at for at, token in enumerate(tokens) if token == _BORDER):
        found.append(_wording(tokens[start:end], stemmed[start:end], negators))
        start = end + 1
    return found


def _wording(tokens: Sequence[str], stemmed: Sequence[str], negators: frozenset[str]) -> Wording:
    content: list[str] = []
    pauses: list[int] = []
    for token, stem in zip(tokens, stemmed, strict=True):
        if token in _PAUSES:
            pauses.append(len(content) - 1)
        elif stem and token not in _ENDS:
            content.append(stem)
    return Wording(
        every=tuple(token for token in tokens if token not in _PAUSES and token not in _ENDS),
        content=tuple(content),
        negators=tuple(sorted(filter(negators.__contains__, tokens))),
        pauses=frozenset(pauses),
        is_open=not tokens or tokens[-1] not in _ENDS,
    )


def is_in_words(said: Wording, parts: Sequence[Wording], language: str) -> bool:
    """Whether a sentence is said in the words of one of these sentences of the units, in reading order.

    In a language without stop words here, and for very short sentences, all words must be those of parts
    next to each other, in their order. Otherwise no content word may be new, almost all neighbours must be
    neighbours, both must negate with the same words, and the sentence must repeat a good part of the part
    and not stop at a comma of it. A part that no mark ends may go on in the next.
    """
    if _is_word_for_word(said, parts):
        return True
    if not language or len(said.content) < FEWEST_WORDS:
        return False
    return any(_repeats(said, part) for part in (*parts, *_continued(parts)))


def _is_word_for_word(said: Wording, parts: Sequence[Wording]) -> bool:
    """Whether the sentence is one or more whole parts next to each other."""
    written = ["".join(f"{word}{_BORDER}" for word in part.every) for part in parts]
    borders = set(accumulate(map(len, written), initial=0))
    wanted, text = "".join(f"{word}{_BORDER}" for word in said.every), "".join(written)
    start = text.find(wanted) if wanted else -1
    while start != -1 and not {start, start + len(wanted)} <= borders:
        start = text.find(wanted, start + 1)
    return start != -1


def _continued(parts: Sequence[Wording]) -> Iterator[Wording]:
    return (one + other for one, other in pairwise(parts) if one.is_open)


def _repeats(said: Wording, part: Wording) -> bool:
    if not LEAST_OF_UNIT * len(part.content) <= len(said.content) <= len(part.content):
        return False
    if said.negators != part.negators or Counter(said.content) - Counter(part.content):
        return False
    places = {pair: at for at, pair in enumerate(pairwise(part.content), 1)}
    pairs = list(pairwise(said.content))
    if sum(map(places.__contains__, pairs)) < LEAST_PAIRS * len(pairs):
        return False
    last = places.get(pairs[-1], len(part.content))
    return last >= len(part.content) - 1 or last not in part.pauses


def _tokens(text: str, language: str) -> list[str]:
    """The words, numbers and signs of a text in one spelling each, and the borders."""
    folded = _BEHIND_NUMBER.sub(" ", _BROKEN.sub("", text))
    folded = _MONTH_OF_MAY.sub("month 5", normalized("NFKC", folded)).casefold()
    folded = _CONTRACTED.sub(lambda found: _APART[found[0][0]], folded)
    return list(_in_one_form(_TOKEN.findall(folded), CARDINALS.get(language, {})))


def _in_one_form(tokens: Sequence[str], cardinals: Mapping[str, int]) -> Iterator[str]:
    """Numbers in their plain form, with the scale behind them; currencies by their code behind the amount."""
    scaled = False
    for token, behind in pairwise((*tokens, "")):
        if scaled:
            scaled = False
        elif token in cardinals:
            yield str(cardinals[token])
        elif token[-1].isdecimal():
            factor = SCALE_VALUES.get(SCALES.get(behind, ""))
            yield _scaled(token, factor)
            scaled = factor is not None
        else:
            yield CURRENCIES.get(token, token)


def _scaled(number: str, factor: float | None) -> str:
    sign = "-" if number[0] in "-\u2212" else ""
    digits = plain(number.lstrip("-\u2212"))
    try:
        return f"{sign}{float(digits) * factor:.12g}" if factor and len(digits) <= 30 else sign + digits
    except ValueError:
        return sign + digits
