"""Rule A: whether a sentence is in the words of the units that it cites, in any language."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import sqrt

from orc_core.grounding.values import NUMBER, plain
from orc_core.grounding.word_lists import CARDINALS, negators_in
from orc_core.text.normal_forms import normalized
from orc_core.text.numbers import CURRENCIES, CURRENCY_SIGNS, SCALE_VALUES, SCALES
from orc_core.text.terms import STOP_WORDS, detect_language, stems

LEAST_PAIRS = 0.9
"""The share of a sentence's pairs of neighbouring content words that are neighbours in the unit."""
LEAST_OF_UNIT = 0.5
"""The share of the content words of a unit's sentence that the sentence has."""
LEAST_STOP_WORDS = 0.12
"""The share of a text's words that are stop words of a language, from which the language is known."""
LEAST_ADDED = 0.35
"""What a neighbour of the part that fits a sentence best has to add, as a share of what that part shares."""
FEWEST_WORDS = 3
"""Content words of a sentence, below which all of its words must be those of the unit."""
READ_SENTENCES = 4
LANGUAGE_SAMPLE = 10_000
"""Characters at the beginning of a text that show its language."""
_BORDER = "\x1e"
_PAUSES = ",;:–—、，；：،؛"
_ENDS = ".!?…。！？।؟"
_MARKS = frozenset(_PAUSES + _ENDS + _BORDER)
_SIGNS = f"{CURRENCY_SIGNS}%‰‱°±<>≤≥≠~≈√∞✓✔✗✘☐☑☒↑↓▲▼"
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U00020000-\U0003ffff"
)
"""Scripts without blanks: each character is a word."""
_LETTERS = rf"[^\W\d_{_UNSPACED}]"
_VOWEL_SIGNS = "[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff]"
_AMOUNT = re.compile(rf"({NUMBER.pattern})(?: ?([^\W\d_]+))?")
_NUMBER = r"(?:(?<![\w)])-)?\d+(?:[.,'’]\d+)*"
_TOKEN = re.compile(
    rf"{_LETTERS}+(?:{_VOWEL_SIGNS}+{_LETTERS}*)*|[{_BORDER}{_PAUSES}{_ENDS}{_SIGNS}{_UNSPACED}]|{_NUMBER}"
)
_ASCII_TOKEN = re.compile(rf"[a-z]+|[{_BORDER},;:.!?$%<>~]|{_NUMBER}")
_CONTRACTED = re.compile(r"can(?:no|['’])t\b|won['’]t\b|n['’]t\b")
_APART = {"c": "can not", "w": "will not", "n": " not"}
_MONTH_OF_MAY = re.compile(r"(?<=\w\s)May\b|\bMay(?=\s\d)")
"""The one name of a month that is a stop word of its language, but for its capital or its day."""
_BROKEN = re.compile(r"[-\u2010](?<=[^\W\d_].)[^\S\n]*\n\s*(?=[^\W\d_])|[\u00ad\u200b\u2060\ufeff\x02]")
_BEHIND_NUMBER = re.compile("(?<=\\d)(?=[\u00b2\u00b3\u00b9\u2070-\u2089\u00bc-\u00be\u2150-\u215e])")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a sentence in one spelling: all of them, content and other ones, and those that negate.

    `pauses` are the numbers of the content words before a comma.
    """

    every: Sequence[str]
    content: Sequence[str]
    others: Sequence[str]
    negators: Sequence[str]
    pauses: frozenset[int]


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; empty if its stop words are not known or too few."""
    found = [token for token in _tokens(text[:LANGUAGE_SAMPLE], "") if token[0].isalpha()]
    language = detect_language(found)
    known = sum(map(STOP_WORDS[language].__contains__, found))
    return language if known and known >= LEAST_STOP_WORDS * len(found) else ""


@lru_cache(READ_SENTENCES)
def wording_of(sentence: str, language: str) -> Wording:
    """The words of a sentence of an answer."""
    return Words([" ".join(sentence.split())], language).wording(0)


