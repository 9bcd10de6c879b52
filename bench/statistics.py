"""The arithmetic: percentiles, overheads over a baseline, targets and whether they are met."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from devkit.reports import Target


@dataclass(frozen=True)
class Figure:
    """One line of the report: a value, as a rule the median of the samples, and where it fits their 95th
    percentile. The target is about the value.

    `versus_bare` says how many times the same figure of the bare model call the value is.
    """

    group: str
    name: str
    value: float
    unit: str
    samples: int
    p95: float | None = None
    versus_bare: float | None = None
    target: Target | None = None

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None if there is none."""
        return None if self.target is None else self.target.met_by(self.value)


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of the values do not exceed, interpolated between neighbours."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below, above = math.floor(place), math.ceil(place)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def overheads(rounds: Sequence[Sequence[float]], bare: Sequence[Sequence[float]]) -> list[float]:
    """Every value less the median of the bare calls of the same round."""
    return [
        value - median(baseline) for values, baseline in zip(rounds, bare, strict=True) for value in values
    ]


def flat(rounds: Sequence[Sequence[float]]) -> list[float]:
    """The values of all rounds."""
    return [value for values in rounds for value in values]


def summary(
    group: str,
    name: str,
    values: Sequence[float],
    unit: str = "ms",
    *,
    bare: float | None = None,
    target: Target | None = None,
    tail: bool = False,
) -> Figure:
    """The median of the values; with `tail`, if there are enough of them, their 95th percentile too.

    `bare` is the bare call's median, for the ratio.
    """
    value = median(values)
    return Figure(
        group,
        name,
        value,
        unit,
        len(values),
        p95=percentile(values, 95) if tail else None,
        versus_bare=value / bare if bare else None,
        target=target,
    )
