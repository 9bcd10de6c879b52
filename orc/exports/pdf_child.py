"""The child process that writes one PDF file: lines of JSON in, one line and the file's bytes out.

The input is {"memory_bytes": ..., "seconds": ..., "fonts_folder": ...}, the heading, and each entry.
The output is {"bytes": length, "boxes": characters without a glyph} and so many bytes, or {"error": name}.
Fonts are read by libraries that a damaged one may harm, so this process can read nothing but them.
"""

import json
import os
import sys
from pathlib import Path
from typing import BinaryIO

from core.extraction import limits
from core.extraction.isolation import isolate
from orc.exports.fonts import BOX_FONT
from orc.exports.pdf import PdfWriter
from orc.exports.tree import Entry, Heading


def main() -> None:
    """Serve one request from standard input, then exit without unloading the libraries."""
    output = limits.reserve_output()
    source = sys.stdin.buffer
    request = json.loads(source.readline())
    folder = request["fonts_folder"]
    limits.confine(request["memory_bytes"], request["seconds"])
    isolate(BOX_FONT, *([Path(folder)] if folder else []))
    limits.forbid_files()
    try:
        content, boxes = _write(source, folder)
    except Exception as error:
        output.write(json.dumps({"error": type(error).__name__}).encode() + b"\n")
    else:
        output.write(json.dumps({"bytes": len(content), "boxes": boxes}).encode() + b"\n" + content)
    output.flush()
    os._exit(0)


def _write(source: BinaryIO, fonts_folder: str) -> tuple[bytes, int]:
    writer = PdfWriter(Heading(**json.loads(source.readline())), fonts_folder)
    for line in source:
        writer.write(Entry.read(json.loads(line)))
    return writer.finish(), writer.boxes


if __name__ == "__main__":
    main()
