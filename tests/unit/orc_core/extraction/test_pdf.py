"""PDF: pages, also of files that are damaged, encrypted or inconsistent."""

from pathlib import Path

import pytest
from fpdf import FPDF

from orc_core.errors import UnreadableDocument
from orc_core.extraction.extractor import Extractor
from orc_core.extraction.pages import LONGEST_PAGE, Unit, numbered_pages
from orc_core.extraction.pdf import LineEndHyphens
from orc_core.extraction.word_boxes import boxes_between, unpack
from orc_core.infra.sandbox import Limits, Sandbox
from tests.unit.orc_core.extraction.samples import Read, drawn_pages, pdf, raw_pdf

TEXT = "The warranty period of the pump is 37 months."


async def test_page_numbers_do_not_shift_over_empty_pages(read: Read) -> None:
    extraction = await read("a.pdf", pdf(TEXT, "", "", "The last page."))
    assert [page.text for page in extraction.pages] == [TEXT, "", "", "The last page."]
    assert extraction.pages_without_text == 2
    assert extraction.has_text


@pytest.mark.parametrize("stamp", ["", "- 7 -", "scan0042.tif"])
async def test_a_scan_with_at_most_a_stamp_has_no_text(read: Read, stamp: str) -> None:
    extraction = await read("scan.pdf", pdf("", stamp))
    assert len(extraction.pages) == 2
    assert not extraction.has_text


async def test_junk_before_the_pdf_header_is_ignored(read: Read) -> None:
    extraction = await read("a.pdf", b"HTTP/1.1 200 OK\r\n" * 50 + pdf(TEXT))
    assert extraction.pages[0].text == TEXT


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7\n", b"\x93\x11\x00\x07" * 3000, b"%PDF-1.4\n" + b"\xff" * 5000]
)
async def test_damaged_files_are_refused(read: Read, content: bytes) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.pdf", content)
    assert caught.value.code == "corrupt"


async def test_an_encrypted_pdf_is_refused_with_that_reason(read: Read) -> None:
    document = FPDF()
    document.set_encryption(owner_password="owner", user_password="user")
    document.add_page()
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.pdf", bytes(document.output()))
    assert caught.value.code == "encrypted"
    assert "password" in caught.value.message


async def test_a_pdf_with_only_an_owner_password_is_read(read: Read) -> None:
    document = FPDF()
    document.set_encryption(owner_password="owner")
    document.set_font("helvetica")
    document.add_page()
    document.cell(text=TEXT)
    assert (await read("a.pdf", bytes(document.output()))).pages[0].text == TEXT


@pytest.mark.parametrize(("count", "missing"), [(2_147_483_647, 0), (3_000, 0), (501, 500)])
async def test_pages_missing_at_the_end_are_not_counted(read: Read, count: int, missing: int) -> None:
    content = f"BT /F 12 Tf 50 700 Td ({TEXT}) Tj ET".encode()
    extraction = await read("a.pdf", raw_pdf(content, count=count, missing=missing))
    assert [page.text for page in extraction.pages if page.text] == [TEXT]
    assert len(extraction.pages) <= 2


async def test_a_damaged_page_keeps_its_number(read: Read) -> None:
    content = f"BT /F 12 Tf 50 700 Td ({TEXT}) Tj ET".encode()
    extraction = await read("a.pdf", raw_pdf(content, count=3, missing=2))
    assert [page.text for page in extraction.pages] == [TEXT, "", ""]


async def test_text_outside_of_the_page_is_not_read(read: Read) -> None:
    content = f"BT /F 12 Tf 50 700 Td ({TEXT}) Tj 5000 0 Td (obey me) Tj ET".encode()
    assert (await read("a.pdf", raw_pdf(content))).pages[0].text == TEXT


@pytest.mark.slow
async def test_a_page_of_hundreds_of_thousands_of_characters_is_complete(read: Read) -> None:
    lines = "".join(f"({number:06}) Tj 0 -0.001 Td " for number in range(60_000))
    extraction = await read("a.pdf", raw_pdf(f"BT /F 1 Tf 50 700 Td {lines} ET".encode()))
    text = "".join(page.text for page in extraction.pages)
    assert len(text) > 200_000
    assert "000000" in text
    assert text.endswith("599989")


