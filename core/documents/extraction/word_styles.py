"""Which paragraphs of a DOCX are headings."""

from collections.abc import Iterable

from lxml.etree import _Element

from core.documents.extraction.ooxml import attribute

_BODY_LEVEL = 9


class Headings:
    """Knows the heading styles: by their names or outline levels, or those of the styles they build on."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        styles = {
            attribute(style, "styleId") or "": style for root in roots for style in root.iterfind("{*}style")
        }
        self._styles = {name for name in styles if _is_heading(name, styles)}

    def covers(self, properties: _Element | None) -> bool:
        """Whether a paragraph with these properties (`w:pPr`) is a heading."""
        if properties is None:
            return False
        level = _outline_level(properties)
        if level is not None:
            return level < _BODY_LEVEL
        return _value(properties, "{*}pStyle") in self._styles


def _is_heading(name: str, styles: dict[str, _Element]) -> bool:
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        style = styles[name]
        level = _outline_level(style)
        if level is not None:
            return level < _BODY_LEVEL
        title = (_value(style, "{*}name") or "").lower()
        if title == "title" or title.startswith("heading "):
            return True
        name = _value(style, "{*}basedOn") or ""
    return False


def _outline_level(element: _Element) -> int | None:
    value = _value(element, ".//{*}outlineLvl")
    return int(value) if value and value.isdecimal() else None


def _value(element: _Element, path: str) -> str | None:
    found = element.find(path)
    return None if found is None else attribute(found, "val")
