"""`python -m resilience.text_growth`: measures how the time of text functions grows with the text.

Every call of `text_call_list` reads repeated units of a few characters. Four times the text may take at most
six times as long, and 100,000 characters half a second of processor time; two seconds in separate processes
with a time limit.
"""

import argparse
import gc
import itertools
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console

from resilience.checks import Tally
from resilience.report import Verdict, conclude, steps, wide_console
from resilience.text_call_list import CALLS, IN_CHILDREN
from resilience.text_calls import Call

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
    "Ab is 1. [S1] ", "[a](b ", '[Web page "', "&#91", "```a\n", "\u0301\u0323",
)  # fmt: skip
"""Units that were slow once, and text that is nearly ordinary."""
LENGTHS = (1_563, 6_250, 25_000, 100_000)
GROWTH, MOST_SECONDS = 6.0, 0.5
MOST_IN_CHILDREN = 2.0
"""Seconds of a call that the product makes only in a separate process with a time limit."""
MEASURABLE = 0.02
"""Seconds; what takes less is not compared, because other work on the machine takes as long."""
REPEATS = 4

GROWS = "functions that take more than six times as long for four times the text"
SLOW = "functions that take more than their limit for 100,000 characters"


def units() -> Iterator[str]:
    """All units of one or two tokens, the known ones first."""
    pairs = ("".join(pair) for pair in itertools.product(TOKENS, repeat=2))
    yield from dict.fromkeys([*KNOWN, *TOKENS, *(pair for pair in pairs if len(pair) <= LONGEST_UNIT)])


def seconds(call: Call, text: str, repeats: int) -> float:
    """The shortest processor time of a few repetitions, in seconds."""
    return min(_once(call, text) for _ in range(repeats))


def _once(call: Call, text: str) -> float:
    started = time.thread_time()
    call(text)
    return time.thread_time() - started


def finding(
    call: Call, unit: str, lengths: Sequence[int] = LENGTHS, most_seconds: float = MOST_SECONDS
) -> tuple[str, str] | None:
    """The check that a call fails for this unit, and what was measured; None if it passes.

    It ends with the first length that shows it, so that a function of cubic growth takes no hours.
    """
    before = 0.0
    for place, length in enumerate(lengths):
        text = (unit * (length // len(unit) + 1))[:length]
        took = seconds(call, text, 1)
        if took > most_seconds and (took := seconds(call, text, REPEATS)) > most_seconds:
            return SLOW, f"{unit!r}: {length:,} characters took {took:.2f} s"
        if place and took > max(MEASURABLE, GROWTH * before):
            shorter = text[: lengths[place - 1]]
            before, took = max(before, seconds(call, shorter, 1)), seconds(call, text, REPEATS)
            if took > max(MEASURABLE, GROWTH * before):
                grown = f"{lengths[place - 1]:,} and {length:,} characters: {before:.4f} and {took:.4f} s"
                return GROWS, f"{unit!r}: {grown}"
        before = took
    return None


def campaign(
    calls: Mapping[str, Call],
    sample: Iterable[str],
    lengths: Sequence[int] = LENGTHS,
    console: Console | None = None,
) -> Verdict:
    """Every call with every unit of the sample."""
    tally, chosen = Tally((GROWS, SLOW)), list(sample)
    gc.collect()
    gc.disable()
    try:
        with steps(console or Console(quiet=True)) as step:
            advance = step("functions", len(calls))
            for name, call in calls.items():
                _measure(name, call, chosen, lengths, tally)
                advance()
    finally:
        gc.enable()
    figures = [("functions", str(len(calls))), ("units", str(len(chosen)))]
    return Verdict("Growth of text functions", tally.checks(), figures)


def _measure(name: str, call: Call, sample: Sequence[str], lengths: Sequence[int], tally: Tally) -> None:
    for unit in sample:
        found = finding(call, unit, lengths, MOST_IN_CHILDREN if name in IN_CHILDREN else MOST_SECONDS)
        for check in (GROWS, SLOW):
            failed = found is not None and found[0] == check
            tally.expect(check, not failed, f"{name} {found[1]}" if found else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=len(KNOWN), help="units; more than there are: all")
    parser.add_argument("--only", default="", help="only calls with this in their name")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    every = list(units())
    others = random.Random(asked.seed).sample(every[len(KNOWN) :], len(every) - len(KNOWN))
    sample = [*every[: len(KNOWN)], *others][: asked.units]
    calls = {name: call for name, call in CALLS.items() if asked.only in name}
    console = wide_console()
    return conclude(campaign(calls, sample, console=console), console)


if __name__ == "__main__":
    sys.exit(main())
