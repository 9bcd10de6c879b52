"""Calls to services that may fail: retries for brief failures, a circuit breaker for lasting ones."""

import asyncio
import functools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from opentelemetry.trace import SpanKind
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    wait_random_exponential,
)

from orc_core.errors import DependencyDown, OrcError, Unavailable
from orc_core.infra.telemetry.spans import step

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
Translate = Callable[[Exception], OrcError | None]
"""Returns our error for a vendor's exception, or None if the exception is not the vendor's."""
Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

FAILURES_IN_A_ROW = 5
OPEN_SECONDS = 1.0
"""Short, so that calls succeed again within two seconds of a dependency's return."""
ATTEMPTS = 6
ATTEMPT_SECONDS = 10.0
LONGEST_WAIT_SECONDS = 1.0


class CircuitOpen(DependencyDown):
    """The dependency failed several times in a row, so the call was not made. It says what the last failure
    said: too many requests are no outage."""

    def __init__(self, last: DependencyDown) -> None:
        super().__init__(last.message, dependency=last.dependency, code=last.code)


class CircuitBreaker:
    """Makes the calls to one dependency; one per process and dependency.

    The circuit opens after five failures in a row: for a second every call fails at once with CircuitOpen.
    Then one call is made as a probe. Its success closes the circuit; its failure, or no result
    within a second, keeps the circuit open for the other calls and lets another probe through.

    Only outages are failures: an error answer such as NotFound is a success. A cancelled call, or an
    exception that `translate` does not know, is neither.
    """

    def __init__(
        self,
        dependency: str,
        translate: Translate,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._dependency = dependency
        self._translate = translate
        self._clock = clock
        self._failures = 0
        self._last: DependencyDown | None = None
        self._next_probe: float | None = None
        """When the next call may be made; None while the circuit is closed."""
        self._retrying = AsyncRetrying(
            retry=retry_if_exception(lambda exc: self._is_outage(exc) and not isinstance(exc, CircuitOpen)),
            stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(ATTEMPT_SECONDS),
            wait=wait_random_exponential(multiplier=0.05, max=LONGEST_WAIT_SECONDS),
            sleep=sleep,
            reraise=True,
        )

    async def call(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Calls `work`, retrying brief failures; `work` must be idempotent.

        Raises what `translate` makes of the vendor's exceptions, and CircuitOpen without calling `work`
        while the circuit is open.
        """
        return await self._retrying(self.call_once, work)

    async def call_once(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Calls `work` without retries. Raises as `call` does."""
        with step(self._dependency, kind=SpanKind.CLIENT):
            async with self.attempt():
                return await work()

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """One attempt, for a body that is not idempotent or retries itself. Raises as `call` does."""
        probing = self._admit()
        try:
            yield
        except Exception as exc:  # only `translate` knows the vendor's exceptions
            ours = exc if isinstance(exc, OrcError) else self._translate(exc)
            if ours is None:
                self._release(probing=probing)
            elif not self._is_outage(ours):
                self._close()
            else:
                assert isinstance(ours, DependencyDown)
                self._failures, self._last = self._failures + 1, ours
                if probing or (self._next_probe is None and self._failures >= FAILURES_IN_A_ROW):
                    self._next_probe = self._clock() + OPEN_SECONDS
            if ours is None or ours is exc:
                raise
            raise ours from exc
        except BaseException:
            self._release(probing=probing)
            raise
        self._close()

    def _admit(self) -> bool:
        """Whether this call is a probe; raises CircuitOpen if it must not be made."""
        if self._next_probe is None:
            return False
        if self._clock() < self._next_probe:
            assert self._last is not None
            raise CircuitOpen(self._last)
        self._next_probe = self._clock() + OPEN_SECONDS
        return True

    def _release(self, *, probing: bool) -> None:
        """An attempt ended without a result: the next call may probe in its place."""
        if probing and self._next_probe is not None:
            self._next_probe = self._clock()

    def _close(self) -> None:
        self._failures, self._next_probe = 0, None

    def _is_outage(self, exc: BaseException) -> bool:
        # A dependency that reports the outage of another dependency has answered.
        return isinstance(exc, DependencyDown) and exc.retryable and exc.dependency == self._dependency


class Guarded(Protocol):
    """An object that makes its calls through a circuit breaker."""

    _breaker: CircuitBreaker


Caller = TypeVar("Caller", bound=Guarded)


def guarded(
    work: Callable[Concatenate[Caller, Parameters], Awaitable[Result]],
) -> Callable[Concatenate[Caller, Parameters], Coroutine[Any, Any, Result]]:
    """Returns the method as a call of `self._breaker`, which may repeat it: it must be idempotent."""

    @functools.wraps(work)
    async def call(self: Caller, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return await self._breaker.call(lambda: work(self, *args, **kwargs))

    return call


FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 1.0


async def pauses(seconds: float) -> AsyncIterator[None]:
    """Yields at growing intervals, for at most `seconds`, while a caller waits to see a write."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + seconds, FIRST_PAUSE_SECONDS
    while loop.time() < end:
        yield
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 3


@asynccontextmanager
async def repeated(work: Callable[[], Awaitable[None]], *, seconds: float) -> AsyncIterator[None]:
    """Call `work` every `seconds` while the context is open."""

    async def keep_calling() -> None:
        while True:
            await asyncio.sleep(seconds)
            await work()

    task = asyncio.create_task(keep_calling())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def held(renew: Callable[[], Awaitable[object]], *, seconds: float) -> AsyncIterator[None]:
    """Call `renew` often enough for as long as the context is open.

    A renewal that fails as Unavailable is tried again; after any other OrcError the lease is lost: the
    work inside is cancelled and the context raises that error, unless another caller cancels it too.
    """
    holder = asyncio.current_task()
    assert holder is not None
    cancelled_before = holder.cancelling()
    lost: list[OrcError] = []

    async def keep() -> None:
        if lost:
            return
        try:
            await renew()
        except Unavailable:
            logger.warning("a lease was not renewed; trying again")
        except OrcError as exc:
            lost.append(exc)
            holder.cancel()
        except Exception:
            # The outermost edge of this task, which is not awaited while the work runs.
            logger.exception("a lease was not renewed; trying again")

    async with repeated(keep, seconds=seconds / RENEWALS_PER_LEASE):
        try:
            yield
        except asyncio.CancelledError:
            if not lost or holder.uncancel() > cancelled_before:
                raise
            raise lost[0] from None
