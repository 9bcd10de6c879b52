"""The pieces of a streamed chat completion. Texts that come within a few milliseconds become one piece."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any, Protocol, Self

JOINED_SECONDS = 0.01
"""After a text, the texts of this time are passed on together. A screen shows a picture for longer, and each
piece passes a dozen layers in two processes before it is shown."""

Piece = dict[str, Any]


class Pieces(Protocol):
    """An open stream of pieces as plain JSON."""

    def __aiter__(self) -> AsyncIterator[Any]: ...

    async def close(self) -> None:
        """Close the connection."""


class JoinedPieces:
    """Reads a stream in a separate task. The first text and what is not text are passed on at once.

    The context closes the stream.
    """

    def __init__(self, stream: Pieces, seconds: float = JOINED_SECONDS) -> None:
        self._stream = stream
        self._seconds = seconds
        self._waiting: list[Piece] = []
        self._last_is_text = False
        self._has_come = asyncio.Event()
        self._is_due = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reading.cancel()
        try:
            await asyncio.gather(self._reading, return_exceptions=True)
        finally:
            await self._stream.close()

    async def __aiter__(self) -> AsyncGenerator[Piece, None]:
        """The pieces in order; then raises what has ended the stream, if that was an error."""
        clock = asyncio.get_running_loop().time
        due_at = clock()
        while self._waiting or not self._reading.done():
            await self._has_come.wait()
            if not self._is_due.is_set() and clock() < due_at:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(due_at):
                        await self._is_due.wait()
            pieces, self._waiting = self._waiting, []
            self._has_come.clear()
            self._is_due.clear()
            for piece in pieces:
                yield piece
            if any(map(_text_of, pieces)):
                due_at = clock() + self._seconds
        await self._reading

    async def _read(self) -> None:
        try:
            async for piece in self._stream:
                self._take(piece)
        finally:
            self._is_due.set()
            self._has_come.set()

    def _take(self, piece: Piece) -> None:
        text = _text_of(piece)
        if text is None:
            self._is_due.set()
        if text is not None and self._waiting and self._last_is_text:
            self._waiting[-1]["choices"][0]["delta"]["content"] += text
        else:
            self._waiting.append(piece)
        self._last_is_text = text is not None
        self._has_come.set()


def _text_of(piece: object) -> str | None:
    """The text of a piece that has nothing else to say; None for any other piece."""
    match piece:
        case {"choices": [{"delta": {"content": str(text), **delta}, **choice}], **around}:
            delta.pop("role", None)
            says_more = [*delta.values(), choice.get("finish_reason"), choice.get("logprobs")]
            is_first = not choice.get("index")
            return text if is_first and not any(says_more) and not around.get("usage") else None
    return None
