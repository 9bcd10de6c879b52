"""How text looks in office files, web pages and sheets: raised, struck, hidden, or in a font of symbols."""

import io
import zipfile

import pytest
from docx import Document
from docx.text.run import Run
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font
from pptx import Presentation
from pptx.util import Inches

from orc_core.extraction.looks import Look, set_apart
from orc_core.extraction.rtf import to_text
from tests.unit.orc_core.extraction.samples import Read, W, archive, docx, with_member
from tests.unit.orc_core.extraction.test_odf import odf
from tests.unit.orc_core.extraction.test_office import saved
from tests.unit.orc_core.extraction.test_rtf import rtf

pytestmark = pytest.mark.slow

NOTICE = "The notice is 28[1] days, not 281, and costs EUR 97."


def runs(document_paragraph: object, texts: tuple[str, ...]) -> list[Run]:
    return [document_paragraph.add_run(text) for text in texts]  # type: ignore[attr-defined]


PIECES = ("The notice is 28", "1", " days, not 281, and costs EUR ", "85 ", "97.", " Dogs may enter.")
"""The second piece is raised, the fourth struck, the last hidden or deleted."""


def word() -> bytes:
    document = Document()
    made = runs(document.add_paragraph(), PIECES)
    made[1].font.superscript = made[3].font.strike = made[5].font.hidden = True
    made[3].font.double_strike = made[5].font.strike = False  # as some programs write
    return saved(document)


def styled_word() -> bytes:
    """The same looks, from styles."""
    document = Document()
    made = runs(document.add_paragraph(), PIECES)
    for run, look in zip(
        (made[1], made[3], made[5]), ("superscript", "double_strike", "hidden"), strict=True
    ):
        style = document.styles.add_style(look, 2)
        setattr(style.font, look, True)
        run.style = style
    return saved(document)


def slides() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, Inches(5), Inches(2)).text_frame
    for text, look in zip(PIECES[:5], ("", "baseline", "", "strike", ""), strict=True):
        run = frame.paragraphs[0].add_run()
        run.text = text
        if look:
            run._r.get_or_add_rPr().set(look, {"baseline": "30000", "strike": "sngStrike"}[look])
    return saved(presentation)


def workbook() -> bytes:
    book = Workbook()
    looks = (None, InlineFont(vertAlign="superscript"), None, InlineFont(strike=True), None)
    blocks = [TextBlock(look, text) if look else text for look, text in zip(looks, PIECES, strict=False)]
    sheet = book.worksheets[0]
    sheet["A1"] = CellRichText(*blocks)
    sheet["A2"] = "gone"
    sheet["A2"].font = Font(strike=True)
    return saved(book)


def text_document() -> bytes:
    styles = "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties {look}/></style:style>'
        for name, look in (
            ("R", 'style:text-position="super 58%"'),
            ("S", 'style:text-line-through-style="solid" text:display="true"'),
            ("H", 'text:display="none"'),
        )
    )
    names = zip(PIECES, ("", "R", "", "S", "", "H"), strict=True)
    spans = (
        f'<text:span text:style-name="{name}">{text}</text:span>' if name else text for text, name in names
    )
    return odf("odt", f"<text:p>{''.join(spans)}</text:p>", styles=f"<office:styles>{styles}</office:styles>")


def rich_text() -> bytes:
    one, raised, two, struck, three, hidden = PIECES
    return rtf(
        rf"{one}{{\super {raised}}}{two}{{\strike {struck}}}{three}{{\deleted\revauthdel1{hidden}\par}}"
    )


def web_page() -> bytes:
    one, raised, two, struck, three, hidden = PIECES
    struck = f'<s>{struck}</s><span style="text-decoration: line-through">80 </span>'
    return f"<p>{one}<sup>{raised}</sup>{two}{struck}{three}<i hidden>{hidden}</i></p>".encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.docx", word()),
        ("b.docx", styled_word()),
        ("a.pptx", slides()),
        ("a.xlsx", workbook()),
        ("a.odt", text_document()),
        ("a.rtf", rich_text()),
        ("a.html", web_page()),
    ],
)
async def test_raised_figures_are_set_apart_and_struck_text_is_left_out(
    read: Read, name: str, content: bytes
) -> None:
    text = "\n".join(page.text for page in (await read(name, content)).pages)
    assert " ".join(text.split()) == NOTICE


def test_a_look_that_hides_text_outlasts_others_that_are_off() -> None:
    look = Look().switched("strike", is_on=True).switched("vanish", is_on=False)
    assert look.is_gone
    assert not look.switched("strike", is_on=False).is_gone


