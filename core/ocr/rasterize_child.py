"""The child process that draws pages: one line of JSON and then the picture's bytes for each page.

{"page": number, "bytes": length}         followed by so many bytes; none for a page that cannot be drawn
{"done": true}                            the end of a whole file
{"error": ..., "code": ..., "message": ..., "cause": ...}   a file that cannot be drawn, see protocol.py
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from core.errors import DocumentRejected
from core.extraction import limits
from core.extraction.errors import unreadable
from core.extraction.protocol import error_line

_OUT_OF_MEMORY = error_line(unreadable("too_much_memory"))


class Picture(NamedTuple):
    """A page as the bytes of an image file; empty where it cannot be drawn."""

    page: int
    content: bytes


def main() -> None:
    """Serve one request from standard input, then leave without tearing the libraries down."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not break the protocol
    request = json.loads(sys.stdin.buffer.readline())
    limits.confine(request["memory_bytes"], request["seconds"])
    try:
        _draw(output, request)
    except DocumentRejected as error:
        output.write(error_line(error))
    except MemoryError:
        output.write(_OUT_OF_MEMORY)
    except Exception as error:
        output.write(error_line(unreadable("corrupt"), cause=type(error).__name__))
    output.flush()
    os._exit(0)


def _draw(output: BinaryIO, request: dict[str, object]) -> None:
    source, pages = Path(str(request["path"])), request["pages"]
    assert isinstance(pages, list)
    pictures = _pictures(source, str(request["media_type"]), pages, str(request["form"]))
    limits.forbid_files()
    for picture in pictures:
        header = {"page": picture.page, "bytes": len(picture.content)}
        output.write(json.dumps(header).encode() + b"\n" + picture.content)
        output.flush()
    output.write(b'{"done": true}\n')


def _pictures(source: Path, media_type: str, pages: Sequence[int], form: str) -> Iterator[Picture]:
    """Import only what is needed: either library costs more to load than a page takes to draw."""
    if media_type == "application/pdf":
        from core.ocr import rasterize_pdf as draw_pdf

        return (Picture(page, content) for page, content in draw_pdf.pictures(source, pages))
    from core.ocr import rasterize_images as draw_images

    return (Picture(page, content) for page, content in draw_images.pictures(source, media_type, pages, form))


if __name__ == "__main__":
    main()
