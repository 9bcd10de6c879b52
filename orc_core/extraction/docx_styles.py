"""Styles of a DOCX: which paragraphs are headings, how runs look, and automatic numbers such as `3.3`."""

import re
from collections.abc import Iterable, Iterator

from lxml.etree import _Element

from orc_core.extraction.looks import Look
from orc_core.extraction.packages import ABSENT, attribute, integer, local

_BODY_LEVEL = 9
_OFF = frozenset({"0", "false", "off", "none"})
_FONTS = {"rFonts": "ascii", "rFont": "val", "name": "val"}
_GONE = frozenset({"strike", "dstrike", "vanish"})
_LEAST_RISE = 4
"""Of a raised position, in half points."""


Listed = tuple[str, str | None, str]
"""The list of a paragraph (`w:numId`), its level if it is given, and the style that sets the list."""


class Styles:
    """The styles by id. A style has what it does not set itself from the one that it is based on."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        found = (style for root in roots for style in root.iterfind("{*}style"))
        self._styles = {attribute(style, "styleId") or "": style for style in found}
        self._headings = {name for name in self._styles if self._is_heading(name)}
        self._looks: dict[tuple[str, str], Look] = {}
        self._listed: dict[str, Listed] = {}

    def is_heading(self, properties: _Element | None) -> bool:
        """Whether a paragraph with these properties (`w:pPr`) is a heading."""
        if properties is None:
            return False
        level = _outline_level(properties)
        return level < _BODY_LEVEL if level is not None else value(properties, "{*}pStyle") in self._headings

    def numbering(self, properties: _Element) -> Listed:
        if own := _listed(properties):
            return own
        style = value(properties, "{*}pStyle") or ""
        if style not in self._listed:
            found = (_listed(each.find("{*}pPr"), name) for name, each in self._chain(style))
            self._listed[style] = next(filter(None, found), ("", None, ""))
        return self._listed[style]

    def look(self, run: _Element, paragraph_style: str) -> Look:
        """How a run looks by its own properties, its style and that of its paragraph."""
        own = run.find("{*}rPr")
        style = "" if own is None else value(own, "{*}rStyle") or ""
        key = style, paragraph_style
        if key not in self._looks:
            of_paragraph = self._look(Look(), self._chain(paragraph_style))
            self._looks[key] = self._look(of_paragraph, self._chain(style))
        return self._looks[key] if own is None else changed(self._looks[key], own)

    def _look(self, look: Look, chain: Iterable[tuple[str, _Element]]) -> Look:
        for _, style in reversed(list(chain)):
            if (properties := style.find("{*}rPr")) is not None:
                look = changed(look, properties)
        return look

    def _chain(self, name: str) -> Iterator[tuple[str, _Element]]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield name, self._styles[name]
            name = value(self._styles[name], "{*}basedOn") or ""

    def _is_heading(self, name: str) -> bool:
        for _, style in self._chain(name):
            level = _outline_level(style)
            if level is not None:
                return level < _BODY_LEVEL
            title = (value(style, "{*}name") or "").lower()
            if title == "title" or title.startswith("heading "):
                return True
        return False


def _listed(properties: _Element | None, style: str = "") -> Listed | None:
    listed = None if properties is None else properties.find("{*}numPr")
    number = None if listed is None else value(listed, "{*}numId")
    return None if listed is None or number is None else (number, value(listed, "{*}ilvl"), style)


def value(element: _Element, path: str) -> str | None:
    """The attribute `w:val` of the element at this path."""
    found = element.find(path)
    return None if found is None else attribute(found, "val")


def is_on(element: _Element) -> bool:
    return attribute(element, "val") not in _OFF


def changed(look: Look, properties: _Element) -> Look:
    """The look with these properties of a run, of a DOCX or an XLSX."""
    for child in properties:
        name = local(child)
        if name in _GONE:
            look = look.switched(name, is_on=is_on(child))
        elif name == "vertAlign":
            rises = {"superscript": 1, "subscript": -1}
            look = look._replace(rise=rises.get(attribute(child, "val") or "", 0))
        elif name == "position":
            half_points = attribute(child, "val") or ""
            number = int(half_points) if half_points.removeprefix("-").isdecimal() else 0
            look = look._replace(rise=(number >= _LEAST_RISE) - (number <= -_LEAST_RISE))
        elif name in _FONTS and (font := attribute(child, _FONTS[name])):
            look = look._replace(font=font)
    return look


def _outline_level(element: _Element) -> int | None:
    level = value(element, ".//{*}outlineLvl")
    return int(level) if level and level.isdecimal() else None


_LEVELS = 9
_MAX_NUMBER = 1_000_000
_PLACE = re.compile(r"%([1-9])")
_ROMAN = list(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        "m cm d cd c xc l xl x ix v iv i".split(),
        strict=True,
    )
)
FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""The forms of numbers by the letters that web pages and OpenDocument have for them."""
_UNCOUNTED = ("{*}rPr/{*}del", "{*}rPr/{*}moveFrom", "{*}rPr/{*}vanish")
_UNSHOWN = frozenset({"bullet", "none"})


