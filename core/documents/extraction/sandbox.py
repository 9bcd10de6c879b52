"""Runs one child process for each file and turns every way in which it can end into pages or an error."""

import asyncio
import hashlib
import json
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from core.documents.extraction.collector import Collector
from core.documents.extraction.models import Extraction
from core.documents.extraction.protocol import MAX_LINE_BYTES, GarbageOutput
from core.documents.extraction.rejections import unreadable
from core.documents.ports import Progress
from core.errors import OrcError, Unavailable

_WORKER = ("-P", "-X", "utf8", "-m", "core.documents.extraction.worker")
_ROOT = Path(__file__).parents[3]

_log = logging.getLogger(__name__)


class Extractor:
    """Reads files, at most `processes` at a time, each within `seconds` and `memory_bytes`."""

    def __init__(
        self, *, seconds: float, memory_bytes: int, processes: int, worker: Sequence[str] = _WORKER
    ) -> None:
        """`worker` are the interpreter's arguments that start a child; only tests give others."""
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._slots = asyncio.Semaphore(processes)
        self._worker = worker
        self._running: set[Process] = set()
        self._closed = False

    async def extract(self, source: Path, file_name: str, progress: Progress | None = None) -> Extraction:
        """The text of the file at `source`, read as what `file_name` says it is.

        Raises UnsupportedDocument, or UnreadableDocument with one of the codes of rejections.py; a file
        without text is no error. Time spent waiting for a free process does not count.
        """
        async with self._slots:
            digest = await asyncio.to_thread(_sha256, source)
            collector = Collector(progress)
            async with self._child() as process:
                await self._collect(process, source, file_name, collector)
        return Extraction(pages=collector.pages, media_type=collector.media_type, sha256=digest)

    async def close(self) -> None:
        """Stop all children; whoever waits for one gets Unavailable."""
        self._closed = True
        for process in self._running:
            _kill(process)
        await asyncio.gather(*(process.wait() for process in self._running))

    async def _collect(self, process: Process, source: Path, file_name: str, collector: Collector) -> None:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                await _send(process, self._request(source, file_name))
                await _receive(process, collector)
                returncode = await process.wait()
        except TimeoutError:
            if limit.expired():
                raise unreadable("too_slow") from None
            raise
        except GarbageOutput as error:
            _log.warning("extraction.garbage reason=%s", error)
            raise unreadable("corrupt") from error
        if collector.rejection is not None:
            raise collector.rejection
        if not collector.media_type:
            raise self._death(returncode)

    def _request(self, source: Path, file_name: str) -> bytes:
        request = {
            "path": str(source.absolute()),
            "name": file_name,
            "memory_bytes": self._memory_bytes,
            "seconds": self._seconds,
        }
        return json.dumps(request).encode() + b"\n"

    def _death(self, returncode: int) -> OrcError:
        """The error for a child that ended without a last word."""
        _log.warning("extraction.child_died returncode=%s", returncode)
        if self._closed or -returncode in _STOPPED:
            return Unavailable("Reading the file was interrupted. Try again.")
        if returncode > 0:
            return Unavailable("The reader of documents does not work here. Its log says why.")
        if -returncode in _EXHAUSTED:
            return unreadable("too_slow")
        if -returncode in _STARVED:
            return unreadable("too_much_memory")
        return unreadable("corrupt")

    @asynccontextmanager
    async def _child(self) -> AsyncIterator[Process]:
        """A child that is certainly gone when the block is left, however it is left."""
        if self._closed:
            raise Unavailable("Reading files has stopped. Try again.")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *self._worker,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=_environment(),
            limit=MAX_LINE_BYTES,
            start_new_session=True,  # Ctrl-C at the terminal must not look like a damaged file
        )
        self._running.add(process)
        try:
            yield process
        finally:
            _kill(process)
            self._running.discard(process)
            await _reap(process)


def _signals(*names: str) -> frozenset[int]:
    """The numbers of those signals that this system has."""
    return frozenset(getattr(signal, name) for name in names if hasattr(signal, name))


_STOPPED = _signals("SIGTERM", "SIGINT", "SIGHUP")
_EXHAUSTED = _signals("SIGXCPU")
_STARVED = _signals("SIGKILL", "SIGABRT", "SIGTRAP", "SIGILL")
"""The kernel's choice when memory runs out, and what PDFium does when an allocation fails."""


async def _send(process: Process, request: bytes) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):  # it is dead already; its exit code will say why
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()


async def _receive(process: Process, collector: Collector) -> None:
    assert process.stdout is not None
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError as error:
            raise GarbageOutput("a line that is too long") from error
        if not line.endswith(b"\n"):
            return  # the end, or half a line of a child that was killed in mid-word
        collector.take(line)


def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()


async def _reap(process: Process) -> None:
    """Wait for the end; what is left in the pipe is read, or asyncio would never close it."""
    assert process.stdout is not None
    while await process.stdout.read(MAX_LINE_BYTES):
        pass
    await process.wait()


def _environment() -> dict[str, str]:
    """Where to import from, and nothing else: a hostile file must find no secrets in its reader."""
    return {"PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])}


def _sha256(source: Path) -> str:
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
