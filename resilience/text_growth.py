"""`python -m resilience.text_growth`: measures how the time of text functions grows with the text.

Every call of `text_calls` reads repeated units of a few characters. Four times the text may take at most
six times as long, and 100,000 characters half a second of processor time; two seconds in separate processes
with a time limit.

Every unit is repeated up to 25,000 characters. 100,000 are read for the units with which a call was slowest
there, and for those with which its time grew most: a call that is slow or grows for another unit is so for
these first, and the longest texts take three quarters of all the time.
"""

import argparse
import gc
import heapq
import itertools
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console

from devkit.system import interrupted_by_sigterm
from resilience.checks import Tally
from resilience.report import Verdict, conclude, steps, wide_console
from resilience.text_calls import CALLS, IN_CHILDREN, Call

TOKENS = (
    *"a A 1 0 . , - ' ( ) [ ] $ % | : = ? ! # _ * / @ < & \" “ 界 ー é \u0301 \u0323 \u200b".split(" "),
    *(" ", "\n", "\t", "\r", "\f"),
    *("S1", "ab", "is", "no", "12", "Ab", "x.y", "a'"),
)
LONGEST_UNIT = 5
KNOWN = (
    "$(+-", "...", "[", "[=", "[ =", "gate -----\n", "1 ", "a'", "[S1]", "2024-01-02 ", "| ", "x.y ", "a'b ",
    "\n", " ", "$1 ", "1.", "1,", "Page 1 ", "[Page ", "“", "(a ", "A (AB) ", "is not 5 days. ", "S",
    "a@b.c ", "www.a ", "# A\n", "界", "1 1\n", "a\n\n",
    "Ab is 1. [S1] ", "[a](b ", '[Web page "', "&#91", "```a\n", "\u0301\u0323", "//ー", "$界?",
    ". le ", "how much ", "fass ",
)  # fmt: skip
"""Units that were slow once, and text that is nearly ordinary."""
LENGTHS = (1_563, 6_250, 25_000, 100_000)
"""Characters of a text; the last length is for the candidates only."""
SLOWEST, FASTEST_GROWING = 8, 8
"""Units of each call that are repeated to the longest text."""
GROWTH, MOST_SECONDS = 6.0, 0.5
MOST_IN_CHILDREN = 2.0
"""Seconds of a call that the product makes only in a separate process with a time limit."""
MEASURABLE = 0.02
"""Seconds; what takes less is not compared, because other work on the machine takes as long."""
LEAST_COMPARED = MEASURABLE / 16
"""Seconds; even with quadratic growth, what takes less takes less than MEASURABLE for four times the text."""
REPEATS, CLEAR = 4, 4.0
"""What takes more than its limit is repeated, unless it takes so many times as long."""
FULL_UNITS = 200

GROWS = "functions that take more than six times as long for four times the text"
SLOW = "functions that take more than their limit for 100,000 characters"


@dataclass
class Measured:
    """The seconds of a call with a unit, for each length that was read, and the check that it failed.

    `grown`: what was measured if the last length took too much more than the one before.
    """

    unit: str
    seconds: list[float] = field(default_factory=list)
    grown: str = ""
    failed: tuple[str, str] | None = None

    def growth(self) -> float:
        """How much longer the last text took than the one before, or 0 if that is too short to say."""
        if len(self.seconds) < 2 or self.seconds[-1] < LEAST_COMPARED:
            return 0.0
        return self.seconds[-1] / max(self.seconds[-2], LEAST_COMPARED / GROWTH)


def units() -> Iterator[str]:
    """Units of up to three tokens, the known ones first; of those that repeat to the same text only one."""
    combined = itertools.chain.from_iterable(itertools.product(TOKENS, repeat=count) for count in (2, 3))
    short = (unit for unit in map("".join, combined) if len(unit) <= LONGEST_UNIT)
    seen = set[str]()
    for unit in itertools.chain(KNOWN, TOKENS, short):
        if (same := shape(unit)) not in seen:
            seen.add(same)
            yield unit


def shape(unit: str) -> str:
    """The same for all units that are the same text when repeated, such as `ab`, `ba` and `abab`."""
    period = (unit + unit).index(unit, 1)
    return min(unit[start:period] + unit[:start] for start in range(period))


def chosen(count: int, seed: int) -> list[str]:
    """So many units: the known ones, the tokens, and a random sample of the others."""
    every = list(units())
    fixed = [unit for unit in every if unit in KNOWN or unit in TOKENS]
    others = [unit for unit in every if unit not in KNOWN and unit not in TOKENS]
    size = min(max(0, count - len(fixed)), len(others))
    return [*fixed, *random.Random(seed).sample(others, size)][:count]


