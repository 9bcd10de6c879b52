"""Empty cells of tables in PDFs keep their places."""

import pytest
from fpdf import FPDF
from fpdf.enums import Align

from orc_core.extraction.word_boxes import NOWHERE, WORD, unpack
from tests.unit.orc_core.extraction.samples import Read

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


async def test_a_table_with_a_name_over_several_columns_is_left_alone(read: Read) -> None:
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
    assert page.text.split("\n")[1:] == ["North 3 4 5", "South 7 9", "West 1 2 3"]
