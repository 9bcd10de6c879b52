"""Formulas in text: of Office files, of web pages and books, and in the objects of OpenDocument."""

import time

import pytest

from orc_core.extraction.html import to_text
from tests.unit.orc_core.extraction.samples import Read, docx
from tests.unit.orc_core.extraction.test_odf import NAMES, cells, odf, table

pytestmark = pytest.mark.slow

M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
DEPTHS = ("Berth | 2024 | 2025", "Berth: Bell | 2025: 14")
LINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
WEB = (
    ("<!-- 9 --><mn>1</mn><!-- 9 -->", "1"),
    ("<msup><mn>10</mn><mn>6</mn></msup>", "10^6"),
    ("<mn>3</mn><mfrac><mn>1</mn><mn>4</mn></mfrac>", "3 1/4"),
    ("<mfrac><mn>3</mn><mn>8</mn></mfrac><mi>t</mi>", "3/8 t"),
    ("<mi>m</mi><mfrac><mn>1</mn><mn>2</mn></mfrac>", "m 1/2"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
    ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_1^2"),
    ("<msqrt><mn>16</mn></msqrt>", "√16"),
    ("<mroot><mi>x</mi><mn>3</mn></mroot>", "3√x"),
    ("<mfenced><mi>a</mi><mi>b</mi></mfenced>", "(a, b)"),
    ("<semantics><mn>7</mn><annotation>7 in TeX</annotation></semantics>", "7"),
)


def part(name: str, content: str) -> str:
    return f"<m:{name}>{content}</m:{name}>"


def said(text: str) -> str:
    return part("r", part("t", text))


OFFICE = (
    (part("d", part("e", said("a+b"))) + said("·2"), "(a+b)·2"),
    (
        '<m:d><m:dPr><m:begChr m:val="|"/><m:endChr m:val=""/></m:dPr>' + part("e", said("x")) + "</m:d>",
        "|x",
    ),
    (part("d", part("e", said("a")) + part("e", said("b"))), "(a|b)"),
    (part("rad", part("deg", "") + part("e", said("16"))), "√16"),
    (part("rad", part("deg", said("3")) + part("e", said("8+x"))), "3√(8+x)"),
    (said("3") + part("f", part("num", said("1")) + part("den", said("4"))), "3 1/4"),
    (part("f", part("num", said("3")) + part("den", said("8"))) + said("t"), "3/8 t"),
    (
        '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>'
        + part("sub", said("n"))
        + part("e", said("a"))
        + "</m:nary>",
        "∑_na",
    ),
)


@pytest.mark.parametrize(("formula", "text"), OFFICE)
async def test_a_formula_of_word_keeps_its_signs(read: Read, formula: str, text: str) -> None:
    body = (
        f'<w:p><w:r><w:t xml:space="preserve">so </w:t></w:r><m:oMath xmlns:m="{M}">{formula}</m:oMath></w:p>'
    )
    assert (await read("a.docx", docx(body))).pages[0].text == f"so {text}"


@pytest.mark.parametrize(("formula", "text"), WEB)
async def test_a_formula_of_a_web_page_is_on_its_line(read: Read, formula: str, text: str) -> None:
    content = f"<html><body><p>so <math>{formula}</math> it is</p></body></html>".encode()
    assert (await read("a.html", content)).pages[0].text == f"so {text} it is"


async def test_formulas_and_charts_of_open_document_are_read(read: Read) -> None:
    frames = "".join(
        f'<draw:frame><draw:object xlink:href="./{name}" {LINK}/>{more}</draw:frame>'
        for name, more in (
            ("Object 1", ""),
            ("Object 2", '<svg:desc xmlns:svg="svg">Depth of the quay</svg:desc>'),
            ("Object 3", ""),
            ("absent", ""),
        )
    )
    rows = table(cells("Berth", "2024", "2025"), cells("Bell", "", "14"))
    chart = (
        f"<office:document-content {NAMES}><office:body><office:chart><c:chart xmlns:c='c'><c:title>"
        f"<text:p>Depths</text:p></c:title>{rows}</c:chart></office:chart></office:body>"
        "</office:document-content>"
    )
    members = {
        "Object 1/content.xml": "<math><msup><mn>10</mn><mn>6</mn></msup></math>",
        "Object 2/content.xml": chart,
        "Object 3/content.xml": "<damaged",
    }
    content = odf("odt", f"<text:p>so {frames} it is</text:p>", members=members)
    text = (await read("a.odt", content)).pages[0].text
    assert text.split("\n") == ["so 10^6 it is", "Depth of the quay", "Depths", *DEPTHS]


@pytest.mark.parametrize("tag", ["math", "dialog", "del"])
def test_elements_in_each_other_are_read_once(tag: str) -> None:
    def seconds(depth: int) -> float:
        begun = time.process_time()
        to_text(f"<p>so {f'<{tag}>' * depth}")
        return time.process_time() - begun

    seconds(9)
    assert seconds(8000) < 8 * seconds(2000)