def seconds(call: Call, text: str) -> float:
    """The processor time of one call."""
    started = time.thread_time()
    call(text)
    return time.thread_time() - started


def confirmed(call: Call, text: str, took: float, limit: float) -> float:
    """The shortest of a few repetitions of what took more than the limit, if it was not clearly more."""
    for _ in range(REPEATS):
        if not limit < took < CLEAR * limit:
            break
        took = min(took, seconds(call, text))
    return took


def measure(call: Call, case: Measured, lengths: Sequence[int], most_seconds: float) -> None:
    """Read texts of further lengths, in ascending order, until one fails a check.

    It ends with the first length that shows it, so that a function of cubic growth takes no hours. Growth
    counts if the next length shows it too: a text just long enough for more work is a step.
    """
    for length in lengths:
        text, earlier = repeated(case.unit, length), case.grown
        took = confirmed(call, text, seconds(call, text), most_seconds)
        if took > most_seconds:
            case.failed = SLOW, f"{case.unit!r}: {length:,} characters took {took:.2f} s"
        else:
            took, case.grown = _growth(call, case, text, took)
        case.seconds.append(took)
        if case.grown and earlier:
            case.failed = GROWS, case.grown
        if case.failed:
            return


def _growth(call: Call, case: Measured, text: str, took: float) -> tuple[float, str]:
    """The shortest time of the text, and what was measured if it is too much for four times the text."""
    if not case.seconds or took <= max(MEASURABLE, GROWTH * case.seconds[-1]):
        return took, ""
    shorter = repeated(case.unit, len(text) // 4)
    before = max(case.seconds[-1], seconds(call, shorter))
    took = confirmed(call, text, took, max(MEASURABLE, GROWTH * before))
    if took <= max(MEASURABLE, GROWTH * before):
        return took, ""
    lengths = f"{len(shorter):,} and {len(text):,} characters"
    return took, f"{case.unit!r}: {lengths}: {before:.4f} and {took:.4f} s"


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def candidates(cases: Iterable[Measured]) -> list[Measured]:
    """The cases for the longest text: the slowest, and those whose time grew most, or too much."""
    passed = [case for case in cases if not case.failed]
    slowest = heapq.nlargest(SLOWEST, passed, key=lambda case: case.seconds[-1])
    growing = heapq.nlargest(FASTEST_GROWING, passed, key=Measured.growth)
    return [case for case in passed if case.grown or case in slowest or case in growing]


def campaign(
    calls: Mapping[str, Call],
    sample: Iterable[str],
    lengths: Sequence[int] = LENGTHS,
    console: Console | None = None,
) -> Verdict:
    """Every call with every unit of the sample."""
    tally, sample = Tally((GROWS, SLOW)), list(sample)
    gc.disable()
    try:
        with steps(console or Console(quiet=True)) as step:
            advance = step("functions", len(calls))
            for name, call in calls.items():
                gc.collect(0)  # what a call leaves is young, as nothing else collects
                _measure(name, call, sample, lengths, tally)
                advance()
    finally:
        gc.enable()
    figures = [("functions", str(len(calls))), ("units", str(len(sample)))]
    return Verdict("Growth of text functions", tally.checks(), figures)


def _measure(name: str, call: Call, sample: Sequence[str], lengths: Sequence[int], tally: Tally) -> None:
    most = MOST_IN_CHILDREN if name in IN_CHILDREN else MOST_SECONDS
    cases = [Measured(unit) for unit in sample]
    for case in cases:
        measure(call, case, lengths[:-1], most)
    for case in candidates(cases):
        measure(call, case, lengths[-1:], most)
    for case in cases:
        if case.grown and not case.failed:
            measure(call, case, [4 * lengths[-1]], 4 * most)
        for check in (GROWS, SLOW):
            failed = case.failed is not None and case.failed[0] == check
            tally.expect(check, not failed, f"{name} {case.failed[1]}" if case.failed else "")


@interrupted_by_sigterm()
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=FULL_UNITS, help="units; more than there are: all")
    parser.add_argument("--only", default="", help="only calls with this in their name")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    calls = {name: call for name, call in CALLS.items() if asked.only in name}
    console = wide_console()
    return conclude(campaign(calls, chosen(asked.units, asked.seed), console=console), console)


if __name__ == "__main__":
    sys.exit(main())
