"""DOCX, PPTX and XLSX: units, tables, and hostile packages."""

import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from docx import Document
from docx.enum.text import WD_BREAK
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from orc_core.errors import DocumentRejected, UnreadableDocument
from orc_core.extraction.pages import LONGEST_PAGE
from tests.unit.orc_core.extraction.samples import Read, W, archive, docx, paragraph, with_member

pytestmark = pytest.mark.slow


def saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def make_docx() -> bytes:
    document = Document()
    document.add_paragraph("PLACEHOLDER")
    return saved(document)


def make_pptx() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[0])
    slide.shapes.title.text = "PLACEHOLDER"
    return saved(presentation)


def make_xlsx() -> bytes:
    workbook = Workbook()
    workbook["Sheet"]["A1"] = "PLACEHOLDER"
    return saved(workbook)


async def test_docx_sections_have_headings_and_tables_have_column_names(read: Read) -> None:
    document = Document()
    document.add_heading("Fees", 1)
    document.add_paragraph("Before the table.")
    table = document.add_table(3, 3)
    for row, values in zip(
        table.rows, (("Item", "Unit", "Price"), ("Pump", "1", "40"), ("Valve", "2", "7")), strict=True
    ):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_paragraph("After the table.")
    document.add_heading("Notice", 2)
    document.add_paragraph("Three months.")
    extraction = await read("a.docx", saved(document))
    assert [(page.label, page.text) for page in extraction.pages] == [
        (
            "Fees",
            "Fees\nBefore the table.\nItem | Unit | Price\nItem: Pump | Unit: 1 | Price: 40\n"
            "Item: Valve | Unit: 2 | Price: 7\nAfter the table.",
        ),
        ("Notice", "Notice\nThree months."),
    ]


async def test_word_page_breaks_make_pages(read: Read) -> None:
    document = Document()
    document.add_paragraph("First page.").add_run().add_break(WD_BREAK.PAGE)
    document.add_paragraph("Second page.").add_run().add_break(WD_BREAK.PAGE)
    document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    document.add_paragraph("Fourth page.")
    extraction = await read("a.docx", saved(document))
    assert [page.text for page in extraction.pages] == ["First page.", "Second page.", "", "Fourth page."]


async def test_a_rendered_break_after_a_hard_page_break_counts_once(read: Read) -> None:
    hard = '<w:p><w:r><w:t>one</w:t><w:br w:type="page"/></w:r></w:p>'
    mark = "<w:r><w:lastRenderedPageBreak/></w:r>"
    noted = f"<w:p>{mark}<w:r><w:t>two </w:t></w:r>{mark}<w:r><w:t>three</w:t></w:r></w:p>"
    before = paragraph("four", properties="<w:pageBreakBefore/>")
    extraction = await read("a.docx", docx(hard + noted + before))
    assert [page.text for page in extraction.pages] == ["one", "two", "three", "four"]


async def test_a_long_section_is_cut_between_paragraphs(read: Read) -> None:
    heading = paragraph("Long", properties='<w:outlineLvl w:val="0"/>')
    extraction = await read("a.docx", docx(heading + paragraph("A sentence of words. " * 20) * 60))
    assert len(extraction.pages) > 3
    assert all(len(page.text) <= 6000 and page.label == "Long" for page in extraction.pages)
    assert all(page.text.endswith("words.") for page in extraction.pages)


async def test_word_text_boxes_follow_their_paragraph_and_deleted_text_is_left_out(read: Read) -> None:
    box = "<w:p><w:r><w:t>body </w:t></w:r><w:r><w:pict><w:txbxContent>" + paragraph("boxed")
    changed = "</w:txbxContent></w:pict></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    extraction = await read("a.docx", docx(box + changed))
    assert extraction.pages[0].text == "body\nboxed"


async def test_a_footnote_follows_the_paragraph_that_cites_it(read: Read) -> None:
    cited = '<w:p><w:r><w:t>claim</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    notes = (
        f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2">{paragraph("source")}</w:footnote></w:footnotes>'
    )
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    body = cited + paragraph("next")
    package = archive(
        {
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
            "word/footnotes.xml": notes,
            "word/_rels/document.xml.rels": f'<r><l Id="n" Type="{links}" Target="footnotes.xml"/></r>',
        }
    )
    assert (await read("a.docx", package)).pages[0].text == "claim\nsource\nnext"


async def test_a_docx_of_images_needs_ocr(read: Read) -> None:
    extraction = await read("a.docx", docx("<w:p><w:r><w:drawing/></w:r></w:p>"))
    assert not extraction.has_text
    assert extraction.pages_without_text == len(extraction.pages) == 1


async def test_running_headers_come_once_and_last(read: Read) -> None:
    document = Document()
    document.sections[0].header.paragraphs[0].text = "Contract 4711"
    document.add_paragraph("Body.")
    extraction = await read("a.docx", saved(document))
    assert [page.text for page in extraction.pages] == ["Body.", "Contract 4711"]


