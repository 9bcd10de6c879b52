"""What several formats can have reads alike in all of them: tables, looks, links, shapes, attached files."""

import io
import re
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from tests.unit.orc_core.extraction.samples import Read, archive, docx
from tests.unit.orc_core.extraction.test_epub import chapter, epub
from tests.unit.orc_core.extraction.test_odf import cells, odf, table
from tests.unit.orc_core.extraction.test_office import saved
from tests.unit.orc_core.extraction.test_rtf import row as rtf_row
from tests.unit.orc_core.extraction.test_rtf import rtf
from tests.unit.orc_core.extraction.test_spreadsheets import changed

pytestmark = pytest.mark.slow

TOWNS = 150
"""So many that the last row is far below the names of the columns, in another unit if the format has them."""
YEARS = [
    ("Country", "2019", "2020", "2021"),
    ("Denmark", "8.2", "", "8.9"),
    *((f"Town {number}", f"{number}.1", f"{number}.2", "" if number % 2 else "7") for number in range(TOWNS)),
]


def mail(page: str) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Quay"
    message.set_content(page, subtype="html")
    return message.as_bytes()


def web_table(cell: str = "td") -> str:
    rows = "".join(f"<tr>{''.join(f'<{cell}>{each}</{cell}>' for each in row)}</tr>" for row in YEARS)
    return f"<table>{rows}</table>"


def word_table() -> bytes:
    def cell(text: str) -> str:
        return f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"

    rows = "".join(f"<w:tr>{''.join(map(cell, row))}</w:tr>" for row in YEARS)
    return docx(f"<w:tbl>{rows}</w:tbl>")


def slide_table() -> bytes:
    presentation = Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    made = shapes.add_table(len(YEARS), 4, 0, 0, Inches(6), Inches(6)).table
    for row, values in zip(made.rows, YEARS, strict=True):
        for place, value in zip(row.cells, values, strict=True):
            place.text = value
    return saved(presentation)


def sheet_table() -> bytes:
    book = Workbook()
    for row in YEARS:
        book.worksheets[0].append([float(each) if re.match(r"\d", each) else each or None for each in row])
    return saved(book)


def sheet_of_2003() -> bytes:
    def cell(at: int, text: str) -> str:
        kind = "Number" if re.match(r"\d", text) else "String"
        return f'<Cell ss:Index="{at}"><Data ss:Type="{kind}">{text}</Data></Cell>' if text else ""

    rows = "".join(f"<Row>{''.join(cell(at, each) for at, each in enumerate(row, 1))}</Row>" for row in YEARS)
    names = "urn:schemas-microsoft-com:office:spreadsheet"
    head = f'<?xml version="1.0"?><Workbook xmlns="{names}" xmlns:ss="{names}"><Worksheet ss:Name="A">'
    return f"{head}<Table>{rows}</Table></Worksheet></Workbook>".encode()


OPEN_TABLE = table(*(cells(*row) for row in YEARS), name="A")
TABLES: dict[str, bytes] = {
    "a.csv": "\n".join(",".join(row) for row in YEARS).encode(),
    "semicolons.csv": "\n".join(";".join(row) for row in YEARS).encode(),
    "tabs.xls": "\n".join("\t".join(row) for row in YEARS).encode(),
    "a.md": "\n".join(f"| {' | '.join(row)} |" for row in [*YEARS[:1], ("---",) * 4, *YEARS[1:]]).encode(),
    "a.html": web_table().encode(),
    "named.html": web_table("th").replace("<th>Denmark</th>", "<td>Denmark</td>").encode(),
    "a.eml": mail(web_table()),
    "a.epub": epub({"OPS/text/two.xhtml": chapter(web_table())}),
    "a.docx": word_table(),
    "a.pptx": slide_table(),
    "a.xlsx": sheet_table(),
    "a.xml": sheet_of_2003(),
    "a.odt": odf("odt", OPEN_TABLE),
    "a.ods": odf("ods", OPEN_TABLE),
    "a.odp": odf("odp", f'<draw:page draw:name="1"><draw:frame>{OPEN_TABLE}</draw:frame></draw:page>'),
    "a.rtf": rtf("".join(rtf_row(*row) for row in YEARS)),
}


