"""Tesseract's table of words becomes text."""

import pytest

from orc_core.ocr.tesseract import parse

HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


def table(*words: tuple[int, int, int, str, str]) -> str:
    """Words, each as block, paragraph, line, confidence and text."""
    rows = [
        f"5\t1\t{block}\t{paragraph}\t{line}\t1\t0\t0\t9\t9\t{confidence}\t{text}"
        for block, paragraph, line, confidence, text in words
    ]
    return HEAD + "4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t\n" + "\n".join(rows)


def test_lines_and_paragraphs_are_separate() -> None:
    words = [
        (1, 1, 1, "90", "The"),
        (1, 1, 1, "90", "quay"),
        (1, 1, 2, "90", "opens."),
        (1, 2, 1, "90", "Next"),
    ]
    text, confidence, _ = parse(table(*words, (2, 2, 1, "90", "block")))
    assert text == "The quay\nopens.\n\nNext\n\nblock"
    assert confidence == pytest.approx(0.9)


def test_confidence_is_averaged_by_character() -> None:
    assert parse(table((1, 1, 1, "100", "abc"), (1, 1, 1, "20", "d")))[1] == pytest.approx(0.8)


def test_chinese_and_japanese_have_no_blanks_between_their_characters() -> None:
    words = [(1, 1, 1, "90", text) for text in ("東京", "都", "2024", "年", "Tokyo")]
    assert parse(table(*words))[0] == "東京都 2024 年 Tokyo"


@pytest.mark.parametrize("output", ["", HEAD, table((1, 1, 1, "95", " ")), "garbage", "5\t1\t1"])
def test_without_words_there_is_no_text(output: str) -> None:
    assert parse(output) == ("", None, b"")


def test_invalid_confidences_count_as_zero() -> None:
    assert parse(table((1, 1, 1, "x", "ab"), (1, 1, 1, "200", "cd")))[1] == pytest.approx(0.5)
