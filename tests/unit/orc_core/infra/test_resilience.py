"""The circuit breaker: brief failures are retried, lasting ones open the circuit, nothing else counts."""

import asyncio
import traceback
from collections.abc import Callable

import pytest

from devkit.clock import Clock
from orc_core.errors import DependencyDown, NotFound, OrcError
from orc_core.infra.resilience import ATTEMPTS, FAILURES_IN_A_ROW, OPEN_SECONDS, CircuitBreaker, CircuitOpen


class VendorError(Exception):
    """What a vendor's package raises while its service is down."""


class RefusedError(VendorError):
    """What it raises if a retry cannot help."""


def translate(exc: Exception) -> OrcError | None:
    if not isinstance(exc, VendorError):
        return None
    down = DependencyDown("The store does not answer.", dependency="store")
    down.retryable = not isinstance(exc, RefusedError)
    return down


class Store:
    """Raises these failures, one per call, then answers."""

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
def breaker(clock: Clock) -> CircuitBreaker:
    return breaker_for("store", clock)


def breaker_for(dependency: str, clock: Clock) -> CircuitBreaker:
    async def sleep(_: float) -> None:
        await asyncio.sleep(0)  # a retry's wait must not end the time for which a circuit is open

    return CircuitBreaker(dependency, translate, clock=clock, sleep=sleep)


async def fail_once(breaker: CircuitBreaker, failure: Exception | None = None) -> None:
    async with breaker.attempt():
        raise failure or VendorError


async def open_circuit(breaker: CircuitBreaker) -> None:
    for _ in range(FAILURES_IN_A_ROW):
        with pytest.raises(DependencyDown):
            await fail_once(breaker)


async def is_open(breaker: CircuitBreaker) -> bool:
    """Whether a call fails without reaching the store. A call that reaches it succeeds."""
    store = Store()
    try:
        assert await breaker.call(store) == "answer"
    except CircuitOpen:
        assert store.calls == 0
        return True
    return False


async def test_a_brief_failure_is_retried(breaker: CircuitBreaker) -> None:
    store = Store(VendorError(), VendorError())
    assert await breaker.call(store) == "answer"
    assert store.calls == 3


async def test_a_lasting_failure_is_translated_with_its_cause(breaker: CircuitBreaker, clock: Clock) -> None:
    store = Store(*[VendorError()] * 100)
    with pytest.raises(DependencyDown) as caught:
        await breaker.call(store)
    assert caught.value.dependency == "store"
    assert store.calls == min(ATTEMPTS, FAILURES_IN_A_ROW)
    with pytest.raises(DependencyDown) as caught:
        await fail_once(breaker_for("store", clock))
    assert isinstance(caught.value.__cause__, VendorError)


async def test_retries_wait_longer_and_longer_within_a_limit(clock: Clock) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.now += OPEN_SECONDS  # the circuit never stays open, so all attempts are made

    breaker = CircuitBreaker("store", translate, clock=clock, sleep=sleep)
    store = Store(*[VendorError()] * 100)
    with pytest.raises(DependencyDown):
        await breaker.call(store)
    assert store.calls == ATTEMPTS
    assert all(0 <= wait <= limit for wait, limit in zip(waits, (0.05, 0.1, 0.2, 0.4, 0.8), strict=True))


async def test_five_failures_in_a_row_open_the_circuit(breaker: CircuitBreaker) -> None:
    await open_circuit(breaker)
    store = Store()
    with pytest.raises(CircuitOpen) as caught:
        await breaker.call(store)
    assert (caught.value.dependency, caught.value.retryable, store.calls) == ("store", True, 0)
    assert caught.value.message == "The store does not answer."


