"""Decides line by line which lines of a Markdown text every renderer shows as a block of code."""

import re
from typing import NamedTuple

_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])( +)(?=\S)")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)(.*)")
_INFO = re.compile(r"[\w+#.:{}=\"' -]*")
_STRUCTURE = re.compile(r"[ \t>*+\-.)\d]*+")
_HIDDEN_FENCE = re.compile(r"[ *+\-.)\d]*+(?:`{3}|~{3})")
_MARKS = " \t>*+-.)0123456789`~"
"""What a line may consist of before and in a fence."""
_TAB = 4
MOST_INDENTED = 3
"""Columns by which a fence may be indented within its list item."""


class _Fence(NamedTuple):
    character: str
    length: int
    column: int


class CodeBlocks:
    """Follows the fences of a text. `trusted` ends permanently at the first line that renderers may read
    differently; from then on nothing counts as code.

    `in_math`: whether a `$$` is open, set by the caller.
    """

    def __init__(self) -> None:
        self.trusted = True
        self.in_math = False
        self._in_directive = False
        self._begun = False
        self._after_blank = True
        self._fence: _Fence | None = None
        self._columns: list[int] = []

    @property
    def closing(self) -> str:
        """The line that closes the block of code that is open; "" if none is."""
        return " " * self._fence.column + self._fence.character * self._fence.length if self._fence else ""

    def needs_more(self, line: str) -> bool:
        """Whether more of this line has to be known before `is_code` can judge it."""
        rest = line[_STRUCTURE.match(line).end() :]  # type: ignore[union-attr]
        return self._fence is not None or not rest or rest[0] in "`~:"

    def is_code(self, line: str, *, is_whole: bool = True) -> bool:
        """Take in the next line, without its end; whether it belongs to a block of code.

        A line that is not whole says nothing about fences, so one that may have a fence ends the trust.
        """
        if not is_whole and not line.strip(_MARKS):
            return self._distrust()
        text = line.expandtabs(_TAB)
        if not self._begun:
            # An answer is shown without its leading white space.
            text = text.lstrip()
            self._begun = bool(text)
        body = text.lstrip(" ")
        if not body:
            self._after_blank = True
            return self._fence is not None
        column = len(text) - len(body)
        is_code = self._goes_on(column, body) if self._fence else self._begins(column, body)
        self._after_blank = False
        return is_code

    def _goes_on(self, column: int, body: str) -> bool:
        assert self._fence is not None
        character, length, opened = self._fence
        bar = body.rstrip(" ")
        closes = len(bar) >= length and not bar.strip(character)
        if opened == 0:
            if closes and column <= MOST_INDENTED:
                self._fence = None
            return True
        # Whether a fence in a list ends here depends on where the list's text begins.
        if column < opened or (closes and column != opened):
            return self._distrust()
        if closes:
            self._fence = None
        return True

    def _begins(self, column: int, body: str) -> bool:
        column, body = self._enter_items(column, body)
        if body.startswith(":::"):
            self._in_directive = True
        if body.startswith(">") or not _HIDDEN_FENCE.match(body):
            return False
        fence = _FENCE.match(body)
        if fence and fence[1][0] == "`" and "`" in fence[2]:
            return False
        above = self._columns[-1] if self._columns else 0
        is_certain = fence and _INFO.fullmatch(fence[2]) and column - above <= MOST_INDENTED
        if fence is None or not is_certain or not self.trusted or self.in_math or self._in_directive:
            return self._distrust()
        self._fence = _Fence(fence[1][0], len(fence[1]), column)
        return True

    def _enter_items(self, column: int, body: str) -> tuple[int, str]:
        """The column and the text behind the markers of list items on this line."""
        left = False
        while self._columns and column < self._columns[-1]:
            self._columns.pop()
            left = True
        while item := _ITEM.match(body):
            above = self._columns[-1] if self._columns else 0
            interrupts = item[1] is None or int(item[1]) == 1
            if column - above > MOST_INDENTED or not (interrupts or self._after_blank or left):
                break
            if len(item[2]) > MOST_INDENTED + 1:
                self._columns.append(column + item.end() - len(item[2]) + 1)
                break
            column, body = column + item.end(), body[item.end() :]
            self._columns.append(column)
        return column, body

    def _distrust(self) -> bool:
        self.trusted, self._fence = False, None
        return False
