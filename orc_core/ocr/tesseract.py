"""OCR by Tesseract, the installed program."""

import asyncio
import logging
import math
import re
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from orc_core.errors import DeadlineExceeded, DependencyDown, Unavailable
from orc_core.extraction.drawing import DPI
from orc_core.extraction.word_boxes import CJK, SCALE, WORD, Box, pack
from orc_core.infra.sandbox import Ended, Limits, Reason, Sandbox
from orc_core.infra.sandbox_child import NOT_STARTED
from orc_core.ocr.ports import DAMAGED, Found, OcrPage
from orc_core.ocr.rasterize import Picture, Renderer

_COLUMNS = 12
_PAGE_LEVEL, _WORD_LEVEL = "1", "5"
_IS_CJK = re.compile(f"[{CJK}]")


class _Word(NamedTuple):
    """A word with its block, paragraph and line."""

    paragraph: tuple[str, str]
    line: str
    text: str
    confidence: float
    place: tuple[str, ...]


def parse(table: str) -> tuple[str, float | None, bytes]:
    """Text, mean confidence (0 to 1, by character) and word boxes of a table of words.

    Lines are kept; paragraphs are separated by an empty line. A table without page size gives no boxes.
    """
    words = list(_words(table))
    letters = sum(len(word.text) for word in words)
    confidence = sum(word.confidence * len(word.text) for word in words) / letters / 100 if letters else None
    paragraphs = [_paragraph(list(group)) for _, group in groupby(words, key=lambda word: word.paragraph)]
    return "\n\n".join(paragraphs), confidence, _boxes(table, words)


def _boxes(table: str, words: Sequence[_Word]) -> bytes:
    """The boxes of the words, see word_boxes.py. Characters of a Chinese word share its width evenly."""
    pages = (row.split("\t") for row in table.splitlines() if row.startswith(f"{_PAGE_LEVEL}\t"))
    try:
        across, down = (int(side) for side in next(pages)[8:10])
        return pack([box] for word in words for box in _parts(word, across, down))
    except (StopIteration, ValueError, ZeroDivisionError, struct.error):
        return b""


def _parts(word: _Word, across: int, down: int) -> Iterator[Box]:
    left, top, width, height = map(int, word.place)
    for part in WORD.finditer(word.text):
        start, end = (left + width * at / len(word.text) for at in part.span())
        yield Box(
            int(start / across * SCALE),
            int(top / down * SCALE),
            math.ceil(end / across * SCALE),
            math.ceil((top + height) / down * SCALE),
        )


def _words(table: str) -> Iterator[_Word]:
    for row in table.splitlines():
        cells = row.split("\t", _COLUMNS - 1)
        if len(cells) == _COLUMNS and cells[0] == _WORD_LEVEL and (text := cells[11].strip()):
            yield _Word((cells[2], cells[3]), cells[4], text, _confidence(cells[10]), tuple(cells[6:10]))


def _confidence(cell: str) -> float:
    try:
        return min(max(float(cell), 0.0), 100.0)
    except ValueError:
        return 0.0


def _paragraph(words: list[_Word]) -> str:
    lines = [[word.text for word in group] for _, group in groupby(words, key=lambda word: word.line)]
    return "\n".join(_joined(line) for line in lines)


def _joined(words: list[str]) -> str:
    """Words joined by blanks, except between Chinese or Japanese characters."""
    line = words[0]
    for word in words[1:]:
        together = _IS_CJK.match(line[-1]) and _IS_CJK.match(word[0])
        line += word if together else f" {word}"
    return line


PAGE_SECONDS, PAGE_CLOCK_SECONDS, IDLE_SECONDS = 60.0, 600.0, 120.0
"""Limits for one page: a busy machine needs ten times as long for it as an idle one."""

_ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}
"""Several pages in parallel use the CPUs better than several threads for one page."""

_log = logging.getLogger(__name__)


class Tesseract:
    """Runs the installed program on up to `processes` pages at a time, each file within `seconds`."""

    name = "Tesseract"

    def __init__(
        self,
        program: Path,
        sandbox: Sandbox,
        *,
        languages: str,
        seconds: float,
        memory_bytes: int,
        processes: int,
    ) -> None:
        self._program = program
        self._languages = languages
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._slots = asyncio.Semaphore(processes)
        self._sandbox = sandbox
        self._renderer = Renderer(sandbox, seconds=seconds, memory_bytes=memory_bytes)
        self._checked = False

    async def read_pages(self, source: Path, media_type: str, pages: Sequence[int], found: Found) -> None:
        """See Ocr. Pages are rendered no faster than they are read."""
        await self.ping()
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit, self._renderer.draw(source, media_type, pages) as pictures:
                await self._read_all(pictures, found)
        except TimeoutError:
            if limit.expired():
                raise DeadlineExceeded(f"Tesseract did not finish within {self._seconds:.0f} s") from None
            raise

    async def ping(self) -> None:
        """See Ocr. After the first success the program is not called again."""
        if self._checked:
            return
        output = await self._run("--list-langs") or b""
        installed = set(output.decode(errors="replace").split())
        if missing := sorted(set(self._languages.split("+")) - installed):
            raise _down(f"Tesseract lacks the language {missing[0]}; install it, or set ORC_OCR_LANGUAGES")
        self._checked = True

    async def close(self) -> None:
        """See Ocr. Its children end with the sandbox."""

    async def _read_all(self, pictures: AsyncIterator[Picture], found: Found) -> None:
        reading: set[asyncio.Task[None]] = set()
        try:
            async for picture in pictures:
                await self._slots.acquire()
                task = asyncio.create_task(self._read(picture, found))
                task.add_done_callback(lambda _: self._slots.release())
                reading.add(task)
            await asyncio.gather(*reading)
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)

    async def _read(self, picture: Picture, found: Found) -> None:
        if not picture.content:
            found(OcrPage(picture.page, problem=DAMAGED))
            return
        options = ("stdin", "stdout", "-l", self._languages, "--dpi", str(DPI), "tsv")
        output = await self._run(*options, given=picture.content)
        if output is None:
            found(OcrPage(picture.page, problem="Tesseract gave up on them"))
        else:
            text, confidence, boxes = parse(output.decode(errors="replace"))
            found(OcrPage(picture.page, text, confidence, boxes=boxes))

    async def _run(self, *options: str, given: bytes = b"") -> bytes | None:
        """The program's output; None if it failed or took too long."""
        limits = Limits(
            self._memory_bytes,
            step=PAGE_SECONDS,
            most=PAGE_SECONDS,
            idle=IDLE_SECONDS,
            wall=PAGE_CLOCK_SECONDS,
        )
        command = (str(self._program), *options)
        try:
            async with self._sandbox.run_program(*command, limits=limits, settings=_ONE_THREAD) as run:
                run.send(given)
                output, returncode = await run.output(), await run.returncode()
        except Ended as ended:
            raise _stopped() from ended
        if run.stopped is Reason.STOPPED:
            raise _stopped()
        if returncode == NOT_STARTED:
            raise _down("Tesseract cannot be started; its package may have been removed")
        if returncode != 0:
            _log.warning("ocr.tesseract_failed returncode=%s", returncode)
        return output if returncode == 0 else None


def _stopped() -> Unavailable:
    return Unavailable("OCR has been stopped. Try again.")


def _down(message: str) -> DependencyDown:
    return DependencyDown(message, dependency="ocr")
