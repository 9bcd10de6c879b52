"""Words as a page spells them, and the terms by which they are compared."""

import re
from collections.abc import Iterable

from core.text.terms import detect_language, stems, words

DULL_WORDS = frozenset(
    "also however such more most other only some many same use used uses using make makes made need needs "
    "provide provides provided providing include includes including included based within without must new "
    "first one two three get show shows shown see given give well even like just much very often usually "
    "generally typically order example way ways take taken please sure additional addition various different "
    "several following able ensure help helps available any every because although whether e.g i.e etc due "
    "after before under over than then while however therefore thus still yet ever never always both "
    "want know find found come go going around another thing things number important contact "
    "require requires required consider offer offers visit paying pay depend depends depending note "
    "et al being except through across among along today already almost instead rather above below per out "
    "jedoch wurde wurden mehr viele sehr beim sowie zwischen gegen etwa bereits dabei damit dann sondern "
    "andere anderen siehe bezug ersten erste zwei drei könnte können konnte müssen sollen seit bzw "
    "además sino según todo todos toda todas otro otros otra otras cada muy mientras sólo solo tras "
    "ahora entonces aquí allí tan tanto casi siempre nunca mejor peor juega "
    "así puede pueden debe deben hacer parte años año bastantes menos mismo luego aunque fuera ser sido "
    "tous toutes tout toute autre autres aussi ainsi alors après avant bien cela chaque entre fait faire "
    "leur moins peut peuvent très sans selon encore altri altre anche ancora dopo prima molto ogni".split()
)
"""Words that are too general to be topics, in addition to the stop words."""
MIN_WORDS_TO_DETECT_LANGUAGE = 20
MAX_WORDS_TO_DETECT_LANGUAGE = 250

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]")
_LETTERS = rf"[^\W\d_{_UNSPACED}]+"
_ELIDED = "(?:[cdjlmnstCDJLMNST]|[Qq]u|[Dd]ell|[Nn]ell|[Aa]ll|[Ss]ull|[Uu]n)(?=['’][^\\W\\d_])"
WORD = re.compile(rf"[{_UNSPACED}]+|{_ELIDED}|{_LETTERS}(?:['’-]{_LETTERS})*")
_FIRST_UNSPACED = "\u0e00"


def spelled(text: str) -> list[str]:
    """The words of a text without its numbers; compounds are kept whole, unspaced scripts give pairs."""
    found: list[str] = []
    for word in WORD.findall(text):
        if word >= _FIRST_UNSPACED and is_unspaced(word):
            found.extend(words(word))
        else:
            found.append(word)
    return found


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script that is written without spaces, or of Korean."""
    return _UNSPACED_RUN.search(text) is not None


class Lexicon(dict[str, str]):
    """The term of each word: forms of one word share a term; too general words have an empty one."""

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
    """The language of these words, or `otherwise` if they are too few."""
    if len(spelling) < MIN_WORDS_TO_DETECT_LANGUAGE:
        return otherwise
    return detect_language(word.casefold() for word in spelling[:MAX_WORDS_TO_DETECT_LANGUAGE])