class Words:
    """The words of sentences or other parts of a page, read in one pass; each has a number."""

    def __init__(self, texts: Iterable[str], language: str) -> None:
        self._language = language
        text = "".join(f"{text.replace(_BORDER, ' ')}{_BORDER}" for text in texts)
        self._tokens = tokens = _tokens(text, language)
        each = list(dict.fromkeys(tokens))
        stem_of = dict(zip(each, stems(each, language) if language else each, strict=True))
        self._stems = list(map((stem_of | dict.fromkeys(_MARKS, "")).__getitem__, tokens))
        self._ends = [at for at, token in enumerate(tokens) if token == _BORDER]
        self._starts = [0, *(end + 1 for end in self._ends)]

    def wording(self, first: int, last: int | None = None) -> Wording:
        """Of a part, or of the parts from `first` to `last`."""
        start, end = self._starts[first], self._ends[first if last is None else last]
        tokens, stemmed = self._tokens[start:end], self._stems[start:end]
        before = list(accumulate(map(bool, stemmed)))
        written = [(token, stem) for token, stem in zip(tokens, stemmed, strict=True) if token not in _MARKS]
        negators = negators_in(self._language)
        return Wording(
            every=[token for token, _ in written],
            content=[stem for _, stem in written if stem],
            others=[token for token, stem in written if not stem],
            negators=sorted(filter(negators.__contains__, tokens)),
            pauses=frozenset(before[at] for at, token in enumerate(tokens) if token in _PAUSES),
        )

    def have(self, said: Wording) -> bool:
        """Whether a sentence is said in the words of one of the parts.

        In a language without stop words here, and for very short sentences, all words must be those of one
        part, or of two next to each other, in their order. Otherwise no content word may be new or in another
        place, almost all neighbours must be neighbours, both must negate with the same words, and the
        sentence must repeat a good part of the part and not stop at a comma of it.
        """
        least = len(said.content)
        shared = list(accumulate(map(set(said.content).__contains__, self._stems), initial=0))
        parts = range(len(self._ends))
        runs = [*zip(parts, parts, strict=True), *pairwise(parts)]
        # Few parts share as many words as the sentence has; only these are looked at, each text once.
        starts, ends = self._starts, self._ends
        fit = (run for run in runs if shared[ends[run[1]]] - shared[starts[run[0]]] >= least)
        distinct = {tuple(self._tokens[starts[first] : ends[last]]): (first, last) for first, last in fit}
        is_known = self._language != "" and least >= FEWEST_WORDS
        return any(self._says(said, first, last, is_known=is_known) for first, last in distinct.values())

    def stems_of(self, part: int) -> set[str]:
        """The content words of a part."""
        return {*self._stems[self._starts[part] : self._ends[part]]} - {""}

    def weights(self, said: Wording) -> dict[str, float]:
        """How much each content word of a sentence counts: more if few parts have it, and as a number."""
        return {
            stem: (2 if stem[0].isdigit() else 1) / sqrt(len(self._parts_with.get(stem, ())) or 1)
            for stem in said.content
        }

    def shares(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The weight of the words that each part has; parts that have none are left out."""
        shares: defaultdict[int, float] = defaultdict(float)
        for stem, weight in weights.items():
            for part in self._parts_with.get(stem, ()):
                shares[part] += weight
        return shares

    def closest(self, said: Wording) -> list[int]:
        """The part that shares most with a sentence, with a neighbour that adds much; or none."""
        weights = self.weights(said)
        shares = self.shares(weights)
        if not shares:
            return []
        most = max(shares.values())
        best = min(part for part, share in shares.items() if share == most)
        own = self.stems_of(best)
        added = self.shares({stem: weight for stem, weight in weights.items() if stem not in own})
        near = max((best + 1, best - 1), key=lambda part: added.get(part, 0.0))
        return sorted({best, near}) if added.get(near, 0.0) >= LEAST_ADDED * most else [best]

    @cached_property
    def _parts_with(self) -> dict[str, list[int]]:
        """The parts with each stem, in order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for part, (start, end) in enumerate(zip(self._starts, self._ends, strict=False)):
            for stem in dict.fromkeys(self._stems[start:end]):
                if stem:
                    found[stem].append(part)
        return found

    def _says(self, said: Wording, first: int, last: int, *, is_known: bool) -> bool:
        part = self.wording(first, last)
        return said.every == part.every or (is_known and first == last and _repeats(said, part))


def _repeats(said: Wording, part: Wording) -> bool:
    if not LEAST_OF_UNIT * len(part.content) <= len(said.content) <= len(part.content):
        return False
    following = iter(part.content)
    if said.negators != part.negators or not all(stem in following for stem in said.content):
        return False
    places = {pair: at for at, pair in enumerate(pairwise(part.content), 2)}
    pairs = list(pairwise(said.content))
    kept = sum(map(places.__contains__, pairs))
    if kept < LEAST_PAIRS * len(pairs):
        return False
    # Where a word was left out no other may stand for it: `may inform` is not `must inform`.
    if kept < len(pairs) and Counter(said.others) - Counter(part.others):
        return False
    last = places.get(pairs[-1], len(part.content))
    return last == len(part.content) or last not in part.pauses


def _tokens(text: str, language: str) -> list[str]:
    """The words, numbers, signs and marks of a text in one spelling each."""
    folded = _BROKEN.sub("", text).replace("\u2212", "-")
    if not folded.isascii():
        folded = normalized("NFKC", _BEHIND_NUMBER.sub(" ", folded))
    folded = _MONTH_OF_MAY.sub("month 5", folded).casefold() if "May" in folded else folded.casefold()
    if any(map(folded.__contains__, ("n't", "n’t", "cannot"))):
        folded = _CONTRACTED.sub(lambda found: _APART[found[0][0]], folded)
    parts = _AMOUNT.split(folded)
    amounts = list(zip(parts[1::3], parts[2::3], strict=True))
    in_one_form = {amount: _in_one_form(*amount) for amount in {*amounts}}
    parts[1::3], parts[2::3] = [in_one_form[amount] for amount in amounts], [""] * len(amounts)
    folded = "".join(parts)
    forms = CURRENCIES | {word: str(number) for word, number in CARDINALS.get(language, {}).items()}
    found = (_ASCII_TOKEN if folded.isascii() else _TOKEN).findall(folded)
    return list(map({token: forms.get(token, token) for token in {*found}}.__getitem__, found))


def _in_one_form(number: str, behind: str | None) -> str:
    """A number in its plain form, with the scale behind it."""
    digits = plain(number)
    factor = SCALE_VALUES.get(SCALES.get(behind or "", ""))
    if factor and len(digits) <= 30 and digits.count(".") < 2:
        digits, behind = f"{float(digits) * factor:.0f}", ""
    return f"{digits} {behind}" if behind else digits
