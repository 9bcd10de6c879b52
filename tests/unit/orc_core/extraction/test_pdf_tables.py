"""Empty cells of tables in PDFs keep their places."""

import pytest
from fpdf import FPDF
from fpdf.enums import Align

from orc_core.extraction.word_boxes import NOWHERE, WORD, unpack
from tests.unit.orc_core.extraction.samples import Read, drawn_pages

DEPOTS = ["Depot|Jan|Feb|Mar|Apr", "North|3|12|5|8", "South||7||9", "East harbour|4|||1", "West|11|2|3|"]
YEARS = ["Country|2019|2020|2021", "Denmark|8.2||8.9", "Norway||9.1|9.4", "Sweden|7.7||8.0"]
FEES = ["Berth|Season|Fee", "Anchor|Summer|210", "|Winter|180", "Bell|Summer|340", "|Winter|300"]


def drawn(rows: list[str], align: str) -> bytes:
    file = FPDF()
    file.add_page()
    file.set_font("helvetica", size=11)
    file.cell(text="Stock in 2026, see the note below.", new_x="LMARGIN", new_y="NEXT")
    with file.table(text_align=(Align.L, *[Align.coerce(align)] * rows[0].count("|"))) as table:
        for row in rows:
            table.row(row.split("|"))
    file.cell(text="All figures in tonnes.")
    return bytes(file.output())


@pytest.mark.parametrize("rows", [DEPOTS, YEARS, FEES])
@pytest.mark.parametrize("align", ["L", "R", "C"])
async def test_an_empty_cell_keeps_its_place(read: Read, rows: list[str], align: str) -> None:
    [page] = (await read("a.pdf", drawn(rows, align))).pages
    lines = page.text.split("\n")
    assert lines[0] == "Stock in 2026, see the note below."
    assert lines[1:-1] == [row.replace("|", " | ").rstrip(" |") for row in rows]


async def test_each_word_has_a_box_and_the_signs_have_none(read: Read) -> None:
    [page] = (await read("a.pdf", drawn(DEPOTS, "R"))).pages
    words = WORD.findall(page.text)
    assert [word == "|" for word in words] == [
        boxes == [NOWHERE] or not boxes for boxes in unpack(page.boxes)
    ]


async def test_tables_without_empty_cells_stay_as_they_are(read: Read) -> None:
    full = [row.replace("||", "|6|") for row in YEARS]
    [page] = (await read("a.pdf", drawn(full, "R"))).pages
    assert page.text.split("\n")[1:-1] == [row.replace("|", " ") for row in full]


async def test_rows_below_a_name_over_several_columns_keep_their_places(read: Read) -> None:
    file = FPDF()
    file.add_page()
    file.set_font("helvetica", size=11)
    with file.table(text_align="CENTER") as table:
        header = table.row()
        header.cell("Depot")
        header.cell("Quantity and value of both", colspan=2)
        header.cell("Feb")
        for row in ("North|3|4|5", "South||7|9", "West|1|2|3"):
            table.row(row.split("|"))
    [page] = (await read("a.pdf", bytes(file.output()))).pages
    assert page.text.split("\n")[1:] == ["North | 3 | 4 | 5", "South |  | 7 | 9", "West | 1 | 2 | 3"]


Placed = tuple[tuple[int, int, str], ...]
"""Texts on a page, with where they begin and how high they are."""
SHAFTS: Placed = (
    *((50, 700, "Shaft"), (125, 700, "Speed"), (200, 700, "Load")),
    *((110, 680, "min"), (150, 680, "max"), (50, 660, "A"), (110, 660, "40"), (200, 660, "7")),
    *((50, 640, "B"), (150, 640, "95"), (200, 640, "3"), (50, 620, "C"), (110, 620, "55"), (150, 620, "60")),
)
MILLS: Placed = (
    *(
        (50, 700, "Mill"),
        (150, 700, "Grain"),
        (250, 700, "2024"),
        (350, 700, "2025"),
        (50, 670, "Upper mill"),
    ),
    *((150, 680, "Rye"), (250, 680, "17"), (150, 660, "Oats"), (350, 660, "8"), (50, 630, "Lower mill")),
    *((150, 640, "Rye"), (350, 640, "6"), (150, 620, "Oats"), (250, 620, "13")),
)
DEPOT_NAMES: Placed = (
    *((50, 700, "Depot"), (150, 700, "Crop"), (250, 700, "Kg"), (350, 700, "Due"), (50, 680, "East depot")),
    *((150, 660, "Plums"), (300, 660, "120"), (400, 660, "4"), (150, 640, "Pears"), (300, 640, "35")),
    *((50, 620, "West depot, which is closed"), (150, 600, "Plums"), (400, 600, "3")),
    *((150, 580, "Pears"), (300, 580, "61"), (400, 580, "5")),
)


@pytest.mark.parametrize(
    ("placed", "lines"),
    [
        (
            SHAFTS,
            ["Shaft | Speed |  | Load", " | min | max", "A | 40 |  | 7", "B |  | 95 | 3", "C | 55 | 60"],
        ),
        (
            MILLS,
            [
                "Mill | Grain | 2024 | 2025",
                "Upper mill",
                " | Rye | 17",
                " | Oats |  | 8",
                "Lower mill",
                " | Rye |  | 6",
                " | Oats | 13",
            ],
        ),
        (
            DEPOT_NAMES,
            [
                "Depot | Crop | Kg | Due",
                "East depot",
                " | Plums | 120 | 4",
                " | Pears | 35",
                "West depot, which is closed",
                " | Plums |  | 3",
                " | Pears | 61 | 5",
            ],
        ),
        (
            ((50, 740, "2.1"), (80, 740, "Open on Sundays"), *SHAFTS),
            [
                "2.1 Open on Sundays",
                "Shaft | Speed |  | Load",
                " | min | max",
                "A | 40 |  | 7",
                "B |  | 95 | 3",
                "C | 55 | 60",
            ],
        ),
    ],
)
async def test_names_of_columns_and_of_rows_can_be_of_several(
    read: Read, placed: Placed, lines: list[str]
) -> None:
    content = " ".join(f"BT /F 11 Tf {left} {base} Td ({text}) Tj ET" for left, base, text in placed)
    [page] = (await read("a.pdf", drawn_pages(content.encode()))).pages
    assert page.text.split("\n") == lines
