"""What an exchange with Cosmos DB is estimated to cost."""

import pytest

from bench.cosmos_proxy import Exchange
from bench.request_units import charge

KIB = 1024


@pytest.mark.parametrize(
    ("exchange", "units"),
    [
        (Exchange("read", read=KIB), 1.0),
        (Exchange("read", read=64 * KIB), 4.8),
        (Exchange("write", (KIB,)), 5.0),
        (Exchange("write", (1024 * KIB,)), 625.0),
        (Exchange("batch", (KIB, 64 * KIB)), 28.0),
        (Exchange("query", read=100), 3.8),
    ],
)
def test_the_measured_points_are_on_the_curve(exchange: Exchange, units: float) -> None:
    assert charge([exchange]) == pytest.approx(units)


def test_between_points_the_cost_grows_with_the_size() -> None:
    sizes = [Exchange("write", (size * KIB,)) for size in (1, 10, 100, 1000, 2000)]
    costs = [charge([each]) for each in sizes]
    assert costs == sorted(set(costs))
