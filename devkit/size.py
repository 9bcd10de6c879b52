"""The numbers of docs/decisions/size.md, which the product may not exceed."""

import re
from collections.abc import Iterator, Mapping

from devkit.shared_data import ROOT

RECORD = ROOT / "docs" / "decisions" / "size.md"
SLACK = 0.01
"""A table that is so much too high is lowered."""
_ROW = re.compile(r"^\| ([a-z ]+) \| (\d+) \|$", re.M)


def deviations(counted: Mapping[str, int]) -> list[str]:
    """A line for each count that is above its number, or well below it."""
    return [*_deviations(counted, {name: int(most) for name, most in _ROW.findall(RECORD.read_text())})]


def _deviations(counted: Mapping[str, int], most: Mapping[str, int]) -> Iterator[str]:
    for name, count in counted.items():
        if count > most[name]:
            yield f"{name}: {count}, at most {most[name]}. Less, or a higher number in {RECORD.name} and why."
        elif count < most[name] * (1 - SLACK) - 1:
            yield f"{name}: {count}, at most {most[name]}. Lower the number in {RECORD.name}."
