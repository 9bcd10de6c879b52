import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from orc_core.llm.openai_chat import JoinedPieces

LONG = 3600.0
"""A test that waited for it would not end."""
Piece = dict[str, Any]


def said(text: str, **delta: object) -> Piece:
    choice = {"index": 0, "delta": {"content": text, **delta}, "finish_reason": None, "logprobs": None}
    return {"id": "1", "choices": [choice], "usage": None}


def with_choice(**fields: object) -> Piece:
    piece = said("b")
    piece["choices"][0] |= fields
    return piece


END = {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"id": "1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
CALL = said("", tool_calls=[{"index": 0, "function": {"arguments": "{"}}])
REFUSAL = said("", refusal="No.")


class Stream:
    """A connection that gives what the test gives it; it ends after None, or with an error."""

    def __init__(self, *pieces: Piece | Exception | None) -> None:
        self._given: asyncio.Queue[Piece | Exception | None] = asyncio.Queue()
        self.is_closed = False
        self.give(*pieces)

    def give(self, *pieces: Piece | Exception | None) -> None:
        for piece in pieces:
            self._given.put_nowait(piece)

    async def __aiter__(self) -> AsyncIterator[Piece]:
        while (piece := await self._given.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def close(self) -> None:
        self.is_closed = True


class Slow(Stream):
    """A connection whose reading takes a while to end."""

    def __init__(self, *pieces: Piece) -> None:
        super().__init__(*pieces)
        self.is_leaving = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[Piece]:
        try:
            async for piece in super().__aiter__():
                yield piece
        finally:
            self.is_leaving.set()
            await asyncio.Event().wait()


def texts(pieces: Sequence[Piece]) -> list[str]:
    return [piece["choices"][0]["delta"].get("content", "") for piece in pieces if piece["choices"]]


async def read(*pieces: Piece) -> list[Piece]:
    async with JoinedPieces(Stream(*pieces, None), LONG) as joined:
        return [piece async for piece in joined]


async def test_texts_that_are_there_together_are_one_piece() -> None:
    pieces = await read(said("", role="assistant"), said("One"), said(" more"), said(" word."), END, USAGE)

    assert texts(pieces) == ["One more word.", ""]
    assert pieces[0]["choices"][0]["delta"]["role"] == "assistant"
    assert pieces[1:] == [END, USAGE]


async def test_the_first_text_does_not_wait() -> None:
    stream = Stream(said("", role="assistant"))
    async with JoinedPieces(stream, LONG) as joined:
        pieces = aiter(joined)
        assert texts([await anext(pieces)]) == [""]
        stream.give(said("First"))
        assert texts([await anext(pieces)]) == ["First"]


async def test_texts_that_follow_wait_for_each_other_and_not_for_the_time_at_the_end() -> None:
    stream = Stream(said("A"))
    async with JoinedPieces(stream, LONG) as joined:
        pieces = aiter(joined)
        await anext(pieces)
        following = asyncio.ensure_future(anext(pieces))
        for text in "BC":
            stream.give(said(text))
            await asyncio.sleep(0.01)
        assert not following.done()
        stream.give(END)
        assert texts([await following, await anext(pieces)]) == ["BC", ""]


async def test_a_text_waits_no_longer_than_the_time_given() -> None:
    stream = Stream(said("A"))
    async with JoinedPieces(stream, 0.01) as joined:
        pieces = aiter(joined)
        await anext(pieces)
        stream.give(said("B"))
        assert texts([await anext(pieces)]) == ["B"]


@pytest.mark.parametrize("other", [CALL, REFUSAL, END, USAGE, said("x") | {"usage": USAGE["usage"]}])
async def test_what_is_not_only_text_stays_as_it_is_and_in_its_place(other: Piece) -> None:
    pieces = await read(said("a"), said("b"), other, said("c"), said("d"))

    assert pieces[1] == other
    assert (texts(pieces[:1]), texts(pieces[2:])) == (["ab"], ["cd"])


@pytest.mark.parametrize("field", [{"finish_reason": "stop"}, {"logprobs": {"content": []}}, {"index": 1}])
async def test_a_choice_that_says_more_than_its_text_is_not_joined(field: dict[str, object]) -> None:
    assert texts(await read(said("a"), with_choice(**field), said("c"))) == ["a", "b", "c"]


async def test_an_error_comes_after_the_text_before_it() -> None:
    stream, received = Stream(said("a"), said("b"), OSError("cut")), []
    with pytest.raises(OSError, match="cut"):
        async with JoinedPieces(stream, LONG) as joined:
            async for piece in joined:
                received.append(piece)  # noqa: PERF401 (what came before the error is what counts)

    assert texts(received) == ["ab"]
    assert stream.is_closed


async def test_a_reader_that_leaves_ends_the_reading() -> None:
    stream = Stream(said("a"))
    async with JoinedPieces(stream, LONG) as joined:
        await anext(aiter(joined))

    assert stream.is_closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_connection_is_closed_although_its_reader_is_cancelled_again() -> None:
    stream = Slow(said("a"))

    async def leave() -> None:
        async with JoinedPieces(stream, LONG) as joined:
            await anext(aiter(joined))

    leaving = asyncio.create_task(leave())
    await stream.is_leaving.wait()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert stream.is_closed
