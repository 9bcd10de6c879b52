"""The soak: a small one passes, and what grows on and on is found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devkit.system import System
from resilience.checks import Tally
from resilience.deployment import product, scripted_model
from resilience.report import Advance
from resilience.soak import (
    CHILDREN,
    DATABASE,
    DESCRIPTORS,
    LEVELS,
    MB,
    MEMORY,
    THREADS,
    Plan,
    Sample,
    Watch,
    soak,
)

SMALL = Plan(minutes=0.2, users=3, think=0.5, turns=4)


def silently(_description: str, _total: int) -> Advance:
    return lambda: None


async def test_nothing_is_lost_and_nothing_grows(tmp_path: Path, full_size: bool) -> None:
    plan = Plan() if full_size else SMALL
    with scripted_model() as model, product(tmp_path, model) as system:
        verdict = await soak(plan, system, silently)
    # In seconds nothing is level yet.
    judged = [each for each in verdict.checks if full_size or each.name not in LEVELS]
    assert [(check.name, check.findings) for check in judged if not check.ok] == []
    assert {check.name for check in verdict.checks if check.of} >= set(LEVELS)


def watched(sample: Callable[[int], Sample], bytes_at: Callable[[int], int]) -> dict[str, bool]:
    """Which levels hold if the processes and the database are like this, at each of 120 moments."""
    watch = Watch(System(Path("nowhere")))
    watch.samples["orc serve"] = [sample(at) for at in range(120)]
    watch.database = [(at, bytes_at(at)) for at in range(120)]
    tally = Tally(LEVELS)
    watch.judge(tally)
    return {check.name: check.ok for check in tally.checks()}


def level(at: int) -> Sample:
    """A process that grows while it gets warm, and is then level."""
    return Sample(1, min(at, 20) * MB + 200 * MB, 50 + at % 3, 15)


def steady(at: int) -> int:
    return at * 24_000


def test_what_is_level_holds() -> None:
    assert all(watched(level, steady).values())


@pytest.mark.parametrize(
    ("grows", "found"),
    [
        (lambda at: Sample(1, (200 + at) * MB, 50, 15), MEMORY),
        (lambda at: Sample(1 + at // 40, 200 * MB, 50, 15), CHILDREN),
        (lambda at: Sample(1, 200 * MB, 50 + at // 10, 15), DESCRIPTORS),
        (lambda at: Sample(1, 200 * MB, 50, 15 + at // 10), THREADS),
    ],
    ids=["memory", "children", "descriptors", "threads"],
)
def test_what_grows_on_is_found(grows: Callable[[int], Sample], found: str) -> None:
    held = watched(grows, steady)
    assert [name for name, holds in held.items() if not holds] == [found]


def test_a_database_that_grows_faster_is_found() -> None:
    held = watched(level, lambda at: at * at * 2000)
    assert [name for name, holds in held.items() if not holds] == [DATABASE]
