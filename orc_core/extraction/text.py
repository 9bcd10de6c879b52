"""Plain text, Markdown and CSV; and text from bytes in an unknown encoding."""

import codecs
import csv
import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from orc_core.errors import UnsupportedDocument
from orc_core.extraction.line_numbers import NUMBER, numbered_lines
from orc_core.extraction.pages import (
    Block,
    Unit,
    UnitStream,
    by_heading,
    count_letters,
    fit,
    pack,
    unreadable,
)
from orc_core.extraction.tables import render_rows

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_UNDERLINED = re.compile(r" {0,3}[^\s|>\-#].*")
_RULE = re.compile(r"(?=.*\|)[\s|]*(?::?-+:?[\s|]*)+")
_EDGES, _PIPE = re.compile(r"^\s*\||(?<!\\)\|\s*$"), re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
_MAX_FIELD = 2**31 - 1
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
DETECTABLE_BYTES, RELIABLE_BYTES = 12, 200
"""From this length on the detector is asked, and from this length on its guess is trusted."""
_SAMPLE_BYTES = 4096
_LATIN_WORD = re.compile(r"[^\W\d_]*[a-z][^\W\d_]*")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def read_text(source: Path) -> UnitStream:
    """Pages if the file has form feeds, otherwise parts of a citable size; without numbers of lines."""
    pages = map(_without_line_numbers, load(source).split("\f"))
    return UnitStream(part for page in pages for part in fit(Unit(page)))


def _without_line_numbers(page: str) -> str:
    lines = page.split("\n")
    numbered = numbered_lines(lines)
    return "\n".join(NUMBER.sub("", line, 1) if at in numbered else line for at, line in enumerate(lines))


def read_markdown(source: Path) -> UnitStream:
    """One unit for each heading; tables as in other formats, and all other text as written."""
    return UnitStream(by_heading(_with_tables(load(source).replace("\f", "\n").splitlines())))


def load(source: Path) -> str:
    """The file's text with plain line ends. Raises UnreadableDocument if it has no letters."""
    text = decode(source.read_bytes()).replace("\0", "")
    if not count_letters(text):
        raise unreadable("empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _blocks(lines: list[str]) -> Iterator[tuple[Block, bool]]:
    """The lines as written, and whether they are text; in a code fence `#` is not a heading."""
    fence = ""
    for previous, line, following in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        marked = _HEADING.fullmatch(line)
        underlined = _UNDERLINED.fullmatch(line) and _UNDERLINE.fullmatch(following) and not previous.strip()
        heading = marked[1] if marked else line.strip() if underlined else ""
        yield Block(line, "" if fence else heading), not fence


def _with_tables(lines: list[str]) -> Iterator[Block]:
    """The blocks with the rows of tables in place of their lines."""
    for is_row, group in groupby(_blocks(lines), key=lambda line: line[1] and "|" in line[0].text):
        blocks = [block for block, _ in group]
        if is_row and len(blocks) > 1 and _RULE.fullmatch(blocks[1].text):
            rows = [_PIPE.split(_EDGES.sub("", block.text)) for block in (blocks[0], *blocks[2:])]
            blocks = list(map(Block, render_rows(rows, header=1)))
        yield from blocks


def read_csv(source: Path) -> UnitStream:
    """The rows, in parts of a citable size."""
    csv.field_size_limit(_MAX_FIELD)
    lines = load(source).split("\n")
    # The delimiter that splits most rows into the same number of columns, at least two.
    sample = [f"{line}\n" for line in lines[:_SAMPLE_ROWS]]
    best, best_score = ",", 0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        common = max(set(widths), key=widths.count, default=1)
        score = widths.count(common) if common > 1 else 0
        if score > best_score:
            best, best_score = delimiter, score
    # The ends one by one: a second list of millions of lines would take half as much memory again.
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=best)
    return UnitStream(pack(filter(None, render_rows(rows))))


def decode(data: bytes) -> str:
    """The text in its most likely encoding. Raises UnsupportedDocument for bytes that are not text."""
    if (text := _unicode(data)) is None:
        text = _legacy(data)
    if text is None or len(_CONTROL.findall(text[:100_000])) > 0.05 * min(len(text), 100_000):
        raise UnsupportedDocument("The file is not text and has no other supported format.")
    return text


def _unicode(data: bytes) -> str | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    encoding = _unmarked_wide(data[:_SAMPLE_BYTES]) or "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _unmarked_wide(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, recognised by the positions of zero bytes."""
    zeros = [sample[place::4].count(0) * 4 > len(sample) * 0.6 for place in range(4)]
    patterns = {
        (True, True, True, False): "utf-32-be",
        (False, True, True, True): "utf-32-le",
        (True, False, True, False): "utf-16-be",
        (False, True, False, True): "utf-16-le",
    }
    return patterns.get((zeros[0], zeros[1], zeros[2], zeros[3]))


def is_wide(sample: bytes) -> bool:
    """Whether the beginning of a file looks like UTF-16 or UTF-32."""
    return sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)) or bool(
        _unmarked_wide(sample)
    )


def _legacy(data: bytes) -> str | None:
    """The text as the detector guesses; as cp1252 if it is very short, or short and the guess implausible."""
    from chardet import EncodingEra, detect

    eras = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO | EncodingEra.DOS
    if len(data) >= DETECTABLE_BYTES:
        encoding = detect(data, encoding_era=eras)["encoding"]
        text = data.decode(encoding, errors="replace") if encoding else None
        if text is None or len(data) >= RELIABLE_BYTES or not _mixes_scripts(text):
            return text
    return data.decode("cp1252", errors="replace")


def _mixes_scripts(text: str) -> bool:
    """Whether a word has Latin and other letters: a sign of the wrong encoding."""
    scripts = (
        {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
        for word in _LATIN_WORD.findall(text)
    )
    return any(len(of_word) > 1 for of_word in scripts)