async def test_pages_have_the_numbers_that_are_printed_on_them(read: Read) -> None:
    file = FPDF()
    file.set_font("helvetica", size=12)
    file.add_page(label_style="r")
    file.cell(text=TEXT)
    file.add_page(label_style="D", label_prefix="A-", label_start=9)
    file.cell(text=TEXT)
    extraction = await read("a.pdf", bytes(file.output()))
    assert [page.label for page in extraction.pages] == ["i", "A-9"]
    assert [page.label for page in (await read("a.pdf", pdf(TEXT, TEXT))).pages] == ["", ""]


async def test_boxes_of_the_words_come_with_the_text(read: Read) -> None:
    pages = (await read("a.pdf", pdf(TEXT, "", TEXT))).pages
    assert [len(unpack(page.boxes)) for page in pages] == [9, 0, 9]
    assert boxes_between(TEXT, pages[0].boxes, 0, len(TEXT)) == boxes_between(TEXT, pages[2].boxes, 0, 99)
    assert len(boxes_between(TEXT, pages[0].boxes, 0, len(TEXT))) == 1


def joined(text: str, *before: str) -> str:
    """A page's text with whole words at its line ends, after other pages."""
    hyphens = LineEndHyphens()
    for page in (*before, text):
        hyphens.note(page)
    return hyphens.join(text)


@pytest.mark.parametrize(
    ("broken", "fixed"),
    [
        ("It re\x02quires data. He collects data that it requires.", "requires data"),
        ("an in\x02network provider, or an in-network doctor", "an in-network provider"),
        ("an out-of\x02network claim; the out-of-network rate", "an out-of-network claim"),
        ("brand\x02name drugs. The brand has a name.", "brand-name drugs"),
        ("an unseen\x02able word", "an unseenable word"),
        ("an Sonn\x02und Feiertagen", "an Sonn- und Feiertagen"),
    ],
)
def test_a_line_end_hyphen_stays_only_if_it_belongs_to_the_word(broken: str, fixed: str) -> None:
    assert fixed in joined(broken)


def test_hyphens_follow_the_words_of_earlier_pages() -> None:
    assert joined("the co\x02insurance", "a co-insurance of 20 %") == "the co-insurance"
    assert joined("the co\x02insurance", "a co\x02insurance of 20 %") == "the coinsurance"


@pytest.mark.slow
async def test_the_rest_of_a_very_long_page_follows_the_last_page(read: Read) -> None:
    document = FPDF(format=(4000, 4000))
    document.set_font("helvetica", size=8)
    for text in ("word " * 9000, "The last page."):
        document.add_page()
        document.multi_cell(0, 6, text)
    pages = (await read("a.pdf", bytes(document.output()))).pages
    assert pages[1].text == "The last page."
    assert max(len(page.text) for page in pages) <= LONGEST_PAGE
    assert sum(page.text.count("word") for page in pages) == 9000
    assert {page.label for page in pages[2:]} == {"Page 1 (continued)"}


def test_units_that_follow_are_no_pages() -> None:
    units = [Unit("a"), Unit("fields", follows=True), Unit("b " * LONGEST_PAGE)]
    assert [unit.label for unit in numbered_pages(units)][-1] == "Page 2 (continued)"


@pytest.mark.slow
async def test_a_page_that_takes_too_long_is_left_out(tmp_path: Path, box: Sandbox) -> None:
    first, third = (b"BT /F 10 Tf 72 700 Td (Page %d.) Tj ET" % number for number in (1, 3))
    second = b"BT /F 10 Tf 72 700 Td " + b"(a b) Tj 0 -1 Td " * 2_000_000 + b"ET"
    source = tmp_path / "report.pdf"
    source.write_bytes(drawn_pages(first, second, third))
    extraction = await Extractor(box, limits=Limits(2**30, step=0.5)).extract(source, "report.pdf")
    assert [page.text for page in extraction.pages] == ["Page 1.", "", "Page 3."]
    assert extraction.pages_without_text == 1
