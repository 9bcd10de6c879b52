"""What is made at its first use is made once, and away from the event loop."""

import asyncio
import threading

import pytest

from orc_core.llm.later import Later


async def test_callers_at_the_same_time_get_one_value_made_in_a_thread() -> None:
    threads: list[threading.Thread] = []

    def make() -> object:
        threads.append(threading.current_thread())
        return object()

    value = Later(make)
    assert not threads
    first, *others = await asyncio.gather(*(value.take() for _ in range(5)))
    assert all(other is first for other in others)
    assert value.get() is first
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


async def test_what_fails_is_tried_again() -> None:
    outcomes = iter((ValueError("not yet"), 7))

    def make() -> int:
        outcome = next(outcomes)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    value = Later(make)
    with pytest.raises(ValueError, match="not yet"):
        await value.take()
    assert await value.take() == 7
