"""Finds the parts of a document that a question names: pages, slides and sheets, and numbered clauses.

See docs/decisions/named-parts.md.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from orc_core.models import Page
from orc_core.text.terms import words
from orc_core.text.wording import DOCUMENT_WORDS, has_subject

LONGEST_RANGE = 20
MOST_NAMED, MOST_CLAUSES = 200, 20
"""Numbers of pages and of clauses that are read from a question; it has no use for so many."""

_WORD = (
    r"(?:pages?|pp?\.|pg\.?|slides?|sheets?|seiten?|s\.|folien?|blatt|páginas?|pág\.|pagin[ae]|diapositivas?"
    r"|diapositives?|feuille|hoja|стр\.|страниц\w{0,9})"
)
_NUMBERS = re.compile(
    rf"\b{_WORD}\s?(?:no\.?\s?|number\s)?(\d{{1,6}})\b(?:\s?(-|–|to|bis|and|und|,)\s?(\d{{1,6}})\b)?"
    r"|第?\s?(\d{1,4})\s?(?:ページ|页|頁)|\b(\d{1,4})(?:st|nd|rd|th)\s(?:page|slide)\b",
    re.IGNORECASE,
)
_BOTH = ("and", "und", ",")
_EDGE = re.compile(
    rf"\b(?:(first|erste[nr]?|première|primera)|last|letzte[nr]?|dernière|última)\s{_WORD}(?!\w)",
    re.IGNORECASE,
)
_PAGE_WORD = re.compile(rf"\b{_WORD}(?!\w)", re.IGNORECASE)
_IS_FILE_NAME = re.compile(r"\.[^\W\d_]\w{1,7}\W*\Z")
_QUOTES = "[ \"'“”„‘’«»‹›]{1,3}"
_ASIDE = re.compile(r" \(hidden \w+\)\Z")
_CLAUSE = re.compile(
    r"(?:(?<![^\W\d_])([^\W\d_]{1,30}+|§{1,2})\.?\s?)?(?<![\w.,])(\d{1,3}(?:\.\d{1,3}){0,5})(?![\w%]|[.,]\d|\s?[€$£¥])"
)
_CONTENTS = re.compile(r"(?:\.\s?){3}|…|\s\d{1,4}\Z")
"""What a line of a table of contents has."""
_CAPTION = re.compile(r"\W*[^\W\d]+\.?\s?\d+[.:]\s")
_NOT_LOWER = "(?!(?-i:[a-zß-öø-ÿ]))"


class Part(NamedTuple):
    """A part of the page at this place of a sequence, from one character up to another."""

    at: int
    start: int
    end: int


Find = Callable[[str, Sequence[Page]], list[Part]]
"""Finds the parts that a question means of a document with these pages."""


def pages_named(question: str) -> list[int]:
    """The numbers of pages that a question names, in order: `page 7`, `Seiten 3-5`; the first MOST_NAMED."""
    named: dict[int, None] = {}
    for match in _NUMBERS.finditer(question):
        first, between, last, *others = match.groups(default="")
        start = int(first or "".join(others))
        end = int(last or start)
        is_range = between.casefold() not in _BOTH and start < end
        named |= dict.fromkeys(
            range(start, min(end, start + LONGEST_RANGE) + 1) if is_range else (start, end)
        )
        if len(named) >= MOST_NAMED:
            break
    return list(named)[:MOST_NAMED]


def without_pages(question: str) -> str:
    """The question without numbers of pages."""
    return _NUMBERS.sub(" ", question)


def may_name_parts(question: str) -> bool:
    """Whether a document can have a part that the question names."""
    found = (_PAGE_WORD.search(question), _NUMBERS.search(question), next(_clauses(question), None))
    return any(match is not None for match in found) or is_about_file(question)


def is_about_file(question: str) -> bool:
    """Whether the question has no other subject than a file: who wrote it, how many pages it has."""
    said = (word for word in question.split() if not _IS_FILE_NAME.search(word))
    return not has_subject(" ".join(said))


def parts_of_file(question: str, pages: Sequence[Page]) -> list[Part]:
    """What the file says of itself, if the question is about the file."""
    if not is_about_file(question):
        return []
    return [Part(at, 0, len(page.text)) for at, page in enumerate(pages) if page.is_of_file]


def named_parts(question: str, pages: Sequence[Page]) -> list[Part]:
    """The parts that a question names of the document with these pages: whole pages, or a clause.

    A page is found by the number that is printed on it, and by its place in the document.
    """
    places = [at for at, page in enumerate(pages) if not page.is_of_file]
    pages = [pages[at] for at in places]
    if not pages:
        return []
    numbers = set(pages_named(question))
    numbers |= {(pages[0] if match[1] else pages[-1]).number for match in _EDGE.finditer(question)}
    by_number = [at for at, page in enumerate(pages) if page.number in numbers]
    if whole := [*_by_label(question, pages), *by_number]:
        found = [Part(at, 0, len(pages[at].text)) for at in whole]
    else:
        found = [part for match in islice(_clauses(question), MOST_CLAUSES) for part in _clause(match, pages)]
    return [part._replace(at=places[part.at]) for part in dict.fromkeys(found)]


def _by_label(question: str, pages: Sequence[Page]) -> list[int]:
    """The pages whose label is next to a word for pages: `page iv`, `the Prices sheet`."""
    asked, labelled = question.casefold(), dict[str, list[int]]()
    for at, page in enumerate(pages) if _PAGE_WORD.search(asked) else ():
        if (label := _ASIDE.sub("", page.label).casefold()) and label in asked:
            labelled.setdefault(label, []).append(at)
    for label in sorted(labelled, key=len, reverse=True):
        exact = rf"(?<!\w){re.escape(label)}(?!\w)"
        if re.search(rf"\b{_WORD}{_QUOTES}{exact}|{exact}{_QUOTES}{_WORD}(?!\w)", asked):
            return labelled[label]
    return []


def _clauses(question: str) -> Iterator[re.Match[str]]:
    """Numbers of clauses: `3.3`, and whole numbers behind a word, such as `section 4` or `§ 4`."""
    return (match for match in _CLAUSE.finditer(question) if match[1] or "." in match[2])


def _clause(match: re.Match[str], pages: Sequence[Page]) -> list[Part]:
    """The parts of a clause up to the one that follows it; without that, only the one on its first page."""
    word, number = match[1] or "", match[2]
    begin = _line(word, [number])
    places = [(at, line) for at, page in enumerate(pages) for line in begin.finditer(page.text)]
    places.sort(key=lambda place: not place[1][0].lstrip().casefold().startswith(word.casefold()))
    named = (place for place in places if not _CONTENTS.search(place[1][0].partition(number)[2]))
    first, line = next(named, (0, None))
    if line is None:
        return []
    if _CAPTION.match(line[0]) and DOCUMENT_WORDS.isdisjoint(words(word)):
        return [Part(first, 0, len(pages[first].text))]  # a table can be above its caption
    levels = [int(level) for level in number.split(".")]
    end = _line(word, [".".join(map(str, [*levels[:at], level + 1])) for at, level in enumerate(levels)])
    parts: list[Part] = []
    for at, page in enumerate(pages[first:], first):
        start, after = (0, 0) if parts else line.span()
        following = end.search(page.text, after)
        parts.append(Part(at, start, following.start() if following else len(page.text)))
        if following:
            return parts
    return parts[:1]


def _line(word: str, numbers: Sequence[str]) -> re.Pattern[str]:
    """A line that begins with one of the numbers: `3.3 ...`, or behind a word for parts `4. Title`.

    Or one that begins with the word and the number: `Article 12`, `Table 4:`.
    """
    wanted = "|".join(map(re.escape, numbers))
    forms = (
        [rf"{_NOT_LOWER}{re.escape(word)}\s?(?:{wanted})(?:[.):]|(?=\s*$|\s+{_NOT_LOWER}))"] if word else []
    )
    if "." in numbers[-1]:
        forms.append(rf"(?:{wanted})(?:[.):]|(?=\s|$))")
    elif not DOCUMENT_WORDS.isdisjoint(words(word)):
        forms.append(rf"(?:{wanted})[.):]?\s+{_NOT_LOWER}[^\W\d_]")
    return re.compile(rf"^[ \t#*]*(?:{'|'.join(forms)})[^\n]*$", re.IGNORECASE | re.MULTILINE)