class _Level:
    """A level of a list: the form of its numbers, and where it starts."""

    def __init__(self, element: _Element) -> None:
        self.start = integer(value(element, "{*}start"))
        self.form = value(element, "{*}numFmt") or "decimal"
        self.text = value(element, "{*}lvlText") or ""
        self.style = value(element, "{*}pStyle") or ""
        legal = element.find("{*}isLgl")
        self.is_legal = legal is not None and is_on(legal)
        self.restarts = value(element, "{*}lvlRestart") != "0"


class _List:
    """The levels of a list (`w:num`), and the counters, which lists of one definition share."""

    def __init__(self, number: _Element, definition: _Element, counters: list[int | None]) -> None:
        self._counters = counters
        self._starts: dict[int, int] = {}
        levels = {attribute(each, "ilvl"): each for each in definition.iterfind("{*}lvl")}
        for override in number.iterfind("{*}lvlOverride"):
            place = attribute(override, "ilvl")
            if (own := override.find("{*}lvl")) is not None:
                levels[place] = own
            if (start := value(override, "{*}startOverride")) is not None:
                self._starts[integer(place)] = integer(start)
        self.levels = [_Level(levels.get(str(at), ABSENT)) for at in range(_LEVELS)]

    def next(self, level: int) -> str:
        """The number of the next paragraph on this level."""
        if level in self._starts:
            self._counters[level] = None
        start = self._starts.pop(level, self.levels[level].start)
        current = self._counters[level]
        self._counters[level] = start if current is None else min(current + 1, _MAX_NUMBER)
        for deeper in range(level + 1, _LEVELS):
            if self.levels[deeper].restarts:
                self._counters[deeper] = None
        own = self.levels[level]
        if own.form in _UNSHOWN:
            return ""
        return _PLACE.sub(lambda place: self._shown(own, int(place[1]) - 1), own.text)

    def _shown(self, own: _Level, level: int) -> str:
        if self._counters[level] is None:
            self._counters[level] = self.levels[level].start
        return shown(self._counters[level] or 0, "decimal" if own.is_legal else self.levels[level].form)


class Numbers:
    """Counts the paragraphs of each list in the order of the document."""

    def __init__(self, roots: Iterable[_Element], styles: Styles) -> None:
        self._styles = styles
        self._lists: dict[str, _List] = {}
        for root in roots:
            abstract = {attribute(each, "abstractNumId"): each for each in root.iterfind("{*}abstractNum")}
            linked = {value(each, "{*}styleLink"): each for each in abstract.values()}
            counters: dict[str | None, list[int | None]] = {}
            for number in root.iterfind("{*}num"):
                name = value(number, "{*}abstractNumId")
                definition = abstract.get(name, ABSENT)
                if link := value(definition, "{*}numStyleLink"):
                    definition = linked.get(link, definition)
                shared = counters.setdefault(name, [None] * _LEVELS)
                self._lists[attribute(number, "numId") or ""] = _List(number, definition, shared)

    def next(self, properties: _Element, *, is_empty: bool) -> str:
        """The number of a paragraph with these properties (`w:pPr`); "" if it has none.

        Word counts empty paragraphs, but not deleted or hidden ones.
        """
        name, level, style = self._styles.numbering(properties)
        numbered = self._lists.get(name)
        if numbered is None or (is_empty and any(properties.find(mark) is not None for mark in _UNCOUNTED)):
            return ""
        if level is None:
            styled = (at for at, each in enumerate(numbered.levels) if style and each.style == style)
            return numbered.next(next(styled, 0))
        return numbered.next(min(integer(level), _LEVELS - 1))


def shown(number: int, form: str) -> str:
    """The number in one of the forms of Office files; unknown forms are decimal."""
    if form == "decimalZero":
        return f"{number:02d}"
    if form.endswith("Letter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 26)
        return letter.upper() if form == "upperLetter" else letter
    if form.endswith("Roman") and 0 < number < 4000:
        roman = ""
        for size, letters in _ROMAN:
            roman += letters * (number // size)
            number %= size
        return roman.upper() if form == "upperRoman" else roman
    return str(number)
