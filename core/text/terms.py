"""Text to search terms: one analysis for what is indexed and for what is asked."""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable

import Stemmer

from core.text.stop_words import STOP_WORDS

DEFAULT_LANGUAGE = "en"
LANGUAGE_SAMPLE_WORDS = 2000

_INSTRUCTION_WORDS = frozenset(
    "please answer answering tell explain describe list summarize summarise according based relying rely "
    "mentioned stated shown given following document documents file files page pages text".split()
)

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_FIRST_UNSPACED = "\u0e00"
_LETTER = rf"[^\W_{_UNSPACED}]"
_WORD = re.compile(rf"[{_UNSPACED}]+|\d+(?:\.\d+)+|{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]")

_LINE_END_HYPHEN = re.compile(r"[-\u2010](?<=[^\W\d_].)[ \t]*\r?\n[ \t]*(?=[^\W\d_])")
_INVISIBLE = re.compile("[\x02\u00ad\ufffe\u200b\u2060\ufeff]+")  # \x02: a hyphen that PDFium took out
_FISCAL_YEAR = re.compile(r"\bfy[ \t]?['’]?(\d{4}|\d{2})(?!\d)")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,'’]\d+)+")
_SEPARATOR = re.compile(r"[.,'’]")
_DIGIT = re.compile(r"\d")
_CENTURY_TURN = 70


def words(text: str) -> list[str]:
    """The words of a text in order, in one spelling, not yet stemmed.

    Numbers lose their thousands separators, fiscal years become years, words broken at a line's end are
    whole, and scripts without spaces give overlapping pairs of characters.
    """
    clean = _LINE_END_HYPHEN.sub("", _INVISIBLE.sub("", text))
    clean = unicodedata.normalize("NFKC", clean).casefold()
    clean = _NUMBER.sub(_plain_number, _FISCAL_YEAR.sub(_full_year, clean))
    found: list[str] = []
    for word in _WORD.findall(clean):
        if word >= _FIRST_UNSPACED and _UNSPACED_RUN.match(word):
            found.extend(_pairs(word))
        else:
            found.append(word)
    return found


def question_words(question: str) -> list[str]:
    """The words of a question that say what it is about; all of them if none does."""
    asked = words(question)
    dull = _INSTRUCTION_WORDS | STOP_WORDS[detect_language(asked)]
    return [word for word in asked if word not in dull] or asked


def detect_language(sample: Iterable[str]) -> str:
    """The ISO 639-1 code of the language whose stop words are the most frequent; English if none is."""
    counted = list(sample)[:LANGUAGE_SAMPLE_WORDS]
    hits = {code: sum(map(stop_words.__contains__, counted)) for code, stop_words in STOP_WORDS.items()}
    best = max(hits, key=hits.__getitem__)
    return best if hits[best] > hits[DEFAULT_LANGUAGE] else DEFAULT_LANGUAGE


def stems(spelled: list[str], language: str) -> list[str]:
    """The stems of words in a language, in order and one for each: stop words give an empty stem."""
    stop_words = STOP_WORDS[language]
    return [
        "" if word in stop_words else stem
        for word, stem in zip(spelled, _stemmer(language)(spelled), strict=True)
    ]


def has_digit(term: str) -> bool:
    """Whether a term is, or contains, a number."""
    return _DIGIT.search(term) is not None


class _Stemmers(threading.local):
    """A stemmer has state of its own: each thread keeps its own ones."""

    def __init__(self) -> None:
        self.by_language: dict[str, Callable[[list[str]], list[str]]] = {}


_stemmers = _Stemmers()


def _stemmer(language: str) -> Callable[[list[str]], list[str]]:
    if language not in _stemmers.by_language:
        _stemmers.by_language[language] = Stemmer.Stemmer(language).stemWords
    return _stemmers.by_language[language]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def _full_year(match: re.Match[str]) -> str:
    year = match[1]
    if len(year) == 4:
        return year
    return ("19" if int(year) >= _CENTURY_TURN else "20") + year


def _plain_number(match: re.Match[str]) -> str:
    """`1,234.5` and `1.234,5` to `1234.5`, `3,5` to `3.5`; dates and lists to their parts."""
    number = match[0]
    *leading, last = parts = _SEPARATOR.split(number)
    marks = _SEPARATOR.findall(number)
    if _grouped(parts) and len(set(marks)) == 1:
        return "".join(parts)
    if len(parts) == 2 or (_grouped(leading) and len(set(marks[:-1])) == 1 and marks[-1] not in marks[:-1]):
        return "".join(leading) + "." + last
    if set(marks) == {"."} and all(len(part) <= 2 for part in parts):
        return number
    return " ".join(parts)


def _grouped(parts: list[str]) -> bool:
    return len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:])
