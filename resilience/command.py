"""The command line of campaigns in which many clients do the same at a time."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from resilience.deployment import Store
from resilience.report import StepsOf, Verdict, conclude, steps, wide_console


@dataclass(frozen=True)
class Load:
    """How often it is done, and how many do it at a time."""

    count: int = 200
    at_once: int = 8
    seed: int = 1
    store: Store = Store.SQLITE


Planned = TypeVar("Planned", bound=Load)


def run_command(
    module: str,
    description: str | None,
    what: str,
    plan: Planned,
    run: Callable[[Planned, StepsOf], Coroutine[Any, Any, Verdict]],
    arguments: Sequence[str] | None,
) -> int:
    """Run a campaign with the given arguments in the place of the plan's values; 1 if something was found."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--count", type=int, default=plan.count, help=what)
    parser.add_argument("--at-once", type=int, default=plan.at_once, help=f"{what}, at a time")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--store", type=Store, choices=list(Store), default=plan.store)
    chosen = replace(plan, **vars(parser.parse_args(arguments)))
    console = wide_console()
    with steps(console) as steps_of:
        verdict = asyncio.run(run(chosen, steps_of))
    return conclude(verdict, console)
