"""A bar plot as SVG: shares from 0 to 1, each with the bound that it should keep."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, LEFT, RIGHT, TOP, ROW = 960, 330, 90, 50, 34
GOOD, BAD, NEUTRAL = "#2a8c4a", "#c0392b", "#1f6fb4"


class Bar(NamedTuple):
    """A share; `ok` says whether it keeps its `bound`, where it has one."""

    name: str
    share: float
    bound: float | None = None
    ok: bool | None = None


def bar_plot(title: str, bars: Sequence[Bar]) -> str:
    """An SVG document with one bar below the other; a black line marks each bound."""
    height = TOP + ROW * len(bars) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="28" font-size="16">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        parts.extend(_drawn(bar, TOP + ROW * number))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(bar: Bar, top: int) -> list[str]:
    colour = {None: NEUTRAL, True: GOOD, False: BAD}[bar.ok]
    drawn = [
        f'<text x="{LEFT - 10}" y="{top + 16}" font-size="13" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{_width(bar.share):.1f}" height="22" fill="{colour}"/>',
        f'<text x="{WIDTH - RIGHT + 10}" y="{top + 16}" font-size="13">{100 * bar.share:.1f} %</text>',
    ]
    if bar.bound is not None:
        x = LEFT + _width(bar.bound)
        drawn.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{top + 26}" stroke="black"'
            ' stroke-width="2"/>'
        )
    return drawn


def _width(share: float) -> float:
    return share * (WIDTH - LEFT - RIGHT)
