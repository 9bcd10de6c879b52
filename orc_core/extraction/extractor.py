"""Reads files and draws their pages in confined child processes: a hostile file costs its child only."""

import asyncio
import logging
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from pydantic import Field

from orc_core.errors import OrcError, Unavailable
from orc_core.extraction.images import IMAGE_FORMATS
from orc_core.extraction.pages import LONGEST_PAGE, count_letters, unreadable
from orc_core.extraction.reading import MAX_CHARACTERS
from orc_core.extraction.word_boxes import BOX_BYTES, MAX_BOXES
from orc_core.infra.sandbox import Ended, Limits, Reason, Sandbox
from orc_core.infra.sandbox_child import ChildMessage
from orc_core.models import Page, Progress, Record

MAX_PAGES = 50_000
PDF = "application/pdf"
MOST_SLOW_PAGES = 3
"""The number of pages of one file that may take too long. They stay without text."""

_log = logging.getLogger(__name__)


_CODES = {
    Reason.SLOW_STEP: "too_slow",
    Reason.TOO_SLOW: "too_slow",
    Reason.IDLE: "too_slow",
    Reason.TOO_MUCH_MEMORY: "too_much_memory",
    Reason.KILLED: "too_much_memory",
    Reason.FAILED: "corrupt",
}


def refusal(ended: Ended) -> OrcError:
    """The error that users get: of the file, or of a server that cannot read it now."""
    if ended.reason is Reason.STOPPED:
        return Unavailable("Reading the file was interrupted. Try again.")
    if ended.reason is Reason.BROKEN:
        return Unavailable(
            "Files cannot be read on this server. Its administrator finds the reason in the log."
        )
    return unreadable(_CODES[ended.reason])


class Collector:
    """Assembles pages from the messages of `reading.read_file`."""

    def __init__(self, progress: Progress | None) -> None:
        self.pages: list[Page] = []
        self.media_type = ""
        self.properties = ""
        self._progress = progress
        self._total = 0
        self._following: list[Page] = []
        self._characters = 0
        self._slow = 0

    def take(self, message: ChildMessage) -> None:
        """Add a message. Raises UnreadableDocument beyond a limit, and for an invalid one."""
        fields = message.fields
        if "opened" in fields:
            total = fields.get("total")
            self.media_type, self._total = str(fields["opened"]), total if isinstance(total, int) else 0
            self.properties = str(fields.get("properties", ""))[:LONGEST_PAGE]
            return
        length = message.fields.get("boxes", 0)
        if not isinstance(length, int) or length % BOX_BYTES or not 0 <= length <= MAX_BOXES * BOX_BYTES:
            raise unreadable("corrupt")
        boxes = message.content[:length]
        try:
            text = message.content[length:].decode()
        except UnicodeDecodeError as error:
            raise unreadable("corrupt") from error
        if length > len(text) * BOX_BYTES:  # limits all boxes of a file, as its text is limited
            raise unreadable("corrupt")
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS or len(self.pages) + len(self._following) >= MAX_PAGES:
            raise unreadable("too_large")
        page = Page(number=len(self.pages) + 1, text=text, label=str(fields.get("label", "")), boxes=boxes)
        if fields.get("follows"):
            self._following.append(page)
        else:
            self._append(page)

    def skip_slow_page(self) -> None:
        """Leave the next page without text. Raises UnreadableDocument unless another child can read on."""
        if self.media_type != PDF or self._slow == MOST_SLOW_PAGES:
            raise unreadable("too_slow")
        self._slow += 1
        self._append(Page(number=len(self.pages) + 1, text=""))
        _log.warning("extraction.slow_page number=%d", len(self.pages))

    def end(self) -> None:
        """All messages have come. Raises UnreadableDocument if only slow pages could have text."""
        if self._slow and not any(page.text for page in self.pages):
            raise unreadable("too_slow")
        for page in self._following:
            self.pages.append(page.model_copy(update={"number": len(self.pages) + 1}))

    def _append(self, page: Page) -> None:
        self.pages.append(page)
        if self._progress is not None:
            self._progress(page.number, self._total, "Reading the text")


MIN_PDF_LETTERS = 16
"""A PDF with fewer letters is a scan with a stamp or page number."""
LIMITS = Limits(1024 * 1024 * 1024)
"""Of the extraction of one file."""
PROCESSES = 2
"""Files that one process extracts at the same time."""
ATTEMPTS = 3
"""How often a file is read if the child is ended from outside."""
READ = "orc_core.extraction.reading:read_file"
PRELOADED = (
    *map(
        "orc_core.extraction.{}".format, "reading pdf docx pptx spreadsheets odf rtf epub email html".split()
    ),
    *("orc_core.extraction.text", "orc_core.extraction.drawing", "PIL.ImageOps", "PIL.WebPImagePlugin"),
)
"""What children that read or draw files need: importing it takes longer than reading most files."""


