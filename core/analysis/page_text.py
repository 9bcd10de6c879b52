"""A page's text for analysis: without headers and footers, cut into pieces that the page contains."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from core.models import Page
from core.text.headings import find_headings
from core.text.numbers import MONTH_NAMES
from core.text.quotes import QuoteFinder
from core.text.sentences import Piece, split_pieces
from core.text.terms import TYPESET_MARKS, detect_language, stems, without_marks, words

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
_PLAIN_WORD = re.compile("[A-Za-z]+(?:-[A-Za-z]+)*")
"""The matches of WORD in a text without other letters and without apostrophes."""
_ASCII_WORD = re.compile(rf"{_ELIDED}|[A-Za-z]+(?:['’-][A-Za-z]+)*")
"""The matches of WORD in a text without other letters."""
_LEAST_TO_SPLIT = 500
"""Shorter texts are searched faster than they are split."""
_ONLY_WORDS = {code: " " for code in range(128) if not (chr(code).isalpha() or chr(code) == "-")}


def spelled(text: str) -> list[str]:
    """The words of a text without its numbers; compounds are kept whole, unspaced scripts give pairs."""
    plain = plain_words(text)
    if text.isascii():
        return plain
    found: list[str] = []
    for word in plain:
        if word >= _FIRST_UNSPACED and is_unspaced(word):
            found.extend(words(word))
        else:
            found.append(word)
    return found


def plain_words(text: str) -> list[str]:
    """The matches of WORD, most of the time found by simpler means."""
    if not is_plain(text):
        return WORD.findall(text)
    text = without_marks(text, TYPESET_MARKS)
    if "'" in text or "’" in text:
        return _ASCII_WORD.findall(text)
    if len(text) < _LEAST_TO_SPLIT:
        return _PLAIN_WORD.findall(text)
    spaced = f" {text.translate(_ONLY_WORDS)} "
    if "-" in spaced:  # it stays within words
        spaced = spaced.replace("--", "  ").replace(" -", "  ").replace("- ", "  ")
    return spaced.split()


def is_plain(text: str) -> bool:
    """Whether a text is ASCII but for typeset marks and apostrophes."""
    return text.isascii() or without_marks(text, TYPESET_MARKS + "’").isascii()


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script that is written without spaces, or of Korean."""
    return _UNSPACED_RUN.search(text) is not None


class Lexicon(dict[str, str]):
    """The term of each word: forms of one word share a term; too general words have an empty one."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def learn(self, words_of_page: Iterable[str]) -> None:
        """Look these words up at once, which takes less time than one after the other."""
        unknown = list(set(words_of_page).difference(self))
        self.update(zip(unknown, terms(unknown, self._language), strict=True))

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


LONGEST_READ = 40_000
"""Characters of one page that are analysed: some files have all of their text on one page."""
EDGE_LINES = 3
RUNNING_PAGES = 3
RUNNING_SHARE = 1 / 8
LONGEST_WORD = 40
LONGEST_PAGE_NUMBER = 30
LEAST_LINE_WORDS = 3
LONGEST_UNSPACED_HEADING = 25

_SENTENCE_ENDS = (".", "!", "?", "。")
_DIGITS = re.compile(r"\d+")
_LINE_END_HYPHEN = re.compile(r"[-\u2010](?<=[^\W\d_].)\s{0,3}\n\s{0,3}([^\W\d_]+)")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\u00ad\ufffe\u200b\u2060\ufeff]+")
_PAGE_NUMBER = re.compile(r"(?:(?:page|seite|página|p\.)\s*)?(\d{1,5})(?:\s*(?:/|of|von|de)\s*\d+)?", re.I)
_ENDS_IN_DAY = re.compile(r"(?<!\d)\d{1,2}\.$")
_MONTH = re.compile(rf"(?:{MONTH_NAMES})\b", re.I)
_PROSE_MARK = re.compile("[,，、。()（）*%：]")


class PageText:
    """The text of a page for analysis. `running` are the masked lines of headers and footers."""

    def __init__(self, page: Page, running: Collection[str] = (), vocabulary: Collection[str] = ()) -> None:
        self._original = page.text
        self._vocabulary = vocabulary
        lines = page.text[:LONGEST_READ].splitlines()
        edge = edges(lines)
        kept = [
            line
            for i, line in enumerate(lines)
            if i not in edge or (masked(line) not in running and _lone_number(line) is None)
        ]
        # Pages that are all alike, such as forms, have nothing but running lines.
        clean = _LINE_END_HYPHEN.sub(self._join, "\n".join(kept if any(map(str.strip, kept)) else lines))
        self.text = _INVISIBLE.sub("", clean)

    @cached_property
    def pieces(self) -> list[Piece]:
        """The sentences, items, rows and headings of the page in order."""
        return list(_joined_paragraphs(split_pieces(self.text), set(self.headings)))

    @cached_property
    def headings(self) -> list[str]:
        """The lines that look like headings, each once."""
        found = dict.fromkeys(heading.text for heading in find_headings(self.text))
        # In a script without capitals every short line looks like a heading.
        return [
            line
            for line in found
            if not is_unspaced(line) or not (len(line) > LONGEST_UNSPACED_HEADING or _PROSE_MARK.search(line))
        ]

    @cached_property
    def _collapsed(self) -> str:
        return " ".join(self._original.split())

    @cached_property
    def _located(self) -> QuoteFinder:
        return QuoteFinder(self._original)

    def holds(self, quote: str) -> bool:
        """Whether the page contains the quote, regardless of line breaks."""
        return quote in self._collapsed or self._located.find(quote) is not None

    def _join(self, match: re.Match[str]) -> str:
        """A word broken at a line's end; the hyphen is kept unless the document has the word without it."""
        start = max(0, match.start() - LONGEST_WORD)
        first = _LAST_WORD.search(match.string[start : match.start()])
        joined = (first[0] if first else "") + match[1]
        return match[1] if joined.casefold() in self._vocabulary else f"-{match[1]}"


