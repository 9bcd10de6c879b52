"""Targets of measured figures, and reports that are written whole or not at all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Target:
    """A bound for a figure, in the figure's own unit."""

    bound: float
    sign: Literal["<=", ">="] = "<="

    def met_by(self, value: float) -> bool:
        """Whether the value is within the bound; being equal is enough."""
        return value <= self.bound if self.sign == "<=" else value >= self.bound


def verdict(ok: bool | None) -> str:
    """Whether a target is met, in words; empty if there is none."""
    return {None: "", True: "ok", False: "not ok"}[ok]


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader never sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
