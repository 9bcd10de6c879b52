"""What files say of themselves: their title, their author and how many pages, slides or sheets they have."""

import io

import docx
import openpyxl
import pptx
import pytest
from fpdf import FPDF

from orc_core.extraction.properties import sentence_of
from tests.unit.orc_core.extraction.samples import Read, with_member
from tests.unit.orc_core.extraction.test_epub import epub
from tests.unit.orc_core.extraction.test_odf import cells, odf, table

pytestmark = pytest.mark.slow

TITLE, AUTHOR = "Harbour tariff", "Tove Dahl"
META = (
    '<office:document-meta xmlns:office="o" xmlns:meta="m" xmlns:dc="d"><office:meta>'
    f"<dc:title>{TITLE}</dc:title><meta:initial-creator>{AUTHOR}</meta:initial-creator>"
    '<dc:creator>Jon Sæter</dc:creator><meta:document-statistic meta:page-count="3"/>'
    "</office:meta></office:document-meta>"
)
XML_SHEET = (
    '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
    'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><DocumentProperties>'
    f"<Title>{TITLE}</Title><Author>{AUTHOR}</Author></DocumentProperties>"
    '<Worksheet ss:Name="A"><Table><Row><Cell><Data ss:Type="String">Bell</Data></Cell></Row></Table>'
    "</Worksheet></Workbook>"
)


def made(document: object) -> bytes:
    document.core_properties.title, document.core_properties.author = TITLE, AUTHOR  # type: ignore[attr-defined]
    return saved(document)


def saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def word(pages: str) -> bytes:
    document = docx.Document()
    document.add_paragraph("The fee is 340.")
    return with_member(
        made(document), "docProps/app.xml", lambda xml: xml.replace("<Pages>1<", f"<Pages>{pages}<")
    )


def slides() -> bytes:
    presentation = pptx.Presentation()
    for _ in range(2):
        presentation.slides.add_slide(presentation.slide_layouts[5]).shapes[0].text = "Fees"
    return made(presentation)


def sheet() -> bytes:
    workbook = openpyxl.Workbook()
    workbook.worksheets[0]["A1"] = "Fees"
    workbook.create_sheet("Hidden").sheet_state = "hidden"
    workbook.properties.title, workbook.properties.creator = TITLE, AUTHOR
    return saved(workbook)


def pdf() -> bytes:
    document = FPDF()
    document.set_font("helvetica")
    document.set_title(TITLE)
    document.set_author(AUTHOR)
    for _ in range(3):
        document.add_page()
        document.cell(text="The fee is 340.")
    return bytes(document.output())


def package() -> bytes:
    described = f"<package><metadata><title>{TITLE}</title><creator>{AUTHOR}</creator></metadata>"
    return with_member(epub(), "OPS/book.opf", lambda xml: xml.replace("<package>", described))


FILES = {
    "a.docx": (word("7"), "7 pages when it was saved"),
    "b.docx": (word("1"), ""),
    "a.pptx": (slides(), "2 slides"),
    "a.xlsx": (sheet(), "2 sheets"),
    "a.pdf": (pdf(), "3 pages"),
    "a.odt": (odf("odt", "<text:p>Fees</text:p>", members={"meta.xml": META}), "3 pages when it was saved"),
    "a.ods": (odf("ods", table(cells("Fees"), name="A"), members={"meta.xml": META}), "1 sheet"),
    "a.odp": (odf("odp", '<draw:page draw:name="1"/>', members={"meta.xml": META}), "1 slide"),
    "a.xls": (XML_SHEET.encode(), "1 sheet"),
    "a.epub": (package(), ""),
    "a.rtf": (rf"{{\rtf1{{\info{{\title {TITLE}}}{{\author {AUTHOR}}}}}Fees\par}}".encode(), ""),
    "a.html": (f"<title>{TITLE}</title><meta name=Author content='{AUTHOR}'><p>Fees".encode(), ""),
    "a.eml": (f"Subject: {TITLE}\nFrom: {AUTHOR}\n\nFees".encode(), ""),
}


@pytest.mark.parametrize("name", FILES)
async def test_title_author_and_count_are_read(name: str, read: Read) -> None:
    content, counted = FILES[name]
    extraction = await read(name, content)
    assert extraction.properties == sentence_of(TITLE, AUTHOR, counted)
    assert extraction.properties not in [page.text for page in extraction.pages]


async def test_a_file_that_says_nothing_of_itself_has_no_properties(read: Read) -> None:
    for name, content in (("a.txt", b"Fees"), ("a.csv", b"a,b\n1,2\n"), ("a.md", b"# Fees\n\n340")):
        assert (await read(name, content)).properties == ""


def test_long_and_broken_values_stay_one_short_line() -> None:
    said = sentence_of("A\n\n title " + "x" * 1000, "  ", "")
    assert said.startswith("Properties of the file: title “A title x")
    assert len(said) < 350
    assert "\n" not in said and "author" not in said
