"""Word boxes of scanned pages, from Tesseract's table."""

import pytest

from orc_core.extraction.word_boxes import SCALE, WORD, Box, boxes_between, unpack
from orc_core.ocr.tesseract import parse

PAGE = "1\t1\t0\t0\t0\t0\t0\t0\t1000\t2000\t-1\t"


def table(*words: tuple[int, str, int, int, int, int], page: str = PAGE) -> str:
    """Words with the number of their line, left, top, width and height."""
    rows = (
        f"5\t1\t1\t1\t{line}\t{number}\t{left}\t{top}\t{width}\t{height}\t90\t{text}"
        for number, (line, text, left, top, width, height) in enumerate(words, 1)
    )
    return "\n".join([page, *rows])


def test_a_quote_of_a_scan_has_a_rectangle_for_each_line() -> None:
    text, _, boxes = parse(
        table((1, "Dogs", 100, 200, 90, 20), (1, "are", 200, 200, 50, 20), (2, "welcome.", 100, 240, 200, 20))
    )
    assert text == "Dogs are\nwelcome."
    first, second = boxes_between(text, boxes, 0, len(text))
    assert first == Box(SCALE // 10, SCALE // 10, -(-SCALE // 4), -(-SCALE * 11 // 100))
    assert second.left == SCALE // 10
    assert second.top > first.bottom


def test_each_character_of_a_chinese_word_has_a_box() -> None:
    text, _, boxes = parse(table((1, "年間", 100, 200, 100, 50), (1, "料金", 210, 200, 100, 50)))
    assert text == "年間料金"
    found = unpack(boxes)
    assert len(found) == len(WORD.findall(text)) == 4
    assert [word[0].left for word in found] == sorted(word[0].left for word in found)


@pytest.mark.parametrize("page", ["", "1\t1\t0\t0\t0\t0\t0\t0\t0\t0\t-1\t", "1\tx"])
def test_a_table_without_the_size_of_the_page_has_no_boxes(page: str) -> None:
    text, confidence, boxes = parse(table((1, "Dogs", 100, 200, 90, 20), page=page))
    assert (text, confidence, boxes) == ("Dogs", 0.9, b"")


def test_a_word_off_the_page_leaves_the_boxes_out() -> None:
    assert parse(table((1, "Dogs", 1000, 200, 90, 20)))[2] == b""
