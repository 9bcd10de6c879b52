"""Reads one file, in a child process: its format first, then each page."""

from collections.abc import Iterator
from pathlib import Path

from orc_core.extraction.pages import clean, unreadable
from orc_core.extraction.raised import set_apart
from orc_core.extraction.sniffing import sniff
from orc_core.infra.sandbox_child import ChildMessage

MAX_CHARACTERS = 20_000_000
MAX_LABEL = 200


def read_file(path: str, name: str, memory_bytes: int, first: int) -> Iterator[ChildMessage]:
    """A message with the media type and the number of pages (0 if unknown), then one for each page.

    The bytes of a page are its boxes, of which there are as many as its field says, and its text. A PDF is
    read from page `first`. A file without pages has one empty page.
    """
    source = Path(path)
    file_format = sniff(source, name, memory_bytes)
    stream = file_format.open(source, memory_bytes, first)
    properties = set_apart(clean(stream.properties))
    yield ChildMessage({"opened": file_format.media_type, "total": stream.total, "properties": properties})
    is_empty = first == 1
    for unit in stream.units:
        is_empty = False
        text = unit.text if unit.boxes else set_apart(clean(unit.text))
        if len(text) > MAX_CHARACTERS:
            raise unreadable("too_large")
        label = set_apart(clean(unit.label))[:MAX_LABEL] if unit.label else ""
        fields = {"label": label, "follows": unit.follows, "boxes": len(unit.boxes)}
        yield ChildMessage(fields, unit.boxes + text.encode())
    if is_empty:
        yield ChildMessage({})
