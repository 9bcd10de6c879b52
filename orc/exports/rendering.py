"""Renders an export as PDF in a confined child process, while the event loop goes on."""

import asyncio
import json
import logging
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import asdict

from core.errors import OrcError, Unavailable
from core.extraction.subprocesses import MODULE, Children
from orc.exports.tree import Entry, Heading

MEMORY_BYTES = 512 * 1024 * 1024
PROCESSOR_SECONDS = 60.0
WALL_SECONDS = 600.0
PROCESSES = 2
"""PDF files that one process of the API writes at the same time."""
MAX_PDF_BYTES = 64 * 1024 * 1024
_WORKER = (*MODULE, "orc.exports.pdf_child")

log = logging.getLogger(__name__)


class TooMuch(Exception):
    """The export needs more time or memory than a child process has."""


class PdfRenderer:
    """Writes PDF files, each in a separate child."""

    def __init__(self, fonts_folder: str, *, worker: Sequence[str] = _WORKER) -> None:
        """`worker`: the command that starts a child; replaced in tests only."""
        self._fonts_folder = fonts_folder
        self._worker = worker
        self._children = Children()
        self._slots = asyncio.Semaphore(PROCESSES)

    async def render(self, heading: Heading, entries: AsyncIterator[Entry]) -> bytes:
        """The file. Raises TooMuch."""
        async with self._slots, self._children.start(*self._worker) as process:
            try:
                async with asyncio.timeout(WALL_SECONDS):
                    await self._send(process, heading, entries)
                    return await self._receive(process)
            except TimeoutError:
                raise TooMuch from None

    async def close(self) -> None:
        """Stop all children; exports under way raise Unavailable."""
        await self._children.close()

    async def _send(self, process: Process, heading: Heading, entries: AsyncIterator[Entry]) -> None:
        limits = {"memory_bytes": MEMORY_BYTES, "seconds": PROCESSOR_SECONDS}
        assert process.stdin is not None
        with suppress(ConnectionError):  # it has died; its exit code says why
            process.stdin.write(
                line_of({**limits, "fonts_folder": self._fonts_folder}) + line_of(asdict(heading))
            )
            async for entry in entries:
                process.stdin.write(line_of(asdict(entry)))
                await process.stdin.drain()
        process.stdin.close()

    async def _receive(self, process: Process) -> bytes:
        assert process.stdout is not None
        try:
            header = json.loads(await process.stdout.readuntil())
            if "error" in header:
                raise _failure(header["error"])
            length, boxes = int(header["bytes"]), int(header["boxes"])
            if length > MAX_PDF_BYTES:
                raise TooMuch
            log.info("export.pdf bytes=%d boxes=%d", length, boxes)
            return await process.stdout.readexactly(length)
        except asyncio.IncompleteReadError:
            raise self._death(await process.wait()) from None
        except (ValueError, TypeError, KeyError, asyncio.LimitOverrunError) as error:
            raise _failure(f"garbage: {type(error).__name__}") from error

    def _death(self, returncode: int) -> Exception:
        """The error for a child that ended without a file: at a limit, or because this process ends."""
        log.warning("export.child_died returncode=%s", returncode)
        if self._children.closed:
            return Unavailable("The export was interrupted. Try again.")
        return TooMuch() if returncode < 0 else OrcError("The export failed.", code="export_failed")


def _failure(name: str) -> Exception:
    if name == MemoryError.__name__:
        return TooMuch()
    log.error("export.failed cause=%s", name)
    return OrcError("The export failed.", code="export_failed")


def line_of(message: dict[str, object]) -> bytes:
    """A message to the child."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
