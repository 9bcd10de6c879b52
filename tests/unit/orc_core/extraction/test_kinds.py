"""Kinds of content that readers lose or misread, in several formats: what a text has, and what it has not.

`looks.xls` was made with xlwt, which is no longer maintained.
"""

import re
from pathlib import Path

import pytest
from docx import Document
from fpdf import FPDF
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font
from pptx import Presentation
from pptx.oxml.ns import qn
from pptx.util import Inches

from tests.unit.orc_core.extraction.samples import Read, archive, docx, pdf, with_member
from tests.unit.orc_core.extraction.test_odf import odf
from tests.unit.orc_core.extraction.test_office import saved
from tests.unit.orc_core.extraction.test_rtf import rtf

pytestmark = pytest.mark.slow

ADDRESS = "https://quay.example/tariff"
SYMBOLS = r"{\fonttbl{\f1\fcharset2 Symbol;}}"


def page(body: str, *, css: str = "") -> bytes:
    return f"<html><head><style>{css}</style></head><body>{body}</body></html>".encode()


def slide() -> bytes:
    presentation = Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    body = shapes.add_textbox(0, 0, Inches(5), Inches(2)).text_frame
    link = body.paragraphs[0].add_run()
    link.text, link.hyperlink.address = "Tariff", ADDRESS
    for text, level, form in (
        ("General", 0, "arabicPeriod"),
        ("Base", 1, "alphaLcParenBoth"),
        ("Index", 1, "alphaLcParenBoth"),
        ("Deposit", 0, "arabicPeriod"),
    ):
        paragraph = body.add_paragraph()
        paragraph.add_run().text, paragraph.level = text, level
        bullet = paragraph._p.get_or_add_pPr().makeelement(qn("a:buAutoNum"), {"type": form})
        paragraph._p.get_or_add_pPr().append(bullet)
    ticks = body.add_paragraph().add_run()
    ticks.text, ticks.font.name = "ü", "Wingdings"
    hidden = shapes.add_textbox(0, 0, Inches(5), Inches(2))
    hidden.text_frame.text = "SECRET"
    hidden._element.nvSpPr.cNvPr.set("hidden", "1")
    return saved(presentation)


def sheet() -> bytes:
    book = Workbook()
    rows = book.worksheets[0]
    for row in (
        ["Item", "Ready", "Fee"],
        ["Crane", "ü", 7],
        ["Rope", "û", 8],
        [],
        ["Staff", "Desk", "Hours"],
    ):
        rows.append(row)
    rows.append(["Ola", "A", 30])
    rows["B2"].font = rows["B3"].font = Font(name="Wingdings")
    rows["C3"].number_format, rows["A2"].hyperlink = ";;;", ADDRESS
    return saved(book)


def two_sheets() -> bytes:
    """Only the first has a link; in the second a symbol is before a word in another font."""
    book = Workbook()
    first, second = book.worksheets[0], book.create_sheet()
    first["A1"], second["A1"] = "Tariff", "Berth"
    first["A1"].hyperlink = ADDRESS
    own = TextBlock(InlineFont(rFont="Arial", b=True), "lo")
    second["A2"] = CellRichText("ü", own)
    second["A2"].font = Font(name="Wingdings")
    return saved(book)


def crossed_pdf(kind: str) -> bytes:
    """A line through a word: below it in another colour, white, transparent, or drawn before or after it."""
    file = FPDF()
    file.add_page()
    file.set_font("helvetica", size=20)
    text = 20, 30, "Deposit"
    if kind in {"below", "before"}:
        file.set_draw_color(200 if kind == "below" else 0, 0, 0)
        file.line(20, 27.7, 45, 27.7)
    file.text(*text)
    file.set_draw_color(*([255] * 3 if kind == "white" else [0] * 3))
    with file.local_context(stroke_opacity=0 if kind == "clear" else 1):
        if kind not in {"below", "before"}:
            file.line(20, 27.7, 45, 27.7)
    file.text(20, 50, "Fee")
    return bytes(file.output())


def struck_pdf(*, is_note: bool) -> bytes:
    file = FPDF()
    file.add_page()
    file.set_font("helvetica", size=11)
    file.write(8, "The rate is EUR ")
    if is_note:
        with file.highlight("old", type="StrikeOut"):
            file.cell(text="85")
    else:
        file.set_font(style="S")
        file.write(8, "85")
        file.set_font(style="")
    file.write(8, " 97 a day.")
    file.line(10, 30, 60, 30)
    return bytes(file.output())


