"""Decides line by line which lines of a Markdown text every renderer shows as a block of code."""

import re
from typing import NamedTuple

from orc_core.markdown.brackets import MAX_BRACKET, OPENING, bracketed

_FENCE = re.compile(r" *(`{3,}+|~{3,}+)[\w+#.:{}=\"' -]*")
_HIDDEN_FENCE = re.compile(r"[ *+\-.)\d]*+(?:`{3}|~{3}|:::)")
_MAY_BE_FENCE = re.compile(r"[ \t>*+\-.)\d]*+(?:[`~:].*)?", re.S)
_MARKS = " \t>*+-.)0123456789`~"
"""What a line may consist of before and in a fence."""
_OPENED = re.compile(rf"[ \t>*+\-.)\d]*+{OPENING.pattern}")
_TAB = 4
MOST_INDENTED = 3
"""Columns by which a fence may be indented below other text."""


class _Fence(NamedTuple):
    character: str
    length: int
    column: int


class CodeBlocks:
    """Follows the fences of a text.

    At the first line that renderers may read differently, such as a fence behind the mark of a list item or
    next to a bracket, which may be a marker that is not shown, the trust ends: from then on nothing counts as
    code.
    """

    def __init__(self) -> None:
        self.trusted = True
        self._after_blank = True
        self._fence: _Fence | None = None

    @property
    def closing(self) -> str:
        """The line that closes the block of code that is open; "" if none is."""
        return " " * self._fence.column + self._fence.character * self._fence.length if self._fence else ""

    def needs_more(self, line: str) -> bool:
        """Whether more of this line has to be known before `is_code` can judge it."""
        return self._fence is not None or _MAY_BE_FENCE.fullmatch(_behind_brackets(line)) is not None

    def is_code(self, line: str, *, is_whole: bool = True) -> bool:
        """Take in the next line, without its end; whether it belongs to a block of code.

        A line that is not whole says nothing about fences, so one that may have a fence ends the trust.
        """
        if not is_whole and not _behind_brackets(line).strip(_MARKS):
            return self.distrust()
        text = line.expandtabs(_TAB)
        if not text.strip(" "):
            self._after_blank = True
            return self._fence is not None
        is_code = self._goes_on(text) if self._fence else self._begins(text)
        self._after_blank = False
        return is_code

    def distrust(self) -> bool:
        """End the trust; returns False, as no line is code then."""
        self.trusted, self._fence = False, None
        return False

    def _goes_on(self, text: str) -> bool:
        assert self._fence is not None
        character, length, opened = self._fence
        column, bar = len(text) - len(text.lstrip(" ")), text.strip(" ")
        closes = len(bar) >= length and not bar.strip(character)
        if character * length in bar and OPENING.search(bar):
            return self.distrust()
        # Whether an indented fence ends here depends on where the text of its list item begins.
        if opened and (column < opened or (closes and column != opened)):
            return self.distrust()
        if closes and column <= max(opened, MOST_INDENTED):
            self._fence = None
        return True

    def _begins(self, text: str) -> bool:
        if not _HIDDEN_FENCE.match(_behind_brackets(text)):
            return False
        fence = _FENCE.fullmatch(text)
        column = len(text) - len(text.lstrip(" "))
        if not (fence and self.trusted and (column <= MOST_INDENTED or self._after_blank)):
            return self.distrust()
        self._fence = _Fence(fence[1][0], len(fence[1]), column)
        return True


def _behind_brackets(line: str) -> str:
    """What follows the brackets that a line begins with; "" if one of them has no end yet."""
    end = 0
    while opened := _OPENED.match(line, end):
        start = opened.end() - 1
        bracket = bracketed(line[start : start + MAX_BRACKET], is_all=False)
        if bracket is None:
            return ""
        end = start + len(bracket)
    return line[end:]
