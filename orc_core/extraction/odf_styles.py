"""Styles of OpenDocument: how text looks, and the numbers of lists."""

from collections.abc import Iterator

from lxml.etree import _Element

from orc_core.extraction.docx_styles import FORMS, shown
from orc_core.extraction.looks import Look
from orc_core.extraction.packages import attribute, integer, local

_LEVELS = 10
_MOST_SHOWN = 9


class Styles:
    """The styles by family and name. A style has what it does not set itself from its parent."""

    def __init__(self, *roots: _Element) -> None:
        self._styles = {
            (attribute(style, "family"), attribute(style, "name")): style
            for root in roots
            for style in root.iter("{*}style")
        }
        self._fonts = {
            attribute(face, "name"): (attribute(face, "font-family") or "").strip("'")
            for root in roots
            for face in root.iter("{*}font-face")
        }
        self._looks: dict[tuple[str, str | None], Look] = {}

    def look(self, family: str, name: str | None) -> Look:
        if (family, name) not in self._looks:
            look = Look()
            for style in reversed(list(self._chain(family, name))):
                if (properties := style.find("{*}text-properties")) is not None:
                    look = _changed(look, properties)
            self._looks[family, name] = look._replace(font=self._fonts.get(look.font) or look.font)
        return self._looks[family, name]

    def is_displayed(self, table: _Element) -> bool:
        chain = self._chain("table", attribute(table, "style-name"))
        properties = (style.find("{*}table-properties") for style in chain)
        shown_as = (attribute(each, "display") for each in properties if each is not None)
        return next(filter(None, shown_as), "true") != "false"

    def is_shown(self, slide: _Element) -> bool:
        chain = self._chain("drawing-page", attribute(slide, "style-name"))
        properties = (style.find("{*}drawing-page-properties") for style in chain)
        return all(attribute(each, "visibility") != "hidden" for each in properties if each is not None)

    def _chain(self, family: str, name: str | None) -> Iterator[_Element]:
        seen: set[str | None] = set()
        while (family, name) in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[family, name]
            name = attribute(self._styles[family, name], "parent-style-name")


def _changed(look: Look, properties: _Element) -> Look:
    for key, value in ((str(key), str(value)) for key, value in properties.attrib.items()):
        name = key.rpartition("}")[2]
        if name == "text-position":
            place = value.split()[0] if value.split() else ""
            number = place.rstrip("%").removeprefix("-")
            is_level = number.isdecimal() and int(number) == 0
            look = look._replace(rise=0 if is_level else -1 if place.startswith(("sub", "-")) else 1)
        elif name in {"text-line-through-style", "text-line-through-type"}:
            look = look.switched(name, is_on=value != "none")
        elif name == "display":
            look = look.switched(name, is_on=value == "none")
        elif name in {"font-name", "font-family"}:
            look = look._replace(font=value.strip("'"))
    return look


class Numbers:
    """Counts the items of lists and the headings in the order of the document."""

    def __init__(self, *roots: _Element) -> None:
        self._levels: dict[str | None, dict[int, _Element]] = {}
        for root in roots:
            for style in root.iter("{*}list-style", "{*}outline-style"):
                name = attribute(style, "name") if local(style) == "list-style" else ""
                self._levels[name] = {
                    min(integer(attribute(each, "level"), 1), _LEVELS): each for each in style
                }
        self._counters: dict[str | None, dict[int, int]] = {}

    def start(self, style: str | None) -> None:
        """Begin a list that does not continue another one of its style."""
        self._counters.pop(style, None)

    def next(self, style: str | None, level: int) -> str:
        """The number of the next item of a list, or of the next heading (style ""); "" if it has none."""
        levels = self._levels.get(style, {})
        own = levels.get(level)
        if own is None:
            return ""
        counters = self._counters.setdefault(style, {})
        counters[level] = counters.get(level, integer(attribute(own, "start-value"), 1) - 1) + 1
        for deeper in [each for each in counters if each > level]:
            del counters[deeper]
        if not attribute(own, "num-format"):
            return ""
        first = max(level - min(integer(attribute(own, "display-levels"), 1), _MOST_SHOWN) + 1, 1)
        parts = []
        for place in range(first, level + 1):
            form = attribute(levels[place], "num-format") if place in levels else "1"
            if form:
                parts.append(shown(counters.get(place, 1), FORMS.get(form, "decimal")))
        return f"{attribute(own, 'num-prefix') or ''}{'.'.join(parts)}{attribute(own, 'num-suffix') or ''}"
