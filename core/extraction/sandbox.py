"""Extracts each file in a child process, and turns every outcome into pages or an error."""

import asyncio
import logging
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from core.errors import DocumentRejected
from core.extraction.pages import count_letters, unreadable
from core.extraction.protocol import GarbageOutput, page_boxes, parse_line, rejection
from core.extraction.subprocesses import MODULE, Children, request_line, send
from core.extraction.word_boxes import BOX_BYTES
from core.models import Page, Progress, Record

MAX_CHARACTERS = 20_000_000
MAX_PAGES = 50_000

_WORKER = (*MODULE[1:], "core.extraction.child")
MIN_PDF_LETTERS = 16
"""A PDF with fewer letters is a scan with a stamp or page number."""

_log = logging.getLogger(__name__)


class Extraction(Record):
    """The pages of one file in order; a page without usable text has the text ""."""

    pages: list[Page]
    media_type: str

    @property
    def pages_without_text(self) -> int:
        return sum(not page.text for page in self.pages)

    @property
    def has_text(self) -> bool:
        """False if the file was read but has nothing to search: it needs OCR."""
        wanted = MIN_PDF_LETTERS if self.media_type == "application/pdf" else 1
        found = accumulate(count_letters(page.text) for page in self.pages)
        return any(letters >= wanted for letters in found)


EXTRACTION_SECONDS = 15.0
EXTRACTION_MEMORY_BYTES = 1024 * 1024 * 1024
"""Limits of the extraction of one file."""
EXTRACTION_PROCESSES = 2
"""Files that one process extracts at the same time."""


class Collector:
    """Assembles pages from the child's lines. The last line sets `media_type` or `rejection`."""

    def __init__(self, progress: Progress | None) -> None:
        self.pages: list[Page] = []
        self.media_type = ""
        self.rejection: DocumentRejected | None = None
        self._progress = progress
        self._parts: list[str] = []
        self._characters = 0

    def take(self, line: bytes) -> None:
        """Add one line. Raises UnreadableDocument beyond a limit, GarbageOutput for an invalid line."""
        message = parse_line(line)
        if self.media_type or self.rejection:
            raise GarbageOutput("a line after the end")
        if "error" in message:
            self.rejection = rejection(message)
            _log.info("extraction.rejected code=%s cause=%s", self.rejection.code, message.get("cause"))
        elif "done" in message:
            self.media_type = str(message["done"])
        else:
            self._add(message)

    def _add(self, message: dict[str, object]) -> None:
        text = str(message["text"])
        self._characters += len(text)
        self._parts.append(text)
        if self._characters > MAX_CHARACTERS or len(self.pages) >= MAX_PAGES:
            raise unreadable("too_large")
        if message.get("more"):
            return
        number = len(self.pages) + 1
        label = str(message.get("label", ""))
        page = "".join(self._parts)
        boxes = page_boxes(message)
        if len(boxes) > len(page) * BOX_BYTES:  # limits all boxes of a file, as its text is limited
            raise GarbageOutput("more boxes than characters")
        self.pages.append(Page(number=number, text=page, label=label, boxes=boxes))
        self._parts = []
        total = message.get("total")
        if self._progress is not None:
            self._progress(number, total if isinstance(total, int) else 0, "Reading the text")


class Extractor:
    """Reads files, at most `processes` at a time, each within `seconds` and `memory_bytes`."""

    def __init__(
        self,
        *,
        seconds: float = EXTRACTION_SECONDS,
        memory_bytes: int = EXTRACTION_MEMORY_BYTES,
        processes: int = EXTRACTION_PROCESSES,
        worker: Sequence[str] = _WORKER,
    ) -> None:
        """`worker`: interpreter arguments that start a child; replaced in tests only."""
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._slots = asyncio.Semaphore(processes)
        self._command = (sys.executable, *worker)
        self._children = Children()

    async def extract(self, source: Path, file_name: str, progress: Progress | None = None) -> Extraction:
        """Extract the file at `source`; the extension of `file_name` names its format.

        Raises UnsupportedDocument, or UnreadableDocument with a code of errors.py. A file without text is
        no error. The time limit does not include waiting for a free process.
        """
        async with self._slots:
            collector = Collector(progress)
            async with self._children.start(*self._command) as process:
                await self._collect(process, source, file_name, collector)
            self._children.prepare(*self._command)
        return Extraction(pages=collector.pages, media_type=collector.media_type)

    async def close(self) -> None:
        """Stop all children; pending extractions raise Unavailable."""
        await self._children.close()

    async def _collect(self, process: Process, source: Path, file_name: str, collector: Collector) -> None:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                await send(process, request_line(source, self._memory_bytes, self._seconds, name=file_name))
                await _receive(process, collector)
                returncode = await process.wait()
        except TimeoutError:
            if limit.expired():
                raise unreadable("too_slow") from None
            raise
        except GarbageOutput as error:
            _log.warning("extraction.garbage reason=%s", error)
            raise unreadable("corrupt") from error
        if collector.rejection is not None:
            raise collector.rejection
        if not collector.media_type:
            _log.warning("extraction.child_died returncode=%s", returncode)
            raise self._children.death(returncode)


async def _receive(process: Process, collector: Collector) -> None:
    assert process.stdout is not None
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError as error:
            raise GarbageOutput("a line that is too long") from error
        if not line.endswith(b"\n"):
            return  # the end, or half a line of a child that was killed
        collector.take(line)
