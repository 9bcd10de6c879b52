"""The guard: brief failures are tried again, lasting ones spared a moment, and nothing else counts."""

import asyncio
import time
import traceback
from collections.abc import Callable

import pytest

from core.errors import DependencyDown, NotFound, OrcError
from core.infra.resilience import ATTEMPTS, FAILURES_IN_A_ROW, OPEN_SECONDS, CircuitOpen, Guard


class VendorError(Exception):
    """What a vendor's package raises while its service is down."""


class RefusedError(VendorError):
    """What it raises where trying again is in vain."""


def translate(exc: Exception) -> OrcError | None:
    if not isinstance(exc, VendorError):
        return None
    down = DependencyDown("The store does not answer.", dependency="store")
    down.retryable = not isinstance(exc, RefusedError)
    return down


class Store:
    """Fails with these, one a call, then answers."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


@pytest.fixture
def guard() -> Guard:
    return Guard("store", translate)


async def fail_once(guard: Guard, failure: Exception | None = None) -> None:
    async with guard.attempt():
        raise failure or VendorError


async def open_circuit(guard: Guard) -> None:
    for _ in range(FAILURES_IN_A_ROW):
        with pytest.raises(DependencyDown):
            await fail_once(guard)


async def test_a_brief_failure_is_not_seen(guard: Guard) -> None:
    store = Store(VendorError(), VendorError())
    assert await guard.call(store) == "answer"
    assert store.calls == 3


async def test_a_lasting_failure_is_ours_with_the_vendors_as_its_cause(guard: Guard) -> None:
    store = Store(*[VendorError()] * 100)
    with pytest.raises(DependencyDown) as caught:
        await guard.call(store)
    assert caught.value.dependency == "store"
    assert store.calls == min(ATTEMPTS, FAILURES_IN_A_ROW)
    with pytest.raises(DependencyDown) as caught:
        await fail_once(Guard("store", translate))
    assert isinstance(caught.value.__cause__, VendorError)


@pytest.mark.parametrize("failure", [RefusedError(), NotFound("No."), ValueError("a bug of ours")])
async def test_what_trying_again_cannot_mend_is_not_repeated(guard: Guard, failure: Exception) -> None:
    store = Store(failure)
    with pytest.raises(DependencyDown if isinstance(failure, VendorError) else type(failure)):
        await guard.call(store)
    assert store.calls == 1


async def test_an_attempt_is_made_once(guard: Guard) -> None:
    calls = 0
    with pytest.raises(DependencyDown):
        async with guard.attempt():
            calls += 1
            raise VendorError
    assert calls == 1


async def test_after_five_failures_in_a_row_nothing_is_asked(guard: Guard) -> None:
    await open_circuit(guard)
    store = Store()
    started = time.monotonic()
    with pytest.raises(CircuitOpen) as caught:
        await guard.call(store)
    assert (caught.value.dependency, caught.value.retryable, store.calls) == ("store", True, 0)
    assert "database does not answer" in caught.value.message
    assert time.monotonic() - started < 0.2


async def test_a_success_in_between_starts_the_count_anew(guard: Guard) -> None:
    for _ in range(3):
        for _ in range(FAILURES_IN_A_ROW - 1):
            with pytest.raises(DependencyDown):
                await fail_once(guard)
        assert await guard.call(Store()) == "answer"


async def recovers(guard: Guard) -> float:
    started = time.monotonic()
    while True:
        try:
            await guard.call(Store())
        except CircuitOpen:
            await asyncio.sleep(0.02)
        else:
            return time.monotonic() - started


async def test_calls_succeed_within_two_seconds_of_the_dependencys_return(guard: Guard) -> None:
    await open_circuit(guard)
    assert await recovers(guard) < 2


async def test_a_trial_that_fails_keeps_the_circuit_open_for_another_moment(guard: Guard) -> None:
    await open_circuit(guard)
    await asyncio.sleep(OPEN_SECONDS + 0.1)
    with pytest.raises(DependencyDown) as caught:
        await fail_once(guard)
    assert not isinstance(caught.value, CircuitOpen)
    store = Store()
    with pytest.raises(CircuitOpen):
        await guard.call(store)
    assert store.calls == 0
    assert await recovers(guard) < 2


async def test_many_calls_through_one_guard_keep_their_own_counts(guard: Guard) -> None:
    stores = [Store(*[VendorError()] * (n % 2)) for n in range(100)]

    async def call(store: Store, n: int) -> str:
        await asyncio.sleep(n / 1000)
        return await guard.call(store)

    assert await asyncio.gather(*(call(store, n) for n, store in enumerate(stores))) == ["answer"] * 100
    assert [store.calls for store in stores] == [1, 2] * 50


async def test_many_failures_at_the_same_time_open_the_circuit_once(guard: Guard) -> None:
    failed = await asyncio.gather(
        *(guard.call(Store(*[VendorError()] * 10)) for _ in range(50)), return_exceptions=True
    )
    assert {isinstance(each, DependencyDown) for each in failed} == {True}
    assert await recovers(guard) < 2


async def cancel_a_call(guard: Guard) -> None:
    call = asyncio.create_task(guard.call(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_cancelling_is_no_failure(guard: Guard) -> None:
    for _ in range(2 * FAILURES_IN_A_ROW):
        await cancel_a_call(guard)
    assert await guard.call(Store()) == "answer"


async def test_cancelling_does_not_make_failures_forgotten(guard: Guard) -> None:
    for _ in range(FAILURES_IN_A_ROW):
        await cancel_a_call(guard)
        with pytest.raises(DependencyDown):
            await fail_once(guard)
    with pytest.raises(CircuitOpen):
        await guard.call(Store())


async def test_a_cancelled_trial_leaves_the_answer_to_the_next(guard: Guard) -> None:
    await open_circuit(guard)
    await asyncio.sleep(OPEN_SECONDS + 0.1)
    await cancel_a_call(guard)
    with pytest.raises(DependencyDown):
        await fail_once(guard)
    with pytest.raises(CircuitOpen):
        await guard.call(Store())
    await asyncio.sleep(OPEN_SECONDS + 0.1)
    await cancel_a_call(guard)
    assert await guard.call(Store()) == "answer"
    with pytest.raises(DependencyDown):
        await fail_once(guard)
    assert await guard.call(Store()) == "answer"


async def test_refusing_many_keeps_nothing_of_them(guard: Guard) -> None:
    await open_circuit(guard)
    for _ in range(50):
        with pytest.raises(CircuitOpen) as caught:
            await fail_once(guard)
    assert caught.value.__suppress_context__
    assert caught.value.__context__ is not None
    assert list(traceback.walk_tb(caught.value.__context__.__traceback__)) == []


@pytest.mark.parametrize(
    "make",
    [RefusedError, lambda: NotFound("No."), lambda: ValueError("a bug of ours")],
    ids=["refusal", "not found", "bug"],
)
async def test_an_answer_that_nobody_likes_is_no_failure(guard: Guard, make: Callable[[], Exception]) -> None:
    for _ in range(2 * FAILURES_IN_A_ROW):
        with pytest.raises((OrcError, ValueError)):
            await fail_once(guard, make())
    assert await guard.call(Store()) == "answer"


async def test_what_a_dependency_says_of_another_is_its_answer(guard: Guard) -> None:
    model_is_down = DependencyDown("The model does not answer.", dependency="model")
    for _ in range(2 * FAILURES_IN_A_ROW):
        store = Store(model_is_down)
        with pytest.raises(DependencyDown):
            await guard.call(store)
        assert store.calls == 1
    assert await guard.call(Store()) == "answer"


async def test_one_dependencys_circuit_is_not_anothers(guard: Guard) -> None:
    await open_circuit(guard)
    assert await Guard("blobs", translate).call(Store()) == "answer"
