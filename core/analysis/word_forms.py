"""Words as a page spells them, with the terms that they are compared by."""

import re
from collections.abc import Iterable

from core.analysis.vocabulary import DULL_WORDS
from core.text.terms import detect_language, stems, words

LEAST_WORDS_TO_TELL_LANGUAGE = 20
MOST_WORDS_TO_TELL_LANGUAGE = 250

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]")
_LETTERS = rf"[^\W\d_{_UNSPACED}]+"
_ELIDED = "(?:[cdjlmnstCDJLMNST]|[Qq]u|[Dd]ell|[Nn]ell|[Aa]ll|[Ss]ull|[Uu]n)(?=['’][^\\W\\d_])"
WORD = re.compile(rf"[{_UNSPACED}]+|{_ELIDED}|{_LETTERS}(?:['’-]{_LETTERS})*")
_FIRST_UNSPACED = "\u0e00"


def spelled(text: str) -> list[str]:
    """The words of a text without its numbers; compounds stay whole, unspaced scripts give pairs."""
    found: list[str] = []
    for word in WORD.findall(text):
        if word >= _FIRST_UNSPACED and is_unspaced(word):
            found.extend(words(word))
        else:
            found.append(word)
    return found


def is_unspaced(text: str) -> bool:
    """Whether a text holds characters of a script that is written without spaces, or of Korean."""
    return _UNSPACED_RUN.search(text) is not None


class Lexicon(dict[str, str]):
    """The term of each word, by which its forms are one; words that say nothing alone have an empty one."""

    def __init__(self, words_of_page: Iterable[str], language: str) -> None:
        unique = list(set(words_of_page))
        super().__init__(zip(unique, terms(unique, language), strict=True))
        self._language = language

    def __missing__(self, word: str) -> str:
        self[word] = term = terms([word], self._language)[0]
        return term


def terms(spelling: list[str], language: str) -> list[str]:
    """One term for each word."""
    folded = [word.casefold() for word in spelling]
    found = zip(folded, stems(folded, language), strict=True)
    return ["" if word in DULL_WORDS else term for word, term in found]


def language_of(spelling: list[str], otherwise: str) -> str:
    """The language of so many words, or `otherwise` where they are too few to tell."""
    if len(spelling) < LEAST_WORDS_TO_TELL_LANGUAGE:
        return otherwise
    return detect_language(word.casefold() for word in spelling[:MOST_WORDS_TO_TELL_LANGUAGE])
