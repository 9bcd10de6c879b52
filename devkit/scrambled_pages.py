"""PDFs whose words are drawn in another order than that of the page, with the text in the right order."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fpdf import FPDF

WIDTH, HEIGHT = 600, 800
SIZE = 10
_LEFT, _COLUMNS = 50, (250, 330, 410, 490)
_LABELS = (
    "Sales",
    "Total debt",
    "Fees and rent",
    "Held for trade",
    "Staff",
    "Tax, deferred",
    "Other liabilities",
)
_TOP = 560
_FONTS = "/F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> /H 5 0 R"
_UPRIGHT = {
    0: "1 0 0 1 0 0",
    90: f"0 1 -1 0 {WIDTH} 0",
    180: f"-1 0 0 -1 {WIDTH} {HEIGHT}",
    270: f"0 -1 1 0 0 {HEIGHT}",
}
"""The matrices for text that is upright on a page displayed with this rotation."""


class Cell(NamedTuple):
    """Words that are drawn together, at their distance from the left edge and above the line, in points."""

    x: float
    text: str
    raised: float = 0
    size: float = SIZE


class Table(NamedTuple):
    """The lines of a page as they stand, and the content of the page."""

    lines: list[str]
    content: str


def table(seed: int, rows: int = 8) -> Table:
    """Rows of a label and figures. Each is drawn in a random order, in one of several ways."""
    chance = random.Random(seed)
    lines, drawn = [], []
    for number in range(rows):
        cells = _row(chance)
        lines.append(" ".join(cell.text for cell in cells))
        order = chance.sample(cells, len(cells))
        drawn.append(chance.choice(_WAYS)(order, _TOP - 25 * number, chance))
    return Table(lines, "\n".join(drawn))


def rotated(content: str, degrees: int) -> str:
    """The content, upright on a page that is displayed with this rotation clockwise."""
    return f"q {_UPRIGHT[degrees]} cm {content} Q"


def scrambled_pdf(content: str, *, rotation: int = 0, crop: Sequence[int] = ()) -> bytes:
    """A page with this content, in Helvetica (`/F`) or in a font whose letters are Hebrew (`/H`)."""
    crop_box = f"/CropBox [{' '.join(map(str, crop))}]" if crop else ""
    ranges = "2 beginbfrange <41> <5A> <05D0> <30> <39> <0030> endbfrange"
    hebrew = f"begincmap {ranges} endcmap"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] {crop_box} /Rotate {rotation}"
        f" /Contents 4 0 R /Resources << /Font << {_FONTS} >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        f"<< /Length {len(hebrew)} >>\nstream\n{hebrew}\nendstream",
    ]
    bodies = (f"{number} 0 obj\n{body}\nendobj\n" for number, body in enumerate(objects, 1))
    return f"%PDF-1.4\n{''.join(bodies)}trailer\n<< /Size 7 /Root 1 0 R >>\n%%EOF".encode("latin-1")


def write(cells: Sequence[Cell], y: float, font: str = "F", spacing: float = 0) -> str:
    """Operators that draw the cells in this order on the line at `y`."""
    shown = (
        f"/{font} {cell.size} Tf {spacing} Tc 1 0 0 1 {cell.x} {y + cell.raised} Tm"
        f" ({_escaped(cell.text)}) Tj"
        for cell in cells
    )
    return f"BT {' '.join(shown)} ET"


def _row(chance: random.Random) -> list[Cell]:
    """A label, perhaps a raised mark, and figures; some have blanks between thousands."""
    cells = [Cell(_LEFT, chance.choice(_LABELS))]
    if chance.random() < 0.3:
        cells.append(Cell(_LEFT + 100, str(chance.randrange(1, 9)), raised=4, size=6))
    blank = chance.choice((",", ",", " "))
    figures = [f"{chance.randrange(1000, 99_999):,}".replace(",", blank) for _ in _COLUMNS]
    if chance.random() < 0.3:
        figures = [f"({figure})" if "," in figure else figure for figure in figures]
    return [*cells, *(Cell(x, figure) for x, figure in zip(_COLUMNS, figures, strict=True))]


def _one_by_one(cells: Sequence[Cell], y: float, chance: random.Random) -> str:
    """Each cell by its own operator, a little above or below the line."""
    return write([cell._replace(raised=cell.raised or chance.choice((0, 3))) for cell in cells], y)


def _letter_spaced(cells: Sequence[Cell], y: float, chance: random.Random) -> str:
    """The same, with more space between letters, as in justified lines."""
    return write(
        [cell._replace(raised=cell.raised or chance.choice((0, 3))) for cell in cells], y, spacing=0.8
    )


def _in_one_array(cells: Sequence[Cell], y: float, _: random.Random) -> str:
    """One operator that moves back and forth. PDFium adds no blank where it moves back."""
    parts, at = [], cells[0].x
    for cell in cells:
        parts.append(f"{(at - cell.x) * 1000 / SIZE:.0f} ({_escaped(cell.text)})")
        at = cell.x + _width(cell.text)
    return f"BT /F {SIZE} Tf 0 Tc 1 0 0 1 {cells[0].x} {y} Tm [{' '.join(parts)}] TJ ET"


def _width(text: str) -> float:
    document = FPDF(unit="pt")
    document.set_font("helvetica", size=SIZE)
    return float(document.get_string_width(text))


def _escaped(text: str) -> str:
    return text.replace("(", r"\(").replace(")", r"\)")


_WAYS: tuple[Callable[[Sequence[Cell], float, random.Random], str], ...] = (
    _one_by_one,
    _letter_spaced,
    _in_one_array,
)
