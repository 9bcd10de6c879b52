"""Collects the pages of a file that child processes read."""

import logging
from collections.abc import Callable
from itertools import count

from orc_core.extraction.pages import LONGEST_PAGE, unreadable
from orc_core.extraction.reading import MAX_CHARACTERS
from orc_core.extraction.word_boxes import BOX_BYTES, MAX_BOXES
from orc_core.infra.sandbox_child import ChildMessage
from orc_core.models import Page, Progress

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
