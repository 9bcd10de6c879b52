"""Leased work stays ours while the keeper of the lease agrees, and stops when it does not."""

import asyncio
import logging
from typing import Any

import pytest

from orc_core.errors import DependencyDown, TurnInFlight
from orc_core.infra.resilience import held


class Renewals:
    """Renews: raises what it is given, in order, then agrees."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.count = 0
        self.agreed = asyncio.Event()

    async def renew(self) -> None:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        self.agreed.set()


def hold(renewals: Renewals) -> Any:
    return held(renewals.renew, seconds=0.03)


async def test_the_lease_is_renewed_for_as_long_as_the_work_goes_on() -> None:
    log = Renewals()
    async with hold(log):
        await log.agreed.wait()
    after = log.count
    await asyncio.sleep(0.05)
    assert log.count == after


async def test_a_store_that_is_down_for_a_moment_costs_nothing() -> None:
    log = Renewals(DependencyDown("no", dependency="store"), DependencyDown("no", dependency="store"))
    async with hold(log):
        await log.agreed.wait()
    assert log.count >= 3


async def test_work_that_was_taken_over_is_stopped() -> None:
    log = Renewals(TurnInFlight("taken over", code="attempt_over"))
    with pytest.raises(TurnInFlight):
        async with hold(log):
            await asyncio.sleep(30)
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_a_cancellation_from_outside_stays_one() -> None:
    async def work() -> None:
        async with hold(Renewals()):
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_from_outside_counts_for_more_than_a_lease_that_is_lost() -> None:
    stopping = asyncio.Event()

    async def work() -> None:
        async with hold(Renewals(TurnInFlight("taken over"))):
            try:
                await asyncio.sleep(30)
            finally:
                stopping.set()
                await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await stopping.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_lease_that_is_lost_while_a_cancelled_task_cleans_up_is_reported() -> None:
    errors: list[Exception] = []

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            try:
                async with hold(Renewals(TurnInFlight("taken over"))):
                    await asyncio.sleep(30)
            except TurnInFlight as exc:
                errors.append(exc)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(errors) == 1


async def test_an_unexpected_error_is_logged_and_renewing_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Renewals(ValueError("unforeseen"))
    async with asyncio.timeout(5), hold(log):
        await log.agreed.wait()
    [record] = caplog.records
    # With the exception's kind, whether or not its text is kept out of logs by now.
    assert "ValueError" in logging.Formatter().format(record)
