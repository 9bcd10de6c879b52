"""Workbooks that only Excel opens, formats of numbers, and what is hidden, and notes."""

import datetime
import io
import zipfile
from collections.abc import Callable

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment

from orc_core.errors import UnsupportedDocument
from orc_core.extraction.number_formats import show_dated, show_formatted
from tests.unit.orc_core.extraction.samples import Read
from tests.unit.orc_core.extraction.test_odf import odf
from tests.unit.orc_core.extraction.test_office import saved

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
    sheet = book.worksheets[0]
    for row in (["Name", "City", "Salary", "Code"], ["Pavel Dorn", "Bergen", 61750.5, 1067]):
        sheet.append(row)
    sheet["C2"].number_format, sheet["D2"].number_format = '#,##0.00\\ "€"', "00000"
    return saved(book)


STRICT = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
ODD: dict[str, Callable[[str, bytes], bytes | None]] = {
    "names": lambda name, data: (
        data.replace(b"sharedStrings", b"SharedStrings") if name.endswith((".rels", "].xml")) else data
    ),
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
    [page] = extraction.pages
    values = "61750.5 | Code: 1067" if kind == "no-styles" else "61750.5 € | Code: 01067"
    assert page.text.split("\n")[-1] == f"Name: Pavel Dorn | City: Bergen | Salary: {values}"


async def test_characters_that_xml_cannot_have_are_read(read: Read) -> None:
    book = Workbook()
    book.worksheets[0].append(["a_x0007_b", "_xD83D__xDE00_", "c_xD83D_d", "e_x005F_x0041_"])
    [page] = (await read("a.xlsx", saved(book))).pages
    assert page.text.split("\n")[-1] == "a b | \U0001f600 | c\ufffdd | e_x0041_"


async def test_a_binary_workbook_is_refused_as_such(read: Read) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("xl/workbook.bin", b"binary")
    with pytest.raises(UnsupportedDocument, match=r"\.xlsb cannot be read\. Save the file as \.xlsx"):
        await read("a.xlsb", buffer.getvalue())


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
        (12345678, "000-00-0000", "012-34-5678"),
        (5551234567, "(###) ###-####", "(555) 123-4567"),
        (45123456, "[<=9999999]###-####;(##) ##\\-####", "(45) 12-3456"),
        (1234567, "# ##0.00", "1234567"),
        (3, '[>=5]"high" 0;[<5]"low" 0', "low 3"),
        (0, '"Yes";"Yes";"No"', "No"),
        (-5, "0;[Red]-0", "-5"),
        (0, "0;-0;;@", ""),
        (1, "00%", "100%"),
        (1e20, "000-00", "1000000000000000000-00"),
        (5, "[=>100]0;0", "5"),
        (5, "[Red]", "5"),
    ],
)
def test_numbers_keep_zeros_currencies_and_units(value: float, code: str, shown: str) -> None:
    assert show_formatted(value, code) == shown


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (46082, "dd.mm.yyyy", "2026-03-01"),
        (46082.75, 'd. mmm yyyy "um" h:mm', "2026-03-01 18:00:00"),
        (0.25, "h:mm", "06:00:00"),
        (59, "m/d/yy", "1900-02-28"),
        (1.5625, "[h]:mm", "37:30"),
        (0.0625, "[mm]", "1:30"),
        (0.001, "mm:ss.0", "00:01:26"),
        (1e12, "[h]:mm", "1000000000000"),
        (float("nan"), "[ss]", "nan"),
        (-1, "m/d/yy", "-1"),
        (46082, '0 "days"', "46082 days"),
        (46082, "General", "46082"),
    ],
)
def test_dates_and_times_are_known_by_their_format(value: float, code: str, shown: str) -> None:
    assert show_dated(value, code, since_1904=False) == shown


def test_some_workbooks_count_days_since_1904() -> None:
    assert show_dated(44620, "yyyy-mm-dd", since_1904=True) == "2026-03-01"