async def test_a_success_in_between_resets_the_count(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        for _ in range(FAILURES_IN_A_ROW - 1):
            with pytest.raises(DependencyDown):
                await fail_once(breaker)
        assert await breaker.call(Store()) == "answer"


async def test_the_circuit_is_open_for_a_second(breaker: CircuitBreaker, clock: Clock) -> None:
    await open_circuit(breaker)
    clock.now += OPEN_SECONDS - 0.01
    assert await is_open(breaker)
    clock.now += 0.01
    assert not await is_open(breaker)
    assert not await is_open(breaker)


async def test_a_probe_that_fails_keeps_the_circuit_open_for_another_second(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    await open_circuit(breaker)
    clock.now += OPEN_SECONDS
    with pytest.raises(DependencyDown) as caught:
        await fail_once(breaker)
    assert not isinstance(caught.value, CircuitOpen)
    assert await is_open(breaker)
    clock.now += OPEN_SECONDS
    assert not await is_open(breaker)


async def test_one_probe_at_a_time_is_let_through(breaker: CircuitBreaker, clock: Clock) -> None:
    await open_circuit(breaker)
    clock.now += OPEN_SECONDS
    async with breaker.attempt():
        assert await is_open(breaker)
    assert not await is_open(breaker)


async def test_a_probe_without_a_result_lets_another_one_through_after_a_second(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    await open_circuit(breaker)
    clock.now += OPEN_SECONDS
    async with breaker.attempt():
        clock.now += OPEN_SECONDS
        assert not await is_open(breaker)


async def test_concurrent_calls_are_retried_independently(breaker: CircuitBreaker) -> None:
    stores = [Store(*[VendorError()] * (n % 2)) for n in range(2 * (FAILURES_IN_A_ROW - 1))]
    answers = await asyncio.gather(*(breaker.call(store) for store in stores))
    assert answers == ["answer"] * len(stores)
    assert [store.calls for store in stores] == [1, 2] * (FAILURES_IN_A_ROW - 1)


async def test_failures_of_concurrent_calls_do_not_extend_the_open_time(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    async with breaker.attempt():
        late = breaker.attempt()
        await late.__aenter__()
        await open_circuit(breaker)
        clock.now += OPEN_SECONDS / 2
        with pytest.raises(DependencyDown):
            await late.__aexit__(VendorError, VendorError(), None)
        assert await is_open(breaker)
        clock.now += OPEN_SECONDS / 2
        assert not await is_open(breaker)


async def test_many_concurrent_failures_open_the_circuit(breaker: CircuitBreaker, clock: Clock) -> None:
    failed = await asyncio.gather(
        *(breaker.call(Store(*[VendorError()] * 10)) for _ in range(50)), return_exceptions=True
    )
    assert {isinstance(each, DependencyDown) for each in failed} == {True}
    assert await is_open(breaker)
    clock.now += OPEN_SECONDS
    assert not await is_open(breaker)


async def cancel_a_call(breaker: CircuitBreaker) -> None:
    call = asyncio.create_task(breaker.call(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_cancellation_is_not_a_failure(breaker: CircuitBreaker) -> None:
    for _ in range(2 * FAILURES_IN_A_ROW):
        await cancel_a_call(breaker)
    assert not await is_open(breaker)


async def test_cancellation_is_not_a_success(breaker: CircuitBreaker) -> None:
    for _ in range(FAILURES_IN_A_ROW):
        await cancel_a_call(breaker)
        with pytest.raises(DependencyDown):
            await fail_once(breaker)
    assert await is_open(breaker)


async def test_after_a_cancelled_probe_the_next_call_is_the_probe(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    await open_circuit(breaker)
    clock.now += OPEN_SECONDS
    await cancel_a_call(breaker)
    with pytest.raises(DependencyDown):
        await fail_once(breaker)
    assert await is_open(breaker)
    clock.now += OPEN_SECONDS
    await cancel_a_call(breaker)
    assert not await is_open(breaker)
    with pytest.raises(DependencyDown):
        await fail_once(breaker)
    assert not await is_open(breaker)


async def test_refused_calls_leave_nothing_behind(breaker: CircuitBreaker) -> None:
    await open_circuit(breaker)
    depths = set()
    for _ in range(50):
        with pytest.raises(CircuitOpen) as caught:
            await fail_once(breaker)
        assert caught.value.__context__ is None
        depths.add(len(list(traceback.walk_tb(caught.value.__traceback__))))
    assert len(depths) == 1


@pytest.mark.parametrize(
    "make",
    [RefusedError, lambda: NotFound("No."), lambda: ValueError("a bug of ours")],
    ids=["refusal", "not found", "bug"],
)
async def test_an_error_that_is_not_an_outage_is_neither_retried_nor_a_failure(
    breaker: CircuitBreaker, make: Callable[[], Exception]
) -> None:
    for _ in range(2 * FAILURES_IN_A_ROW):
        store, failure = Store(make()), make()
        with pytest.raises(DependencyDown if isinstance(failure, VendorError) else type(failure)):
            await breaker.call(store)
        assert store.calls == 1
    assert not await is_open(breaker)


async def test_an_outage_of_another_dependency_is_an_answer(breaker: CircuitBreaker) -> None:
    model_is_down = DependencyDown("The model does not answer.", dependency="model")
    for _ in range(2 * FAILURES_IN_A_ROW):
        store = Store(model_is_down)
        with pytest.raises(DependencyDown):
            await breaker.call(store)
        assert store.calls == 1
    assert not await is_open(breaker)
