"""Fractions, captions, descriptions of pictures, and charts of Office files."""

import io
import zipfile

import pytest
from lxml.etree import _Element, fromstring
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from orc_core.extraction.drawings import formula
from orc_core.extraction.packages import local
from tests.unit.orc_core.extraction.samples import Read, W, archive, docx, paragraph, with_member

M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
WP = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def fraction(above: str, below: str, kind: str = "bar") -> str:
    return (
        f'<m:f xmlns:m="{M}"><m:fPr><m:type m:val="{kind}"/></m:fPr>'
        f"<m:num><m:r><m:t>{above}</m:t></m:r></m:num>"
        f"<m:den><m:r><m:t>{below}</m:t></m:r></m:den></m:f>"
    )


def in_paragraph(content: str) -> str:
    return f"<w:p><w:r><w:t>so </w:t></w:r>{content}<w:r><w:t> is it</w:t></w:r></w:p>"


@pytest.mark.parametrize(
    ("equation", "text"),
    [
        (fraction("mλ", "a"), "mλ/a"),
        (fraction("a + b", "2"), "(a + b)/2"),
        (fraction("1", "x-1"), "1/(x-1)"),
        (fraction("1.5", "20%"), "1.5/20%"),
        (fraction("n", "k", kind="noBar"), "nk"),
        (
            f'<m:f xmlns:m="{M}"><m:num>{fraction("1", "2")}</m:num>'
            "<m:den><m:r><m:t>3</m:t></m:r></m:den></m:f>",
            "(1/2)/3",
        ),
    ],
)
async def test_fractions_keep_their_line(read: Read, equation: str, text: str) -> None:
    extraction = await read("a.docx", docx(in_paragraph(equation)))
    assert extraction.pages[0].text == f"so {text} is it"


def test_each_part_of_nested_fractions_is_read_once() -> None:
    nested = "<m:r><m:t>1</m:t></m:r>"
    for _ in range(10):
        fraction_type = '<m:fPr><m:type m:val="noBar"/></m:fPr>'
        nested = f'<m:f xmlns:m="{M}">{fraction_type}<m:num>{nested}</m:num><m:den/></m:f>'
    read = list[str]()

    def text_of(node: _Element) -> str:
        read.append(local(node))
        return "".join(formula(child, text_of) or text_of(child) for child in node) + (node.text or "")

    assert text_of(fromstring(nested)) == "1"
    assert len(read) < 50


async def test_a_table_follows_its_caption(read: Read) -> None:
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("Pump", "40"))
    properties = (
        '<w:tblPr><w:tblCaption w:val="Prices of 2023"/><w:tblDescription w:val="in euros"/></w:tblPr>'
    )
    extraction = await read("a.docx", docx(f"<w:tbl>{properties}<w:tr>{cells}</w:tr></w:tbl>"))
    assert extraction.pages[0].text == "Prices of 2023\nin euros\nPump | 40"


@pytest.mark.parametrize(
    ("description", "lines"),
    [
        ("A crane lifts 40 tons", ["so  is it", "A crane lifts 40 tons"]),
        ("A crane&#10;&#10;Description automatically generated", ["so  is it", "A crane"]),
        ("image1.png", ["so  is it"]),
        ("", ["so  is it"]),
    ],
)
async def test_pictures_have_their_description(read: Read, description: str, lines: list[str]) -> None:
    picture = (
        f'<w:r><w:drawing><wp:inline xmlns:wp="{WP}"><wp:docPr id="1" name="Picture 1"'
        f' descr="{description}"/></wp:inline></w:drawing></w:r>'
    )
    extraction = await read("a.docx", docx(in_paragraph(picture)))
    assert extraction.pages[0].text.split("\n") == lines


def points(kind: str, values: list[str], code: str = "General") -> str:
    found = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values) if value)
    name = {"str": "strRef", "num": "numRef"}[kind]
    format_code = f"<c:formatCode>{code}</c:formatCode>" if kind == "num" else ""
    return f"<c:{name}><c:{kind}Cache>{format_code}{found}</c:{kind}Cache></c:{name}>"


