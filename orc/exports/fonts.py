"""The fonts of a PDF file: which one has a character, how wide it is, and what is shown if none has it."""

import logging
import unicodedata
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.fonts import TTFFont

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
_TAB = "    "

Key = TypeVar("Key")
Value = TypeVar("Value")

log = logging.getLogger(__name__)


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
        """The text in normal form C without tabs, with boxes for characters that no font has."""
        if text.isascii() and text.isprintable():
            return text
        normal = normalized("NFC", text.replace("\t", _TAB))
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
