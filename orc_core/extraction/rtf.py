"""RTF: running text with notes and text boxes, and tables. striprtf omits running headers."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from striprtf.striprtf import rtf_to_text

from orc_core.extraction.pages import Unit, UnitStream, count_letters, fit, unreadable
from orc_core.extraction.properties import sentence_of
from orc_core.extraction.rtf_marks import MERGED, with_marks
from orc_core.extraction.tables import ACROSS, render_rows, repeated

_strip: Callable[..., str] = rtf_to_text
_MARKS = {"page": "0c", "cell": "1f", "nestcell": "1f", "row": "1e", "nestrow": "1e"}
_MARKED = re.compile(r"(?<!\\)\\(page|cell|nestcell|row|nestrow)(?![a-z0-9-]) ?")
_FLAG = re.compile(r"([VH])(\d{1,3})")
_CELL, _ROW = "\x1f", "\x1e"
_INFO = re.compile(r"\{\\(title|author) ((?:[^{}\\]|\\'[0-9a-f]{2}|\\u-?\d{1,5} ?){1,300}+)\}")
_PICTURE = re.compile(r"(?:[0-9a-f]{64,}[\r\n]*)+", re.IGNORECASE)
_HIGH = re.compile("[\x80-\xff]")


def read(source: Path) -> UnitStream:
    """Pages if the file has page breaks, otherwise parts of a citable size."""
    data = source.read_bytes()
    text = to_text(data)
    if not count_letters(text) and b"\\pict" not in data:
        raise unreadable("empty")
    units = (part for page in text.split("\f") for part in fit(Unit(page)))
    said = {name: _strip(f"{{\\rtf1 {text}}}") for name, text in _INFO.findall(data.decode("latin-1"))}
    return UnitStream(units, properties=sentence_of(said.get("title", ""), said.get("author", "")))


def to_text(data: bytes) -> str:
    """The text: table rows become lines with column names, page breaks become form feeds."""
    source = _PICTURE.sub("", data.decode("latin-1"))
    if "\\bin" not in source:  # it counts bytes, and marks and escapes would add some
        source = with_marks(source)
    source = _MARKED.sub(lambda match: f"{{}}\\'{_MARKS[match[1]]}", source)
    if "\\bin" not in source:
        source = _HIGH.sub(lambda match: f"\\'{ord(match[0]):02x}", source)
    return "\n".join(_lines(_strip(source, errors="replace")))


def _lines(text: str) -> Iterator[str]:
    """Running text unchanged; the rows of each table rendered together."""
    table: list[list[str]] = []
    for segment in text.split(_ROW):
        first, *others = segment.split(_CELL)
        before, _, first_cell = first.rpartition("\n") if others else (first, "", "")
        if before.strip() or not others:
            yield from filter(None, render_rows(table))
            table = []
            yield before
        if others:
            cells = [first_cell, *others[:-1]]
            table.append(_merged(cells, others[-1].rpartition(MERGED)[2], table[-1] if table else []))
    yield from filter(None, render_rows(table))


def _merged(cells: list[str], flags: str, above: list[str]) -> list[str]:
    """The row with the text of the cells that continue another one."""
    for kind, number in _FLAG.findall(flags):
        column = int(number)
        if column < len(cells) and not cells[column].strip():
            cells[column] = ACROSS if kind == "H" else repeated(above[column]) if column < len(above) else ""
    return cells
