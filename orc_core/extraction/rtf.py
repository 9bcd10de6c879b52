"""RTF: running text with notes and text boxes, and tables. striprtf omits running headers."""

import re
from bisect import bisect
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from striprtf.striprtf import rtf_to_text

from orc_core.extraction.looks import SIGNS, has_symbols, lowered, raised, with_symbols
from orc_core.extraction.packages import ADDRESS, with_address
from orc_core.extraction.pages import Unit, UnitStream, count_letters, fit, unreadable
from orc_core.extraction.properties import sentence_of
from orc_core.extraction.sheets import MOST_MERGED
from orc_core.extraction.tables import ACROSS, MAX_COLUMNS, render_rows, repeated

_strip: Callable[..., str] = rtf_to_text
_MARKS = {"page": "0c", "cell": "1f", "nestcell": "1f", "row": "1e", "nestrow": "1e"}
_MARKED = re.compile(r"(?<!\\)\\(page|cell|nestcell|row|nestrow)(?![a-z0-9-]) ?")
_FLAG = re.compile(r"([VHE])(\d{1,9})")
_CELL, _ROW, _BEGINS = "\x1f", "\x1e", "\x1c"
_SAME_EDGE = 60
"""Twips between the ends of cells that are below each other, about a millimetre."""
_INFO = re.compile(r"\{\\(title|author) ((?:[^{}\\]|\\'[0-9a-f]{2}|\\u-?\d{1,5} ?){1,300})\}")
_Row = tuple[list[str], list[tuple[str, str]]]
"""The cells of a row; and as flags which ones are merged, and where each one ends."""
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
        source = "".join(_Walk(source).pieces())
    source = _MARKED.sub(lambda match: f"{{}}\\'{_MARKS[match[1]]}", source)
    if "\\bin" not in source:
        source = _HIGH.sub(lambda match: f"\\'{ord(match[0]):02x}", source)
    return "\n".join(_lines(_strip(source, errors="replace")))


def _lines(text: str) -> Iterator[str]:
    """Running text unchanged; the rows of each table rendered together."""
    table: list[_Row] = []
    for segment in text.split(_ROW):
        first, *others = segment.split(_CELL)
        is_marked = _BEGINS in first
        before, _, first_cell = first.rpartition(_BEGINS if is_marked else "\n")
        if not others or before.strip() or (is_marked and before):
            yield from _table_lines(table)
            table = []
            yield before.removesuffix("\n") if others else first
        if others:
            table.append(([first_cell, *others[:-1]], _FLAG.findall(others[-1].rpartition(MERGED)[2])))
    yield from _table_lines(table)


def _table_lines(rows: list[_Row]) -> Iterator[str]:
    ends = sorted({int(place) for _, flags in rows for kind, place in flags if kind == "E"})
    edges = [at for before, at in pairwise([-_SAME_EDGE, *ends]) if at - before >= _SAME_EDGE]
    is_wide = len(rows) * len(edges) > MOST_MERGED  # an attack
    above: list[str] = []
    made: list[list[str]] = []
    for cells, flags in rows:
        row: list[str] = []
        places = [0 if is_wide else bisect(edges, int(place)) for kind, place in flags if kind == "E"]
        for number, (text, end) in enumerate(zip(cells, [*places, *[0] * len(cells)], strict=False)):
            is_empty, continued = not text.strip(), above[len(row) : len(row) + 1]
            if is_empty and ("V", str(number)) in flags and continued:
                row.append(repeated(continued[0]))
            else:
                row.append(ACROSS if is_empty and ("H", str(number)) in flags else text)
            row += [ACROSS if row[-1].strip() else ""] * (end - len(row))
        made.append(above := row)
    yield from filter(None, render_rows(made))


