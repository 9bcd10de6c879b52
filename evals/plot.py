"""A line plot as SVG: figures per change of technique, one line for each set of questions."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 960, 520
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 190
COLOURS = ("#1f6fb4", "#d1661f", "#2a8c4a", "#8a4fb0")
STEP = 0.1


def line_plot(title: str, steps: Sequence[str], lines: Mapping[str, Sequence[float]]) -> str:
    """An SVG document; values are shares from 0 to 1, one for each step."""
    lowest = max(0.0, min(min(values) for values in lines.values()) // STEP * STEP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="16">{escape(title)}</text>',
        *_grid(lowest),
        *_names(steps),
    ]
    for number, (name, values) in enumerate(lines.items()):
        parts.extend(_line(number, name, [(_x(i, len(steps)), _y(v, lowest)) for i, v in enumerate(values)]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(step: int, steps: int) -> float:
    return LEFT + 20 + step * (WIDTH - LEFT - RIGHT - 40) / max(1, steps - 1)


def _y(value: float, lowest: float) -> float:
    return TOP + (1 - value) / (1 - lowest) * (HEIGHT - TOP - BOTTOM)


def _grid(lowest: float) -> list[str]:
    parts = []
    for tenth in range(round(lowest / STEP), 11):
        y = _y(tenth * STEP, lowest)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        label = (
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" font-size="12" text-anchor="end">{tenth * STEP:.1f}</text>'
        )
        parts.append(label)
    return parts


def _names(steps: Sequence[str]) -> list[str]:
    y = HEIGHT - BOTTOM + 16
    return [
        f'<text x="{(x := _x(i, len(steps))):.1f}" y="{y}" font-size="11" text-anchor="end"'
        f' transform="rotate(-40 {x:.1f} {y})">{escape(name)}</text>'
        for i, name in enumerate(steps)
    ]


def _line(number: int, name: str, points: Sequence[tuple[float, float]]) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    legend_y = HEIGHT - 12 - 18 * number
    return [
        f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points),
        f'<text x="{WIDTH - 220}" y="{legend_y}" font-size="12" fill="{colour}">{escape(name)}</text>',
    ]
