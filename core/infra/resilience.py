"""Calls to what may be down: what fails briefly is tried again, what fails lastingly is spared a moment."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from opentelemetry.trace import SpanKind
from purgatory.domain.model import Context, OpenedState
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    wait_random_exponential,
)

from core.errors import DependencyDown, OrcError
from core.infra.telemetry.spans import step

Result = TypeVar("Result")
Translate = Callable[[Exception], OrcError | None]
"""Says which error of ours a vendor's exception amounts to; None: it is none of the vendor's."""

FAILURES_IN_A_ROW = 5
OPEN_SECONDS = 1.0
"""So that calls succeed again within two seconds of a dependency's return."""
ATTEMPTS = 6
ATTEMPT_SECONDS = 10.0
LONGEST_WAIT_SECONDS = 1.0


class Guard:
    """Stands between an adapter and one dependency; one per process and dependency.

    After five failures in a row every call fails at once for a second, then the next ones try again.
    An answer that the caller does not like is an answer. Cancelling a call tells nothing of the dependency.
    """

    def __init__(self, dependency: str, translate: Translate) -> None:
        self._dependency = dependency
        self._translate = translate
        self._circuit = Context(dependency, FAILURES_IN_A_ROW, OPEN_SECONDS)
        self._retrying = AsyncRetrying(
            retry=retry_if_exception(self._is_brief),
            stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(ATTEMPT_SECONDS),
            wait=wait_random_exponential(multiplier=0.05, max=LONGEST_WAIT_SECONDS),
            reraise=True,
        )

    async def call(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of `work`, which is repeated after a failure that may pass: it must bear that.

        Raises what `translate` makes of the vendor's exceptions, and DependencyDown without calling
        `work` while the dependency is taken to be down.
        """
        return await self._retrying(self.call_once, work)

    async def call_once(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of `work`, which is not repeated. Raises as `call` does."""
        with step(self._dependency, kind=SpanKind.CLIENT):
            async with self.attempt():
                return await work()

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """One attempt, for what must not be repeated or repeats itself. Raises as `call` does."""
        self._refuse_while_open()
        with self._reporting():
            try:
                yield
            except Exception as exc:  # the vendor's exceptions are known to `translate` alone
                if isinstance(exc, OrcError) or (ours := self._translate(exc)) is None:
                    raise
                raise ours from exc

    def _refuse_while_open(self) -> None:
        try:
            self._circuit.handle_new_request()
        except OpenedState as exc:
            # The same object every time: it would keep the frames of all whom it has refused.
            exc.with_traceback(None)
            raise CircuitOpen(self._dependency) from None

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Tells the circuit how an attempt ended, if that says anything of the dependency.

        Not by the circuit's own context manager, to which whatever is no failure is a success.
        """
        try:
            yield
        except OrcError as exc:
            if self._is_outage(exc):
                self._circuit.handle_exception(exc)
            else:
                self._circuit.handle_end_request()
            raise
        else:
            self._circuit.handle_end_request()
        finally:
            # Events for listeners, of which there are none.
            self._circuit.messages.clear()

    def _is_outage(self, exc: BaseException) -> bool:
        # What it reports of a dependency of its own, it has answered with.
        return isinstance(exc, DependencyDown) and exc.retryable and exc.dependency == self._dependency

    def _is_brief(self, exc: BaseException) -> bool:
        return self._is_outage(exc) and not isinstance(exc, CircuitOpen)


class CircuitOpen(DependencyDown):
    """The dependency failed several times in a row and is not asked for a moment."""

    def __init__(self, dependency: str) -> None:
        super().__init__(
            f"{_NAMES.get(dependency, dependency)} does not answer. Try again shortly.", dependency=dependency
        )


_NAMES = {
    "model": "The model",
    "mcp_server": "The tools server",
    "store": "The database",
    "blobs": "The document store",
    "queue": "The job queue",
    "search": "The search",
    "web_search": "The web search",
}