MERGED = "\x1d"
_TOKEN = re.compile(
    r"\\'[0-9a-fA-F]{2}|\\([a-z]+)(-?\d{1,9})? ?|\\[^a-z]|[{}]|[\r\n]+|[^\\{}\r\n]+", re.DOTALL
)
_FONT = re.compile(r"\\f(\d+)[^{};]{0,160}? ([^{};\\]{1,80});")
_STARTS_NOTE = {"footnote": "Note: ", "annotation": "Comment: ", "shptxt": ""}
_ENDS_PARAGRAPH = frozenset({"par", "cell", "row", "page", "sect"})
_GONE = frozenset({"strike", "striked", "deleted", "v"})
_TICK, _LIST = 1, 2
_ENTRY = re.compile(r"\\ffl ?([^{}\\]{0,200})")
_INSERTED = re.compile(
    r'\s*SYMBOL (\d{1,3}) \\\\f "([^"]+)"[^{}]*\}\s*\{\\fldrslt(?:\\[a-z]+(?:-?\d+)? ?)*\s*\}'
)
"""An inserted symbol whose result is empty, as Word writes it."""
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"]+)"')


class _State:
    """What a group has set for its text; the groups in it begin with the same."""

    def __init__(self, outer: "_State | None" = None) -> None:
        self.rise: int = outer.rise if outer else 0
        self.gone: frozenset[str] = outer.gone if outer else frozenset()
        self.font: str = outer.font if outer else ""
        self.fallbacks: int = outer.fallbacks if outer else 1
        self.is_shape: bool = outer.is_shape if outer else False
        self.note: str | None = None
        self.result: int | None = None