def field(instruction: str, result: str) -> str:
    marks = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
    said = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    return f"{marks[0]}{said}{marks[1]}<w:r><w:t>{result}</w:t></w:r>{marks[2]}"


def backslashes() -> bytes:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(sheet())) as file:
        return archive({name.replace("/", "\\"): file.read(name) for name in file.namelist()})


LIST = (
    '<text:p>Fee 12.</text:p><text:section text:display="none"><text:p>SECRET</text:p></text:section><text:p>'
    '<text:hidden-paragraph text:is-hidden="true"/>SECRET</text:p><text:p>Note<text:hidden-text '
    'text:is-hidden="true" text:string-value="SECRET">SECRET</text:hidden-text>.</text:p>'
)
CELLS = (
    '<table:table table:name="A"><table:table-row><table:table-cell office:value-type="float" '
    'office:value="1067"><text:p>01067</text:p></table:table-cell><table:table-cell '
    'office:value-type="float" '
    'office:value="8.24"><text:p>8.2</text:p></table:table-cell><table:table-cell '
    'table:formula="of:=SUM([.A1])"/></table:table-row></table:table>'
)
RULES = (
    "<!-- .old, p.x { text-decoration: line-through } .tip {display:none} .fn {vertical-align: super} "
    "@media print { .seen { display:none } } .menu {display:none} .menu.open {display:block} -->"
)
COURT = (
    b"1 The bond at EUR\n2 60 thousand is due. It is\n3 paid within a week,\n4 as the law says.\n5 No more.\n"
)
ARCHIVED = (
    "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n"
)
CHOICE = (
    r"{\field{\*\fldinst FORMDROPDOWN {\*\formfield{\fftype2\ffres1{\*\ffl A-1}{\*\ffl B-17}}}}{\fldrslt }}"
)
INSERTED = r'{\field{\*\fldinst SYMBOL 179 \\f "Symbol" \\s 11}{\fldrslt\f1\fs22}}'
TABLE = "| Berth | 2024 | 2025 |\n|---|:-:|--:|\n| Bell |  | 9 |\n"

