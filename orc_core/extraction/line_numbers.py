"""Numbers of lines in the margin, as in papers of courts: they are not part of the sentences."""

import re
from collections.abc import Sequence
from itertools import pairwise

NUMBER = re.compile(r"[ \t]*(\d{1,3})(?:[ \t]+|$)")
LEAST_LINES = 5
_NEXT_SENTENCE = re.compile(r"[.!?] [^\W\d_a-z]")


def numbered_lines(lines: Sequence[str]) -> set[int]:
    """The lines, by index, that begin with their number: each has the next one, and sentences go over lines.

    The rows of a table and the items of a list can be counted, too, but their text does not run on.
    """
    runs: list[list[int]] = []
    last: int | None = None
    for at, line in enumerate(lines):
        if found := NUMBER.match(line):
            if last is not None and int(found[1]) == last + 1:
                runs[-1].append(at)
            else:
                runs.append([at])
            last = int(found[1])
        elif line.strip():
            last = None
    return {at for run in runs if _is_prose([NUMBER.sub("", lines[at], count=1) for at in run]) for at in run}


def _is_prose(lines: Sequence[str]) -> bool:
    """Whether sentences run over the lines: a third of them goes on with the line before, which is long."""
    filled = list(filter(None, lines))
    full = max(map(len, filled), default=0) / 2
    runs_on = [
        len(before) >= full and not before.endswith((".", "!", "?")) and not line[:1].isupper()
        for before, line in pairwise(filled)
    ]
    is_text = "" in lines or any(map(_NEXT_SENTENCE.search, lines))
    return len(lines) >= LEAST_LINES and is_text and 3 * sum(runs_on) >= len(filled)
