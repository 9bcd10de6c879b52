"""Extracts each file in a child process, and turns every outcome into pages or an error."""

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

from core.errors import DocumentRejected, OrcError
from core.extraction.forked import ForkServer
from core.extraction.pages import count_letters, unreadable
from core.extraction.protocol import GarbageOutput, page_boxes, parse_line, rejection
from core.extraction.subprocesses import (
    MODULE,
    Children,
    is_from_outside,
    is_overdue,
    request_line,
    send,
)
from core.extraction.watch import TimeLimits, Verdict, Watch, watched
from core.extraction.word_boxes import BOX_BYTES
from core.infra.children import Child
from core.models import Page, Progress, Record

MAX_CHARACTERS = 20_000_000
MAX_PAGES = 50_000

_WORKER = (*MODULE[1:], "core.extraction.child")
PDF = "application/pdf"
MIN_PDF_LETTERS = 16
"""A PDF with fewer letters is a scan with a stamp or page number."""

OnPage = Callable[[Page], object]

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
        wanted = MIN_PDF_LETTERS if self.media_type == PDF else 1
        found = accumulate(count_letters(page.text) for page in self.pages)
        return any(letters >= wanted for letters in found)


EXTRACTION_TIMES = TimeLimits()
EXTRACTION_MEMORY_BYTES = 1024 * 1024 * 1024
"""Limits of the extraction of one file."""
EXTRACTION_PROCESSES = 2
"""Files that one process extracts at the same time."""
ATTEMPTS = 3
"""How often a file is read if the child is ended from outside."""
MOST_SLOW_PAGES = 3
"""Pages of a file that may take too long; they stay without text."""


class Collector:
    """Assembles pages from the child's lines. The last line sets `media_type` or `rejection`."""

    def __init__(self, progress: Progress | None, on_page: OnPage | None = None) -> None:
        self.pages: list[Page] = []
        self.media_type = ""
        self.rejection: DocumentRejected | None = None
        self._progress = progress
        self._on_page = on_page
        self._opened = ""
        self._total = 0
        self._parts: list[str] = []
        self._following: list[Page] = []
        self._characters = 0
        self._slow = 0

    def take(self, line: bytes) -> None:
        """Add one line. Raises UnreadableDocument beyond a limit, GarbageOutput for an invalid line."""
        message = parse_line(line)
        if self.media_type or self.rejection:
            raise GarbageOutput("a line after the end")
        if "error" in message:
            self.rejection = rejection(message)
            _log.info("extraction.rejected code=%s cause=%s", self.rejection.code, message.get("cause"))
        elif "opened" in message:
            self._opened, total = str(message["opened"]), message.get("total")
            self._total = total if isinstance(total, int) else 0
        elif "done" in message:
            self._end(str(message["done"]))
        else:
            self._add(message)

    def skip_slow_page(self) -> None:
        """Leave the next page without text. Raises UnreadableDocument unless another child can read on."""
        if self._opened != PDF or self._slow == MOST_SLOW_PAGES:
            raise unreadable("too_slow")
        self._slow += 1
        self._parts = []
        self._append(Page(number=len(self.pages) + 1, text=""))
        _log.warning("extraction.slow_page number=%d", len(self.pages))

    def _end(self, media_type: str) -> None:
        if self._slow and not any(page.text for page in self.pages):
            raise unreadable("too_slow")
        for page in self._following:
            self.pages.append(page.model_copy(update={"number": len(self.pages) + 1}))
        self.media_type = media_type

    def _add(self, message: dict[str, object]) -> None:
        text = str(message["text"])
        self._characters += len(text)
        self._parts.append(text)
        if self._characters > MAX_CHARACTERS or len(self.pages) + len(self._following) >= MAX_PAGES:
            raise unreadable("too_large")
        if message.get("more"):
            return
        label = str(message.get("label", ""))
        text = "".join(self._parts)
        boxes = page_boxes(message)
        if len(boxes) > len(text) * BOX_BYTES:  # limits all boxes of a file, as its text is limited
            raise GarbageOutput("more boxes than characters")
        page = Page(number=len(self.pages) + 1, text=text, label=label, boxes=boxes)
        self._parts = []
        if message.get("follows"):
            self._following.append(page)
        else:
            self._append(page)

    def _append(self, page: Page) -> None:
        self.pages.append(page)
        if self._on_page is not None:
            self._on_page(page)
        if self._progress is not None:
            self._progress(page.number, self._total, "Reading the text")