FILES = {
    "class.html": (
        page(
            '<p>EUR <i class="old">85</i> 97<b class=fn>1</b><p class=tip>SECRET<p class=seen>Seen', css=RULES
        ),
        [r"EUR\s+97\[1\]", "Seen"],
        ["85", "SECRET"],
    ),
    "menu.html": (page('<p class="menu open">Lunch<p class=menu>SECRET', css=RULES), ["Lunch"], ["SECRET"]),
    **{
        f"shown-{number}.html": (
            b"<html><head>" + sheet + page("<p>Fee<div class=a>Port</div>"),
            ["Fee", "Port"],
            [],
        )
        for number, sheet in enumerate(
            (
                b"<style>.x:not(.y) p, [dir=rtl] div, .z + p, .z > div, p ~ div { display: none }</style>",
                b"<style media=print>p, div { display: none }</style>",
                b"<noscript><style>p, div { display: none }</style></noscript>",
                b"<style>body { display: none !important }</style>",
                b"<style>p { display: none } .a { display: none }</style>",
                b"<style>p, .a { display: none } p { display: block } div.a { display: block }</style>",
                b"<style>.a { display: none } @media (width > 9px) { .a { display: block } }</style>",
                b"<style>.x { color: red; div { display: none } p { display: none } }</style>",
            )
        )
    },
    "font.html": (
        page('Take <i style="font-family: Symbol">³</i> 60, <font face="Wingdings">ü</font> yes'),
        ["≥ 60, ✓ yes"],
        [],
    ),
    "list.html": (
        page("<ol><li>One<li>Two<ol type=a start=3><li><p>Deep</ol><li value=7>Seven</ol><ul><li>No</ul>"),
        [r"^1\. One\n2\. Two\nc\. Deep\n7\. Seven\nNo$"],
        [],
    ),
    "ruby.html": (
        page("<ruby>漢<rt>SECRET</rt></ruby>字, EUR <nobr>5</nobr>0"),
        ["漢字, EUR 50"],
        ["SECRET"],
    ),
    "down.html": (page("<ol reversed><li>Last<li>First</ol>"), [r"^2\. Last\n1\. First$"], []),
    "written.html": (page("<ol><li>1. Intro<li>Fees"), [r"^1\. Intro\n2\. Fees$"], []),
    "open.html": (
        page(
            "<table><caption>Fees<tr><th>Berth<th>2024<th>2025<tr><td>Bell<td><td>9<tr><td>Dock<td>3</table>"
        ),
        [r"^Fees\nBerth \| 2024 \| 2025\nBerth: Bell \| 2025: 9\nBerth: Dock \| 2024: 3$"],
        [],
    ),
    "words.html": (
        page(
            "<table><caption><b>B</b>erths<tr><td>Area<td>m<sup>2</sup><td>H<sub>2</sub>O"
            "<tr><td><b>B</b>ell<td>1<span>0</span>5<td>28<sup>1</sup> days<br>net<p>late</table>"
        ),
        [r"^Berths\nArea \| m² \| H₂O\nArea: Bell \| m²: 105 \| H₂O: 28\[1\] days net late$"],
        [],
    ),
    "empty.html": (
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        b'<script src="x"/></head>'
        b"<body><table><tr><td>Berth</td><td/><td>9</td></tr></table></body></html>",
        [r"Berth \| 9|Berth \|  \| 9"],
        [],
    ),
    "slide.pptx": (
        slide(),
        [rf"Tariff \({ADDRESS}\)", r"1\. General\n\(a\) Base\n\(b\) Index\n2\. Deposit", "✓"],
        ["SECRET"],
    ),
    "sheet.xlsx": (
        sheet(),
        [
            rf"Crane \({ADDRESS}\) \| Ready: ✓ \| Fee: 7",
            "Rope | Ready: ✗$",
            r"Staff: Ola \| Desk: A \| Hours: 30",
        ],
        ["Fee: 8", "Fee: 30"],
    ),
    "two.xlsx": (two_sheets(), [rf"Tariff \({ADDRESS}\)", "^Berth$", "^✓lo$"], []),
    "paths.xlsx": (backslashes(), ["Crane"], []),
    "looks.xls": (
        Path(__file__).with_name("looks.xls").read_bytes(),
        [r"28\[1\] days", r"\b97", "✓"],
        ["281", "85", "Old"],
    ),
    "link.docx": (
        docx(
            f"<w:p>{field(f'HYPERLINK &quot;{ADDRESS}&quot;', 'here')}{field('PAGE', '5')}</w:p>"
            f'<w:p><w:fldSimple w:instr="HYPERLINK &quot;{ADDRESS}&quot;">'
            "<w:r><w:t>there</w:t></w:r></w:fldSimple></w:p>"
            '<w:p><w:r><w:drawing><x:docPr xmlns:x="x" descr="SECRET" hidden="1"/></w:drawing></w:r></w:p>'
        ),
        [rf"^here \({ADDRESS}\)5\nthere \({ADDRESS}\)$"],
        ["SECRET"],
    ),
    "rows.docx": (
        docx(
            "<w:tbl>"
            + "".join(
                f"<w:tr><w:trPr>{mark}</w:trPr>"
                + "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in texts)
                + "</w:tr>"
                for mark, *texts in (
                    ("", "Item", "2025", "2026"),
                    ('<w:del w:id="1"/>', "SECRET", "1", "2"),
                    ("<w:hidden/>", "SECRET", "3", "4"),
                    ("", "Rope", "", "6"),
                )
            )
            + "</w:tbl>"
        ),
        [r"^Item \| 2025 \| 2026\nItem: Rope \| 2026: 6$"],
        ["SECRET"],
    ),
    "embedded.docx": (
        with_member(
            saved(Document()),
            "word/_rels/document.xml.rels",
            lambda xml: xml.replace(
                "</Relationships>",
                '<Relationship Id="e" Type="x/package" Target="embeddings/costs.xlsx"/></Relationships>',
            ),
        ),
        [r"Attached files \(not read\): costs\.xlsx"],
        [],
    ),
    "hidden.odt": (odf("odt", LIST), [r"^Fee 12\.\nNote\.$"], ["SECRET"]),
    "struck.odt": (
        odf(
            "odt",
            '<text:p>EUR <text:span text:style-name="S">85</text:span> 97</text:p>',
            styles='<office:styles><style:style style:name="S" style:family="text"><style:text-properties'
            ' style:text-line-through-type="single"/></style:style></office:styles>',
        ),
        [r"EUR\s+97"],
        ["85"],
    ),
    "dialog.html": (
        page("<p>Fee 12<dialog>SECRET</dialog><dialog open>Seen</dialog>"),
        ["12", "Seen"],
        ["SECRET"],
    ),
    "cells.ods": (odf("ods", CELLS), [r"01067 \| 8\.24 \| =SUM\(\[\.A1\]\)"], []),
    "fields.rtf": (
        rtf(
            rf"{SYMBOLS}Berth {CHOICE}, {INSERTED} 60, "
            r'see {\field{\*\fldinst HYPERLINK "' + ADDRESS + r'"}{\fldrslt here}}\par'
        ),
        [rf"Berth B-17, ≥ +60, see here \({ADDRESS}\)"],
        [],
    ),
    "group.rtf": (
        rtf(r'{\field{\*\fldinst{HYPERLINK "' + ADDRESS + r'"}}{\fldrslt our page}} here\par'),
        [rf"^our page \({ADDRESS}\) here"],
        [],
    ),
    "numbers.rtf": (
        rtf(r"{\pntext\f0 4.\tab}Deposit.\par{\listtext\pard\plain 5.1\tab}Index.\par"),
        [r"4\.\s+Deposit\.\n5\.1\s+Index"],
        [],
    ),
    "drawn.pdf": (struck_pdf(is_note=False), ["The rate is EUR 97 a day"], ["85"]),
    **{f"{kind}.pdf": (crossed_pdf(kind), ["Deposit", "Fee"], []) for kind in ("below", "white", "clear")},
    "seen.pdf": (crossed_pdf("seen"), ["Fee"], ["Deposit"]),
    "before.pdf": (crossed_pdf("before"), ["Fee"], ["Deposit"]),
    "note.pdf": (struck_pdf(is_note=True), ["The rate is EUR 97 a day", "Note: old"], ["85"]),
    "court.pdf": (
        pdf("1 IN THE COURT\n2\n3 The bond at EUR\n4 60 thousand is due. It is paid\n5 within a week."),
        [r"^IN THE COURT\nThe bond at EUR\n60 thousand is due\. It is paid\nwithin a week\.$"],
        [],
    ),
    "court.txt": (
        b"  1  IN THE COURT\n  2\n  3  The bond at EUR\n"
        b"  4  60 thousand is due. It is\n  5  paid within a week.\n",
        [r"^IN THE COURT\n\nThe bond at EUR\n60 thousand is due\. It is\npaid within a week\.$"],
        [],
    ),
    "counted.txt": (
        b"1 rope 5\n2 bolt 7\n3 nut 9\n4 saw 3\n5 file 4\n",
        ["^1 rope 5\n2 bolt 7\n3 nut 9\n4 saw 3\n5 file 4$"],
        [],
    ),
    "parts.txt": (
        b"1 bolt, steel. Zinc coated\n2 nut\n3 Washer\n4 Bracket\n5 Spring\n\nSum\n0 faults\n",
        ["^1 bolt, steel. Zinc coated\n2 nut\n3 Washer", "^0 faults"],
        [],
    ),
    "pages.txt": (
        COURT * 2 + b"\f" + COURT,
        [r"No more\.\n\s*The bond at EUR\n60 thousand"],
        [r"\d The"],
    ),
    "table.md": (
        f"# Fees\n\n{TABLE}\n```\n{TABLE}```\nnot | a table\n".encode(),
        [r"\nBerth: Bell \| 2025: 9\n\n```\n\| Berth \| 2024", r"\nnot \| a table"],
        [],
    ),
    "two.csv": (
        b"Fees,,\n\nItem,2024,2025\nRope,,3\n\nTotal,1,5\n\nStaff,Desk,Hours\nOla,A,30\n",
        [
            r"Item: Rope \| 2025: 3\nItem: Total \| 2024: 1 \| 2025: 5\nStaff \|",
            r"Staff: Ola \| Desk: A \| Hours: 30",
        ],
        [],
    ),
    "gap.csv": (
        b"Name,Hours\nAnn,3\n\nNorth,n/a\nSouth,5\n",
        [r"Name: North \| Hours: n/a\nName: South \| Hours: 5"],
        [],
    ),
    "page.docx": (page("<p>The fee is EUR 340."), ["^The fee is EUR 340"], []),
    "archive.doc": (f"{ARCHIVED}<p>The fee is EUR 340.\n--b--\n".encode(), ["The fee is EUR 340"], []),
}


@pytest.mark.parametrize("name", FILES)
async def test_what_people_see_is_in_the_text_and_nothing_else(read: Read, name: str) -> None:
    content, must, must_not = FILES[name]
    text = "\n".join(each.text for each in (await read(name, content)).pages)
    assert [each for each in must if not re.search(each, text, re.MULTILINE)] == [], text
    assert [each for each in must_not if re.search(each, text)] == [], text
