"""Writes an export as a PDF file, in a child process. See docs/decisions/exports.md."""

import codecs
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from fpdf import FPDF
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from orc.exports.fonts import BASE, Fonts
from orc.exports.tree import Entry, Heading, with_numbers
from orc_core.infra.sandbox_child import ChildMessage

MARGIN = 56.0
WIDTH = 595.28 - 2 * MARGIN
"""Of the text, in points of A4."""
LINE = 1.35
"""Height of a line in sizes of its font."""
_GREY, _BLACK = 110, 0
_LIGHT, _WHITE = 225, 255
_COMPLEX = re.compile(
    r"[\u0300-\u036f\u0590-\u109f\u1780-\u17ff\u1ab0-\u1aff\ufb1d-\ufdff\ufe70-\ufefc"
    r"\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Scripts that are written from the right, or whose letters change with their neighbours."""
_FROM_THE_RIGHT = re.compile(
    r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_IDEOGRAPHS = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_PIECES = re.compile(rf"[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+|\s+")
"""What is never divided unless it is longer than a line. Lines may end between any two Chinese characters."""
WIDEST = 1400
"""Nearly no character is wider, in thousandths of the font's size."""
_STRONG_DIRECTIONS = {"L": ("ltr", "L"), "R": ("rtl", "R"), "AL": ("rtl", "R")}
_MARKUP = re.compile(r"^ {0,3}(#{1,6}) +|^( *)[-*+] +")
_STRONG = re.compile(r"\*\*([^*\n]{1,400})\*\*")
_ROW_BREAK = re.compile("<br ?/?>", re.I)
SPACE_OF_TWO = 40.0
"""Points that a line and the first line below it take."""
PAD = 3.0
"""Points between the text of a cell and its border."""
NARROWEST = 24.0
"""Points of a column that any character fits in; a table with more columns than that stays lines of text."""


class Style(NamedTuple):
    """How a paragraph is set: size in points, indents, grey level, space before it."""

    size: float = 10.0
    indent: float = 0.0
    right: float = 0.0
    grey: int = _BLACK
    before: float = 4.0

    @property
    def width(self) -> float:
        """Points that a line may have."""
        return WIDTH - self.indent - self.right


TITLE = Style(size=17, before=0)
SMALL = Style(size=8.5, grey=_GREY)
TURN = Style(size=8.5, grey=_GREY, before=16)
QUESTION = Style(size=12)
ANSWER = Style(indent=12)
CELL = Style(size=9, indent=12)
NOTE = Style(indent=12, grey=_GREY)
SOURCE = Style(size=9, indent=12, before=5)
QUOTE = Style(size=9, indent=28, grey=_GREY, before=1)


class _Paper(FPDF):
    """Pages with a number at the foot."""

    def footer(self) -> None:
        self.set_font(BASE, size=SMALL.size)
        self.set_text_color(_GREY)
        self.text(self.w / 2 - 5, self.h - MARGIN / 2, str(self.page_no()))


def write_pdf(heading: dict[str, Any], entries: Sequence[str], fonts_folder: str) -> Iterator[ChildMessage]:
    """The file, and how many characters no font had. The entries are JSON."""
    writer = PdfWriter(Heading.read(heading), fonts_folder)
    for entry in entries:
        writer.write(Entry.read(json.loads(entry)))
    content = writer.finish()
    yield ChildMessage({"boxes": writer.boxes}, content)


def tables_in(text: str) -> dict[int, tuple[int, list[list[str]]]]:
    """The tables of an answer by their first lines: the line after each, and its rows of cells.

    Without those whose columns are too many for the page: they stay lines.
    """
    if "|" not in text:
        return {}
    nodes = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text)).walk()
    found = {}
    for table in (node for node in nodes if node.type == "table"):
        rows = [
            [_ROW_BREAK.sub("\n", _STRONG.sub(r"\1", cell.children[0].content)) for cell in row.children]
            for part in table.children
            for row in part.children
        ]
        if table.map and len(rows[0]) * NARROWEST <= CELL.width:
            found[table.map[0]] = table.map[1], rows
    return found


