"""Collects the pages that child processes read, one child or two at the same time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count

from core.errors import DocumentRejected, OrcError
from core.extraction.pages import unreadable
from core.extraction.protocol import GarbageOutput, page_boxes, parse_line, rejection
from core.extraction.word_boxes import BOX_BYTES
from core.models import Page, Progress

MAX_CHARACTERS = 20_000_000
MAX_PAGES = 50_000
PDF = "application/pdf"
MOST_SLOW_PAGES = 3
"""The number of pages of one file that may take too long. They stay without text."""
READ_IN_HALVES = range(32, 8000)
"""The number of pages of a PDF that is read in halves. Starting another child takes as long as reading a few
pages, and it may have to look up words in all pages of the first half.
"""

OnPage = Callable[[Page], object]

_log = logging.getLogger(__name__)


class Interrupted(Exception):
    """A child was ended from outside; `cause` is the error if that happens each time."""

    def __init__(self, cause: OrcError) -> None:
        self.cause = cause


def counted(progress: Progress) -> Progress:
    """Progress that counts the pages that have been read and ignores their numbers."""
    numbers = count(1)

    def report(_number: int, total: int, what: str) -> None:
        done = next(numbers)
        progress(min(done, total) if total else done, total, what)

    return report


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

    @property
    def pages_of_pdf(self) -> int:
        """The number of pages of the PDF; 0 if it has not been opened, or if the file is no PDF."""
        return self._total if self._opened == PDF else 0

    def complete(self, second: "Collector", first: int) -> None:
        """Add all pages from page `first` on, which another collector has."""
        self._characters += second._characters
        if self._characters > MAX_CHARACTERS:
            raise unreadable("too_large")
        following = [*self._following, *second._following]
        self._following = []
        rest = second.pages[: len(second.pages) - len(second._following)]
        del self.pages[first - 1 :]
        for page in (*rest, *following):
            self.pages.append(page.model_copy(update={"number": len(self.pages) + 1}))
        self.media_type = second.media_type

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


class SecondHalf:
    """The second half of a PDF, read by another child while the first child reads from the beginning.

    It takes over when the first child arrives at the middle. Until then nothing depends on it: if no process
    is free, or if it fails, the first child reads on.
    """

    def __init__(
        self,
        slots: asyncio.Semaphore,
        is_busy: Callable[[], bool],
        read: Callable[[int], Awaitable[Collector]],
    ) -> None:
        """`read`: reads from a page to the end of the file."""
        self.first = 0
        self._slots = slots
        self._is_busy = is_busy
        self._read = read
        self._reading: asyncio.Task[Collector] | None = None
        self._has_slot = self._is_decided = False

    def begin(self, pages: int) -> None:
        """Start the second child if the PDF is long, a process is free and the machine is not busy.

        The first call decides.
        """
        if self._is_decided or not pages:
            return
        self._is_decided = True
        if pages in READ_IN_HALVES and not self._slots.locked() and not self._is_busy():
            self.first = pages // 2 + 1
            self._reading = asyncio.create_task(self._run())

    def take_over(self, pages: int) -> bool:
        """Whether the second child continues from here: the first one has read `pages`, up to this half.

        If the half has no process yet, it is cancelled.
        """
        if self._reading is None or pages != self.first:
            return False
        if not self._has_slot:
            self._reading.cancel()
            return False
        return not self._reading.done() or self._reading.exception() is None

    async def result(self) -> Collector:
        """What was read. Raises Interrupted if it failed."""
        assert self._reading is not None
        try:
            return await self._reading
        except OrcError as error:
            raise Interrupted(error) from error

    async def end(self) -> None:
        """Stop the second child if it still reads."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _run(self) -> Collector:
        async with self._slots:
            self._has_slot = True
            try:
                return await self._read(self.first)
            except Exception as error:
                _log.warning("extraction.second_half_failed error=%s", type(error).__name__)
                raise
