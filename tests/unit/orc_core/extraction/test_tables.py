"""Tables of every format: merged cells, blanks, and where the names of columns are."""

import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from orc_core.extraction.tables import ACROSS, Cell, grid, render_rows
from tests.unit.orc_core.extraction.samples import Read
from tests.unit.orc_core.extraction.test_odf import odf
from tests.unit.orc_core.extraction.test_office import saved
from tests.unit.orc_core.extraction.test_rtf import rtf

GROUPED = [
    "Quay: North | Vessel: small | Fee Summer: 310 | Fee Winter: 205",
    "Quay: North | Vessel: big | Fee Summer: 880 | Fee Winter: 590",
    "Quay: South | Vessel: small | Fee Summer: 275 | Fee Winter: 181",
    "Quay: South | Vessel: big | Fee Summer: 801 | Fee Winter: 522",
]
ROWS = [
    ("Quay", "Vessel", "Fee", ""),
    ("", "", "Summer", "Winter"),
    ("North", "small", "310", "205"),
    ("", "big", "880", "590"),
    ("South", "small", "275", "181"),
    ("", "big", "801", "522"),
]
MERGES = [((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 2), (0, 3)), ((2, 0), (3, 0)), ((4, 0), (5, 0))]


def word() -> bytes:
    document = Document()
    table = document.add_table(6, 4)
    for row, values in zip(table.rows, ROWS, strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    for first, last in MERGES:
        text = table.cell(*first).text
        table.cell(*first).merge(table.cell(*last)).text = text
    return saved(document)


def slides() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(6, 4, 0, 0, Inches(6), Inches(3)).table
    for number, values in enumerate(ROWS):
        for column, value in enumerate(values):
            table.cell(number, column).text = value
    for first, last in MERGES:
        table.cell(*first).merge(table.cell(*last))
    return saved(presentation)


def workbook() -> bytes:
    book = Workbook()
    sheet = book.worksheets[0]
    for values in ROWS:
        sheet.append([int(value) if value.isdecimal() else value or None for value in values])
    for (top, left), (bottom, right) in MERGES:
        sheet.merge_cells(start_row=top + 1, start_column=left + 1, end_row=bottom + 1, end_column=right + 1)
    return saved(book)


def spans() -> list[list[tuple[str, int, int]]]:
    """The cells of each row that no other cell covers: text, columns, rows."""
    first = dict(MERGES)
    covered = {
        (row, column)
        for (top, left), (bottom, right) in MERGES
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
    } - first.keys()
    return [
        [
            (text, last[1] - column + 1, last[0] - row + 1)
            for column, text in enumerate(values)
            if (row, column) not in covered and (last := first.get((row, column), (row, column)))
        ]
        for row, values in enumerate(ROWS)
    ]


def web_page() -> bytes:
    rows = (
        "".join(f"<td colspan={columns} rowspan={rows}>{text}</td>" for text, columns, rows in row)
        for row in spans()
    )
    return f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>".encode()


def open_table() -> str:
    def cell(text: str, columns: int, rows: int) -> str:
        size = f'table:number-columns-spanned="{columns}" table:number-rows-spanned="{rows}"'
        return f"<table:table-cell {size}><text:p>{text}</text:p></table:table-cell>"

    rows = ("".join(cell(*each) for each in row) for row in spans())
    return "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)


def rich_text() -> bytes:
    body = ""
    for number, values in enumerate(ROWS):
        starts = {one for one, _ in MERGES}
        flags = [
            "\\clvmrg" if not v and (number, c) not in starts and number and c < 2 else ""
            for c, v in enumerate(values)
        ]
        if number == 0:
            flags[3] = "\\clmrg"
        ends = "".join(f"{flag}\\cellx{at}" for at, flag in enumerate(flags, 1))
        body += rf"\trowd{ends} " + "".join(rf"\intbl {value}\cell " for value in values) + r"\row "
    return rtf(body)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.docx", word()),
        ("a.pptx", slides()),
        ("a.xlsx", workbook()),
        ("a.html", web_page()),
        ("a.odt", odf("odt", f"<table:table>{open_table()}</table:table>")),
        ("a.ods", odf("ods", f'<table:table table:name="T">{open_table()}</table:table>')),
        ("a.rtf", rich_text()),
    ],
)
async def test_merged_cells_are_filled_and_two_rows_name_the_columns(
    read: Read, name: str, content: bytes
) -> None:
    lines = (await read(name, content)).pages[0].text.split("\n")
    assert lines[-4:] == GROUPED


