"""Tables in the text of a page: their headers, and questions about all their rows."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from core.search.bm25 import QuestionTerms
from core.text.answer_type import asks_yes_or_no, is_negated
from core.text.question_type import kind_asked_for
from core.text.sentences import Piece
from core.text.terms import words

_BEFORE_NUMBER = re.compile(r"[^\d]*?(?=(?<![^\s|])[(\-−–]?[$€£¥]?\d|\d|$)")
_DIGITS = re.compile(r"(?<![^\W_])\d[\d.,]*")
_RULE = re.compile(r"[|\s:-]+")
"""The line below the header of a table in Markdown."""
_LABEL = re.compile(r"([^:|]{1,60}): ")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LEAST = re.compile(
    r"\b(?:least|lowest|smallest|cheapest|lightest|shortest|fewest|minimum|(?:niedrigst|kleinst|günstigst|billigst"
    r"|wenigst|kürzest|leichtest)\w*|(?:le|la|les) moins|(?:le|la|les) plus (?:petit|bas|court|léger)\w*"
    r"|menos|más (?:barat|baj|pequeñ|cort)\w*)\b",
    re.I,
)
_MOST = re.compile(
    r"\b(?:most|highest|largest|biggest|greatest|longest|heaviest|maximum|(?:höchst|größt|teuerst|meist|längst"
    r"|schwerst)\w*|(?:le|la|les) plus|más)\b",
    re.I,
)
_SUM = re.compile(r"(?:total|sum|overall|gesamt|summe|insgesamt)", re.I)

_YES = frozenset("yes y ja oui sí si x ✓ ✔".split())
_NO = frozenset("no n nein non – - ✗ ✘".split())

Terms = Callable[[str], Collection[str]]


def is_rule(piece: Piece) -> bool:
    """Whether it is the line below the header of a table in Markdown."""
    return _RULE.fullmatch(piece.text) is not None


def headers(pieces: Sequence[Piece]) -> dict[int, int]:
    """The header of each table row that has one, both by index.

    It is the first row of the table if a line is below it, else the heading directly above the table. A row
    whose cells have the names of their columns needs none.
    """
    found: dict[int, int] = {}
    first = 0
    for index, piece in enumerate(pieces):
        if piece.kind != "row":
            first = index + 1
        elif index > first and is_rule(pieces[first + 1]):
            found[index] = first
        elif first and pieces[first - 1].kind == "heading" and not _LABEL.match(piece.text):
            found[index] = first - 1
    return found


def naming_rows(pieces: Sequence[Piece]) -> list[int]:
    """The rows that only name the columns, because the cells of the rows below repeat the names."""
    return [
        index
        for index, (row, below) in enumerate(pairwise(pieces))
        if row.kind == below.kind == "row" and below.text.startswith(f"{cells(row.text)[0]}: ")
    ]


def rows_around(pieces: Sequence[Piece], index: int) -> range:
    """The indexes of the neighbouring rows that a row forms a table with, its own among them."""
    first = last = index
    while first > 0 and pieces[first - 1].kind == "row":
        first -= 1
    while last + 1 < len(pieces) and pieces[last + 1].kind == "row":
        last += 1
    return range(first, last + 1)


def asks_to_count_rows(
    counted: Collection[str], pieces: Sequence[Piece], index: int, terms_of: Terms
) -> bool:
    """Whether the counted terms name several rows of the table.

    `How many halls are there?` does in a table of halls; `How many seats ...` names a column of it.
    """
    rows = _named_rows(pieces, index).values()
    return sum(set(counted) <= set(terms_of(first.text)) for first, *_ in rows) > 1


def extreme_row(question: QuestionTerms, pieces: Sequence[Piece], index: int) -> int:
    """The row with the largest or the smallest number, if the question asks for it; else `index` itself.

    The numbers are those of the column that shares most with the question, else of the first one with
    numbers. A question about a row by its name asks for none, nor one about a column such as `Minimum order`.
    """
    least = _LEAST.search(question.text)
    extreme = least or _MOST.search(question.text)
    if extreme is None or extreme[0].casefold() in _header_and_row(pieces, index).casefold():
        return index
    asked, terms_of = set(question.terms), question.terms_of
    rows = _named_rows(pieces, index)
    if any(asked.intersection(terms_of(row[0].text)) for row in rows.values()):
        return index
    columns: dict[str, dict[int, float]] = {}
    for each, (first, *others) in rows.items():
        for cell in others:
            number = _value(cell.text)
            if number is not None and not _SUM.match(first.text):
                columns.setdefault(cell.column, {})[each] = number
    if not columns:
        return index
    # The first of several that share as much.
    values = columns[max(columns, key=lambda name: len(asked.intersection(terms_of(name))))]
    return (min if least else max)(values, key=values.__getitem__)


def rows_alike(question: QuestionTerms, pieces: Sequence[Piece], index: int) -> list[int]:
    """The rows of the table that answer the question as well as this one does.

    Those are the rows with the same terms of it in their cells; if no cell has any, all rows. If the
    question is about a column of yes and no, rows with no are left out, unless yes or no is the answer.
    """
    asked = set(question.terms).difference(question.terms_of(kind_asked_for(question.text)))
    rows = _named_rows(pieces, index)
    texts = {each: " ".join(cell.text for cell in row) for each, row in rows.items()}
    own = {each: asked.intersection(question.terms_of(text)) for each, text in texts.items()}
    alike = [each for each in rows if own[each] >= own.get(index, set())]
    if asks_yes_or_no(question.text):
        return alike
    no = _YES if is_negated(question.text) else _NO
    denied = {
        each
        for each in alike
        for cell in rows[each]
        if cell.text.casefold() in no and asked.intersection(question.terms_of(cell.column))
    }
    return [each for each in alike if each not in denied]


def _header_and_row(pieces: Sequence[Piece], index: int) -> str:
    header = headers(pieces).get(index, index)
    return f"{pieces[header].text} {pieces[index].text}"


def _value(cell: str) -> float | None:
    """The first number of a cell; negative behind a minus, and in brackets as accountants write a loss."""
    number = next(filter(_NUMBER.fullmatch, words(cell)), None)
    if number is None:
        return None
    digits = _DIGITS.search(cell)
    before, after = (cell[: digits.start()], cell[digits.end() :]) if digits else ("", "")
    before = before.rstrip(" $€£¥")
    is_in_brackets = before.endswith("(") and after.lstrip(" %$€£¥").startswith(")")
    has_minus = before.endswith(("-", "−", "–")) and not before[:-1].rstrip(" (").isalnum()
    return -float(number) if is_in_brackets or has_minus else float(number)


class _Cell(NamedTuple):
    """A cell and the name of its column, or its place in the row if that has none."""

    column: str
    text: str


def _named_rows(pieces: Sequence[Piece], index: int) -> dict[int, list[_Cell]]:
    """The cells of the rows of a table, without its header."""
    at = headers(pieces).get(index)
    names = cells(pieces[at].text) if at is not None and pieces[at].kind == "row" else []
    skipped = {at, *naming_rows(pieces)}
    rows = (each for each in rows_around(pieces, index) if each not in skipped and not is_rule(pieces[each]))
    return {each: list(_named_cells(pieces[each].text, names)) for each in rows}


def _named_cells(row: str, names: Sequence[str]) -> Iterator[_Cell]:
    first, *others = cells(row)
    for place, cell in enumerate([first, *(others if "|" in row else row[len(first) :].split())]):
        label = _LABEL.match(cell)
        name = label[1] if label else names[place] if place < len(names) else str(place)
        yield _Cell(name, cell[label.end() :] if label else cell)


def cells(row: str) -> list[str]:
    """The cells of a table row; the text before its first number if nothing separates them."""
    if "|" in row:
        return [cell.strip() for cell in row.strip(" |").split("|")]
    found = _BEFORE_NUMBER.match(row)
    return [found[0] if found else row]
