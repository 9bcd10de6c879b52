"""Raised and lowered figures in every format: a number keeps its own figures."""

from pathlib import Path

import pytest
from fpdf import FPDF

from orc_core.extraction import pdf as pdf_reader
from orc_core.extraction.looks import set_apart
from orc_core.extraction.pages import Unit
from tests.unit.orc_core.extraction.samples import assembled, drawn_pages


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("28¹ days", "28[1] days"),
        ("EUR 1,350²", "EUR 1,350[2]"),
        ("10⁶ litres, 10⁻³ grams", "10^6 litres, 10^-3 grams"),
        ("Deposit²", "Deposit[2]"),
        ("the end.³ Then", "the end.[3] Then"),
        ("Smith¹,²", "Smith[1,2]"),
        ("450 m² and 3 km³", "450 m² and 3 km³"),
        ("CO₂, SO4²⁻", "CO₂, SO4^2-"),
        ("5¹/2 inches", "5 1/2 inches"),
        ("¹Sundays excluded", "[1] Sundays excluded"),
        ("1₂ and log₂8", "1_2 and log₂ 8"),
        ("a claim[¹]", "a claim[1]"),
        ("plain 28 days", "plain 28 days"),
    ],
)
def test_a_raised_figure_is_set_apart_from_a_number(typed: str, read: str) -> None:
    assert set_apart(typed) == read


def test_on_a_page_with_boxes_no_word_is_added() -> None:
    for typed in ("5¹/2 inches", "¹Sundays excluded", "log₂8"):
        assert len(set_apart(typed, keep_words=True).split()) == len(typed.split())


def page_of(content: bytes, source: Path) -> Unit:
    source.write_bytes(content)
    return next(iter(pdf_reader.read(source).units))


def raised_pdf(*pieces: str) -> bytes:
    """Every other piece is raised."""
    document = FPDF()
    document.add_page()
    document.set_font("times", size=12)
    for number, piece in enumerate(pieces):
        document.char_vpos = "SUP" if number % 2 else "LINE"
        document.write(text=piece)
    return bytes(document.output())


def test_raised_figures_of_a_pdf_are_not_part_of_the_number(tmp_path: Path) -> None:
    content = raised_pdf(
        "The notice is 28", "1", " days, EUR 135", "2", ", 10", "6", " litres, 450 m", "2", "."
    )
    unit = page_of(content, tmp_path / "a.pdf")
    assert unit.text == "The notice is 28[1] days, EUR 135[2], 10^6 litres, 450 m²."
    assert unit.boxes


def test_figures_on_one_line_of_a_pdf_stay_as_they_are(tmp_path: Path) -> None:
    unit = page_of(raised_pdf("Berth 1352 in 2019 for 28.50"), tmp_path / "a.pdf")
    assert unit.text == "Berth 1352 in 2019 for 28.50"


@pytest.mark.parametrize("rows", [(("Anna", "A", "B", "A"), ("Berit", "B", "C", "B")), (("Nut", "6", "8"),)])
def test_cells_of_one_character_are_separate_words(tmp_path: Path, rows: tuple[tuple[str, ...], ...]) -> None:
    document = FPDF()
    document.add_page()
    document.set_font("helvetica", size=11)
    for row in rows:
        for cell in row:
            document.cell(40, 8, cell, align="R")
        document.ln()
    unit = page_of(bytes(document.output()), tmp_path / "a.pdf")
    assert unit.text.split() == [cell for row in rows for cell in row]
    assert unit.boxes


def test_lowered_figures_behind_a_number_are_set_apart(tmp_path: Path) -> None:
    """Those behind a letter stay, as those of `H2O`."""
    low = b"/F 7 Tf -3 Ts (2) Tj 0 Ts /F 11 Tf"
    content = b"BT /F 11 Tf 50 700 Td (so 12) Tj %s ( units of H) Tj %s (O) Tj ET" % (low, low)
    assert page_of(drawn_pages(content), tmp_path / "a.pdf").text == "so 12_2 units of H2O"


def test_a_number_that_is_drawn_figure_by_figure_is_one_number(tmp_path: Path) -> None:
    """Helvetica's `N` is 0.722 of its size wide, `u` and figures are 0.556."""
    drawn = (
        (50, "N"),
        (64.44, "ut"),
        (200, "1"),
        (211.12, "2"),
        (300, "4"),
        (50, "Saw"),
        (200, "3"),
        (300, "5"),
    )
    pieces = (
        f"1 0 0 1 {left} {700 if at < 5 else 660} Tm ({text}) Tj" for at, (left, text) in enumerate(drawn)
    )
    content = f"BT /F 20 Tf {' '.join(pieces)} ET".encode()
    assert page_of(drawn_pages(content), tmp_path / "a.pdf").text.split() == "Nut 12 4 Saw 3 5".split()


@pytest.mark.parametrize("alef", ["0625", "0627", "0623", "0622"])
def test_lam_and_alef_in_one_sign_are_read_in_order(tmp_path: Path, alef: str) -> None:
    """PDFium takes the sign apart backwards. Two signs stay in their order."""
    codes = {"A": "0627", "B": f"0644{alef}", "C": "0634", "D": "0644", "E": "0645"}
    mapped = "\n".join(f"<{ord(code):02x}> <{text}>" for code, text in codes.items())
    codes_of = f"{len(codes)} beginbfchar {mapped} endbfchar"
    cmap = f"1 begincodespacerange <00> <ff> endcodespacerange {codes_of}".encode()
    content = b"BT /F 20 Tf 300 700 Td (CBA) Tj ET BT /F 20 Tf 300 600 Td (EDA) Tj ET"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page + b" /Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(cmap), cmap),
    ]
    unit = page_of(assembled(objects), tmp_path / "a.pdf")
    assert unit.text.split() == [f"ال{chr(int(alef, 16))}ش", "الم"]
