"""The text of PDF pages whose words are drawn in another order than they stand, or twice."""

from pathlib import Path

import pypdfium2
import pytest

from devkit.scrambled_pages import Cell, rotated, scrambled_pdf, table, write
from orc_core.extraction import pdf as reader
from orc_core.extraction.pages import Unit
from tests.unit.orc_core.extraction.test_pdf_word_boxes import viewed

SEEDS = range(4)


def read(content: str, source: Path, rotation: int = 0) -> Unit:
    source.write_bytes(scrambled_pdf(content, rotation=rotation))
    return next(iter(reader.read(source).units))


def as_drawn(content: str) -> str:
    """The text as PDFium returns it."""
    page = pypdfium2.PdfDocument(scrambled_pdf(content))[0]
    return "\n".join(str(page.get_textpage().get_text_bounded()).split("\r\n"))


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("is_rotated", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_figures_are_read_as_they_stand(
    tmp_path: Path, seed: int, turn: int, is_rotated: bool
) -> None:
    laid_out = table(seed)
    assert as_drawn(laid_out.content).split("\n") != laid_out.lines
    unit = read(rotated(laid_out.content, turn), tmp_path / "a.pdf", rotation=turn if is_rotated else 0)
    rows = unit.text.replace("|", " ").split("\n")  # rows with fewer figures have empty cells
    assert [" ".join(row.split()) for row in rows] == laid_out.lines


@pytest.mark.parametrize("crop", [(), (40, 50, 590, 780)])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_word_is_highlighted_in_place(tmp_path: Path, seed: int, crop: tuple[int, ...]) -> None:
    laid_out = table(seed)
    content = scrambled_pdf(laid_out.content, crop=crop)
    with viewed(content, tmp_path / "a.pdf") as page:
        start = 0
        for word in page.text.replace("|", " ").split():
            start = page.text.index(word, start)
            (place,) = page.places(start, start + len(word))
            assert page.read(place) == word
            start += len(word)


def test_figures_of_two_years_keep_their_columns(tmp_path: Path) -> None:
    years = write([Cell(200, "2023"), Cell(300, "2022")], 700)
    figures = "BT /F 10 Tf 1 0 0 1 50 680 Tm [(Sales U.S. $ ) -19000 (1,687 ) 13000 (1,787 )] TJ ET"
    assert as_drawn(f"{years} {figures}").split() == "2023 2022 Sales U.S. $ 1,687 1,787".split()
    unit = read(f"{years} {figures}", tmp_path / "a.pdf")
    assert unit.text == "2023 2022\nSales U.S. $ 1,787 1,687"


def test_numbers_that_are_drawn_backwards_are_not_glued(tmp_path: Path) -> None:
    figures = "BT /F 10 Tf 1 0 0 1 50 680 Tm [(Sales) -25000 (1,687) 13000 (1,787)] TJ ET"
    assert as_drawn(figures) == "Sales 1,6871,787"
    assert read(figures, tmp_path / "a.pdf").text == "Sales 1,787 1,687"


def test_words_without_figures_stay_as_they_are_drawn(tmp_path: Path) -> None:
    words = "BT /F 10 Tf 1 0 0 1 50 680 Tm [(one ) -25000 (three ) 13000 (two )] TJ ET"
    assert read(words, tmp_path / "a.pdf").text == "one three two"


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = [write([Cell(50, f"Left {number} of 2023 was")], 700 - 12 * number) for number in range(9)]
    right = [write([Cell(320, f"Right {number} of 2024 is")], 700 - 12 * number) for number in range(9)]
    scrambled = "BT /F 10 Tf 1 0 0 1 50 400 Tm [(Sales) -25000 (1,687) 13000 (1,787)] TJ ET"
    lines = read("\n".join([*left, *right, scrambled]), tmp_path / "a.pdf").text.split("\n")
    expected = [
        f"{side} {number} of {year}"
        for side, year in (("Left", "2023 was"), ("Right", "2024 is"))
        for number in range(9)
    ]
    assert lines == [*expected, "Sales 1,787 1,687"]


def test_lines_from_right_to_left_stay_as_they_are(tmp_path: Path) -> None:
    hebrew = write([Cell(50, "ABC"), Cell(200, "1234"), Cell(120, "5678", raised=3)], 700, font="H")
    figures = write([Cell(50, "77"), Cell(300, "2,222", raised=3), Cell(200, "1,111")], 650)
    content = f"{hebrew} {figures}"
    assert "\u05d0" in as_drawn(content)
    assert read(content, tmp_path / "a.pdf").text == as_drawn(content)


def test_letters_over_each_other_stay_as_they_are_drawn(tmp_path: Path) -> None:
    content = write([Cell(50, "Total 12 of 2023"), Cell(52, "Draft 1", raised=2)], 700)
    assert read(content, tmp_path / "a.pdf").text == as_drawn(content)


def test_a_shadow_is_read_once(tmp_path: Path) -> None:
    lines = [write([Cell(50, f"Line {number} of it")], 600 - 20 * number) for number in range(8)]
    title = write([Cell(50, "Annual report 2023")], 700)
    shadow = write([Cell(50.9, "Annual report 2023")], 699.1)
    content = " ".join([title, *lines, shadow])
    assert as_drawn(content).count("Annual report 2023") == 2
    expected = ["Annual report 2023", *(f"Line {number} of it" for number in range(8))]
    with viewed(scrambled_pdf(content), tmp_path / "a.pdf") as page:
        assert page.text.split("\n") == expected
        assert page.lines("Line 7 of it") == ["Line 7 of it"]


def test_a_page_drawn_twice_is_read_once(tmp_path: Path) -> None:
    lines = " ".join(write([Cell(50, f"Line {number} of it")], 600 - 20 * number) for number in range(8))
    unit = read(f"{lines} {lines}", tmp_path / "a.pdf")
    assert unit.text.split("\n") == [f"Line {number} of it" for number in range(8)]


def test_the_same_words_in_other_places_are_kept(tmp_path: Path) -> None:
    lines = " ".join(write([Cell(50, "Paid"), Cell(90, "Paid")], 600 - 12 * number) for number in range(8))
    assert read(lines, tmp_path / "a.pdf").text.split() == ["Paid"] * 16
