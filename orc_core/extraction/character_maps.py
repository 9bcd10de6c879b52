"""Recognises text of fonts with a wrong character map: `Wkh jxdudqwhh` is drawn as `The guarantee`.

In any language vowels alternate with the other letters, so they can be found without knowing the language
(Sukhotin's algorithm). If the letters that do so are no vowels, the map is wrong. Each of 600 pages has three
vowels or more among the first five letters found; two of three pages with a random map have one or none.
"""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

LEAST_WORDS = 20
"""Different words that show how letters follow each other; names and headings alone do not."""
_COMPARED = 5
_VOWELS = "aeiouy"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"[^\W\d_]{2,}")


def is_mapped_wrongly(text: str) -> bool:
    """Whether the text, in Latin letters, can be of no language."""
    folded = text.casefold()
    # A look at the most frequent letter is enough for nearly all pages.
    if max(_LETTERS, key=folded.count) in _VOWELS:
        return False
    words = {_plain(word) for word in _WORD.findall(folded)}
    latin = [word for word in words if word.isascii()]
    if len(latin) < max(LEAST_WORDS, len(words) / 2):
        return False
    return sum(letter in _VOWELS for letter in _alternating(latin)) <= 1


def _plain(word: str) -> str:
    """The word without its accents."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if letter.isalpha())


def _alternating(words: list[str]) -> list[str]:
    """The letters that are most often next to others, each without its own neighbours."""
    together = Counter(pair for word in words for pair in pairwise(word) if pair[0] != pair[1])
    sums: Counter[str] = Counter()
    for (one, other), count in together.items():
        sums[one] += count
        sums[other] += count
    found: list[str] = []
    while len(found) < _COMPARED and sums and (best := sums.most_common(1)[0])[1] > 0:
        found.append(best[0])
        del sums[best[0]]
        for letter in sums:
            sums[letter] -= 2 * (together[letter, best[0]] + together[best[0], letter])
    return found