async def test_an_exponent_of_an_equation_has_its_sign(read: Read) -> None:
    maths = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    power = "<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup>"
    body = f'<w:p xmlns:m="{maths}"><w:r><w:t>It holds </w:t></w:r><m:oMath>{power}</m:oMath></w:p>'
    assert (await read("a.docx", docx(body))).pages[0].text == "It holds 10^6"


async def test_text_that_a_web_page_hides_is_left_out(read: Read) -> None:
    hidden = '<p style="color:red; display : none">EUR 5</p><p hidden>EUR 6</p><del>EUR 7</del>'
    extraction = await read("a.html", f"{hidden}<p>The sauna costs EUR 12.</p>".encode())
    assert extraction.pages[0].text == "The sauna costs EUR 12."


SYMBOLS = (
    ("Symbol", "F0B3", "≥"),
    ("Symbol", "F02D", "−"),
    ("Wingdings", "F0FE", "☑"),
    ("Arial", "2265", "≥"),
)


@pytest.mark.parametrize(("font", "code", "shown"), [*SYMBOLS, ("Wingdings", "F021", "\ufffd")])
async def test_inserted_symbols_of_word_are_characters(read: Read, font: str, code: str, shown: str) -> None:
    body = f'<w:p><w:r><w:t>Take </w:t><w:sym w:font="{font}" w:char="{code}"/><w:t> 60</w:t></w:r></w:p>'
    assert (await read("a.docx", docx(body))).pages[0].text == f"Take {shown} 60"


def test_symbols_of_rich_text_are_characters() -> None:
    fonts = r"{\fonttbl{\f0\fcharset0 Arial;}{\f3\ftech\fcharset2 Symbol;}{\f4\fnil\fcharset2 Wingdings;}}"
    body = rf"{{\rtf1\ansi\uc1{fonts}\f0 {{\f3\'b3}} 60 {{\f3\u-3919?}} 2 {{\f4\'fe}} yes}}"
    assert to_text(body.encode()) == "≥ 60 ± 2 ☑ yes"


def test_symbols_of_rich_text_by_other_programs_are_characters() -> None:
    """A font has its name, but not the character set of symbols, and a line ends before the symbol."""
    fonts = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\froman\fcharset2 Symbol;}{\f6\fnil\fcharset0 Wingdings;}}"
    body = fonts + "\\f0 85 {\\loch\\f1\n\\u-3919\\'b1}{\\loch\n 6 {\\f6\n\\u254\\'fe} yes {\\f6 o} no"
    assert to_text(("{\\rtf1\\ansi\\uc1" + body + "}}").encode()) == "85 ± 6 ☑ yes ☐ no"


def test_a_raised_sign_of_rich_text_belongs_to_its_figure() -> None:
    assert set_apart(to_text(rtf(r"10{\super\loch \u8722\'3f4} bar"))) == "10^-4 bar"


async def test_symbols_of_slides_are_characters(read: Read) -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    run = slide.shapes.add_textbox(0, 0, Inches(5), Inches(2)).text_frame.paragraphs[0].add_run()
    run.text = "\uf0fe Insured"
    properties = run._r.get_or_add_rPr()
    properties.append(properties.makeelement(f"{{{A}}}sym", {"typeface": "Wingdings"}))
    assert (await read("a.pptx", saved(presentation))).pages[0].text == "☑ Insured"


A = "http://schemas.openxmlformats.org/drawingml/2006/main"


