"""Puts the child's lines together again, within the caps on what one file may hold."""

import logging

from core.documents.boxes import BOX_BYTES
from core.documents.extraction.protocol import GarbageOutput, page_boxes, parse_line, rejection
from core.documents.extraction.rejections import unreadable
from core.documents.models import Page
from core.documents.ports import Progress
from core.errors import DocumentRejected

MAX_CHARACTERS = 20_000_000
MAX_PAGES = 50_000

_log = logging.getLogger(__name__)


class Collector:
    """The pages so far; at the end either `media_type` or `rejection` is set, if the child got that far."""

    def __init__(self, progress: Progress | None) -> None:
        self.pages: list[Page] = []
        self.media_type = ""
        self.rejection: DocumentRejected | None = None
        self._progress = progress
        self._parts: list[str] = []
        self._characters = 0

    def take(self, line: bytes) -> None:
        """Add one line. Raises UnreadableDocument past a cap, GarbageOutput where the line makes no sense."""
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
        if len(boxes) > len(page) * BOX_BYTES:  # keeps all boxes of a file within a cap, as its text is
            raise GarbageOutput("more boxes than characters")
        self.pages.append(Page(number=number, text=page, label=label, boxes=boxes))
        self._parts = []
        total = message.get("total")
        if self._progress is not None:
            self._progress(number, total if isinstance(total, int) else 0, "Reading the text")
