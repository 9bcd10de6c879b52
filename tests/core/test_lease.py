"""Leased work stays ours while the keeper of the lease agrees, and stops when it does not."""

import asyncio
from typing import Any

import pytest

from core.errors import DependencyDown, OrcError, TurnInFlight
from core.lease import held


class Renewals:
    """Renews: raises what it is given, in order, then agrees."""

    def __init__(self, *errors: OrcError) -> None:
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
