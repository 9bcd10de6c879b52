"""Reads each file in child processes, and turns every outcome into pages or an error."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from itertools import accumulate, count
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from orc_core.errors import OrcError
from orc_core.extraction.pages import LONGEST_PAGE, count_letters, unreadable
from orc_core.extraction.reading import MAX_CHARACTERS
from orc_core.extraction.refusals import refusal
from orc_core.extraction.word_boxes import BOX_BYTES, MAX_BOXES
from orc_core.infra.priority import is_busy
from orc_core.infra.sandbox import Ended, Limits, Reason, Run, Sandbox
from orc_core.infra.sandbox_child import ChildMessage
from orc_core.models import Page, Progress, Record

MAX_PAGES = 50_000
PDF = "application/pdf"
MOST_SLOW_PAGES = 3
"""The number of pages of one file that may take too long. They stay without text."""

OnPage = Callable[[Page], object]

_log = logging.getLogger(__name__)


def counted(progress: Progress) -> Progress:
    """Progress that counts the pages that have been read and ignores their numbers."""
    numbers = count(1)

    def report(_number: int, total: int, what: str) -> None:
        done = next(numbers)
        progress(min(done, total) if total else done, total, what)

    return report


class Collector:
    """Assembles pages from the messages of `reading.read_file`."""

    def __init__(self, progress: Progress | None, on_page: OnPage | None = None) -> None:
        self.pages: list[Page] = []
        self.media_type = ""
        self.properties = ""
        self._progress = progress
        self._on_page = on_page
        self._total = 0
        self._following: list[Page] = []
        self._characters = 0
        self._slow = 0

    @property
    def pages_of_pdf(self) -> int:
        """The number of pages of the PDF; 0 if it has not been opened, or if the file is no PDF."""
        return self._total if self.media_type == PDF else 0

    def take(self, message: ChildMessage) -> None:
        """Add a message. Raises UnreadableDocument beyond a limit, and for an invalid one."""
        fields = message.fields
        if "opened" in fields:
            total = fields.get("total")
            self.media_type, self._total = str(fields["opened"]), total if isinstance(total, int) else 0
            self.properties = str(fields.get("properties", ""))[:LONGEST_PAGE]
            return
        text, boxes = _text_and_boxes(message)
        self._count(len(text))
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

    def complete(self, second: "Collector", first: int) -> None:
        """Add all pages from page `first` on, which another collector has."""
        self._count(second._characters)
        del self.pages[first - 1 :]
        self._add_numbered(second.pages)
        self._following += second._following

    def end(self) -> None:
        """All messages have come. Raises UnreadableDocument if only slow pages could have text."""
        if self._slow and not any(page.text for page in self.pages):
            raise unreadable("too_slow")
        self._add_numbered(self._following)

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MAX_CHARACTERS or len(self.pages) + len(self._following) >= MAX_PAGES:
            raise unreadable("too_large")

    def _add_numbered(self, pages: list[Page]) -> None:
        for page in pages:
            self.pages.append(page.model_copy(update={"number": len(self.pages) + 1}))

    def _append(self, page: Page) -> None:
        self.pages.append(page)
        if self._on_page is not None:
            self._on_page(page)
        if self._progress is not None:
            self._progress(page.number, self._total, "Reading the text")


def _text_and_boxes(message: ChildMessage) -> tuple[str, bytes]:
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
    return text, boxes


MIN_PDF_LETTERS = 16
"""A PDF with fewer letters is a scan with a stamp or page number."""
LIMITS = Limits(1024 * 1024 * 1024)
"""Of the extraction of one file."""
PROCESSES = 2
"""Files that one process extracts at the same time; one fewer of them may be read in halves."""
ATTEMPTS = 3
"""How often a file is read if the child is ended from outside."""
READ_IN_HALVES = range(32, 8000)
"""The number of pages of a PDF that is read in halves. Starting another child takes as long as reading a few
pages, and it may have to look up words in all pages of the first half.
"""
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


class _File(NamedTuple):
    source: Path
    name: str
    progress: Progress | None
    on_page: OnPage | None


class _Half(NamedTuple):
    """The second half of a PDF, from this page on, read while another child reads from the beginning."""

    first: int
    reading: asyncio.Task[Collector]

    def takes_over(self, pages: int) -> bool:
        """Whether it goes on from here. Until then nothing depends on it: if it has failed, it does not."""
        has_failed = self.reading.done() and self.reading.exception() is not None
        return pages == self.first and not has_failed

    async def result(self) -> Collector:
        """What was read. Raises Ended if it failed, so that one child reads the whole file."""
        try:
            return await self.reading
        except (OrcError, Ended) as error:
            raise Ended(Reason.STOPPED) from error

    async def end(self) -> None:
        """Stop the child if it still reads."""
        self.reading.cancel()
        await asyncio.gather(self.reading, return_exceptions=True)


class Extractor:
    """Reads files, at most `processes` at a time, each within limits of time and memory."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        limits: Limits = LIMITS,
        processes: int = PROCESSES,
        function: str = READ,
        is_busy: Callable[[], bool] = is_busy,
    ) -> None:
        """`function` and `is_busy` are replaced in tests only."""
        self._sandbox = sandbox
        self._limits = limits
        self._slots = asyncio.Semaphore(processes)
        self._halves = asyncio.Semaphore(processes - 1)
        self._function = function
        self._is_busy = is_busy

    async def extract(
        self,
        source: Path,
        file_name: str,
        progress: Progress | None = None,
        on_page: OnPage | None = None,
    ) -> Extraction:
        """Extract the file at `source`; the extension of `file_name` names its format.

        `on_page` is called with each page as soon as it is read. The pages of the two halves of a long
        PDF alternate; each half is numbered from 1, and some pages are in both. If the file is read again, so
        are all its pages.

        Raises UnsupportedDocument, or UnreadableDocument with a code of errors.py. A file without text is
        no error; a page that takes too long has none. The limits do not include waiting for a free process.
        """
        file = _File(source, file_name, progress and counted(progress), on_page)
        async with self._slots:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return await self._read(file, in_halves=attempt == 1)
                except Ended as ended:
                    is_from_outside = ended.reason in {Reason.KILLED, Reason.STOPPED}
                    if attempt == ATTEMPTS or not is_from_outside:
                        raise refusal(ended) from ended
        raise AssertionError("the last attempt returns or raises")

    async def _read(self, file: _File, *, in_halves: bool) -> Extraction:
        """The whole file. Raises Ended with a reason from outside if its second half failed."""
        collector = Collector(file.progress, file.on_page)
        half: _Half | None = None
        is_taken_over = False
        try:
            async with aclosing(self._messages(file, collector)) as messages:
                async for message in messages:
                    collector.take(message)
                    if in_halves and collector.pages_of_pdf:
                        in_halves = False  # the first message decides
                        half = await self._begin_half(file, collector.pages_of_pdf)
                    if is_taken_over := half is not None and half.takes_over(len(collector.pages)):
                        break
            if half is not None and is_taken_over:
                collector.complete(await half.result(), half.first)
            collector.end()
            return Extraction(
                pages=collector.pages, media_type=collector.media_type, properties=collector.properties
            )
        finally:
            if half is not None:
                await half.end()

    async def _messages(self, file: _File, collector: Collector) -> AsyncGenerator[ChildMessage]:
        """What one child says of a file, and one more of what follows each slow page."""
        limits = self._limits
        while True:
            async with self._run(file, limits, first=len(collector.pages) + 1) as run:
                try:
                    async for message in run:
                        yield message
                    return
                except Ended as ended:
                    if ended.reason is not Reason.SLOW_STEP:
                        raise
            collector.skip_slow_page()
            limits = replace(limits, wall=limits.wall - run.waited)

    async def _begin_half(self, file: _File, pages: int) -> _Half | None:
        """Another child if the PDF is long, a process is free and the machine is not busy."""
        if pages not in READ_IN_HALVES or self._halves.locked() or self._is_busy():
            return None
        await self._halves.acquire()
        first = pages // 2 + 1
        reading = asyncio.create_task(self._read_half(file, first))
        reading.add_done_callback(lambda _: self._halves.release())
        return _Half(first, reading)

    async def _read_half(self, file: _File, first: int) -> Collector:
        collector = Collector(file.progress, file.on_page)
        try:
            async with self._run(file, self._limits, first=first, with_earlier_words=True) as run:
                async for message in run:
                    collector.take(message)
        except Exception as error:
            _log.warning("extraction.second_half_failed error=%s", type(error).__name__)
            raise
        return collector

    def _run(
        self, file: _File, limits: Limits, *, first: int, with_earlier_words: bool = False
    ) -> AbstractAsyncContextManager[Run]:
        return self._sandbox.run(
            self._function,
            limits,
            [file.source],
            path=file.source,
            name=file.name,
            memory_bytes=limits.memory_bytes,
            first=first,
            with_earlier_words=with_earlier_words,
        )