async def text_of(read: Read, name: str, content: bytes) -> str:
    return "\n".join(page.text for page in (await read(name, content)).pages)


@pytest.mark.parametrize("name", TABLES)
async def test_each_row_has_the_years_of_its_values(read: Read, name: str) -> None:
    lines = (await text_of(read, name, TABLES[name])).split("\n")
    assert "Country: Denmark | 2019: 8.2 | 2021: 8.9" in lines
    assert "Country: Town 149 | 2019: 149.1 | 2020: 149.2" in lines
    assert sum(line.startswith("Country: Town") for line in lines) == TOWNS


STYLES = "".join(
    f'<style:style style:name="{name}" style:family="text"><style:text-properties {look}/></style:style>'
    for name, look in (
        ("R", 'style:text-position="super 58%"'),
        ("S", 'style:text-line-through-style="solid"'),
        ("H", 'text:display="none"'),
        ("W", 'style:font-name="Wingdings"'),
    )
)
SPANS = (
    '28<text:span text:style-name="R">1</text:span> days, EUR '
    '<text:span text:style-name="S">85 </text:span>97<text:span text:style-name="H"> SECRET</text:span>, '
    '<text:span text:style-name="W">\u00fc</text:span> paid'
)
MARKED = (
    '28<sup>1</sup> days, EUR <s>85 </s>97<span style="display:none"> SECRET</span>, '
    '<font face="Wingdings">\u00fc</font> paid'
)


def styled(kind: str, body: str) -> bytes:
    return odf(kind, body, styles=f"<office:styles>{STYLES}</office:styles>")


def on_slide(body: str) -> str:
    return (
        f'<draw:page draw:name="1"><draw:frame><draw:text-box>{body}</draw:text-box></draw:frame></draw:page>'
    )


LOOKS = {
    "a.odt": styled("odt", f"<text:p>{SPANS}</text:p>"),
    "a.odp": styled("odp", on_slide(f"<text:p>{SPANS}</text:p>")),
    "a.ods": styled("ods", table(f"<table:table-cell><text:p>{SPANS}</text:p></table:table-cell>")),
    "a.eml": mail(f"<p>{MARKED}</p>"),
    "a.epub": epub({"OPS/text/two.xhtml": chapter(f"<p>{MARKED}</p>")}),
    "a.html": f"<p>{MARKED}</p>".encode(),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_looks_count_wherever_text_has_them(read: Read, name: str) -> None:
    text = await text_of(read, name, LOOKS[name])
    assert "28[1] days, EUR 97, ✓ paid" in text.split("\n")
    assert "SECRET" not in text


ADDRESS = "https://quay.example/tariff"
LINK = f'<text:p>See <text:a xlink:href="{ADDRESS}" xmlns:xlink="x">the tariff</text:a>.</text:p>'
CREATOR = "<dc:creator xmlns:dc='d'>Ole</dc:creator>"
COMMENT = f"<office:annotation>{CREATOR}<text:p>Too dear</text:p></office:annotation>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.odt", odf("odt", LINK)),
        ("a.odp", odf("odp", on_slide(LINK))),
        ("a.ods", odf("ods", table(f"<table:table-cell>{LINK}</table:table-cell>"))),
    ],
)
async def test_links_of_open_document_have_their_address(read: Read, name: str, content: bytes) -> None:
    assert f"See the tariff ({ADDRESS})." in await text_of(read, name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.odt", odf("odt", f"<text:p>Fee{COMMENT}</text:p>")),
        ("a.odp", odf("odp", f'<draw:page draw:name="1">{COMMENT}</draw:page>')),
        ("a.ods", odf("ods", table(f"<table:table-cell>{COMMENT}<text:p>Fee</text:p></table:table-cell>"))),
    ],
)
async def test_comments_of_open_document_are_read(read: Read, name: str, content: bytes) -> None:
    assert re.search(r"^Comment(?: \(Ole\))?: Too dear$", await text_of(read, name, content), re.MULTILINE)


RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def with_link(content: bytes, part: str, purpose: str, target: str, members: dict[str, str]) -> bytes:
    """The package with one more part that `part` links to."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    folder, _, name = part.rpartition("/")
    links = f"{folder}/_rels/{name}.rels"
    known = parts.get(links, b"<Relationships></Relationships>")
    assert isinstance(known, bytes)
    link = f'<Relationship Id="new" Type="{RELATIONS}/{purpose}" Target="{target}"/></Relationships>'
    parts[links] = known.decode().replace("</Relationships>", link)
    return archive({**parts, **members})


def slides() -> bytes:
    presentation = Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes[0].text = "Fleet"
    return saved(presentation)


def sheet() -> bytes:
    book = Workbook()
    book.worksheets[0]["A1"] = "Fleet"
    return saved(book)


def word() -> bytes:
    document = Document()
    document.add_paragraph("Fleet")
    return saved(document)


DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
PARTS = {
    "a.docx": (word, "word/document.xml"),
    "a.pptx": (slides, "ppt/slides/slide1.xml"),
    "a.xlsx": (sheet, "xl/worksheets/sheet1.xml"),
}


@pytest.mark.parametrize("name", PARTS)
async def test_files_in_office_files_are_named(read: Read, name: str) -> None:
    make, part = PARTS[name]
    content = with_link(make(), part, "package", "../embeddings/costs.xlsx", {})
    assert "Attached files (not read): costs.xlsx" in (await text_of(read, name, content)).split("\n")


@pytest.mark.parametrize("kind", ["text box", "diagram"])
async def test_shapes_of_a_sheet_are_read(read: Read, kind: str) -> None:
    said = "<a:p><a:r><a:t>Approved by Berit</a:t></a:r></a:p>"
    box = f'<d xmlns:a="{DRAWN}"><a:txBody>{said}</a:txBody></d>'
    members = {"xl/drawings/drawing1.xml": box if kind == "text box" else "<d/>"}
    if kind == "diagram":
        link = f'<l Id="d" Type="{RELATIONS}/diagramData" Target="../diagrams/data1.xml"/>'
        members["xl/drawings/_rels/drawing1.xml.rels"] = f"<r>{link}</r>"
        members["xl/diagrams/data1.xml"] = f'<d xmlns:a="{DRAWN}"><t>{said}</t></d>'
    content = with_link(sheet(), "xl/worksheets/sheet1.xml", "drawing", "../drawings/drawing1.xml", members)
    assert "Approved by Berit" in await text_of(read, "a.xlsx", content)


def strict(_: str, data: bytes) -> bytes:
    """The part as Word and PowerPoint save it as "Strict Open XML"."""
    for old, new in (
        (
            b"http://schemas.openxmlformats.org/officeDocument/2006/",
            b"http://purl.oclc.org/ooxml/officeDocument/",
        ),
        (
            b"http://schemas.openxmlformats.org/wordprocessingml/2006/",
            b"http://purl.oclc.org/ooxml/wordprocessingml/",
        ),
        (
            b"http://schemas.openxmlformats.org/presentationml/2006/",
            b"http://purl.oclc.org/ooxml/presentationml/",
        ),
        (b"http://schemas.openxmlformats.org/drawingml/2006/", b"http://purl.oclc.org/ooxml/drawingml/"),
    ):
        data = data.replace(old, new)
    return data


@pytest.mark.parametrize(
    ("name", "make"), [("a.docx", word_table), ("b.docx", word), ("a.pptx", slides), ("b.pptx", slide_table)]
)
async def test_a_strict_file_reads_like_others(read: Read, name: str, make: Callable[[], bytes]) -> None:
    content = make()
    assert await text_of(read, name, changed(content, strict)) == await text_of(read, name, content)
