"""Workbooks that openpyxl refuses, formats of numbers, and what is hidden, and notes."""

import datetime
import io
import zipfile
from collections.abc import Callable

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment

from core.extraction.number_formats import show_formatted
from tests.unit.core.extraction.samples import Read
from tests.unit.core.extraction.test_odf import odf
from tests.unit.core.extraction.test_office import saved

pytestmark = pytest.mark.slow


def changed(content: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """The package with changed members; None leaves one out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            if (data := change(name, old.read(name))) is not None:
                new.writestr(name, data)
    return buffer.getvalue()


def staff() -> bytes:
    book = Workbook()
    for row in (["Name", "City", "Salary"], ["Pavel Dorn", "Bergen", 61750.5]):
        book.worksheets[0].append(row)
    return saved(book)


STRICT = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
ODD: dict[str, Callable[[str, bytes], bytes | None]] = {
    "family": lambda _, data: data.replace(b'<family val="2"', b'<family val="34"'),
    "colour": lambda name, data: data.replace(b'theme="1"', b'rgb="#1F497D"') if "styles" in name else data,
    "no-styles": lambda name, data: None if "styles" in name else data,
    "date": lambda name, data: data.replace(b"Z</dcterms", b"0</dcterms") if "core" in name else data,
    "strict": lambda _, data: data.replace(
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main", STRICT
    ).replace(
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
    ),
}


@pytest.mark.parametrize("kind", ODD)
async def test_a_workbook_that_only_excel_opens_is_read(read: Read, kind: str) -> None:
    extraction = await read("a.xlsx", changed(staff(), ODD[kind]))
    assert "Name: Pavel Dorn | City: Bergen | Salary: 61750.5" in extraction.pages[0].text


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (1067, "00000", "01067"),
        (52300, '#,##0.00\\ "€"', "52300 €"),
        (12.5, "[$NOK-414] #,##0.00", "NOK 12.5"),
        (-138, "#,##0;[Red]-#,##0", "-138"),
        (0.125, "0.0%", "12.5%"),
        (45200, '0.0,"k"', "45200"),
        (7, "General", "7"),
        (3, '0" kg"', "3 kg"),
        (12000, "0.00E+00", "12000"),
    ],
)
def test_numbers_keep_zeros_currencies_and_units(value: float, code: str, shown: str) -> None:
    assert show_formatted(value, code) == shown


async def test_hours_beyond_a_day_are_hours(read: Read) -> None:
    book = Workbook()
    book.worksheets[0]["A1"] = datetime.timedelta(hours=37, minutes=30)
    book.worksheets[0]["A1"].number_format = "[h]:mm"
    assert (await read("a.xlsx", saved(book))).pages[0].text == "37:30"


async def test_hidden_rows_and_sheets_notes_and_formulas_are_labelled(read: Read) -> None:
    book = Workbook()
    sheet = book.worksheets[0]
    for row in (["Task", "Owner", "Cost"], ["Paint", "Omar", 250], ["Secret", "Omar", 77]):
        sheet.append(row)
    sheet["C4"] = "=C2+C3"
    sheet["C2"].comment = Comment("Raised to 300", "Berit")
    sheet.row_dimensions[3].hidden = True
    old = book.create_sheet("Old")
    old["A1"], old.sheet_state = "gone", "hidden"
    pages = (await read("a.xlsx", saved(book))).pages
    assert [(page.label, page.text.split("\n")[-2:]) for page in pages] == [
        ("Sheet", ["Task: Secret | Owner: Omar | Cost: 77 (hidden row)", "Cost: =C2+C3"]),
        ("Old (hidden sheet)", ["gone"]),
        ("Comments and shapes", ["Comment on C2: Raised to 300"]),
    ]


async def test_hidden_rows_sheets_and_notes_of_open_document_are_labelled(read: Read) -> None:
    note = "<office:annotation><text:p>check</text:p></office:annotation>"
    rows = (
        f"<table:table-row><table:table-cell>{note}<text:p>a</text:p></table:table-cell></table:table-row>"
        '<table:table-row table:visibility="collapse"><table:table-cell><text:p>b</text:p></table:table-cell>'
        "</table:table-row>"
    )
    hidden = (
        '<office:styles><style:style style:name="H" style:family="table">'
        '<style:table-properties table:display="false"/></style:style></office:styles>'
    )
    body = f'<table:table table:name="T" table:style-name="H">{rows}</table:table>'
    pages = (await read("a.ods", odf("ods", body, styles=hidden))).pages
    assert [(page.label, page.text) for page in pages] == [
        ("T (hidden sheet)", "a\nb (hidden row)"),
        ("T (comments and shapes)", "Comment: check"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.xls",
            b"<html><body><table><tr><th>Order</th><th>Customer</th><th>EUR</th></tr>"
            b"<tr><td>7001</td><td>Bramble</td><td>1240.50</td></tr></table></body></html>",
        ),
        ("a.xls", b"Order\tCustomer\tEUR\n7001\tBramble\t1240.50\n"),
        ("a.xlsx", b"Order,Customer,EUR\n7001,Bramble,1240.50\n"),
        (
            "a.doc",
            b"<table><tr><th>Order</th><th>Customer</th><th>EUR</th></tr>"
            b"<tr><td>7001</td><td>Bramble</td><td>1240.50</td></tr></table>",
        ),
    ],
)
async def test_an_export_under_another_name_is_read_for_what_it_is(
    read: Read, name: str, content: bytes
) -> None:
    assert "Order: 7001 | Customer: Bramble | EUR: 1240.50" in (await read(name, content)).pages[0].text
