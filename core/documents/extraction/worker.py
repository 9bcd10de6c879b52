"""The child process: reads one file and writes its pages as lines. See protocol.py."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from core.documents.extraction import limits
from core.documents.extraction.formats import Format, sniff
from core.documents.extraction.protocol import done_line, error_line, page_lines
from core.documents.extraction.rejections import unreadable
from core.documents.extraction.text import clean
from core.documents.extraction.units import Reading
from core.errors import DocumentRejected

_OUT_OF_MEMORY = error_line(unreadable("too_much_memory"))


def main() -> None:
    """Serve one request from standard input, then leave without tearing the readers down."""
    output = _take_output()
    request = json.loads(sys.stdin.buffer.readline())
    limits.confine(request["memory_bytes"], request["seconds"])
    for line in _answer(Path(request["path"]), request["name"], request["memory_bytes"]):
        output.write(line)
        output.flush()
    os._exit(0)


def _take_output() -> BinaryIO:
    """Keep standard output for the protocol: a library that prints must not break it."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def _answer(source: Path, file_name: str, memory_bytes: int) -> Iterator[bytes]:
    """The lines for a file. Whatever a reader raises ends here: hostile files reach every corner of it."""
    try:
        yield from _read(source, file_name, memory_bytes)
    except DocumentRejected as error:
        yield error_line(error)
    except MemoryError:
        yield _OUT_OF_MEMORY
    except Exception as error:
        yield error_line(unreadable("corrupt"), cause=type(error).__name__)


def _read(source: Path, file_name: str, memory_bytes: int) -> Iterator[bytes]:
    file_format = sniff(source, file_name, memory_bytes)
    reading = _open(file_format, source, memory_bytes)
    limits.forbid_files()
    empty = True
    for unit in reading.units:
        empty = False
        yield from page_lines(clean(unit.text), clean(unit.label), reading.total)
    if empty:
        yield from page_lines("", "", 0)
    yield done_line(file_format.value)


def _open(file_format: Format, source: Path, memory_bytes: int) -> Reading:
    """Import only the reader that is needed: most cost more to load than a file takes to read."""
    match file_format:
        case Format.PDF:
            from core.documents.extraction import pdf

            return pdf.read(source)
        case Format.DOCX:
            from core.documents.extraction import word

            return word.read(source, memory_bytes)
        case Format.PPTX:
            from core.documents.extraction import slides

            return slides.read(source, memory_bytes)
        case Format.XLSX:
            # openpyxl would load numpy for nothing, and numpy ends the process where memory is short
            sys.modules["numpy"] = None  # type: ignore[assignment]
            from core.documents.extraction import sheets

            return sheets.read(source)
        case Format.HTML:
            from core.documents.extraction import web

            return web.read(source)
        case Format.CSV:
            from core.documents.extraction import delimited

            return delimited.read(source)
        case Format.MARKDOWN | Format.TEXT:
            from core.documents.extraction import prose

            return prose.read_markdown(source) if file_format is Format.MARKDOWN else prose.read_text(source)


if __name__ == "__main__":
    main()
