"""PPTX: one unit for each slide."""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml.etree import _Element

from orc_core.extraction.docx_styles import shown
from orc_core.extraction.drawings import chart_lines, description, formula
from orc_core.extraction.looks import Look
from orc_core.extraction.packages import ABSENT, Package, attribute, link_id, local, with_address
from orc_core.extraction.pages import Unit, UnitStream, numbered_pages, unreadable
from orc_core.extraction.properties import count_of, of_office
from orc_core.extraction.tables import Cell, grid, render_rows, span

_TITLES = frozenset({"title", "ctrTitle"})
_ON = frozenset({"1", "true"})
_UNSEEN = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_FORMS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_FORM = re.compile("(alphaLc|alphaUc|romanLc|romanUc|arabic)(?:Paren(Both|R))?")


def read(source: Path, memory_bytes: int) -> UnitStream:
    """The slides in order, each with its tables, diagrams, charts, descriptions and speaker notes."""
    package = Package(source, memory_bytes)
    main = package.main_part("ppt/presentation.xml")
    presentation = package.root(main)
    if presentation is None:
        raise unreadable("corrupt")
    links = package.relations(main)
    listed = map(link_id, presentation.iterfind(".//{*}sldIdLst/{*}sldId"))
    parts = [links[each].part for each in listed if each in links]
    if not parts:
        raise unreadable("empty")
    slides = numbered_pages(_slide(package, part) for part in parts)
    return UnitStream(slides, len(parts), of_office(package, count_of(len(parts), "slide")))


def _slide(package: Package, part: str) -> Unit:
    """The slide's text; a slide whose part is missing has none."""
    root = package.root(part)
    if root is None:
        return Unit("")
    _number(root)
    addresses = package.addresses(part)
    for link in root.iter("{*}hlinkClick"):
        address = addresses.get(attribute(link, "id") or "", "")
        text = next(link.iterancestors("{*}rPr"), link).getnext()
        if address and text is not None and local(text) == "t":
            text.text = with_address(text.text or "", address)
    lines = ["(hidden slide)"] if root.get("show") in {"0", "false"} else []
    lines += _lines(root)
    for diagram in package.related(part, "diagramData"):
        lines += _lines(diagram)
    for chart in package.related(part, "chart"):
        lines += chart_lines(chart)
    for comments in package.related(part, "comments"):
        texts = (" ".join("".join(said.itertext()).split()) for said in comments.iter("{*}text", "{*}txBody"))
        lines += [f"Comment: {text}" for text in texts if text]
    for notes in package.related(part, "notesSlide"):
        if said := "\n".join(_lines(notes)):
            lines.append(f"Notes: {said}")
    lines += package.attached(part)
    titles = (shape for shape in root.iterfind(".//{*}sp") if _placeholder(shape) in _TITLES)
    title = next((" ".join(_lines(shape)) for shape in titles), "")
    return Unit("\n".join(lines), " ".join(title.split()))


def _number(root: _Element) -> None:
    for body in root.iter("{*}txBody"):
        counters: dict[str, int] = {}
        for paragraph in body.iterfind("{*}p"):
            properties = paragraph.find("{*}pPr")
            level = "0" if properties is None else properties.get("lvl", "0")
            bullet = None if properties is None else properties.find("{*}buAutoNum")
            text = next(paragraph.iter("{*}t"), None)
            kept = (each for each in counters if each < level or (each == level and bullet is not None))
            counters = {each: counters[each] for each in kept}
            if bullet is None or text is None or not (form := _FORM.match(bullet.get("type", ""))):
                continue
            counters[level] = counters.get(level, span(bullet.get("startAt")) - 1) + 1
            before, behind = {"Both": ("(", ")"), "R": ("", ")")}.get(form[2] or "", ("", "."))
            number = shown(counters[level], _FORMS.get(form[1], "decimal"))
            text.text = f"{before}{number}{behind} {text.text or ''}"


def _lines(node: _Element) -> Iterator[str]:
    """Paragraphs and table rows below a node, in file order."""
    for child in node:
        name = local(child)
        if name == "p":
            if (text := _text(child)).strip():
                yield text
        elif name == "cNvPr":
            if said := description(child):
                yield said
        elif name == "tbl":
            yield from filter(None, render_rows(grid(_rows(child))))
        elif (name == "sp" and _placeholder(child) in _UNSEEN) or (
            (named := child.find("./*/{*}cNvPr")) is not None and named.get("hidden") in _ON
        ):
            continue
        elif name != "Fallback":
            yield from _lines(child)


def _rows(table: _Element) -> Iterator[list[Cell]]:
    """The cells of each row without those that another one covers."""
    for row in table.iterfind("{*}tr"):
        cells = [cell for cell in row.iterfind("{*}tc") if not {cell.get("hMerge"), cell.get("vMerge")} & _ON]
        yield [
            Cell("\n".join(_lines(cell)), span(cell.get("gridSpan")), span(cell.get("rowSpan")))
            for cell in cells
        ]


def _text(node: _Element) -> str:
    """The text below a node, with line breaks and fractions, without what is struck."""
    pieces = []
    for child in node:
        name = local(child)
        if name == "r":
            pieces.append(_run(child))
        elif name == "t":
            pieces.append(child.text or "")
        elif name == "br":
            pieces.append("\n")
        elif (part := formula(child, _text)) is not None:
            pieces.append(part)
        elif name != "Fallback":
            pieces.append(_text(child))
    return "".join(pieces)


def _run(run: _Element) -> str:
    """The text of a run; "" if it is struck."""
    properties = run.find("{*}rPr")
    if properties is None:
        return _text(run)
    if properties.get("strike", "noStrike") != "noStrike":
        return ""
    fonts = (properties.find(f"{{*}}{kind}") for kind in ("sym", "latin"))
    font = next((each for each in fonts if each is not None), ABSENT)
    rise = properties.get("baseline", "0").rstrip("%")
    direction = 0 if rise in {"", "0"} else -1 if rise.startswith("-") else 1
    return Look(direction, font=font.get("typeface") or "").shown(_text(run))


def _placeholder(shape: _Element) -> str:
    """The type of a placeholder (`title`, `body`, `sldNum`), or ""."""
    holder = shape.find("./{*}nvSpPr/{*}nvPr/{*}ph")
    return "" if holder is None else attribute(holder, "type") or "body"