async def test_slides_keep_their_order_tables_groups_and_notes(read: Read) -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Prices"
    cells = slide.shapes.add_table(2, 3, 0, 0, Inches(4), Inches(2)).table
    for index, value in enumerate(("Item", "Unit", "Price", "Pump", "1", "40")):
        cells.cell(index // 3, index % 3).text = value
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "grouped"
    slide.notes_slide.notes_text_frame.text = "say this"
    presentation.slides.add_slide(presentation.slide_layouts[6])
    extraction = await read("a.pptx", saved(presentation))
    assert [(page.label, page.text) for page in extraction.pages] == [
        ("Prices", "Prices\nItem | Unit | Price\nItem: Pump | Unit: 1 | Price: 40\ngrouped\nNotes: say this"),
        ("", ""),
    ]


async def test_sheets_show_values_as_people_see_them(read: Read) -> None:
    workbook = Workbook()
    sheet = workbook["Sheet"]
    sheet.title = "Rates"
    sheet.append(["Name", "Rate", "From", "Open"])
    sheet.append(["Basic", 0.125, datetime(2024, 5, 1), True])
    sheet["B2"].number_format = "0.0%"
    workbook.create_sheet("Empty")
    extraction = await read("a.xlsx", saved(workbook))
    assert [(page.label, page.text) for page in extraction.pages] == [
        ("Rates", "Name | Rate | From | Open\nName: Basic | Rate: 12.5% | From: 2024-05-01 | Open: TRUE"),
        ("Empty", ""),
    ]


async def test_a_cell_in_excels_last_column_is_read(read: Read) -> None:
    workbook = Workbook()
    workbook["Sheet"]["A1"] = "start"
    workbook["Sheet"]["XFD1"] = "the end"
    [page] = (await read("a.xlsx", saved(workbook))).pages
    assert "start" in page.text
    assert "the end" in page.text


async def test_a_long_sheet_becomes_several_pages_of_the_same_name(read: Read) -> None:
    workbook = Workbook()
    sheet = workbook["Sheet"]
    sheet.append(["Number", "Square", "Cube"])
    for number in range(1000):
        sheet.append([number, number**2, number**3])
    extraction = await read("a.xlsx", saved(workbook))
    assert {page.label for page in extraction.pages} == {"Sheet"}
    assert all(len(page.text) <= 6000 for page in extraction.pages)
    lines = "\n".join(page.text for page in extraction.pages).split("\n")
    assert len(lines) == 1001
    assert lines[1000] == "Number: 999 | Square: 998001 | Cube: 997002999"


@pytest.mark.parametrize(
    ("file_name", "make", "member"),
    [
        ("a.docx", make_docx, "word/document.xml"),
        ("a.pptx", make_pptx, "ppt/slides/slide1.xml"),
        ("a.xlsx", make_xlsx, "xl/worksheets/sheet1.xml"),
    ],
)
async def test_no_external_entity_is_read(
    read: Read, tmp_path: Path, file_name: str, make: Callable[[], bytes], member: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("leaked")
    doctype = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    content = with_member(make(), member, lambda xml: doctype + xml.replace("PLACEHOLDER", "&x;"))
    try:
        extraction = await read(file_name, content)
    except DocumentRejected:
        return
    assert "leaked" not in "".join(page.text for page in extraction.pages)


async def test_entities_are_not_expanded(read: Read) -> None:
    names = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    doctype = f'<!DOCTYPE r [<!ENTITY e0 "boom">{names}]>'
    try:
        extraction = await read("a.docx", docx(paragraph("text &e9;"), doctype=doctype))
    except UnreadableDocument as error:
        assert error.code == "corrupt"
    else:
        assert "boom" not in extraction.pages[0].text


@pytest.mark.parametrize(
    ("file_name", "members"),
    [
        ("a.docx", lambda: {"word/document.xml": "<a>" + "<b/>" * 15_000_000 + "</a>"}),
        ("a.docx", lambda: {f"word/{number}.xml": "" for number in range(20_001)}),
        ("a.xlsx", lambda: {"xl/workbook.xml": "<a>" + "<b/>" * 15_000_000 + "</a>"}),
    ],
)
async def test_zip_bombs_are_refused_before_they_are_unpacked(
    read: Read, file_name: str, members: Callable[[], dict[str, str | bytes]]
) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read(file_name, archive(members()))
    assert caught.value.code == "too_much_memory"


@pytest.mark.parametrize("make", [make_docx, make_pptx, make_xlsx])
async def test_a_truncated_package_is_damaged(read: Read, make: Callable[[], bytes]) -> None:
    package = make()
    with pytest.raises(UnreadableDocument) as caught:
        await read(f"a.{make.__name__[-4:]}", package[: len(package) // 2])
    assert caught.value.code == "corrupt"


async def test_a_word_file_without_a_paragraph_is_one_page_without_text(read: Read) -> None:
    extraction = await read("a.docx", docx(""))
    assert extraction.pages_without_text == len(extraction.pages) == 1


async def test_a_presentation_without_slides_is_empty(read: Read) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.pptx", saved(Presentation()))
    assert caught.value.code == "empty"


async def test_the_rest_of_a_very_long_slide_follows_the_last_slide(read: Read) -> None:
    presentation = Presentation()
    for text in ("word " * 9000, "The last slide."):
        slide = presentation.slides.add_slide(presentation.slide_layouts[0])
        slide.shapes.title.text = text
    pages = (await read("a.pptx", saved(presentation))).pages
    assert pages[1].text == "The last slide."
    assert max(len(page.text) for page in pages) <= LONGEST_PAGE
    assert sum(page.text.count("word") for page in pages) == 9000
