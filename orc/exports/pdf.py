"""Writes an export as a PDF file, in a child process. See docs/decisions/exports.md."""

import codecs
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.fonts import TTFFont

from orc.exports.tree import Entry, Heading, with_numbers
from orc_core.infra.sandbox_child import ChildMessage
from orc_core.text.normal_forms import normalized

BOX = "\u25a1"
BASE = "base"
MOST_FILES = 400
"""Fonts of the folder that are opened to look for characters."""
_PACKAGES = ("fontpkg_noto_sans", "fontpkg_amiri", "fontpkg_noto_sans_thai")
"""Amiri has a glyph for each Arabic letter, so that copied text is in order; Noto draws the dots apart."""
BOX_FONT = Path(__file__).with_name("box.ttf")
_FORMATS = {".ttf", ".otf", ".ttc", ".otc"}
_OUTLINES = ("glyf", "CFF ")
_NOT_REGULAR = ("Bold", "Italic", "Oblique", "Black", "Light", "Thin", "Mono", "Serif", "Condensed")
_INVISIBLE = {"Cf", "Mn", "Me"}

Key = TypeVar("Key")
Value = TypeVar("Value")

log = logging.getLogger(__name__)
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
SPACE_OF_TWO = 40.0
"""Points that a line and the first line below it take."""


class _File(NamedTuple):
    """A font of the folder, and its characters."""

    path: Path
    codes: frozenset[int]


class Fonts:
    """The fonts of one PDF file. `boxes` counts the characters that were replaced."""

    def __init__(self, pdf: FPDF, folder: str) -> None:
        self.boxes = 0
        self._pdf = pdf
        self._families = [BASE]
        pdf.add_font(BASE, fname=str(_installed(_PACKAGES[0])))
        for package in _PACKAGES[1:]:
            self._add(_installed(package))
        self._add(BOX_FONT)
        self._more = _others(Path(folder)) if folder else iter(())
        self._opened: list[_File] = []
        self.family = _Cache(self._find)
        # In thousandths of the font's size.
        self.width = _Cache[str, float](lambda each: float(self._font(self.family[each]).cw[ord(each)]))
        self._shown: dict[int, str] = _Cache(self._show)

    @property
    def families(self) -> list[str]:
        """All fonts that are in use so far."""
        return list(self._families)

    def shown(self, text: str) -> str:
        """The text in normal form C, with boxes for characters that no font has."""
        if text.isascii() and text.isprintable():
            return text
        normal = normalized("NFC", text)
        shown = normal.translate(self._shown)
        self.boxes += shown.count(BOX) - normal.count(BOX)
        return shown

    def close(self) -> None:
        """Close the files of the fonts."""
        for family in self._families:
            self._font(family).close()

    def _show(self, code: int) -> str:
        character = chr(code)
        if self.family[character]:
            return character
        return "" if unicodedata.category(character) in _INVISIBLE else BOX

    def _find(self, character: str) -> str:
        """The first family with the character; "" if none has it."""
        code = ord(character)
        for family in self._families:
            if code in self._font(family).cmap:
                return family
        if unicodedata.category(character) in {"Cc", "Cf", "Cn", "Cs"}:
            return ""
        for file in chain(tuple(self._opened), self._opening()):
            if code in file.codes and (added := self._add(file.path)):
                return added
        return ""

    def _opening(self) -> Iterator[_File]:
        for file in self._more:
            self._opened.append(file)
            yield file

    def _font(self, family: str) -> TTFFont:
        font = self._pdf.fonts[family]
        assert isinstance(font, TTFFont)
        return font

    def _add(self, path: Path) -> str:
        """The family of the font once it can be used; "" if it cannot."""
        family = str(path).lower()
        if family in self._families:
            return family
        try:
            self._pdf.add_font(family, fname=str(path))
        except Exception:
            # A library that reads a damaged font can raise anything; other fonts may have the character.
            log.warning("export.font_refused file=%s", path, exc_info=True)
            return ""
        self._families.append(family)
        return family


class _Cache(dict[Key, Value]):
    """Computes each value once, when it is first asked for."""

    def __init__(self, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: Key) -> Value:
        value = self[key] = self._compute(key)
        return value


def _installed(package: str) -> Path:
    """The upright font of an installed package of fonts."""
    found = find_spec(package)
    assert found is not None
    assert found.origin is not None
    files = sorted(Path(found.origin).with_name("files").glob("*.ttf"))
    return next(path for path in files if not any(word in path.name for word in ("Bold", "Italic")))


def _others(folder: Path) -> Iterator[_File]:
    """The fonts below the folder with their characters, upright sans-serif ones of normal weight first."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _FORMATS)
    found.sort(key=lambda path: sum(word in path.stem for word in _NOT_REGULAR))
    for path in found[:MOST_FILES]:
        try:
            # Of a collection the first font counts; one that has pictures only has no characters.
            with TTFont(path, lazy=True, fontNumber=0) as font:
                has_outlines = any(table in font for table in _OUTLINES)
                characters = frozenset(font.getBestCmap() or () if has_outlines else ())
            yield _File(path, characters)
        except Exception:
            log.warning("export.font_unreadable file=%s", path, exc_info=True)


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
        for line in with_numbers(entry.answer or "").split("\n") if entry.answer else ():
            markup = _MARKUP.match(line)
            rest = _STRONG.sub(r"\1", line[markup.end() :] if markup else line)
            if markup and markup[1]:
                self._write(rest, ANSWER._replace(size=11.5, before=6))
            elif markup:
                self._write(f"• {rest}", ANSWER._replace(indent=ANSWER.indent + 4 * len(markup[2]), before=1))
            else:
                self._write(rest, ANSWER._replace(before=1))
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
        self._pdf.cell(self._pdf.w - 2 * MARGIN - style.indent, height, line.strip(), align=align)
        if text:
            self._pdf._out("EMC")
        self._pdf.set_text_shaping(use_shaping_engine=False)

    def _keep_together(self, height: float) -> None:
        """Go on at the next page unless this one has so much space left."""
        if self._y + height > self._pdf.h - MARGIN:
            self._pdf.add_page()
            self._y = MARGIN
