"""The arithmetic of the bench, on numbers small enough to check by hand."""

import pytest

from bench.statistics import overheads, percentile, summary
from devkit.reports import Target


def test_percentiles_are_interpolated_between_neighbours() -> None:
    values = [40.0, 10.0, 30.0, 20.0, 50.0]
    assert [percentile(values, percent) for percent in (0, 50, 95, 100)] == [10, 30, 48, 50]


def test_overhead_is_taken_against_the_bare_calls_of_the_same_round() -> None:
    """A machine that gets slower between rounds slows both, and the difference stays."""
    bare = [[1.0, 2.0, 9.0], [10.0, 20.0, 90.0]]
    turns = [[5.0, 6.0], [23.0, 24.0]]
    assert overheads(turns, bare) == [3, 4, 3, 4]


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [
        (Target(30), 30.0, True),
        (Target(30), 30.1, False),
        (Target(50, ">="), 50.0, True),
        (Target(50, ">="), 49.9, False),
    ],
)
def test_a_target_is_met_up_to_its_bound(target: Target, value: float, met: bool) -> None:
    assert target.met_by(value) is met


def test_a_summary_holds_median_tail_ratio_and_verdict() -> None:
    values = [float(value) for value in range(1, 102)]
    figure = summary("group", "name", values, bare=17, target=Target(50), tail=True)
    assert (figure.value, figure.p95, figure.versus_bare, figure.samples) == (51, 96, 3, 101)
    assert figure.ok is False
