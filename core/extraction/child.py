"""The child process: extracts one file and writes its pages as lines, see protocol.py."""

import json
import os
import select
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from core.errors import DocumentRejected
from core.extraction import limits
from core.extraction.pages import clean, unreadable
from core.extraction.protocol import done_line, error_line, page_lines
from core.extraction.readers import open_file
from core.extraction.sniffing import sniff

_OUT_OF_MEMORY = error_line(unreadable("too_much_memory"))


def main() -> None:
    """Serve one request from standard input, then exit without unloading the libraries."""
    output = _take_output()
    if sys.platform != "win32" and not select.select([sys.stdin], [], [], 0)[0]:
        # Idle: preload the PDF reader, the most used and slowest to import.
        import_module("core.extraction.pdf")
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)  # the parent has exited
    request = json.loads(line)
    limits.confine(request["memory_bytes"], request["seconds"])
    for line in _answer(Path(request["path"]), request["name"], request["memory_bytes"]):
        output.write(line)
        output.flush()
    os._exit(0)


def _take_output() -> BinaryIO:
    """Reserve standard output for the protocol: output of libraries must not break it."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def _answer(source: Path, file_name: str, memory_bytes: int) -> Iterator[bytes]:
    """The output lines for a file. The outermost edge: hostile files can make readers raise anything."""
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
    stream = open_file(file_format, source, memory_bytes)
    limits.forbid_files()
    empty = True
    for unit in stream.units:
        empty = False
        yield from page_lines(clean(unit.text), clean(unit.label), stream.total, unit.boxes)
    if empty:
        yield from page_lines("", "", 0)
    yield done_line(file_format.value)


if __name__ == "__main__":
    main()
