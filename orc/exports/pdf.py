"""Writes an export as a PDF file, in a child process. See docs/decisions/exports.md."""

import codecs
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import NamedTuple

from fpdf import FPDF

from orc.exports.fonts import BASE, Fonts
from orc.exports.tree import CitedSource, Entry, Heading
from orc_core.infra.sandbox_child import ChildMessage

MARGIN = 56.0
LINE = 1.35
"""Height of a line in sizes of its font."""
_GREY, _BLACK = 110, 0
_TAB = "    "
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
FEW = 20
"""Characters that fit on any line."""
_STRONG_DIRECTIONS = {"L": ("ltr", "L"), "R": ("rtl", "R"), "AL": ("rtl", "R")}
_MARKUP = re.compile(r"^ {0,3}(#{1,6}) +|^( *)[-*+] +")
_STRONG = re.compile(r"\*\*([^*\n]{1,400})\*\*")


class Style(NamedTuple):
    """How a paragraph is set: size in points, indent, grey level, space before it."""

    size: float = 10.0
    indent: float = 0.0
    grey: int = _BLACK
    before: float = 4.0


TITLE = Style(size=17, before=0)
SMALL = Style(size=8.5, grey=_GREY)
TURN = Style(size=8.5, grey=_GREY, before=16)
QUESTION = Style(size=12)
ANSWER = Style(indent=12)
NOTE = Style(indent=12, grey=_GREY)
SOURCE = Style(size=9, indent=12, before=5)
QUOTE = Style(size=9, indent=28, grey=_GREY, before=1)


SPACE_OF_TWO = 40.0
"""Points that a line and the first line below it take."""


class _Paper(FPDF):
    """Pages with a number at the foot."""

    def footer(self) -> None:
        self.set_font(BASE, size=SMALL.size)
        self.set_text_color(_GREY)
        self.text(self.w / 2 - 5, self.h - MARGIN / 2, str(self.page_no()))


def write_pdf(heading: dict[str, str], entries: Sequence[str], fonts_folder: str) -> Iterator[ChildMessage]:
    """The file, and how many characters no font had. The entries are JSON."""
    writer = PdfWriter(Heading(**heading), fonts_folder)  # type: ignore[arg-type]
    for entry in entries:
        writer.write(Entry.read(json.loads(entry)))
    content = writer.finish()
    yield ChildMessage({"boxes": writer.boxes}, content)


class PdfWriter:
    """Sets an export. `boxes` is the number of characters that no font had."""

    def __init__(self, heading: Heading, fonts_folder: str) -> None:
        self._pdf = _Paper(unit="pt", format="A4")
        self._pdf.set_auto_page_break(False)
        self._pdf.c_margin = 0
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
        about = f", about {', '.join(entry.documents)}" if entry.documents else ""
        self._keep_together(TURN.before + SPACE_OF_TWO)
        self._write(f"{entry.number}. {entry.asked_at}{about}", TURN)
        self._write(entry.question, QUESTION)
        for line in (entry.answer or "").split("\n") if entry.answer else ():
            self._write_markdown(line)
        if entry.note:
            self._write(entry.note, NOTE)
        for source in entry.sources:
            self._write_source(source)

    def finish(self) -> bytes:
        """The whole file, which ends in the number of boxes if there are any."""
        if count := self.boxes:
            what, whose = ("character is", "it") if count == 1 else ("characters are", "them")
            reason = f"{count:,} {what} shown as □, because no font of this server has {whose}."
            self._write(reason, SMALL._replace(before=20))
        content = bytes(self._pdf.output())
        self._fonts.close()
        return content

    def _write_markdown(self, line: str) -> None:
        markup = _MARKUP.match(line)
        rest = _STRONG.sub(r"\1", line[markup.end() :] if markup else line)
        if markup and markup[1]:
            self._write(rest, ANSWER._replace(size=11.5, before=6))
        elif markup:
            self._write(f"• {rest}", ANSWER._replace(indent=ANSWER.indent + 4 * len(markup[2]), before=1))
        else:
            self._write(rest, ANSWER._replace(before=1))

    def _write_source(self, source: CitedSource) -> None:
        self._keep_together(SPACE_OF_TWO)
        self._write(f"[{source.number}] {source.document}, {source.place}: {source.verdict}", SOURCE)
        if quote := " ".join(source.quote.split()):
            self._write(quote, QUOTE)

    def _write(self, text: str, style: Style) -> None:
        """Set a paragraph; its lines stay lines."""
        self._y += style.before
        for line in self._fonts.shown(text.replace("\t", _TAB)).split("\n"):
            for part in self._wrapped(line, style):
                self._set(part, style)

    def _wrapped(self, text: str, style: Style) -> Iterator[str]:
        """The text in parts that fit on a line; at least one."""
        width, limit = self._fonts.width, (self._pdf.w - 2 * MARGIN - style.indent) / style.size * 1000
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
            for end, character in enumerate(piece) if len(piece) > FEW else ():
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

    def _keep_together(self, height: float) -> None:
        """Go on at the next page unless this one has so much space left."""
        if self._y + height > self._pdf.h - MARGIN:
            self._pdf.add_page()
            self._y = MARGIN

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
        # Of text from the right, readers expect the order on the page, and reverse any other.
        spelled = "" if _FROM_THE_RIGHT.search(line) else line.strip()
        with self._spelled(spelled):
            self._pdf.cell(self._pdf.w - 2 * MARGIN - style.indent, height, line.strip(), align=align)
        self._pdf.set_text_shaping(use_shaping_engine=False)

    @contextmanager
    def _spelled(self, text: str) -> Iterator[None]:
        """Set glyphs that are copied as this text; as the character of each of them if it is empty.

        A vowel sign that is drawn before its letter, or apart from it, would be copied there.
        """
        if not text:
            yield
            return
        encoded = (codecs.BOM_UTF16_BE + text.encode("utf-16-be")).hex()
        # fpdf2 has no public call for text that replaces glyphs.
        self._pdf._out(f"/Span <</ActualText <{encoded}>>> BDC")
        yield
        self._pdf._out("EMC")
