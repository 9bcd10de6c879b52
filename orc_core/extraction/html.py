"""HTML: one unit for each heading."""

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag
from lxml.etree import XMLParser, fromstring

from orc_core.extraction.docx_styles import FORMS, shown
from orc_core.extraction.drawings import equation
from orc_core.extraction.looks import lowered, raised, with_symbols
from orc_core.extraction.packages import SAFE
from orc_core.extraction.pages import Block, UnitStream, by_heading
from orc_core.extraction.properties import sentence_of
from orc_core.extraction.tables import Cell, grid, render_rows, span
from orc_core.extraction.text import load

_UNSEEN = frozenset("script style noscript template svg title s strike del rt rp".split())
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data dfn em font i ins kbd label mark nobr output q rb ruby "
    "samp small span strong sub sup time tt u var wbr".split()
)
_NOT_APPLIED = re.compile(
    r"<!--|-->|/\*.*?\*/|@[^@{};]*+\{(?:[^{}]*+\{[^{}]*+\})*[^{}]*+\}|@[^@{};]*+;", re.DOTALL
)
"""Comments, and rules for some media."""
_XML, _HEAD = re.compile(r"(<\?xml[^>]*>)|<html[^>]* xmlns="), 1000
_EMPTY = re.compile(r"<((?!(?:br|hr|img|col|input|meta|link|base|wbr)\b)(\w+)(?:\s[^<>]*)?)/>")
"""An element that XHTML closes in its own tag; HTML does not."""
_NESTED = re.compile(r"\{[^{}]*+\{")
_PLAIN = re.compile(r"(?!\Z)(?:[a-zA-Z]\w*)?(?:[.#][a-zA-Z][\w-]*)*")
"""A selector without another element or a state: `tag`, `.class`, `#id`, `tag.class`."""
_SHEETS = "style:is(:not([media]), [media=all i], [media=screen i]):not(noscript *)"
_SEEN = re.compile("display|visibility|decoration|vertical-align|font-family|list-style", re.IGNORECASE)
MOST_RULES = 200
_STRUCK = ("text-decoration", "text-decoration-line")
_TICKS = frozenset({"checkbox", "radio"})
_TYPED = frozenset({"", "text", "number", "date", "time", "email", "tel", "url", "search", "month", "week"})
_NOTES = frozenset({"noteref", "doc-noteref"})
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
MAX_RAISED = 40
_SPACE = re.compile(r"\s+")
_AUTHOR = re.compile(r"author\Z", re.IGNORECASE)


def read(source: Path) -> UnitStream:
    """One unit for each heading; text before the first is labelled with the page's title."""
    blocks, title, author = parse(load(source))
    return UnitStream(by_heading(blocks, title), properties=sentence_of(title, author))


def to_text(markup: str) -> str:
    """All text of a page, in one piece."""
    blocks, *_ = parse(markup)
    return "\n".join(block.text for block in blocks)


def parse(markup: str, css: str = "", *, is_styled: bool = True) -> tuple[Iterator[Block], str, str]:
    """The blocks of a page, its title and its author. `css`: the style sheets that it links to.

    Style sheets that leave no text are not applied.
    """
    if is_xml := _XML.search(markup[:_HEAD]):
        markup = _EMPTY.sub(r"<\1></\2>", markup.replace(is_xml[1] or "", "", 1))
    content = f"{markup}\n".encode(errors="replace")  # one line without markup could be taken for a URL
    soup = BeautifulSoup(content, "lxml", from_encoding="utf-8")
    title = soup.title.get_text() if soup.title else ""
    author = soup.find("meta", attrs={"name": _AUTHOR})
    if is_styled:
        _apply_style_sheets(soup, css)
    for element in soup.find_all(_is_unseen):
        element.decompose()
    if is_styled and not soup.get_text(strip=True):
        return parse(markup, is_styled=False)
    for element in soup("math"):
        if not element.decomposed:  # as it is if it was in another one
            parser = XMLParser(recover=True, remove_comments=True, remove_pis=True, **SAFE)
            element.insert_before(equation(fromstring(str(element), parser)))
            element.decompose()
    for element in soup(True):
        _show_look(element)
    for items in soup("ol"):
        _number(items)
    for element in soup(["input", "select"]):
        element.replace_with(_filled_in(element))
    for table in soup("table"):
        if table.find("table") is None:  # otherwise it is layout
            caption = [_in_lines(table.caption)] if table.caption else []
            rows = render_rows(grid(_rows(table)), header=_count_headers(table))
            lines = "\n".join([*caption, *filter(None, rows)])
            table.replace_with(soup.new_tag("pre", string=lines))
    said = str(author.get("content") or "") if isinstance(author, Tag) else ""
    return _blocks(soup), " ".join(title.split()), said


