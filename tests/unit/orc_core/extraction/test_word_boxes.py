"""Word boxes: packing, merging into lines, and transfer from the child."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.errors import UnreadableDocument
from orc_core.extraction.extractor import Collector
from orc_core.extraction.word_boxes import (
    BOX_BYTES,
    MAX_BOXES,
    SCALE,
    WORD,
    Box,
    boxes_between,
    merge,
    pack,
    unpack,
)
from orc_core.infra.sandbox_child import ChildMessage

TEXT = "one two\nthree"
ONE, TWO, THREE = Box(0, 0, 90, 20), Box(110, 2, 200, 22), Box(0, 40, 150, 60)

starts = st.integers(0, SCALE - 100)
sizes = st.integers(1, 100)
boxes = st.builds(lambda x, y, width, height: Box(x, y, x + width, y + height), starts, starts, sizes, sizes)


@given(st.lists(st.lists(boxes, max_size=3), max_size=20))
def test_unpacking_reverses_packing(words: list[list[Box]]) -> None:
    assert unpack(pack(words)) == words


@given(st.binary())
def test_any_bytes_can_be_unpacked(packed: bytes) -> None:
    for word in unpack(packed):
        assert all(box.left < box.right for box in word)


def test_words_on_one_line_have_one_box() -> None:
    packed = pack([[ONE], [TWO], [THREE]])
    assert boxes_between(TEXT, packed, 0, len(TEXT)) == [Box(0, 0, 200, 22), THREE]


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 1, [ONE]), (2, 5, [Box(0, 0, 200, 22)]), (4, 7, [TWO]), (3, 4, []), (5, 5, []), (12, 99, [THREE])],
)
def test_partly_quoted_words_are_highlighted_completely(start: int, end: int, found: list[Box]) -> None:
    assert boxes_between(TEXT, pack([[ONE], [TWO], [THREE]]), start, end) == found


def test_a_word_broken_over_lines_has_two_boxes() -> None:
    packed = pack([[ONE], [TWO, THREE]])
    assert boxes_between("one twothree", packed, 5, 6) == [TWO, THREE]


@pytest.mark.parametrize("words", [[], [[ONE], [TWO]], [[ONE], [TWO], [THREE], [THREE]]])
def test_boxes_of_another_text_are_not_used(words: list[list[Box]]) -> None:
    assert boxes_between(TEXT, pack(words), 0, len(TEXT)) == []


def test_an_invisible_word_does_not_hide_others() -> None:
    assert boxes_between(TEXT, pack([[ONE], [], [THREE]]), 0, len(TEXT)) == [ONE, THREE]


def test_chinese_has_one_box_per_character() -> None:
    assert WORD.findall("第12页 한국어 end") == ["第", "12", "页", "한국어", "end"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Box(400, 0, 500, 20), id="behind a gutter"),
        pytest.param(Box(100, 19, 200, 39), id="on the next line"),
        pytest.param(Box(100, 0, 150, 90), id="a letter as tall as four lines"),
    ],
)
def test_boxes_on_different_lines_are_not_merged(other: Box) -> None:
    assert merge([ONE, other], 8) == [ONE, other]


@pytest.mark.parametrize(
    "other", [pytest.param(Box(92, 16, 96, 26), id="comma"), pytest.param(Box(92, -4, 98, 6), id="footnote")]
)
def test_overhanging_marks_belong_to_their_line(other: Box) -> None:
    (line,) = merge([ONE, other], 4)
    assert line.bottom == max(ONE.bottom, other.bottom)
    assert line.right == other.right


def page_message(text: str, boxes: bytes, length: object = None) -> ChildMessage:
    return ChildMessage({"boxes": len(boxes) if length is None else length}, boxes + text.encode())


def test_the_child_sends_boxes_with_their_page() -> None:
    packed = pack([[ONE]] * MAX_BOXES)
    collector = Collector(None)
    for text, boxes in ((TEXT, pack([[ONE]])), ("wörd " * MAX_BOXES, packed), ("", b"")):
        collector.take(page_message(text, boxes))
    assert [page.boxes for page in collector.pages] == [pack([[ONE]]), packed, b""]
    assert [page.text for page in collector.pages] == [TEXT, "wörd " * MAX_BOXES, ""]


@pytest.mark.parametrize(
    ("boxes", "length"),
    [
        (bytes(BOX_BYTES), "8"),
        (bytes(BOX_BYTES), -BOX_BYTES),
        (b"1234567", 7),
        (bytes(BOX_BYTES * (len(TEXT) + 1)), None),
        (bytes(BOX_BYTES * (MAX_BOXES + 1)), None),
        (b"\xff" * BOX_BYTES, 0),
    ],
)
def test_invalid_boxes_from_the_child_are_refused(boxes: bytes, length: object) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        Collector(None).take(page_message(TEXT, boxes, length))
    assert caught.value.code == "corrupt"


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["one", "two’s", "x", "1,5"]), min_size=1),
    st.lists(st.lists(boxes, max_size=3), min_size=99, max_size=99),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_words_between_blanks_are_found_as_by_the_pattern(
    words: list[str], packed: list[list[Box]], start: int, length: int
) -> None:
    # A page with one Chinese character is read with the pattern.
    text, end = " ".join(words), start + length
    plain = boxes_between(text, pack(packed[: len(words)]), start, min(end, len(text)))
    assert plain == boxes_between(f"{text} 水", pack(packed[: len(words) + 1]), start, min(end, len(text)))


def test_a_quote_is_highlighted_without_unpacking_its_page() -> None:
    text = "word " * MAX_BOXES
    packed = pack([[ONE]] * MAX_BOXES)

    def seconds(work: Callable[[], object]) -> float:
        """The least processor time of a few attempts."""
        times = []
        for _ in range(5):
            begun = time.process_time()
            work()
            times.append(time.process_time() - begun)
        return min(times)

    quote = seconds(lambda: boxes_between(text, packed, 50_000, 50_100))
    assert quote < seconds(lambda: unpack(packed))