async def test_older_form_fields_of_word_have_their_state(read: Read) -> None:
    def field(content: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{content}</w:ffData></w:fldChar></w:r>'

    entries = "".join(f'<w:listEntry w:val="{currency}"/>' for currency in ("EUR", "NOK"))
    boxes = (
        field('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>'),
        field('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>'),
        field(f'<w:ddList><w:result w:val="1"/>{entries}</w:ddList>'),
    )
    body = "".join(f"<w:p>{box}<w:r><w:t> paid</w:t></w:r></w:p>" for box in boxes)
    assert (await read("a.docx", docx(body))).pages[0].text == "☒ paid\n☐ paid\nNOK paid"


async def test_form_fields_of_web_pages_and_rich_text_have_their_state(read: Read) -> None:
    choice = "<select><option>x</option><option selected>y</option></select>"
    page = f'<p><input type="checkbox" checked> A <input type=radio> B {choice}</p>'
    assert (await read("a.html", page.encode())).pages[0].text == "☒ A ☐ B y"
    fields = (
        rf"{{\field{{\*\fldinst{{\*\formfield{{\fftype1\ffres{res}}}}}}}{{\fldrslt}}}}" for res in (1, 0)
    )
    assert to_text(rtf(" A, ".join(fields) + " B")) == "☒ A, ☐ B"


async def test_form_fields_of_open_document_have_their_state(read: Read) -> None:
    form = 'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0"'
    boxes = "".join(
        f'<form:checkbox form:id="{name}" form:current-state="{state}"/>'
        for name, state in (("a", "checked"), ("b", "unchecked"))
    )
    body = f"<office:forms {form}><form:form>{boxes}</form:form></office:forms>" + "".join(
        f'<text:p><draw:control draw:control="{name}"/> {text}</text:p>'
        for name, text in (("a", "A"), ("b", "B"))
    )
    assert (await read("a.odt", odf("odt", body))).pages[0].text == "☒ A\n☐ B"


async def test_form_fields_of_word_in_open_document_have_their_state(read: Read) -> None:
    field = "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0"

    def mark(kind: str, *settings: tuple[str, str]) -> str:
        given = "".join(f'<f:param f:name="{name}" f:value="{value}"/>' for name, value in settings)
        of = f'xmlns:f="{field}" f:type="vnd.oasis.opendocument.field.{kind}"'
        return f"<f:fieldmark {of}>{given}</f:fieldmark>"

    entries = (("Dropdown_ListEntry", "EUR"), ("Dropdown_ListEntry", "NOK"), ("Dropdown_Selected", "1"))
    marks = (mark("FORMCHECKBOX", ("Checkbox_Checked", "true")), mark("FORMCHECKBOX"))
    body = "".join(f"<text:p>{each} paid</text:p>" for each in (*marks, mark("FORMDROPDOWN", *entries)))
    assert (await read("a.odt", odf("odt", body))).pages[0].text == "☒ paid\n☐ paid\nNOK paid"


async def test_comments_links_and_diagrams_of_word_are_read(read: Read) -> None:
    document = Document()
    run = document.add_paragraph().add_run("The price is EUR 812.")
    document.add_comment(run, "The board accepts 790.", author="M. Okafor")
    assert (await read("a.docx", saved(document))).pages[0].text == (
        "The price is EUR 812.\nComment (M. Okafor): The board accepts 790."
    )
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = '<w:hyperlink r:id="l"><w:r><w:t>portal</w:t></w:r></w:hyperlink>'
    link = f'<w:p>{link}<w:r><dgm:relIds r:dm="d"/></w:r></w:p>'
    names = f'xmlns:w="{W}" xmlns:r="{relations}" xmlns:dgm="urn:d"'
    package = archive(
        {
            "word/document.xml": f"<w:document {names}><w:body>{link}</w:body></w:document>",
            "word/data.xml": f'<d xmlns:a="{A}"><a:p><a:r><a:t>Approved by Berit</a:t></a:r></a:p></d>',
            "word/_rels/document.xml.rels": (
                f'<r><l Id="l" Type="{relations}/hyperlink" Target="https://a.org/x" TargetMode="External"/>'
                f'<l Id="d" Type="{relations}/diagramData" Target="data.xml"/></r>'
            ),
        }
    )
    assert (await read("a.docx", package)).pages[0].text == "portal (https://a.org/x)\nApproved by Berit"


def test_notes_of_rich_text_follow_their_paragraph() -> None:
    note = r"{\footnote\pard\plain {\super\chftn} Working days.}"
    comment = r"{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation\pard Too late.}"
    text = to_text(rtf(rf"28{{\super\chftn}}{note} days{comment}.\par Next."))
    assert [line.strip() for line in text.split("\n")] == [
        "28 days.",
        "Note:  Working days.",
        "Comment: Too late.",
        "Next.",
    ]


async def test_hidden_slides_are_labelled(read: Read) -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Prices"
    slide._element.set("show", "0")
    assert (await read("a.pptx", saved(presentation))).pages[0].text == "(hidden slide)\nPrices"


def test_a_struck_paragraph_is_empty() -> None:
    assert set_apart(to_text(rtf(r"{\strike gone}\par kept"))).strip() == "kept"


async def test_comments_on_slides_are_read(read: Read) -> None:
    presentation = Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[6])
    purpose = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"
    part = "ppt/comments/comment1.xml"
    comment = '<p:cmLst xmlns:p="urn:p"><p:cm><p:text>Too dear</p:text></p:cm></p:cmLst>'
    package = with_member(
        saved(presentation),
        "ppt/slides/_rels/slide1.xml.rels",
        lambda links: links.replace(
            "</Relationships>",
            f'<Relationship Id="c" Type="{purpose}" Target="../comments/comment1.xml"/></Relationships>',
        ),
    )
    with zipfile.ZipFile(io.BytesIO(package)) as file:
        members: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    assert (await read("a.pptx", archive(members | {part: comment}))).pages[0].text == "Comment: Too dear"
