"""200 turns that are stopped at random moments, and a planted bug that is found; the small run is elsewhere.

See tests/system/test_two_servers.py for the smallest run.
"""

import asyncio

import pytest

from resilience.checks import Tally
from resilience.deployment import Store
from resilience.history_check import Asked
from resilience.report import Advance
from resilience.stops import DOUBLED, LATE, LOST, NAMES, STUCK, Plan, Stopped, examine, run


def silently(_description: str, _total: int) -> Advance:
    return lambda: None


@pytest.mark.campaign
@pytest.mark.parametrize("store", list(Store))
def test_no_stop_loses_doubles_or_holds_up_a_turn(store: Store) -> None:
    verdict = asyncio.run(run(Plan(store=store), silently))
    assert [(check.name, check.findings) for check in verdict.checks if check.findings] == []
    assert verdict.check(LOST).of == Plan.count


def seen(**changes: object) -> Stopped:
    """A turn that was stopped as it should be, but for the changes."""
    result = {"status": "stopped", "answer": "The quay"}
    turn = {"status": "stopped", "answer": "The quay", "result": result}
    asked = Asked("T-1", "When? T-1", "key")
    sound = Stopped(asked, "c", "The quay", [("stopped", result)], [turn], 10.0, 10.5)
    for name, value in changes.items():
        setattr(sound, name, value)
    return sound


@pytest.mark.parametrize(
    ("stopped", "asked_at", "found"),
    [
        (seen(), 11.9, []),
        (seen(shown="The quay opens"), 9.0, [LOST]),
        (seen(stored=seen().stored * 2), 9.0, [DOUBLED]),
        (seen(stored=[{**seen().stored[0], "status": "pending"}]), 9.0, [LOST, STUCK]),
        (seen(), 12.1, [LATE]),
    ],
)
def test_what_went_wrong_is_found(stopped: Stopped, asked_at: float, found: list[str]) -> None:
    tally = Tally(NAMES)
    examine([stopped], lambda _token: [asked_at], tally)
    assert [check.name for check in tally.checks() if check.findings] == found
