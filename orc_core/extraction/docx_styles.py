"""Styles of a DOCX: which paragraphs are headings, and how runs look."""

from collections.abc import Iterable, Iterator

from lxml.etree import _Element

from orc_core.extraction.looks import Look
from orc_core.extraction.packages import attribute, local

_BODY_LEVEL = 9
_OFF = frozenset({"0", "false", "off", "none"})
_GONE = frozenset({"strike", "dstrike", "vanish"})
_LEAST_RISE = 4
"""Of a raised position, in half points."""


class Styles:
    """The styles by id. A style has what it does not set itself from the one that it is based on."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        found = (style for root in roots for style in root.iterfind("{*}style"))
        self._styles = {attribute(style, "styleId") or "": style for style in found}
        self._headings = {name for name in self._styles if self._is_heading(name)}
        self._looks: dict[tuple[str, str], Look] = {}

    def is_heading(self, properties: _Element | None) -> bool:
        """Whether a paragraph with these properties (`w:pPr`) is a heading."""
        if properties is None:
            return False
        level = _outline_level(properties)
        return level < _BODY_LEVEL if level is not None else value(properties, "{*}pStyle") in self._headings

    def numbering(self, properties: _Element) -> tuple[str, str | None, str]:
        """The list of a paragraph (`w:numId`), its level if it is given, and the style that sets the list."""
        style = value(properties, "{*}pStyle") or ""
        owners = [("", properties), *((name, each.find("{*}pPr")) for name, each in self._chain(style))]
        for name, owner in owners:
            listed = None if owner is None else owner.find("{*}numPr")
            if listed is not None and (number := value(listed, "{*}numId")) is not None:
                return number, value(listed, "{*}ilvl"), name
        return "", None, ""

    def look(self, run: _Element, paragraph_style: str) -> Look:
        """How a run looks by its own properties, its style and that of its paragraph."""
        own = run.find("{*}rPr")
        style = "" if own is None else value(own, "{*}rStyle") or ""
        key = style, paragraph_style
        if key not in self._looks:
            of_paragraph = self._look(Look(), self._chain(paragraph_style))
            self._looks[key] = self._look(of_paragraph, self._chain(style))
        return self._looks[key] if own is None else _changed(self._looks[key], own)

    def _look(self, look: Look, chain: Iterable[tuple[str, _Element]]) -> Look:
        for _, style in reversed(list(chain)):
            if (properties := style.find("{*}rPr")) is not None:
                look = _changed(look, properties)
        return look

    def _chain(self, name: str) -> Iterator[tuple[str, _Element]]:
        """The style and those that it is based on."""
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


def value(element: _Element, path: str) -> str | None:
    """The attribute `w:val` of the element at this path."""
    found = element.find(path)
    return None if found is None else attribute(found, "val")


def is_on(element: _Element) -> bool:
    """Whether a property that is there is switched on."""
    return attribute(element, "val") not in _OFF


def _changed(look: Look, properties: _Element) -> Look:
    for child in properties:
        name = local(child)
        if name in _GONE:
            look = look.switched(name, is_on=is_on(child))
        elif name == "vertAlign":
            rises = {"superscript": 1, "subscript": -1}
            look = look._replace(rise=rises.get(attribute(child, "val") or "", 0))
        elif name == "position":
            look = look._replace(rise=_rise(attribute(child, "val") or ""))
        elif name == "rFonts" and (font := attribute(child, "ascii")):
            look = look._replace(font=font)
    return look


def _rise(half_points: str) -> int:
    number = int(half_points) if half_points.removeprefix("-").isdecimal() else 0
    return (number >= _LEAST_RISE) - (number <= -_LEAST_RISE)


def _outline_level(element: _Element) -> int | None:
    level = value(element, ".//{*}outlineLvl")
    return int(level) if level and level.isdecimal() else None
