"""Automatic numbers of clauses, headings and lists."""

import pytest

from orc_core.extraction.docx_styles import shown
from tests.unit.orc_core.extraction.samples import Read, W, archive
from tests.unit.orc_core.extraction.test_odf import odf

pytestmark = pytest.mark.slow

LEVELS = (("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"))
CLAUSES = (
    (0, "Parties"),
    (1, "The landlord."),
    (1, "The tenant."),
    (0, "Rent"),
    (1, "EUR 4,200."),
    (2, "net"),
    (2, "due"),
)
NUMBERED = "1. Parties\n1.1 The landlord.\n1.2 The tenant.\n2. Rent\n2.1 EUR 4,200.\n(a) net\n(b) due"


def word(
    paragraphs: str,
    *,
    numbers: str = '<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num>',
    styles: str = "",
) -> bytes:
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(LEVELS)
    )
    purpose = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return archive(
        {
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{paragraphs}</w:body></w:document>',
            "word/numbering.xml": (
                f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>'
                f"{numbers}</w:numbering>"
            ),
            "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
            "word/_rels/document.xml.rels": (
                f'<r><l Id="n" Type="{purpose}/numbering" Target="numbering.xml"/>'
                f'<l Id="s" Type="{purpose}/styles" Target="styles.xml"/></r>'
            ),
        }
    )


def clause(level: int, text: str, number: int = 7) -> str:
    place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{place}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


async def test_clauses_of_word_have_their_numbers(read: Read) -> None:
    content = word("".join(clause(*each) for each in CLAUSES))
    assert (await read("a.docx", content)).pages[0].text == NUMBERED


async def test_word_counts_empty_clauses_but_no_deleted_ones(read: Read) -> None:
    deleted = clause(0, "").replace("</w:pPr>", "<w:rPr><w:del/></w:rPr></w:pPr>")
    content = word(clause(0, "Parties") + clause(0, "") + deleted + clause(0, "Rent"))
    assert (await read("a.docx", content)).pages[0].text.split("\n") == ["1. Parties", "3. Rent"]


async def test_a_list_of_the_same_definition_continues_unless_it_starts_again(read: Read) -> None:
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    numbers = "".join(
        f'<w:num w:numId="{name}"><w:abstractNumId w:val="1"/>{override}</w:num>'
        for name, override in ((7, ""), (8, ""), (9, again))
    )
    body = clause(0, "a") + clause(0, "b", 8) + clause(0, "c", 9) + clause(0, "d", 9)
    assert (await read("a.docx", word(body, numbers=numbers))).pages[0].text == "1. a\n2. b\n1. c\n2. d"


async def test_numbers_that_a_style_sets_belong_to_the_heading(read: Read) -> None:
    style = (
        '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/><w:pPr><w:numPr>'
        '<w:numId w:val="7"/></w:numPr></w:pPr></w:style>'
    )
    heading = '<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>'
    body = (
        heading.format("Rent")
        + "<w:p><w:r><w:t>text</w:t></w:r></w:p>"
        + heading.format("Use")
        + "<w:p><w:r><w:t>more</w:t></w:r></w:p>"
    )
    pages = (await read("a.docx", word(body, styles=style))).pages
    assert [(page.label, page.text) for page in pages] == [
        ("1. Rent", "1. Rent\ntext"),
        ("2. Use", "2. Use\nmore"),
    ]


async def test_lists_of_open_document_have_their_numbers(read: Read) -> None:
    forms = (("1", "", ".", 1), ("1", "", "", 2), ("a", "(", ")", 1))
    levels = "".join(
        f'<text:list-level-style-number text:level="{at}" style:num-format="{form}" '
        f'style:num-prefix="{before}" '
        f'style:num-suffix="{behind}" text:display-levels="{count}"/>'
        for at, (form, before, behind, count) in enumerate(forms, 1)
    )
    styles = f'<office:styles><text:list-style style:name="L">{levels}</text:list-style></office:styles>'
    body = ""
    for level, text in CLAUSES:
        inner = f"<text:list-item><text:p>{text}</text:p></text:list-item>"
        for _ in range(level):
            inner = f"<text:list-item><text:list>{inner}</text:list></text:list-item>"
        body += f'<text:list text:style-name="L" text:continue-numbering="true">{inner}</text:list>'
    assert (await read("a.odt", odf("odt", body, styles=styles))).pages[0].text == NUMBERED


@pytest.mark.parametrize(
    ("number", "form", "text"),
    [
        (3, "lowerLetter", "c"),
        (28, "upperLetter", "BB"),
        (49, "upperRoman", "XLIX"),
        (4, "decimalZero", "04"),
        (4, "chosung", "4"),
    ],
)
def test_numbers_have_the_form_of_their_list(number: int, form: str, text: str) -> None:
    assert shown(number, form) == text
