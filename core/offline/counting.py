"""Whether a question asks to count the rows of a table, which no quote of a row does."""

import re
from collections.abc import Callable, Collection, Sequence

from core.text.sentences import Piece
from core.text.terms import has_digit

_BEFORE_DIGIT = re.compile(r"[^\d]*+")

Terms = Callable[[str], Collection[str]]


def asks_to_count_rows(
    counted: Collection[str], row: Piece, header: Piece | None, table: Sequence[Piece], terms_of: Terms
) -> bool:
    """Whether the counted terms name the rows of the table, rather than a column or one of its rows.

    `How many halls are there?` names the rows of a table of halls; `How many seats ...` names a column of it.
    """
    names = cells(header.text) if header and header.kind == "row" else []
    for name, cell in zip(names[1:], cells(row.text)[1:], strict=False):
        if has_digit(cell) and not set(counted).isdisjoint(terms_of(name)):
            return False
    if names and not set(counted).isdisjoint(terms_of(names[0])):
        return True
    return sum(set(counted) <= set(terms_of(cells(each.text)[0])) for each in table) > 1


def cells(row: str) -> list[str]:
    """The cells of a table row; the text before its first digit if nothing separates them."""
    if "|" in row:
        return [cell.strip() for cell in row.strip(" |").split("|")]
    found = _BEFORE_DIGIT.match(row)
    return [found[0] if found else row]
