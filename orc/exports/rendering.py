"""Renders an export as PDF in a confined child process, while the event loop goes on."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

from orc.exports.tree import Entry, Heading
from orc_core.errors import OrcError, Unavailable
from orc_core.infra.sandbox import Ended, Limits, Reason, Sandbox

LIMITS = Limits(512 * 1024 * 1024, step=60.0, most=60.0, wall=600.0)
PROCESSES = 2
"""PDF files that one process of the API writes at the same time."""
WRITE = "orc.exports.pdf:write_pdf"
_OWN_FONT = Path(__file__).parent

log = logging.getLogger(__name__)


class TooMuch(Exception):
    """The export needs more time or memory than a child process has."""


class PdfRenderer:
    """Writes PDF files, each in a separate child."""

    def __init__(self, sandbox: Sandbox, fonts_folder: str, *, function: str = WRITE) -> None:
        """`function` is replaced in tests only."""
        self._sandbox = sandbox
        self._fonts_folder = fonts_folder
        self._function = function
        self._slots = asyncio.Semaphore(PROCESSES)

    async def render(self, heading: Heading, entries: AsyncIterator[Entry]) -> bytes:
        """The file. Raises TooMuch."""
        arguments = {
            "heading": asdict(heading),
            "entries": [to_json(asdict(entry)) async for entry in entries],
            "fonts_folder": self._fonts_folder,
        }
        # Damaged fonts may harm libraries, so their process reads nothing else.
        reads = [_OWN_FONT, *([Path(self._fonts_folder)] if self._fonts_folder else [])]
        try:
            async with self._slots, self._sandbox.run(self._function, LIMITS, reads, **arguments) as run:
                written = await anext(run)
        except Ended as ended:
            raise _failure(ended.reason) from ended
        log.info("export.pdf bytes=%d boxes=%s", len(written.content), written.fields.get("boxes"))
        return written.content


def _failure(reason: Reason) -> Exception:
    if reason is Reason.STOPPED:
        return Unavailable("The export was interrupted. Try again.")
    is_ours = reason in {Reason.FAILED, Reason.BROKEN}
    return OrcError("The export failed.", code="export_failed") if is_ours else TooMuch()


def to_json(values: dict[str, object]) -> str:
    """Values for the child, with a question mark for what is no text."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace").decode()
