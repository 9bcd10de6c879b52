"""Open pages that are not used cost next to nothing, and those that would not be found are found."""

import asyncio
import json

import httpx
import pytest

from resilience.checks import Tally
from resilience.open_pages import DEAR, KIB, NAMES, STRONG, Plan, judged, run, units_of
from resilience.report import Advance

QUERY, BATCH = {"x-ms-documentdb-isquery": "True"}, {"x-ms-cosmos-is-batch-request": "True"}
ITEMS = "/dbs/orc/colls/turns/docs"


def silently(_description: str, _total: int) -> Advance:
    return lambda: None


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_a_hundred_open_pages_cost_nothing_and_hold_nothing() -> None:
    verdict = asyncio.run(run(Plan(count=100), silently))
    assert [(check.name, check.findings) for check in verdict.checks if not check.ok] == []


def test_pages_that_go_on_reading_are_found() -> None:
    assert not judged(Plan(), Tally(NAMES), 0.0, [0.5, 2600.0]).check(DEAR).ok
    assert judged(Plan(), Tally(NAMES), 0.0, [0.5]).check(DEAR).ok


@pytest.mark.parametrize(
    ("method", "headers", "sent", "received", "units"),
    [
        ("GET", {}, b"", KIB, STRONG * 1.0),
        ("GET", {}, b"", 64 * KIB, STRONG * 4.8),
        ("POST", {}, b" " * KIB, 0, 5.0),
        ("POST", {}, b" " * 1024 * KIB, 0, 625.0),
        ("POST", QUERY, b"{}", 100, STRONG * 3.8),
        ("POST", BATCH, json.dumps([{"resourceBody": {"id": "a"}}] * 2).encode(), 0, 10.0),
    ],
)
def test_the_published_costs_are_on_the_curve(
    method: str, headers: dict[str, str], sent: bytes, received: int, units: float
) -> None:
    assert units_of(method, ITEMS, httpx.Headers(headers), sent, received) == pytest.approx(units)
    assert units_of(method, "/dbs/orc", httpx.Headers(headers), sent, received) == 0