class Interrupted(Exception):
    """A child was ended from outside; `cause` is the error if that happens each time."""

    def __init__(self, cause: OrcError) -> None:
        self.cause = cause


class Extractor:
    """Reads files, at most `processes` at a time, each within limits of time and memory."""

    def __init__(
        self,
        *,
        times: TimeLimits = EXTRACTION_TIMES,
        memory_bytes: int = EXTRACTION_MEMORY_BYTES,
        processes: int = EXTRACTION_PROCESSES,
        worker: Sequence[str] = _WORKER,
    ) -> None:
        """`worker`: interpreter arguments that start a child; replaced in tests only."""
        self._times = times
        self._memory_bytes = memory_bytes
        self._slots = asyncio.Semaphore(processes)
        self._command = (sys.executable, *worker)
        self._forks = worker == _WORKER
        self._children = Children()

    async def extract(
        self,
        source: Path,
        file_name: str,
        progress: Progress | None = None,
        on_page: OnPage | None = None,
    ) -> Extraction:
        """Extract the file at `source`; the extension of `file_name` names its format.

        `on_page` is called with each page as soon as it is read, again if the file is read again.

        Raises UnsupportedDocument, or UnreadableDocument with a code of errors.py. A file without text is
        no error; a page that takes too long has none. The limits do not include waiting for a free process.
        """
        async with self._slots:
            for attempt in range(1, ATTEMPTS + 1):
                collector = Collector(progress, on_page)
                try:
                    await self._read(source, file_name, collector)
                    break
                except Interrupted as error:
                    if attempt == ATTEMPTS:
                        raise error.cause from None
            if not self._forks or not ForkServer.is_possible():
                self._children.prepare(*self._command)
        return Extraction(pages=collector.pages, media_type=collector.media_type)

    async def prepare(self) -> None:
        """Start the process that the first file would otherwise wait for."""
        if not self._forks or not await self._children.prepare_fork():
            self._children.prepare(*self._command)

    async def close(self) -> None:
        """Stop all children; pending extractions raise Unavailable."""
        await self._children.close()

    async def _read(self, source: Path, file_name: str, collector: Collector) -> None:
        """Read the whole file: with one child, and one more for what follows each slow page."""
        times = self._times
        while not collector.media_type:
            begin = self._children.fork if self._forks else self._children.start
            async with begin(*self._command) as process, watched(process, times) as watch:
                first = len(collector.pages) + 1
                limits = {"seconds": times.page, "most_seconds": times.most}
                request = request_line(source, self._memory_bytes, **limits, name=file_name, first=first)
                returncode = await _collect(process, request, collector, watch)
            if collector.rejection is not None:
                raise collector.rejection
            if not collector.media_type:
                self._check_death(returncode, watch)
                collector.skip_slow_page()
                times = times._replace(wall=times.wall - watch.wall)

    def _check_death(self, returncode: int, watch: Watch) -> None:
        """Raise the error for a child without a final message, unless it was for a slow page."""
        _log.warning("extraction.child_died returncode=%s", returncode)
        if watch.verdict is Verdict.SLOW_PAGE or is_overdue(returncode):
            return
        if watch.verdict is Verdict.TOO_SLOW:
            raise unreadable("too_slow")
        error = self._children.death(returncode)
        if is_from_outside(returncode) and not self._children.closed:
            raise Interrupted(error)
        raise error


async def _collect(process: Child, request: bytes, collector: Collector, watch: Watch) -> int:
    """The exit code of a child, whose pages are collected until it ends."""
    try:
        await send(process, request)
        await _receive(process, collector, watch)
        return await process.wait()
    except GarbageOutput as error:
        _log.warning("extraction.garbage reason=%s", error)
        raise unreadable("corrupt") from error


async def _receive(process: Child, collector: Collector, watch: Watch) -> None:
    assert process.stdout is not None
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError as error:
            raise GarbageOutput("a line that is too long") from error
        if not line.endswith(b"\n"):
            return  # the end, or half a line of a child that was killed
        collector.take(line)
        watch.pages = len(collector.pages)