class _Walk:
    """Reads RTF and leaves in it only what people see as valid."""

    def __init__(self, source: str) -> None:
        self._source = source
        fonts = ((match[1], match[2].strip()) for match in _FONT.finditer(source))
        self._symbols = {number: font for number, font in fonts if has_symbols(font)}
        self._states = [_State()]
        self._notes: list[str] = []
        self._note: list[str] | None = None
        self._skipped = 0
        self._field: dict[str, int] = {}
        self._entries: list[str] = []
        self._address = ""
        self._symbol: re.Match[str] | None = None
        self._column = 0
        self._is_in_row = False
        self._merged: list[str] = []
        self._flags: set[str] = set()

    def pieces(self) -> Iterator[str]:
        for token in _TOKEN.finditer(self._source):
            for piece in self._read(token):
                if self._note is None:
                    yield piece
                else:
                    self._note.append(piece)
        yield from self._notes

    def _read(self, token: re.Match[str]) -> Iterator[str]:
        text, state = token[0], self._states[-1]
        if text == "{":
            self._states.append(_State(state))
            yield text
        elif text == "}":
            yield from self._close(token.start())
        elif token[1]:
            if token[1] == "ffl" and (entry := _ENTRY.match(self._source, token.start())):
                self._entries.append(entry[1])
            elif token[1] == "fldrslt":
                state.result = token.end()
            yield from self._control(token[1], int(token[2]) if token[2] else None, text)
        elif text[0] == "\\" and not text.startswith("\\'"):
            yield "" if text == "\\~" and state.gone else text
        elif not state.gone or text[0] in "\r\n":
            link = _HYPERLINK.match(text)
            text = text.replace("HYPERLINK", "HYPERLINK ") if link else text  # striprtf would add the address
            self._symbol = _INSERTED.match(self._source, token.start()) or self._symbol
            self._address = link[1] if link and ADDRESS.match(link[1]) else self._address
            is_code = text.startswith("\\'")
            skipped = min(self._skipped, 1 if is_code else len(text))
            self._skipped -= skipped
            kept = len(text) if is_code and skipped else skipped
            yield text[:kept] + (self._shown(text[kept:], state) if text[kept:] else "")

    def _close(self, place: int) -> Iterator[str]:
        state = self._states.pop() if len(self._states) > 1 else self._states[0]
        if state.note is not None and self._note is not None:
            said = "".join(self._note)
            self._notes.append(rf"{{\par {state.note}{said}}}")
            self._note = None
        if state.result is not None:
            shown, address = self._source[state.result : place], self._address
            yield _escaped(with_address(shown, address).removeprefix(shown.rstrip()), "\\{}".__contains__)
            self._address = ""
        yield "}"

    def _control(self, word: str, number: int | None, text: str) -> Iterator[str]:
        state = self._states[-1]
        if word in _GONE:
            state.gone = state.gone - {word} if number == 0 else state.gone | {word}
            yield "{}"  # the control before must not run into the text behind
        elif word in {"super", "sub", "nosupersub", "up", "dn", "plain"}:
            state.rise = {"super": 1, "sub": -1, "up": int(number != 0), "dn": -int(number != 0)}.get(word, 0)
            state.gone = frozenset() if word == "plain" else state.gone
            yield text if word == "plain" else "{}"
        elif word == "shp":
            state.is_shape = True  # striprtf leaves it out
            yield text
        elif word == "f":
            state.font = self._symbols.get(str(number), "")
            yield text
        elif word in _STARTS_NOTE and self._note is None and not state.gone:
            yield text
            state.note, self._note = _STARTS_NOTE[word], []
        elif word in {"chftn", "chatn"}:
            yield "{}"
        elif word == "uc" and number is not None:
            state.fallbacks = number
            yield text
        elif word == "u" and number is not None:
            self._skipped = 0 if state.gone else state.fallbacks
            yield "" if state.gone else self._unicode(number, text, state)
        elif word in {"fftype", "ffres", "ffdefres"}:
            self._field[word] = number or 0
            yield text
        elif word == "fldrslt":
            yield text + self._chosen()
        elif word == "pntext":
            yield "{}"  # the number of a list, which striprtf would leave out
        else:
            yield from self._table(word, number, text)

    def _table(self, word: str, number: int | None, text: str) -> Iterator[str]:
        if word == "trowd":
            self._column, self._merged, self._flags = 0, [], set()
        elif word in {"clvmrg", "clmrg"}:
            self._flags.add("V" if word == "clvmrg" else "H")
        elif word == "cellx" and self._column < MAX_COLUMNS:
            self._merged += [*(f"{flag}{self._column}" for flag in self._flags), f"E{number or 0}"]
            self._column, self._flags = self._column + 1, set()
        elif word == "intbl" and not self._is_in_row:
            self._is_in_row, text = True, f"{text}{{\\'1c}}"
        elif word == "row":
            self._is_in_row = False
            text = f"\\'1d{''.join(self._merged)}{text}"
        is_outside = self._note is None and not self._states[-1].is_shape
        if word in _ENDS_PARAGRAPH and is_outside and self._notes:
            notes, self._notes = self._notes, []
            yield "".join(notes)
        if not (word == "par" and "deleted" in self._states[-1].gone):
            yield text

    def _chosen(self) -> str:
        """What is chosen in an older form field: a box, or the entry of a list."""
        field, entries = self._field, self._entries
        self._field, self._entries = {}, []
        if symbol := self._symbol:
            self._symbol = None
            return _escaped(with_symbols(chr(int(symbol[1])), symbol[2]), bool)
        if field.get("fftype") == _LIST:
            return "".join(entries[field.get("ffres", field.get("ffdefres", 0)) :][:1])
        if field.get("fftype") != _TICK:
            return ""
        state = field.get("ffres", 25)
        is_ticked = (field.get("ffdefres", 0) if state == 25 else state) == 1
        return r"{\uc0\u9746 }" if is_ticked else r"{\uc0\u9744 }"

    def _unicode(self, number: int, text: str, state: _State) -> str:
        character = chr(number % 0x10000)
        if "\uf020" <= character <= "\uf0ff":
            changed = with_symbols(character, state.font or "Symbol")
        else:
            changed = with_symbols(character, state.font)
            if state.rise and character in SIGNS:
                changed = (raised if state.rise > 0 else lowered)(f"0{character}")[1:]
        return text if changed == character else rf"\u{_signed(ord(changed))} "

    def _shown(self, text: str, state: _State) -> str:
        if state.font and text[0] not in "\r\n":
            plain = chr(int(text[2:], 16)) if text.startswith("\\'") else text
            return _escaped(with_symbols(plain, state.font), bool)
        change = raised if state.rise > 0 else lowered
        if state.rise == 0 or text.startswith("\\'"):
            return text
        return _escaped(change(text), lambda character: not character.isascii())


def _escaped(text: str, is_special: Callable[[str], bool]) -> str:
    if not any(map(is_special, text)):
        return text
    written = (rf"\u{_signed(ord(each))} " if is_special(each) else each for each in text)
    return rf"{{\uc0 {''.join(written)}}}"


def _signed(number: int) -> int:
    return number - 0x10000 if number > 0x7FFF else number