def rendered(text: str) -> list[str]:
    return list(render_rows([line.split(",") for line in text.split()]))


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("Country,2019,2020,2021 Denmark,8.2,,8.9", "Country: Denmark | 2019: 8.2 | 2021: 8.9"),
        (",name,count 0,Nut,5", "0 | name: Nut | count: 5"),
        ("Site,01.02.2026,02.02.2026 Oslo,4,5", "Site: Oslo | 01.02.2026: 4 | 02.02.2026: 5"),
        ("Country,2024,2025 Denmark,8.25,8.90", "Country: Denmark | 2024: 8.25 | 2025: 8.90"),
        ("Party,2021(%),2025(%) Blue,,28.50", "Party: Blue | 2025(%): 28.50"),
        ("Depot,1.1.2026,1.2.2026 East,,12.50", "Depot: East | 1.2.2026: 12.50"),
        (",Day,Night North,8.25,9.50", "North | Day: 8.25 | Night: 9.50"),
        ("Town,2019,2020,2021 Moss,1950,1990,2010", "Town: Moss | 2019: 1950 | 2020: 1990 | 2021: 2010"),
        (
            "Country,Code,2024,2025 Norway,NO,, Sweden,SE,5,6",
            "Country: Sweden | Code: SE | 2024: 5 | 2025: 6",
        ),
        ("Size,36,37,38,39 Boot,4,,,3", "Size: Boot | 36: 4 | 39: 3"),
        ("Kilos,0-5,5-10 Europe,4.50,9.90", "Kilos: Europe | 0-5: 4.50 | 5-10: 9.90"),
        ("Zone,0-5,5-10 Reef,1-2,3-4", "Reef | 1-2 | 3-4"),
        ("Oslo,91-1144442 (Seat),(Number)", "(Seat) | (Number)"),
        ("Nut,10,20,25 Bolt,5,,9", "Bolt | 5 |  | 9"),
        ("Week,1,2,3 Oslo,40,50,60", "Week: Oslo | 1: 40 | 2: 50 | 3: 60"),
        (
            ",2025,,2026, Shop,Q1,Q2,Q1,Q2 Oslo,1.5,2.5,3.5,4.5",
            "Shop: Oslo | 2025 Q1: 1.5 | 2025 Q2: 2.5 | 2026 Q1: 3.5 | 2026 Q2: 4.5",
        ),
        ("Oslo,1999,2001 Bergen,2003,2004", "Bergen | 2003 | 2004"),
        ("Nut,6,8 Bolt,,9 Rod,7,5", "Bolt |  | 9"),
        ("08:00,Breakfast Noon,Lunch 18:00,Dinner", "Noon | Lunch"),
        ("1,2,3 Oslo,Bergen,Moss", "Oslo | Bergen | Moss"),
    ],
)
def test_names_of_columns_are_found_by_their_place(table: str, row: str) -> None:
    assert row in rendered(table)


def test_a_column_of_signs_joins_its_numbers_in_all_rows() -> None:
    lines = rendered("Item,2026,,2025, Sales,$,9,$,8 Costs,,7,,6")
    assert lines[1:] == ["Item: Sales | 2026: $9 | 2025: $8", "Item: Costs | 2026: 7 | 2025: 6"]


def test_a_cell_over_columns_has_all_their_names() -> None:
    rows = [["Berth", "Weekday", "Weekend"], ["Single", "61", "74"], ["Double", "90", ACROSS]]
    assert list(render_rows(rows))[2] == "Berth: Double | Weekday / Weekend: 90"


def test_a_grid_is_filled_within_its_width() -> None:
    rows = [[Cell("a", rows=2), Cell("b", columns=5)], [Cell("c")]]
    assert list(grid(rows, 3)) == [["a", "b", ACROSS], ["a", "c"]]


def test_a_long_cell_is_not_repeated() -> None:
    rows = [[Cell("x" * 1000, rows=3), Cell("a")], [Cell("b")], [Cell("c")]]
    assert [len(row[0]) for row in grid(rows)] == [1000, 0, 0]