def _apply_style_sheets(soup: BeautifulSoup, linked: str) -> None:
    """Put what style sheets say of how elements look before their own styles."""
    text = "\n".join([linked, *(sheet.get_text() for sheet in soup.select(_SHEETS))])
    at_times, always = "".join(_NOT_APPLIED.findall(text)), _NOT_APPLIED.sub("", text)
    if _NESTED.search(always):
        return
    rules = [
        (selector, declarations)
        for selectors, _, declarations in (rule.partition("{") for rule in always.split("}"))
        if _SEEN.search(declarations)
        for selector in map(str.strip, selectors.split(","))
        if _PLAIN.fullmatch(selector) and selector not in at_times
    ]
    rules = sorted(rules[:MOST_RULES], key=lambda rule: (rule[0].count("#"), rule[0].count(".")))
    for selector, declarations in reversed(rules):  # the last one counts
        for element in soup.select(selector):
            element["style"] = f"{declarations};{element.get('style') or ''}"


def _style(element: Tag) -> dict[str, str]:
    """The properties of an element in lower case; the last of several of a name counts."""
    pairs = (each.partition(":") for each in str(element.get("style") or "").lower().split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _is_unseen(element: Tag) -> bool:
    style = _style(element)
    is_hidden = style.get("display", "").startswith("none") or style.get("visibility", "").startswith("hid")
    is_hidden |= element.name == "dialog" and not element.has_attr("open")
    is_struck = any("line-through" in style.get(name, "") for name in _STRUCK)
    is_left_out = element.name in _UNSEEN or element.has_attr("hidden") or is_hidden or is_struck
    return is_left_out and element.name not in {"html", "body", "main"}


def _show_look(element: Tag) -> None:
    """Write figures that are raised or lowered, and signs of symbol fonts, as Unicode has them."""
    style = _style(element)
    rise = {"sup": "super", "sub": "sub"}.get(element.name, style.get("vertical-align", ""))
    rise = "super" if {element.get("epub:type"), element.get("role")} & _NOTES else rise
    if rise in {"super", "sub"} and len(text := element.get_text().strip()) <= MAX_RAISED:
        changed = raised(text) if rise == "super" else lowered(text)
        if changed != text:
            element.string = changed
    font = style.get("font-family") or str(element.get("face") or "")
    if "symbol" in font.lower() or "dings" in font.lower():
        for piece in element.find_all(string=True):
            piece.replace_with(with_symbols(str(piece), font.partition(",")[0].strip("'\" ")))


def _number(items: Tag) -> None:
    style = _style(items)
    if "none" in (style.get("list-style-type") or style.get("list-style", "")):
        return
    form, found = FORMS.get(str(items.get("type")), "decimal"), items.find_all("li", recursive=False)
    step = -1 if items.has_attr("reversed") else 1
    number = span(items.get("start") or (len(found) if step < 0 else 1)) - step
    for item in found:
        number = span(item.get("value") or number + step)
        text = next((piece for piece in item.strings if piece.strip()), None)
        label = shown(number, form)
        if text is not None and not text.lstrip().startswith((f"{label}.", f"{label})")):
            text.replace_with(f"{label}. {text.lstrip()}")


def _filled_in(element: Tag) -> str:
    """What is chosen in a form: `☒`, `☐`, a text, or the selected option."""
    if element.name == "select":
        options = element("option")
        chosen = [option for option in options if option.has_attr("selected")] or options[:1]
        return ", ".join(option.get_text(" ").strip() for option in chosen)
    kind = str(element.get("type") or "").lower()
    if kind in _TICKS:
        return "☒" if element.has_attr("checked") else "☐"
    return str(element.get("value") or "") if kind in _TYPED else ""


def _rows(table: Tag) -> Iterator[list[Cell]]:
    for row in table("tr"):
        yield [
            Cell(_in_lines(cell), span(cell.get("colspan")), span(cell.get("rowspan")))
            for cell in row(["td", "th"])
        ]


def _in_lines(element: Tag) -> str:
    return "\n".join(block.text for block in _blocks(element))


def _count_headers(table: Tag) -> int:
    """The number of rows at the top that have names of columns only."""
    rows = table("tr")
    return next((at for at, row in enumerate(rows) if row.find("th") is None or row.find("td")), len(rows))


def _blocks(soup: Tag) -> Iterator[Block]:
    """The text, one block for each run inside the same block-level element."""
    pieces: list[str] = []
    current: Tag | None = soup
    for node in soup.descendants:
        if isinstance(node, Tag) and node.name == "br":
            pieces.append("\n")
        if not isinstance(node, NavigableString) or isinstance(node, PreformattedString):
            continue
        block = node.parent
        while block is not None and block.name in _INLINE:
            block = block.parent
        if block is not current:
            yield from _block(pieces, current)
            pieces, current = [], block
        preformatted = block is not None and block.name == "pre"
        pieces.append(str(node) if preformatted else _SPACE.sub(" ", node))
    yield from _block(pieces, current)


def _block(pieces: list[str], element: Tag | None) -> Iterator[Block]:
    text = "".join(pieces).strip()
    if text:
        is_heading = element is not None and element.name in _HEADINGS
        yield Block(text, " ".join(text.split()) if is_heading else "")
