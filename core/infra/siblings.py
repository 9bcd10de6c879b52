"""Questions between the processes that serve one port, such as: which of you answers this turn?

Each answers at a Unix socket in a folder of their user only, so that messages can be pickles. None ends the
answers to a question.
"""

import asyncio
import logging
import pickle
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from core.infra.shared_port import Member

log = logging.getLogger(__name__)

LENGTH = struct.Struct("!Q")
FIRST_ANSWER_SECONDS = 2.0
"""A sibling that hangs has no answer; it is killed and started again later."""

Answer = Callable[[Any], AsyncGenerator[Any, None]]
"""The answers to one question, until there are no more."""


class Siblings:
    """The other processes that serve the port of this one."""

    def __init__(self, member: Member, *, first_answer_seconds: float = FIRST_ANSWER_SECONDS) -> None:
        self._member = member
        self._seconds = first_answer_seconds

    @asynccontextmanager
    async def answered(self, answer: Answer) -> AsyncIterator[None]:
        """Answer the questions of siblings while the context is open."""

        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                with suppress(ConnectionError):  # the sibling has left before the end
                    async with aclosing(answer(await _read(reader))) as answers:
                        async for each in answers:
                            await _write(writer, each)
                    await _write(writer, None)
            finally:
                writer.close()

        self._member.requests.unlink(missing_ok=True)  # of a process that was killed
        server = await asyncio.start_unix_server(reply, self._member.requests)
        try:
            yield
        finally:
            server.close()

    async def ask(self, question: Any) -> AsyncGenerator[Any, None]:
        """The answers of the first sibling that has any, as they come.

        Raises ConnectionError if the sibling ends in the middle.
        """
        for path in self._member.siblings:
            async with _asked(path, question, self._seconds) as (first, reader):
                if first is None:
                    continue
                yield first
                while (more := await _read(reader)) is not None:
                    yield more
                return

    async def tell(self, news: Any) -> None:
        """Send all siblings something that needs no answer."""
        for path in self._member.siblings:
            async with _asked(path, news, self._seconds):
                pass


@asynccontextmanager
async def _asked(
    path: Path, question: Any, seconds: float
) -> AsyncIterator[tuple[Any, asyncio.StreamReader]]:
    """The first answer of a sibling, None if it has none or does not answer, and what reads the others."""
    first, writer, reader = None, None, asyncio.StreamReader()
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_unix_connection(path)
            await _write(writer, question)
            first = await _read(reader)
    except (OSError, TimeoutError) as exc:
        log.warning("another process of this port does not answer: %s", type(exc).__name__)
    try:
        yield first, reader
    finally:
        if writer is not None:
            writer.close()


async def _write(writer: asyncio.StreamWriter, message: Any) -> None:
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    writer.write(LENGTH.pack(len(content)) + content)
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Any:
    """The next message. Raises ConnectionError if the other side ends first."""
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return pickle.loads(await reader.readexactly(length))
    except asyncio.IncompleteReadError as exc:
        raise ConnectionResetError("another process of this port has ended") from exc
