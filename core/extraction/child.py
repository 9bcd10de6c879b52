"""The child process: extracts one file and writes its pages as lines, see protocol.py."""

import json
import os
import select
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from core.extraction import limits
from core.extraction.pages import clean
from core.extraction.protocol import done_line, error_line, opened_line, page_lines
from core.extraction.raised import set_apart
from core.extraction.readers import open_file
from core.extraction.sniffing import sniff
from core.infra.landlock import isolate


def main() -> None:
    """Serve one request from standard input, then exit without unloading the libraries."""
    output = limits.reserve_output()
    if sys.platform != "win32" and not select.select([sys.stdin], [], [], 0)[0]:
        # Idle: preload the PDF reader, the most used and slowest to import.
        import_module("core.extraction.pdf")
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)  # the parent has exited
    request = json.loads(line)
    limits.confine(request["memory_bytes"], request["most_seconds"])
    limits.allow_processor(request["seconds"])
    isolate(Path(request["path"]))
    try:
        for line in _read(**request):
            limits.allow_processor(request["seconds"])
            output.write(line)
            output.flush()
    except Exception as error:
        output.write(error_line(error))
    output.flush()
    os._exit(0)


def _read(
    path: str, name: str, memory_bytes: int, first: int, *, with_earlier_words: bool = False, **_: object
) -> Iterator[bytes]:
    source = Path(path)
    file_format = sniff(source, name, memory_bytes)
    stream = open_file(file_format, source, memory_bytes, first, with_earlier_words=with_earlier_words)
    limits.forbid_files()
    yield opened_line(file_format.value, stream.total)
    empty = first == 1
    for unit in stream.units:
        empty = False
        text = unit.text if unit.boxes else set_apart(clean(unit.text))
        label = set_apart(clean(unit.label)) if unit.label else ""
        yield from page_lines(text, label, stream.total, unit.boxes, follows=unit.follows)
    if empty:
        yield from page_lines("", "", 0)
    yield done_line(file_format.value)


if __name__ == "__main__":
    main()