def series(name: str, categories: str, values: str) -> str:
    parts = f"<c:cat>{categories}</c:cat><c:val>{values}</c:val>"
    return f"<c:ser><c:tx>{points('str', [name])}</c:tx>{parts}</c:ser>"


def chart() -> str:
    categories = points("str", ["Hamburg", "Oslo", "Turku"])
    shown = series("Cranes", categories, points("num", ["3", "", "0.30000000000000004"]))
    shown += series("Share", categories, points("num", ["0.25", "0.5", "0.75"], "0%"))
    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Cranes by port</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    plot = f"<c:plotArea><c:barChart>{shown}</c:barChart></c:plotArea>"
    return f'<c:chartSpace xmlns:c="{C}" xmlns:a="{A}"><c:chart>{title}{plot}</c:chart></c:chartSpace>'


LINES = [
    "Cranes by port",
    "Hamburg | Cranes: 3 | Share: 25%",
    "Oslo | Share: 50%",
    "Turku | Cranes: 0.3 | Share: 75%",
]


def relations(*links: tuple[str, str, str]) -> str:
    found = "".join(
        f'<Relationship Id="{name}" Type="{R}/{kind}" Target="{to}"/>' for name, kind, to in links
    )
    return f'<Relationships xmlns="{RELATIONS}">{found}</Relationships>'


async def test_a_chart_of_a_word_file_follows_its_paragraph(read: Read) -> None:
    reference = f'<w:r><w:drawing><c:chart xmlns:c="{C}" xmlns:r="{R}" r:id="rId7"/></w:drawing></w:r>'
    body = in_paragraph(reference) + paragraph("After it.")
    content = archive(
        {
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
            "word/_rels/document.xml.rels": relations(("rId7", "chart", "charts/chart1.xml")),
            "word/charts/chart1.xml": chart(),
        }
    )
    extraction = await read("a.docx", content)
    assert extraction.pages[0].text.split("\n") == ["so  is it", *LINES, "After it."]


async def test_charts_of_a_workbook_follow_its_sheets(read: Read) -> None:
    workbook = Workbook()
    workbook["Sheet"]["A1"] = "Plan"
    buffer = io.BytesIO()
    workbook.save(buffer)
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(
            "xl/worksheets/_rels/sheet1.xml.rels", relations(("rId1", "drawing", "../drawings/d.xml"))
        )
        file.writestr("xl/drawings/d.xml", "<d/>")
        file.writestr("xl/drawings/_rels/d.xml.rels", relations(("rId1", "chart", "../charts/c.xml")))
        file.writestr("xl/charts/c.xml", chart())
    pages = (await read("a.xlsx", buffer.getvalue())).pages
    assert [(page.label, page.text.split("\n")) for page in pages] == [("Sheet", ["Plan"]), ("Charts", LINES)]
    damaged = with_member(buffer.getvalue(), "xl/charts/c.xml", lambda xml: xml[:-9])
    assert [page.text for page in (await read("a.xlsx", damaged)).pages] == ["Plan"]


async def test_a_slide_has_the_values_of_its_charts_and_the_descriptions_of_its_pictures(read: Read) -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Ports"
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["2022", "2023"]
    data.add_series("Sales", (4.5, 5))  # type: ignore[no-untyped-call]
    data.add_series("Costs", (3, 2.25))  # type: ignore[no-untyped-call]
    size = (Inches(1), Inches(1), Inches(4), Inches(3))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *size, data)
    frame._element.nvGraphicFramePr.cNvPr.set("descr", "Sales grow faster than costs")
    buffer = io.BytesIO()
    presentation.save(buffer)
    (page,) = (await read("a.pptx", buffer.getvalue())).pages
    assert page.text.split("\n") == [
        "Ports",
        "Sales grow faster than costs",
        "2022 | Sales: 4.5 | Costs: 3",
        "2023 | Sales: 5 | Costs: 2.25",
    ]
