"""Exports a conversation: reads its turns page by page, and writes them in the format that was asked for."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from orc.contexts.withholding import RevokedAnswers, withheld
from orc.conversations.models import Head, utc_now
from orc.conversations.session_contexts import Range, covers
from orc.conversations.turn_log import TurnLog
from orc.exports.markdown import write_entry, write_heading
from orc.exports.rendering import PdfRenderer, TooMuch
from orc.exports.transcript import Transcript, heading_of
from orc.exports.tree import Entry
from orc.identity import Principal
from orc.user_limits import UserLimit
from orc_core.errors import Conflict, NotFound
from orc_core.names import Owner

MOST_PDF_TURNS = 500
MOST_TURNS = 2000
PAGE = 50
"""Turns that are read at a time, so that no other request waits long."""


class ExportFormat(StrEnum):
    """The formats of an export."""

    MARKDOWN = "markdown"
    PDF = "pdf"


MEDIA_TYPES = {ExportFormat.MARKDOWN: "text/markdown", ExportFormat.PDF: "application/pdf"}
_EXTENSIONS = {ExportFormat.MARKDOWN: ".md", ExportFormat.PDF: ".pdf"}


class ExportedFile(NamedTuple):
    """A file to be saved under `name`."""

    name: str
    media_type: str
    content: bytes


class Exporter:
    """Exports conversations, one at a time for each user."""

    def __init__(
        self,
        turns: TurnLog,
        renderer: PdfRenderer,
        revoked: RevokedAnswers,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._turns = turns
        self._revoked = revoked
        self._renderer = renderer
        self._clock = clock
        self._of_users = UserLimit(1, "export")

    async def export(self, owner: Owner, caller: Principal, wanted: ExportFormat) -> ExportedFile:
        """The whole conversation as a file.

        Raises NotFound, TooMany, and Conflict (code `too_long`) with the format that may do instead.
        """
        with self._of_users.hold(caller):
            head = await self._turns.head(owner)
            if head is None:
                raise NotFound("There is no such conversation.")
            is_pdf = wanted is ExportFormat.PDF
            _check_length(head, wanted)
            blocked = await self._revoked.ranges(caller, head)
            content = await (self._pdf(head, blocked) if is_pdf else self._markdown(head, blocked))
        name = f"{heading_of(head, self._clock()).title}{_EXTENSIONS[wanted]}"
        return ExportedFile(name, MEDIA_TYPES[wanted], content)

    async def _markdown(self, head: Head, blocked: Sequence[Range]) -> bytes:
        heading = write_heading(heading_of(head, self._clock()))
        entries = [write_entry(entry) async for entry in self._entries(head, blocked)]
        return "".join([heading, *entries]).encode("utf-8", "replace")

    async def _pdf(self, head: Head, blocked: Sequence[Range]) -> bytes:
        heading = heading_of(head, self._clock())
        try:
            return await self._renderer.render(heading, self._entries(head, blocked))
        except TooMuch:
            raise too_long(
                "A PDF file of this conversation would be too large. Export it as markdown."
            ) from None

    async def _entries(self, head: Head, blocked: Sequence[Range]) -> AsyncIterator[Entry]:
        transcript, after = Transcript(), 0
        while page := await self._turns.turns(head.owner, after_seq=after, limit=PAGE):
            for turn in page:
                yield transcript.entry_of(withheld(turn) if covers(blocked, turn.seq) else turn)
            after = page[-1].seq


def too_long(message: str) -> Conflict:
    """The error for a conversation that is too long for a format."""
    return Conflict(message, code="too_long")


def _check_length(head: Head, wanted: ExportFormat) -> None:
    if head.turn_count > MOST_TURNS:
        raise too_long(f"Conversations of more than {MOST_TURNS:,} turns cannot be exported.")
    if wanted is ExportFormat.PDF and head.turn_count > MOST_PDF_TURNS:
        message = f"A PDF file can have {MOST_PDF_TURNS} turns, and there are {head.turn_count:,}."
        raise too_long(f"{message} Export the conversation as markdown.")