def edges(lines: Sequence[str]) -> set[int]:
    """The indexes of the first and the last lines that are not empty."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return {*filled[:EDGE_LINES], *filled[-EDGE_LINES:]}


def find_running(pages: Sequence[Page]) -> frozenset[str]:
    """The lines, digits masked, that occur at the edges of so many pages that they are headers or footers."""
    found: Counter[str] = Counter()
    for page in pages:
        lines = page.text[:LONGEST_READ].splitlines()
        found.update({masked(lines[index]) for index in edges(lines)})
    most = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    return frozenset(line for line, times in found.items() if times > most)


def printed_number(page: Page) -> int | None:
    """The page number alone on a line at the page's top or bottom."""
    lines = page.text[:LONGEST_READ].splitlines()
    found = (_lone_number(lines[index]) for index in sorted(edges(lines)))
    return next((int(number) for number in found if number), None)


def masked(line: str) -> str:
    """A line as it is compared between pages: without its digits, which differ in headers and footers."""
    plain = " ".join(line.split())
    return plain if plain.endswith(_SENTENCE_ENDS) else _DIGITS.sub("0", plain)


def _joined_paragraphs(pieces: Sequence[Piece], headings: Collection[str]) -> Iterator[Piece]:
    """The pieces; first lines of paragraphs that were taken for headings are joined to their paragraphs.

    On a page with columns such lines are shorter than the widest line.
    """
    lead = ""
    for piece in _with_dates(pieces):
        is_line = piece.kind == "heading" and not (piece.text in headings or piece.text.endswith((":", "?")))
        if is_line and len(piece.text.split()) >= LEAST_LINE_WORDS:
            lead = f"{lead} {piece.text}".lstrip()
            continue
        if lead and piece.kind == "sentence":
            piece = Piece(f"{lead} {piece.text}", piece.kind, piece.heading)  # noqa: PLW2901
        elif lead:
            yield Piece(lead, "sentence", piece.heading)
        lead = ""
        yield piece
    if lead:
        yield Piece(lead, "sentence")


def _with_dates(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces; a sentence that seems to end within a date, after `12.`, is joined to the next one."""
    before: Piece | None = None
    for piece in pieces:
        goes_on = piece.kind == "sentence" and _MONTH.match(piece.text)
        if before and goes_on and _ENDS_IN_DAY.search(before.text, max(0, len(before.text) - 4)):
            before = Piece(f"{before.text} {piece.text}", before.kind, before.heading)
            continue
        if before:
            yield before
        before = piece
    if before:
        yield before


def _lone_number(line: str) -> str | None:
    """The digits of a line that is a page number and nothing else."""
    plain = line.strip(" \t-\u2013")
    match = _PAGE_NUMBER.fullmatch(plain) if len(plain) <= LONGEST_PAGE_NUMBER else None
    return match[1] if match else None