EXPORT = b"""<?xml version="1.0"?>
<?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
 xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Styles><Style ss:ID="z"><NumberFormat ss:Format="00000"/></Style></Styles>
<Worksheet ss:Name="Staff"><Table><Column ss:Index="3" ss:Hidden="1"/>
<Row><Cell><Data ss:Type="String">Name</Data></Cell><Cell><Data ss:Type="String">Code</Data></Cell>
<Cell><Data ss:Type="String">Pay</Data></Cell><Cell><Data ss:Type="String">Since</Data></Cell></Row>
<Row ss:Index="4" ss:Hidden="1"><Cell ss:MergeDown="1"><Data ss:Type="String">Ilse</Data>
<Comment><ss:Data>left</ss:Data></Comment></Cell>
<Cell ss:StyleID="z"><Data ss:Type="Number">1067</Data></Cell>
<Cell ss:Index="4"><Data ss:Type="DateTime">2026-03-01T00:00:00.000</Data></Cell></Row>
<Row><Cell ss:Index="3"><Data ss:Type="Number">7.5</Data></Cell>
<Cell><Data ss:Type="Boolean">1</Data></Cell></Row></Table></Worksheet></Workbook>"""


@pytest.mark.parametrize("name", ["a.xls", "a.xlsx", "a.xml"])
async def test_a_spreadsheet_of_2003_in_xml_is_read(read: Read, name: str) -> None:
    pages = (await read(name, EXPORT)).pages
    assert [(page.label, page.text) for page in pages] == [
        (
            "Staff",
            "Name | Code | Pay (hidden column) | Since\n"
            "Name: Ilse | Code: 01067 | Since: 2026-03-01 (hidden row)\n"
            "Name: Ilse | Pay (hidden column): 7.5 | Since: TRUE",
        ),
        ("Staff (comments)", "Comment: left"),
    ]


BOOK = "urn:schemas-microsoft-com:office:spreadsheet"
RICH = (
    f'<?xml version="1.0"?><Workbook xmlns="{BOOK}" xmlns:ss="{BOOK}"><Styles><Style ss:ID="p">'
    '<NumberFormat ss:Format="Percent"/></Style>'
    '<Style ss:ID="s"><Font ss:StrikeThrough="1"/></Style></Styles>'
    '<Worksheet ss:Name="A"><Table><Row><Cell><ss:Data ss:Type="String" xmlns="http://w3.org/html40">'
    "28<Sup>1</Sup><Font> days, </Font><S>EUR 85</S> EUR 97</ss:Data></Cell>"
    '<Cell ss:StyleID="p"><Data ss:Type="Number">0.125</Data></Cell>'
    '<Cell ss:StyleID="s"><Data ss:Type="String">SECRET</Data></Cell></Row></Table></Worksheet></Workbook>'
)


async def test_rich_text_of_a_spreadsheet_in_xml_keeps_its_looks(read: Read) -> None:
    page = (await read("a.xls", RICH.encode())).pages[0]
    assert page.text.split() == "28[1] days, EUR 97 | 12.5%".split()


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
    sheet.row_dimensions[3].hidden = sheet.column_dimensions["B"].hidden = True
    old = book.create_sheet("Old")
    old["A1"], old.sheet_state = "gone", "hidden"
    pages = (await read("a.xlsx", saved(book))).pages
    assert [(page.label, page.text.split("\n")[-2:]) for page in pages] == [
        ("Sheet", ["Task: Secret | Owner (hidden column): Omar | Cost: 77 (hidden row)", "Cost: =C2+C3"]),
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
    column = '<table:table-column table:visibility="collapse"/>'
    body = f'<table:table table:name="T" table:style-name="H">{column}{rows}</table:table>'
    pages = (await read("a.ods", odf("ods", body, styles=hidden))).pages
    assert [(page.label, page.text) for page in pages] == [
        ("T (hidden sheet)", "a (hidden column)\nb (hidden row)"),
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
