"""Words of PDFs that are struck out in part, and signs in fonts of symbols."""

import pytest

from tests.unit.orc_core.extraction.samples import Read, assembled, drawn_pages

LINE = b"1 w %d 706 m %d 706 l S"


@pytest.mark.parametrize(
    ("texts", "line", "read_as"),
    [
        ((b"EUR 700", b"650."), (99, 132), "EUR 650."),
        ((b"EUR 700650.",), (99, 132), "EUR 650."),
        ((b"EUR 700650.",), (132, 165), "EUR 700 ."),
        ((b"EUR 700650.",), (99, 300), "EUR 700650."),
        ((b"EUR 700 650",), (99, 132), "EUR 650"),
    ],
)
async def test_a_line_strikes_out_the_part_of_a_word_that_it_goes_through(
    read: Read, texts: tuple[bytes, ...], line: tuple[int, int], read_as: str
) -> None:
    shown = b" ".join(b"(%s) Tj" % text for text in texts)
    content = b"BT /F 20 Tf 50 700 Td %s 0 -60 Td (A further line of text) Tj ET " % shown
    [page] = (await read("a.pdf", drawn_pages(content + LINE % line))).pages
    assert page.text.split("\n")[0] == read_as


CODES = b"""begincmap 1 begincodespacerange <00> <FF> endcodespacerange
2 beginbfchar <B1> <F0B1> <B3> <F0B3> endbfchar endcmap"""


@pytest.mark.parametrize(
    ("font", "signs"), [(b"Symbol", "±≥"), (b"ABCDEF+OpenSymbol", "±≥"), (b"Other", "\uf0b1\uf0b3")]
)
async def test_private_codes_of_a_font_of_symbols_are_its_signs(read: Read, font: bytes, signs: str) -> None:
    content = b"BT /F 12 Tf 50 700 Td (The dose is 85 ) Tj /S 12 Tf (\xb1\xb3) Tj /F 12 Tf ( 6 tablets) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R"
        b" /Resources << /Font << /F 3 0 R /S 6 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /ToUnicode 7 0 R >>" % font,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(CODES), CODES),
    )
    [page] = (await read("a.pdf", assembled(objects))).pages
    assert page.text == f"The dose is 85 {signs} 6 tablets"