class Extraction(Record):
    """The pages of one file in order; a page without usable text has the text ""."""

    pages: list[Page]
    media_type: str
    properties: str = Field(default="", description="what the file says of itself, as a sentence")

    @property
    def pages_without_text(self) -> int:
        return sum(not page.text for page in self.pages)

    @property
    def has_text(self) -> bool:
        """False if the file was read but has nothing to search: it needs OCR."""
        wanted = MIN_PDF_LETTERS if self.media_type == PDF else 1
        found = accumulate(count_letters(page.text) for page in self.pages)
        return any(letters >= wanted for letters in found)


class Extractor:
    """Reads files, at most `processes` at a time, each within limits of time and memory."""

    def __init__(
        self, sandbox: Sandbox, *, limits: Limits = LIMITS, processes: int = PROCESSES, function: str = READ
    ) -> None:
        """`function` is replaced in tests only."""
        self._sandbox = sandbox
        self._limits = limits
        self._slots = asyncio.Semaphore(processes)
        self._function = function

    async def extract(self, source: Path, file_name: str, progress: Progress | None = None) -> Extraction:
        """Extract the file at `source`; the extension of `file_name` names its format.

        Raises UnsupportedDocument, or UnreadableDocument with a code of errors.py. A file without text is
        no error; a page that takes too long has none. The limits do not include waiting for a free process.
        """
        async with self._slots:
            for attempt in range(1, ATTEMPTS + 1):
                collector = Collector(progress)
                try:
                    await self._read(source, file_name, collector)
                except Ended as ended:
                    is_from_outside = ended.reason in {Reason.KILLED, Reason.STOPPED}
                    if attempt == ATTEMPTS or not is_from_outside:
                        raise refusal(ended) from ended
                    continue
                collector.end()
                return Extraction(
                    pages=collector.pages, media_type=collector.media_type, properties=collector.properties
                )
        raise AssertionError("the last attempt returns or raises")

    async def _read(self, source: Path, file_name: str, collector: Collector) -> None:
        """Collect what one child says of a file, and one more of what follows each slow page."""
        limits = self._limits
        while True:
            first = len(collector.pages) + 1
            arguments = {"path": source, "name": file_name, "memory_bytes": limits.memory_bytes}
            async with self._sandbox.run(self._function, limits, [source], first=first, **arguments) as run:
                try:
                    async for message in run:
                        collector.take(message)
                    return
                except Ended as ended:
                    if ended.reason is not Reason.SLOW_STEP:
                        raise
            collector.skip_slow_page()
            limits = replace(limits, wall=limits.wall - run.waited)


PICTURED = frozenset({"application/pdf", *IMAGE_FORMATS})
"""Media types of files whose pages can be drawn."""
DRAWING_LIMITS = Limits(512 * 1024 * 1024, step=10.0, most=10.0, idle=20.0, wall=60.0)
DRAWN_AT_ONCE = 2
"""Pages that one process draws at the same time."""
DRAW = "orc_core.extraction.drawing:draw_in_colour"


class PageDrawer:
    """Draws pages, at most DRAWN_AT_ONCE at a time, each within limits of time and memory."""

    def __init__(self, sandbox: Sandbox, *, limits: Limits = DRAWING_LIMITS, function: str = DRAW) -> None:
        """`function` is replaced in tests only."""
        self._sandbox = sandbox
        self._limits = limits
        self._function = function
        self._slots = asyncio.Semaphore(DRAWN_AT_ONCE)

    async def draw(self, source: Path, media_type: str, page: int, width: int) -> bytes:
        """The page (from 1) of a file of a type in PICTURED, as a WebP file of at most this width.

        Empty if there is no such page, or if it cannot be drawn. Raises UnreadableDocument, and Unavailable
        if the machine was too busy. The limits do not include waiting for a free process.
        """
        arguments = {"path": source, "media_type": media_type, "page": page, "width": width}
        try:
            async with (
                self._slots,
                self._sandbox.run(self._function, self._limits, [source], **arguments) as run,
            ):
                return (await anext(run)).content
        except Ended as ended:
            if ended.reason in {Reason.IDLE, Reason.KILLED}:
                raise Unavailable("The picture could not be drawn now. Try again.") from ended
            raise refusal(ended) from ended
