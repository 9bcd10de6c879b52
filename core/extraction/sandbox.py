"""Extracts each file in a child process, and turns every outcome into pages or an error."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path

from core.extraction.collecting import PDF, Collector, Interrupted, OnPage, SecondHalf, counted
from core.extraction.forked import ForkServer
from core.extraction.pages import count_letters, unreadable
from core.extraction.protocol import GarbageOutput
from core.extraction.subprocesses import (
    MODULE,
    Children,
    is_from_outside,
    is_overdue,
    request_line,
    send,
)
from core.extraction.watch import TimeLimits, Verdict, Watch, watched
from core.infra.children import Child
from core.infra.priority import is_busy
from core.models import Page, Progress, Record

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
        wanted = MIN_PDF_LETTERS if self.media_type == PDF else 1
        found = accumulate(count_letters(page.text) for page in self.pages)
        return any(letters >= wanted for letters in found)


EXTRACTION_TIMES = TimeLimits()
EXTRACTION_MEMORY_BYTES = 1024 * 1024 * 1024
"""Limits of the extraction of one file."""
EXTRACTION_PROCESSES = 2
"""Files that one process extracts at the same time; one fewer of them may be read in halves."""
ATTEMPTS = 3
"""How often a file is read if the child is ended from outside."""


class Extractor:
    """Reads files, at most `processes` at a time, each within limits of time and memory."""

    def __init__(
        self,
        *,
        times: TimeLimits = EXTRACTION_TIMES,
        memory_bytes: int = EXTRACTION_MEMORY_BYTES,
        processes: int = EXTRACTION_PROCESSES,
        worker: Sequence[str] = _WORKER,
        is_busy: Callable[[], bool] = is_busy,
    ) -> None:
        """`worker`: interpreter arguments that start a child. It and `is_busy` are replaced in tests only."""
        self._times = times
        self._memory_bytes = memory_bytes
        self._slots = asyncio.Semaphore(processes)
        self._halves = asyncio.Semaphore(processes - 1)
        self._command = (sys.executable, *worker)
        self._forks = worker == _WORKER
        self._is_busy = is_busy
        self._children = Children()

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
        async with self._slots:
            for attempt in range(1, ATTEMPTS + 1):
                note = progress and counted(progress)
                collector = Collector(note, on_page)
                read_rest = partial(self._read_rest, source, file_name, note, on_page)
                second = SecondHalf(self._halves, self._is_busy, read_rest) if attempt == 1 else None
                try:
                    await self._read(source, file_name, collector, second)
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

    async def _read(
        self, source: Path, file_name: str, collector: Collector, second: SecondHalf | None
    ) -> None:
        """Read the whole file: with one child, and one more for what follows each slow page."""
        times = self._times
        try:
            while not collector.media_type:
                async with self._child(times) as (process, watch):
                    request = self._request(source, file_name, len(collector.pages) + 1)
                    returncode = await _collect(process, request, collector, watch, second)
                if returncode is None:
                    assert second is not None
                    collector.complete(await second.result(), second.first)
                elif collector.rejection is not None:
                    raise collector.rejection
                elif not collector.media_type:
                    self._check_death(returncode, watch)
                    collector.skip_slow_page()
                    times = times._replace(wall=times.wall - watch.wall)
        finally:
            if second is not None:
                await second.end()

    async def _read_rest(
        self, source: Path, file_name: str, progress: Progress | None, on_page: OnPage | None, first: int
    ) -> Collector:
        """The pages of a PDF from this one to its end. Raises an OrcError if not all of them can be read."""
        collector = Collector(progress, on_page)
        async with self._child(self._times) as (process, watch):
            request = self._request(source, file_name, first, with_earlier_words=True)
            returncode = await _collect(process, request, collector, watch)
        if not collector.media_type:
            raise collector.rejection or self._children.death(returncode or 0)
        return collector

    @asynccontextmanager
    async def _child(self, times: TimeLimits) -> AsyncIterator[tuple[Child, Watch]]:
        """A child for one request, and what watches it. It ends with the context."""
        begin = self._children.fork if self._forks else self._children.start
        async with begin(*self._command) as process, watched(process, times) as watch:
            yield process, watch

    def _request(
        self, source: Path, file_name: str, first: int, *, with_earlier_words: bool = False
    ) -> bytes:
        return request_line(
            source,
            self._memory_bytes,
            self._times.page,
            most_seconds=self._times.most,
            name=file_name,
            first=first,
            with_earlier_words=with_earlier_words,
        )

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


async def _collect(
    process: Child, request: bytes, collector: Collector, watch: Watch, second: SecondHalf | None = None
) -> int | None:
    """The exit code of a child, whose pages are collected until it ends; None once `second` takes over."""
    try:
        await send(process, request)
        async for line in _lines(process):
            collector.take(line)
            watch.pages = len(collector.pages)
            if second is not None:
                second.begin(collector.pages_of_pdf)
                if second.take_over(len(collector.pages)):
                    return None
        return await process.wait()
    except GarbageOutput as error:
        _log.warning("extraction.garbage reason=%s", error)
        raise unreadable("corrupt") from error


async def _lines(process: Child) -> AsyncIterator[bytes]:
    """What a child writes, without half a line of one that was killed."""
    assert process.stdout is not None
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError as error:
            raise GarbageOutput("a line that is too long") from error
        if not line.endswith(b"\n"):
            return
        yield line
