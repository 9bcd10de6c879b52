"""The output of the child process: one JSON object per line.

{"opened": media type, "total": ...}              the file can be read; its number of pages, 0 if unknown
{"text": ..., "more": true}                       a part of a page that is too long for one line
{"text": ..., "label": ..., "total": ..., "boxes": ...}     the last or only part of a page; boxes in base64.
                                                  "follows": true if the page follows all others
{"done": media type}                              the end of a whole file
{"error": kind, "code": ..., "message": ..., "cause": ...}   the end of a file that cannot be read
"""

import asyncio
import base64
import json
import logging
from collections.abc import Iterator

from core.errors import DocumentRejected, UnreadableDocument, UnsupportedDocument
from core.extraction.pages import unreadable
from core.extraction.word_boxes import BOX_BYTES, MAX_BOXES

MAX_LINE_BYTES = 1024 * 1024
PART_CHARACTERS = 100_000
MAX_LABEL = 200
log = logging.getLogger(__name__)
_KINDS = {"unsupported": UnsupportedDocument, "unreadable": UnreadableDocument}


class GarbageOutput(Exception):
    """The child wrote a line that violates the protocol."""


def opened_line(media_type: str, total: int) -> bytes:
    return _line({"opened": media_type, "total": total})


def page_lines(
    text: str, label: str, total: int, boxes: bytes = b"", *, follows: bool = False
) -> Iterator[bytes]:
    """A page in lines shorter than MAX_LINE_BYTES, whatever its characters."""
    start = 0
    while len(text) - start > PART_CHARACTERS:
        yield _line({"text": text[start : start + PART_CHARACTERS], "more": True})
        start += PART_CHARACTERS
    last: dict[str, object] = {"text": text[start:], "label": label[:MAX_LABEL], "total": total}
    if boxes:
        last["boxes"] = base64.b64encode(boxes).decode()
    if follows:
        last["follows"] = True
    yield _line(last)


def done_line(media_type: str) -> bytes:
    return _line({"done": media_type})


def error_line(error: Exception) -> bytes:
    """The last line for any exception of a reader: hostile files can make libraries raise anything."""
    if isinstance(error, MemoryError):
        return _OUT_OF_MEMORY
    if not isinstance(error, DocumentRejected):
        return _rejection_line(unreadable("corrupt"), type(error).__name__)
    return _rejection_line(error)


def parse_line(line: bytes) -> dict[str, object]:
    """The object of a line. Raises GarbageOutput if the line is invalid."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise GarbageOutput("a line that is not JSON") from error
    if not isinstance(message, dict) or not message.keys() & {"opened", "text", "done", "error"}:
        raise GarbageOutput("an unknown message")
    return message


def page_boxes(message: dict[str, object]) -> bytes:
    """The boxes in the last line of a page. Raises GarbageOutput for invalid boxes."""
    try:
        boxes = base64.b64decode(str(message.get("boxes", "")), validate=True)
    except ValueError as error:
        raise GarbageOutput("boxes that are not base64") from error
    if len(boxes) % BOX_BYTES or len(boxes) > MAX_BOXES * BOX_BYTES:
        raise GarbageOutput("boxes of an impossible size")
    return boxes


async def read_header(output: asyncio.StreamReader) -> dict[str, object]:
    """The object of the line before the bytes of a picture.

    Raises DocumentRejected for an `error` message, GarbageOutput for an invalid line, and IncompleteReadError
    if the child has died.
    """
    try:
        header = json.loads(await output.readuntil())
    except (ValueError, RecursionError, asyncio.LimitOverrunError) as error:
        raise GarbageOutput("a line that is not JSON") from error
    if not isinstance(header, dict):
        raise GarbageOutput("an unknown message")
    if "error" in header:
        log.info("picture.rejected code=%s cause=%s", header.get("code"), header.get("cause"))
        raise rejection(header)
    return header


def rejection(message: dict[str, object]) -> DocumentRejected:
    """The error for an `error` message."""
    kind = _KINDS.get(str(message["error"]))
    if kind is None:
        raise GarbageOutput("an error of no known kind")
    return kind(str(message.get("message")), code=str(message.get("code")))


def _rejection_line(error: DocumentRejected, cause: str = "") -> bytes:
    kind = "unsupported" if isinstance(error, UnsupportedDocument) else "unreadable"
    return _line({"error": kind, "code": error.code, "message": error.message, "cause": cause})


def _line(message: dict[str, object]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


_OUT_OF_MEMORY = _rejection_line(unreadable("too_much_memory"))
