"""Where a quote stands on a page, and which words of a page bear out a claim."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MIN_COVERAGE = 0.6
MAX_WINDOW_SENTENCES = 3
STEM_CHARACTERS = 6

_HYPHEN_AT_LINE_END = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]\s*\n\s*(?=[^\W\d_])")
_TERM = re.compile(r"(?:(?<!\w)[-\u2212])?\d+(?:[.,]\d+)*%?|[^\W\d_]+", re.U)
_SENTENCE = re.compile(
    r"[^\n.!?。！？]*(?:(?:[.!?](?!\s)|\n(?!\s*\n))[^\n.!?。！？]*)*(?:[.!?。！？]+|\n\s*\n|$)"
)
_QUOTED = re.compile(r'["\u201c]([^"\u201c\u201d]{12,})["\u201d]')
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_NEGATIONS = frozenset(
    {"not", "no", "never", "without", "neither", "nor", "cannot", "nicht", "kein", "keine", "pas", "sans"}
)
_STOP = frozenset(
    "a an and are as at be been by for from has have in into is it its of on or that the their this to was "
    "were will with you your they he she we our us may can must do does did than then there these those "
    "which who what when where how per each any all also such if so".split()
)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a page's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Canonical:
    text: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What of a sentence must not change: its words (shortened), its numbers, whether it is negated."""

    words: frozenset[str]
    numbers: frozenset[str]
    negated: bool


def locate(quote: str, page_text: str) -> Span | None:
    """Where `quote` stands on the page, or None.

    Line breaks, hyphenation at line ends, ligatures, letter case, spacing and punctuation may differ;
    words, numbers, signs and decimal points may not.
    """
    wanted = _canonical(quote).text.strip()
    page = _canonical(page_text)
    if not wanted:
        return None
    for position in _occurrences(wanted, page.text):
        end = position + len(wanted)
        if _at_boundary(page.text, position, end):
            return _with_last_mark(quote, page_text, page.offsets[position], page.offsets[end - 1] + 1)
    return None


def find_support(claim: str, page_text: str, near: Span) -> Span | None:
    """The sentences of the page, best those inside `near`, that bear out `claim`; None if nothing does.

    Borne out means: quoted words stand on the page; every number of the claim is there; the closest
    sentence is negated exactly if the claim is; and most of the claim's other words are there.
    """
    if any(locate(quoted, page_text) is None for quoted in _QUOTED.findall(claim)):
        return None
    if verbatim := locate(claim, page_text):
        return verbatim
    wanted = _facts(claim)
    if not wanted.words and not wanted.numbers:
        return None
    best: tuple[float, Span] | None = None
    for window in _windows(page_text):
        coverage = _coverage(wanted, [_facts(page_text[part.start : part.end]) for part in window])
        span = Span(window[0].start, window[-1].end)
        score = coverage - 0.0001 * (span.end - span.start) + (0.05 if _overlap(span, near) else 0)
        if coverage >= MIN_COVERAGE and (best is None or score > best[0]):
            best = (score, span)
    return best[1] if best else None


def _coverage(wanted: _Facts, parts: list[_Facts]) -> float:
    """The share of the wanted words in these sentences; 0 where a number or a negation differs."""
    closest = max(parts, key=lambda part: len(wanted.words & part.words))
    if wanted.numbers - frozenset().union(*(part.numbers for part in parts)):
        return 0.0
    if wanted.negated != closest.negated:
        return 0.0
    found = frozenset[str]().union(*(part.words for part in parts))
    return len(wanted.words & found) / len(wanted.words) if wanted.words else 1.0


def sentences(text: str) -> list[Span]:
    """The sentences of a text, white space at their ends left out; a single line break does not end one."""
    found = []
    for match in _SENTENCE.finditer(text):
        piece = match.group()
        if stripped := piece.strip():
            start = match.start() + piece.index(stripped)
            found.append(Span(start, start + len(stripped)))
    return found


def _windows(page_text: str) -> Iterator[list[Span]]:
    parts = sentences(page_text)
    for size in range(1, MAX_WINDOW_SENTENCES + 1):
        for first in range(len(parts) - size + 1):
            yield parts[first : first + size]


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


@lru_cache(maxsize=4096)
def _facts(text: str) -> _Facts:
    terms = _TERM.findall(unicodedata.normalize("NFKC", _HYPHEN_AT_LINE_END.sub("", text)).casefold())
    return _Facts(
        words=frozenset(t[:STEM_CHARACTERS] for t in terms if t[0].isalpha() and t not in _STOP | _NEGATIONS),
        numbers=frozenset(_number(term) for term in terms if not term[0].isalpha()),
        negated=bool(_NEGATIONS & set(terms)),
    )


def _number(term: str) -> str:
    return term.replace(",", "").replace("\u2212", "-").removesuffix("%")


@lru_cache(maxsize=64)
def _canonical(text: str) -> _Canonical:
    """Letters, numbers and single spaces only, with the place in `text` that each character came from."""
    characters: list[str] = []
    offsets: list[int] = []
    skip = {i for match in _HYPHEN_AT_LINE_END.finditer(text) for i in range(*match.span())}
    for index, raw in enumerate(text):
        if index in skip:
            continue
        for character in unicodedata.normalize("NFKC", raw).casefold():
            kept = _kept(character, text, index)
            if kept is None or (kept == " " and (not characters or characters[-1] == " ")):
                continue
            characters.append(kept)
            offsets.append(index)
    return _close_up_cjk("".join(characters), offsets)


def _kept(character: str, text: str, index: int) -> str | None:
    if character.isalnum() or character in "%$€£¥+":
        return character
    before = text[index - 1] if index else " "
    after = text[index + 1] if index + 1 < len(text) else " "
    if character in ".,:/" and before.isdigit() and after.isdigit():
        return character
    if character in "-\u2212\u2010\u2011\u2013":
        if after.isdigit() and not before.isalnum():
            return "-"
        return None if before.isalpha() and after.isalpha() else " "
    if character in "\u00ad'\u2019" or unicodedata.combining(character):
        return None if character in "\u00ad'\u2019" else character
    return " "


def _close_up_cjk(text: str, offsets: list[int]) -> _Canonical:
    gaps = {match.start() for match in _BETWEEN_CJK.finditer(text)}
    if not gaps:
        return _Canonical(text, tuple(offsets))
    kept = [i for i in range(len(text)) if i not in gaps]
    return _Canonical("".join(text[i] for i in kept), tuple(offsets[i] for i in kept))


def _with_last_mark(quote: str, page_text: str, start: int, end: int) -> Span:
    """The span, with the mark that ends the quote where the page has it too."""
    mark = quote.rstrip()[-1]
    return Span(start, end + (not mark.isalnum() and page_text[end : end + 1] == mark))


def _occurrences(wanted: str, text: str) -> Iterator[int]:
    position = text.find(wanted)
    while position != -1:
        yield position
        position = text.find(wanted, position + 1)


def _at_boundary(text: str, start: int, end: int) -> bool:
    return not (_joined(text, start - 1) or _joined(text, end - 1))


def _joined(text: str, left: int) -> bool:
    """Whether the characters at `left` and `left + 1` belong to one word or number."""
    if left < 0 or left + 1 >= len(text):
        return False
    one, other = text[left], text[left + 1]
    if re.match(f"[{_CJK}]", one) or re.match(f"[{_CJK}]", other):
        return False
    return ((one.isalnum() or one in ".,-$") and other.isalnum()) or (one.isdigit() and other in ".,%")
