"""Exports a conversation: reads its turns page by page, and writes them in the format that was asked for."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from orc.contexts.withholding import RevokedAnswers, withheld
from orc.conversations.models import Head, utc_now
from orc.conversations.session_contexts import Range, covers
from orc.conversations.turn_log import TurnLog
from orc.exports.markdown import write_entry, write_heading
from orc.exports.transcript import Transcript
from orc.exports.tree import Entry, Heading
from orc.identity import Principal
from orc.limits.models import UserLimit
from orc.words import ENGLISH, words_of
from orc_core.errors import Conflict, OrcError, Unavailable
from orc_core.infra.sandbox import Ended, Limits, Reason, Sandbox
from orc_core.names import Owner

MOST_SET_TURNS = 500
MOST_TURNS = 2000
PAGE = 50
"""Turns that are read at a time, so that no other request waits long."""
LIMITS = Limits(512 * 1024 * 1024, step=60.0, most=60.0, wall=600.0)
PROCESSES = 2
"""PDF and Word files that one process of the API writes at the same time."""
WRITE_PDF, WRITE_WORD = "orc.exports.pdf:write_pdf", "orc.exports.word:write_word"
_OWN_FONT = Path(__file__).parent

log = logging.getLogger(__name__)


class ExportFormat(StrEnum):
    """The formats of an export."""

    MARKDOWN = "markdown"
    PDF = "pdf"
    WORD = "docx"


MEDIA_TYPES = {
    ExportFormat.MARKDOWN: "text/markdown",
    ExportFormat.PDF: "application/pdf",
    ExportFormat.WORD: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_EXTENSIONS = {ExportFormat.MARKDOWN: ".md", ExportFormat.PDF: ".pdf", ExportFormat.WORD: ".docx"}


class Wanted(NamedTuple):
    """The file that a reader wants: its format, its language, and the time zone of its times."""

    format: ExportFormat
    language: str = ENGLISH
    zone: str = "UTC"


class ExportedFile(NamedTuple):
    """A file to be saved under `name`."""

    name: str
    media_type: str
    content: bytes


class Renderer:
    """Writes PDF and Word files, each in a separate child."""

    def __init__(self, sandbox: Sandbox, fonts_folder: str) -> None:
        self._sandbox = sandbox
        self._fonts_folder = fonts_folder
        self._slots = asyncio.Semaphore(PROCESSES)

    async def pdf(self, heading: Heading, entries: AsyncIterator[Entry], function: str = WRITE_PDF) -> bytes:
        """A PDF file. Raises TooMuch. `function` is replaced in tests only."""
        # Damaged fonts may harm libraries, so their process reads nothing else.
        reads = [_OWN_FONT, *([Path(self._fonts_folder)] if self._fonts_folder else [])]
        return await self._written(function, reads, heading, entries, fonts_folder=self._fonts_folder)

    async def word(self, heading: Heading, entries: AsyncIterator[Entry]) -> bytes:
        """A Word file. Raises TooMuch."""
        return await self._written(WRITE_WORD, [], heading, entries)

    async def _written(
        self,
        function: str,
        reads: list[Path],
        heading: Heading,
        entries: AsyncIterator[Entry],
        **options: str,
    ) -> bytes:
        given = {"heading": asdict(heading), "entries": [to_json(asdict(entry)) async for entry in entries]}
        try:
            async with self._slots, self._sandbox.run(function, LIMITS, reads, **given, **options) as run:
                written = await anext(run)
        except Ended as ended:
            if ended.reason is Reason.STOPPED:
                raise Unavailable("The export was interrupted. Try again.") from ended
            if ended.reason in {Reason.FAILED, Reason.BROKEN}:
                raise OrcError("The export failed.", code="export_failed") from ended
            raise TooMuch from ended
        log.info("export bytes=%d by=%s %s", len(written.content), function, written.fields)
        return written.content


@dataclass(frozen=True)
class Exporter:
    """Exports conversations, one at a time for each user."""

    turns: TurnLog
    renderer: Renderer
    revoked: RevokedAnswers
    clock: Callable[[], datetime] = utc_now
    of_users: UserLimit = field(default_factory=lambda: UserLimit(1, "export"))

    async def export(self, owner: Owner, caller: Principal, wanted: Wanted) -> ExportedFile:
        """The whole conversation as a file.

        Raises NotFound, TooMany, and Conflict (code `too_long`) with the format that may do instead.
        """
        with self.of_users.hold(caller):
            head = await self.turns.known_head(owner)
            count, is_set = head.turn_count, wanted.format is not ExportFormat.MARKDOWN
            if count > MOST_TURNS:
                raise too_long(f"Conversations of more than {MOST_TURNS:,} turns cannot be exported.")
            if is_set and count > MOST_SET_TURNS:
                message = f"A PDF or Word file can have {MOST_SET_TURNS} turns, and there are {count:,}."
                raise too_long(f"{message} Export the conversation as markdown.")
            blocked = await self.revoked.ranges(caller, head)
            transcript = Transcript(words_of(wanted.language), wanted.zone)
            heading = transcript.heading(head, self.clock())
            content = await self._written(wanted.format, heading, self._entries(transcript, head, blocked))
        name = f"{heading.title}{_EXTENSIONS[wanted.format]}"
        return ExportedFile(name, MEDIA_TYPES[wanted.format], content)

    async def _written(self, wanted: ExportFormat, heading: Heading, entries: AsyncIterator[Entry]) -> bytes:
        if wanted is ExportFormat.MARKDOWN:
            shown = [write_heading(heading), *[write_entry(entry, heading.labels) async for entry in entries]]
            return "".join(shown).encode("utf-8", "replace")
        render = self.renderer.pdf if wanted is ExportFormat.PDF else self.renderer.word
        try:
            return await render(heading, entries)
        except TooMuch:
            raise too_long("This file would be too large. Export the conversation as markdown.") from None

    async def _entries(
        self, transcript: Transcript, head: Head, blocked: Sequence[Range]
    ) -> AsyncIterator[Entry]:
        """Of all versions of a question at its place, with one number, the newest last."""
        found, after = list[Entry](), 0
        while page := await self.turns.turns(head.owner, after_seq=after, limit=PAGE):
            found += [
                transcript.entry_of(withheld(turn) if covers(blocked, turn.seq) else turn) for turn in page
            ]
            after = page[-1].seq
        found.sort(key=lambda each: each.number)
        for number, (_, versions) in enumerate(groupby(found, lambda each: each.number), start=1):
            for entry in versions:
                yield replace(entry, number=number)


def too_long(message: str) -> Conflict:
    """The error for a conversation that is too long for a format."""
    return Conflict(message, code="too_long")


class TooMuch(Exception):
    """The export needs more time or memory than a child process has."""


def to_json(values: dict[str, object]) -> str:
    """Values for the child, with a question mark for what is no text."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace").decode()