class PdfWriter:
    """Sets an export. `boxes` is the number of characters that no font had."""

    def __init__(self, heading: Heading, fonts_folder: str) -> None:
        self._pdf = _Paper(unit="pt", format="A4")
        self._pdf.set_auto_page_break(False)
        self._pdf.c_margin = 0
        self._labels = heading.labels
        self._fonts = Fonts(self._pdf, fonts_folder)
        self._pdf.set_title(heading.title)
        self._pdf.set_creator("Orc")
        self._pdf.add_page()
        self._y = MARGIN
        self._write(heading.title, TITLE)
        self._write(heading.line, SMALL)

    @property
    def boxes(self) -> int:
        return self._fonts.boxes

    def write(self, entry: Entry) -> None:
        """Add one turn."""
        about = f" · {self._labels.about}: {', '.join(entry.documents)}" if entry.documents else ""
        self._keep_together(TURN.before + SPACE_OF_TWO)
        self._write(f"{entry.number}. {entry.asked_at}{about}", TURN)
        self._write(entry.question, QUESTION)
        if entry.answer:
            self._answer(with_numbers(entry.answer).replace("\r\n", "\n").replace("\r", "\n"))
        if entry.note:
            self._write(entry.note, NOTE)
        for source in entry.sources:
            self._keep_together(SPACE_OF_TWO)
            named = f"[{source.number}] {source.document}, {source.place}: "
            for quote in source.quotes:
                self._write(f"{named}{quote.verdict}", SOURCE)
                if text := " ".join(quote.text.split()):
                    self._write(text, QUOTE)
                named = ""

    def finish(self) -> bytes:
        """The whole file, which ends in the number of boxes if there are any."""
        if count := self.boxes:
            said = self._labels.box if count == 1 else self._labels.boxes.format(n=f"{count:,}")
            self._write(said, SMALL._replace(before=20))
        content = bytes(self._pdf.output())
        self._fonts.close()
        return content

    def _answer(self, text: str) -> None:
        lines, tables, at = text.split("\n"), tables_in(text), 0
        while at < len(lines):
            if at in tables:
                at, rows = tables[at]
                self._table(rows)
                continue
            line, at = lines[at], at + 1
            markup = _MARKUP.match(line)
            rest = _STRONG.sub(r"\1", line[markup.end() :] if markup else line)
            if markup and markup[1]:
                self._write(rest, ANSWER._replace(size=11.5, before=6))
            elif markup:
                self._write(f"• {rest}", ANSWER._replace(indent=ANSWER.indent + 4 * len(markup[2]), before=1))
            else:
                self._write(rest, ANSWER._replace(before=1))

    def _table(self, rows: list[list[str]]) -> None:
        """Set a table. Narrow columns are as wide as their text, the others share what is left."""
        shown = [[[self._fonts.shown(line) for line in cell.split("\n")] for cell in row] for row in rows]
        width, left = self._fonts.width, CELL.width
        columns = [[line for cell in column for line in cell] for column in zip(*shown, strict=True)]
        # With a point more, or an error of rounding would break a line.
        wanted = [max(sum(map(width.__getitem__, line)) for line in lines) for lines in columns]
        wanted = [each * CELL.size / 1000 + 2 * PAD + 1 for each in wanted]
        shares = [0.0] * len(wanted)
        for place, column in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
            shares[column] = min(wanted[column], left / (len(wanted) - place))
            left -= shares[column]
        borders = pairwise(accumulate(shares, initial=CELL.indent))
        styles = [CELL._replace(indent=start + PAD, right=WIDTH - end + PAD) for start, end in borders]
        self._y += CELL.before
        for row in shown:
            cells = [
                [line for text in cell for line in self._wrapped(text, style)]
                for cell, style in zip(row, styles, strict=True)
            ]
            self._row(cells, styles, _LIGHT if row is shown[0] else _WHITE)
        self._y += CELL.before

    def _row(self, left: list[list[str]], styles: list[Style], fill: int) -> None:
        """Set the lines of cells, cell by cell; what does not fit goes on at the next page."""
        height = CELL.size * LINE
        while most := max(map(len, left)):
            self._keep_together(min(most * height + 2 * PAD, SPACE_OF_TWO))
            top = self._y
            most = min(most, max(1, int((self._pdf.h - MARGIN - top - 2 * PAD) / height)))
            bottom = top + most * height + 2 * PAD
            self._pdf.set_draw_color(_LIGHT)
            self._pdf.set_fill_color(fill)
            for lines, style in zip(left, styles, strict=True):
                x, wide = MARGIN + style.indent - PAD, style.width + 2 * PAD
                self._pdf.rect(x, top, wide, bottom - top, style="DF")
                self._y = top + PAD
                for line in lines[:most]:
                    self._set(line, style)
            self._y, left = bottom, [lines[most:] for lines in left]

    def _write(self, text: str, style: Style) -> None:
        """Set a paragraph; its lines stay lines."""
        self._y += style.before
        for line in map(self._fonts.shown, text.split("\n")):
            for part in self._wrapped(line, style):
                self._set(part, style)

    def _wrapped(self, text: str, style: Style) -> Iterator[str]:
        """The text in parts that fit on a line; at least one."""
        width, limit = self._fonts.width, style.width / style.size * 1000
        line, used = "", 0.0
        for piece in self._pieces(text, limit):
            wide = sum(map(width.__getitem__, piece))
            if used + wide > limit and line and not piece.isspace():
                yield line
                line, used = "", 0.0
            line += piece
            used += wide
        yield line

    def _pieces(self, text: str, limit: float) -> Iterator[str]:
        """What a line is not divided in, cut if it is wider than a whole line."""
        width = self._fonts.width
        for piece in _PIECES.findall(text):
            start, used = 0, 0.0
            for end, character in enumerate(piece) if len(piece) * WIDEST > limit else ():
                used += width[character]
                if used > limit:
                    yield piece[start:end]
                    start, used = end, width[character]
            yield piece[start:]

    def _set(self, line: str, style: Style) -> None:
        """Set one line."""
        height = style.size * LINE
        self._keep_together(height)
        self._pdf.set_text_color(style.grey)
        if _COMPLEX.search(line):
            self._set_shaped(line, style, height)
        else:
            self._set_plain(line, style)
        self._y += height

    def _set_plain(self, line: str, style: Style) -> None:
        x = MARGIN + style.indent
        for family, characters in groupby(line.rstrip(), key=self._fonts.family.__getitem__):
            run = "".join(characters)
            self._pdf.set_font(family, size=style.size)
            self._pdf.text(x, self._y + style.size, run)
            x += sum(map(self._fonts.width.__getitem__, run)) * style.size / 1000

    def _set_shaped(self, line: str, style: Style, height: float) -> None:
        strong = next(filter(_STRONG_DIRECTIONS.get, map(unicodedata.bidirectional, line)), "L")
        direction, align = _STRONG_DIRECTIONS[strong]
        self._pdf.set_font(BASE, size=style.size)
        self._pdf.set_fallback_fonts(self._fonts.families[1:])
        self._pdf.set_text_shaping(use_shaping_engine=True, direction=direction)
        self._pdf.set_xy(MARGIN + style.indent, self._y)
        # Of text from the right, readers expect the order on the page, and reverse any other. Else the glyphs
        # are copied as the text: a vowel sign that is drawn before its letter, or apart from it, would be
        # copied there.
        text = "" if _FROM_THE_RIGHT.search(line) else line.strip()
        if text:
            encoded = (codecs.BOM_UTF16_BE + text.encode("utf-16-be")).hex()
            # fpdf2 has no public call for text that replaces glyphs.
            self._pdf._out(f"/Span <</ActualText <{encoded}>>> BDC")
        self._pdf.cell(style.width, height, line.strip(), align=align)
        if text:
            self._pdf._out("EMC")
        self._pdf.set_text_shaping(use_shaping_engine=False)

    def _keep_together(self, height: float) -> None:
        """Go on at the next page unless this one has so much space left."""
        if self._y + height > self._pdf.h - MARGIN:
            self._pdf.add_page()
            self._y = MARGIN
