"""Highlights in PDFs, checked against the text that PDFium finds in each rectangle."""

import io
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_double
from itertools import islice
from pathlib import Path

import pypdfium2
import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from pypdfium2 import raw

from orc_core.extraction import pdf as reader
from orc_core.extraction.pages import LONGEST_PAGE, Unit, clean
from orc_core.extraction.pdf_word_boxes import match
from orc_core.extraction.word_boxes import WORD
from orc_core.grounding.models import Rectangle
from orc_core.grounding.rectangles import rectangles
from orc_core.grounding.units import located
from tests.unit.orc_core.extraction.samples import pdf, raw_pdf

DOCUMENTS = Path(__file__).resolve().parents[4] / ".." / "shared" / "data" / "open" / "docs"
LEFT = "The harbour master approves requests within five working days. Boats are to be moored by eight."
RIGHT = "Fees are due in March. Anyone who pays late is charged two percent a month, and loses the berth."
DEVICE = 1_000_000
INSET = 0.02


class Viewed:
    """A page as in a viewer: text with boxes, and the text inside a rectangle."""

    def __init__(self, unit: Unit, page: pypdfium2.PdfPage) -> None:
        self.text, self.boxes = unit.text, unit.boxes
        self._page = page
        self._drawn = page.get_textpage()

    def marked(self, quote: str) -> list[Rectangle]:
        """The rectangles of a quote, whatever its line breaks."""
        found = re.search(r"\s+".join(map(re.escape, words(quote))), self.text)
        assert found is not None
        return self.places(*found.span())

    def places(self, start: int, end: int) -> list[Rectangle]:
        """The rectangles of a part of the text."""
        return rectangles(self.text, self.boxes, start, end)

    def lines(self, quote: str) -> list[str]:
        """The text inside the quote's rectangles."""
        return [self.read(rectangle) for rectangle in self.marked(quote)]

    def read(self, rectangle: Rectangle, inset: float = INSET) -> str:
        inset *= rectangle.bottom - rectangle.top
        one = self._point(rectangle.left, rectangle.top + inset)
        other = self._point(rectangle.right, rectangle.bottom - inset)
        (left, right), (bottom, top) = sorted((one[0], other[0])), sorted((one[1], other[1]))
        return str(self._drawn.get_text_bounded(left + INSET, bottom, right - INSET, top)).strip()

    def _point(self, x: float, y: float) -> tuple[float, float]:
        """A position on the displayed page in points, converted by PDFium."""
        point = c_double(), c_double()
        on_screen = (0, 0, DEVICE, DEVICE, 0, round(x * DEVICE), round(y * DEVICE))
        assert raw.FPDF_DeviceToPage(self._page.raw, *on_screen, byref(point[0]), byref(point[1]))
        return point[0].value, point[1].value


@contextmanager
def viewed(content: bytes, source: Path, number: int = 1) -> Iterator[Viewed]:
    source.write_bytes(content)
    units = list(reader.read(source).units)
    document = pypdfium2.PdfDocument(content)
    page = document[number - 1]
    yield Viewed(units[number - 1], page)
    page.close()
    document.close()


def words(text: str) -> list[str]:
    return text.split()


def two_columns() -> bytes:
    document = FPDF()
    document.set_font("times", size=11)
    document.add_page()
    for x, text in ((20, LEFT), (77, RIGHT)):
        document.set_xy(x, 30)
        document.multi_cell(54, 7, text, align="L")
    return bytes(document.output())


def changed(content: bytes, change: Callable[[pypdfium2.PdfPage], object]) -> bytes:
    document = pypdfium2.PdfDocument(content)
    change(document[0])
    buffer = io.BytesIO()
    document.save(buffer)
    document.close()
    return buffer.getvalue()


def test_each_line_of_a_quote_has_a_rectangle_with_its_words_and_no_others(tmp_path: Path) -> None:
    text = "Before it. " + LEFT + " " + RIGHT + " Behind it."
    with viewed(pdf(text), tmp_path / "a.pdf") as page:
        quote = page.text[page.text.index("harbour") : page.text.index("berth.") + 6]
        assert "\n" in quote
        assert [words(line) for line in page.lines(quote)] == [words(line) for line in quote.split("\n")]
        assert page.lines("moored") == ["moored"]


def test_a_quote_over_two_columns_is_not_highlighted_across_the_gutter(tmp_path: Path) -> None:
    with viewed(two_columns(), tmp_path / "a.pdf") as page:
        quote = page.text[page.text.index("Boats") : page.text.index("March.") + 6]
        marked = page.marked(quote)
        assert words(" ".join(map(page.read, marked))) == words(quote)
        assert all(rectangle.right < 77 / 210 or rectangle.left > 74 / 210 for rectangle in marked)


def test_adjacent_words_of_two_columns_have_separate_rectangles(tmp_path: Path) -> None:
    content = b"BT /F 10 Tf 50 700 Td (left end) Tj 54 0 Td (right start) Tj ET"
    with viewed(raw_pdf(content), tmp_path / "a.pdf") as page:
        assert page.text == "left end right start"
        assert page.lines("end right") == ["end", "right"]
        assert page.lines("right start") == ["right start"]


@pytest.mark.parametrize("crop", [None, (20, 30, 590, 780)])
@pytest.mark.parametrize(
    ("degrees", "upright"),
    [(0, b"1 0 0 1 0 0"), (90, b"0 1 -1 0 600 0"), (180, b"-1 0 0 -1 600 800"), (270, b"0 -1 1 0 0 800")],
)
def test_rectangles_follow_page_rotation_and_cropping(
    tmp_path: Path, degrees: int, upright: bytes, crop: tuple[int, int, int, int] | None
) -> None:
    def change(page: pypdfium2.PdfPage) -> None:
        page.set_rotation(degrees)
        if crop is not None:
            page.set_cropbox(*crop)

    lines = b"(Boats are to be ) Tj 0 -20 Td (moored by ) Tj 0 -20 Td (eight.) Tj"
    content = raw_pdf(b"%b cm BT /F 12 Tf 150 500 Td %b ET" % (upright, lines))
    with viewed(changed(content, change), tmp_path / "a.pdf") as page:
        assert page.lines("are to be moored") == ["are to be", "moored"]
        assert page.lines("eight.") == ["eight."]
        (are,), (to,), (moored,) = page.marked("are"), page.marked("to"), page.marked("moored")
        assert are.right < to.left
        assert are.bottom < moored.top


def test_rotated_text_is_highlighted(tmp_path: Path) -> None:
    with viewed(changed(pdf(LEFT), lambda page: page.set_rotation(90)), tmp_path / "a.pdf") as page:
        assert page.lines("within five working days.") == ["within", "five", "working", "days."]


def test_a_word_with_a_ligature_is_highlighted_completely(tmp_path: Path) -> None:
    with viewed(
        raw_pdf(rb"BT /F 12 Tf 50 700 Td (of\256ce \256nding proof) Tj ET"), tmp_path / "a.pdf"
    ) as page:
        assert page.lines("office finding") == ["office finding"]
        assert page.lines("finding") == ["finding"]


def test_a_hyphenated_word_is_highlighted_on_both_lines(tmp_path: Path) -> None:
    content = b"BT /F 12 Tf 50 700 Td (He collects many exam-) Tj 0 -15 Td (ples of shells) Tj ET"
    with viewed(raw_pdf(content), tmp_path / "a.pdf") as page:
        assert "examples" in page.text
        assert [re.sub(r"\W", "", line) for line in page.lines("examples")] == ["exam", "ples"]
        assert page.lines("many examples of")[1] == "ples of"


def test_a_word_whose_hyphen_stays_at_the_line_end_is_highlighted_on_its_line(tmp_path: Path) -> None:
    content = b"BT /F 12 Tf 50 700 Td (an allen Sonn-) Tj 0 -15 Td (und Feiertagen) Tj ET"
    with viewed(raw_pdf(content), tmp_path / "a.pdf") as page:
        assert page.text == "an allen Sonn- und Feiertagen"
        assert page.lines("allen Sonn-") == ["allen Sonn\x02"]
        assert page.lines("Sonn- und Feiertagen") == ["Sonn\x02", "und Feiertagen"]


def test_a_word_in_several_parts_does_not_shift_other_boxes(tmp_path: Path) -> None:
    parts = b"(an ex-) Tj 0 -15 Td (am) Tj /F 14 Tf (ple of H) Tj /F 8 Tf (2) Tj /F 12 Tf (O in) Tj"
    letters = b" ".join(b"(%c) Tj" % letter for letter in b" parts here")
    with viewed(raw_pdf(b"BT /F 12 Tf 50 700 Td %b %b ET" % (parts, letters)), tmp_path / "a.pdf") as page:
        assert page.text == "an example of H2O in parts here"
        assert page.lines(page.text) == ["an ex\x02", "ample of H2O in parts here"]
        assert [page.lines(word) for word in ("of", "H2O", "in", "parts")] == [
            ["of"],
            ["H2O"],
            ["in"],
            ["parts"],
        ]


def test_words_of_several_fonts_share_a_line(tmp_path: Path) -> None:
    document = FPDF()
    document.add_page()
    fonts = [("helvetica", "", 10), ("times", "BI", 16), ("courier", "B", 12), ("helvetica", "", 9)]
    for (family, style, size), text in zip(fonts, ["a sum, ", "or gap: ", "about ", "x - y."], strict=True):
        document.set_font(family, style, size)
        document.write(10, text)
    with viewed(bytes(document.output()), tmp_path / "a.pdf") as page:
        assert page.lines(page.text) == ["a sum, or gap: about x - y."]


def test_text_off_the_page_does_not_shift_the_boxes(tmp_path: Path) -> None:
    lines = b"5000 700 Td (obey) Tj -4950 0 Td (obey me) Tj 999 0 Td (now) Tj -999 -20 Td (or else) Tj"
    with viewed(raw_pdf(b"BT /F 9 Tf %b ET" % lines), tmp_path / "a.pdf") as page:
        assert words(page.text) == ["obey", "me", "or", "else"]
        assert page.lines("obey me") == ["obey me"]
        assert page.lines("else") == ["else"]


@pytest.mark.slow
def test_an_extremely_long_page_has_text_but_no_boxes(tmp_path: Path) -> None:
    lines = "".join(f"({number:06}) Tj 0 -0.001 Td " for number in range(60_000))
    with viewed(raw_pdf(f"BT /F 1 Tf 50 700 Td {lines} ET".encode()), tmp_path / "a.pdf") as page:
        assert len(page.text) > LONGEST_PAGE // 2
        assert page.boxes == b""


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("one two", "one tow"),
        ("one two", "one two three"),
        ("one two three", "one two"),
        ("one-two", "onetwo"),
    ],
)
def test_different_characters_are_not_matched(text: str, characters: str) -> None:
    assert match(text, characters) is None


@given(st.text(st.sampled_from("ab- \n\r\x02\ufffe\0\xad第😀"), max_size=30))
def test_matched_words_have_their_own_letters(characters: str) -> None:
    hyphens = reader.LineEndHyphens()
    hyphens.note(characters)
    text = clean(hyphens.join(characters))
    places = match(text, characters)
    if places is None:
        return
    pieces = iter(characters[start:end] for start, end in places.pieces)
    number = 0
    for word in WORD.findall(text):
        count = places.broken.get(number, 1)
        letters = "".join(islice(pieces, count))
        assert re.sub("[-\x02\ufffe]", "", letters) == word.replace("-", "")
        number += count
    assert number == len(places.pieces)


@given(st.text())
def test_clean_text_is_unchanged(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    with viewed(two_columns(), tmp_path_factory.mktemp("sample") / "a.pdf") as page:
        yield page


@given(st.integers(0, 200), st.integers(0, 200))
def test_every_word_of_any_span_is_covered(sample: Viewed, start: int, end: int) -> None:
    marked = rectangles(sample.text, sample.boxes, start, end)
    for word in WORD.finditer(sample.text):
        is_quoted = max(start, word.start()) < min(end, word.end())
        (alone,) = rectangles(sample.text, sample.boxes, *word.span())
        assert sample.read(alone) == word[0]
        assert any(_holds(rectangle, alone) for rectangle in marked) is is_quoted


def _holds(outer: Rectangle, inner: Rectangle) -> bool:
    return (
        outer.left <= inner.left < inner.right <= outer.right
        and outer.top <= inner.top < inner.bottom <= outer.bottom
    )


@pytest.mark.slow
@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared documents are not here")
def test_quotes_of_real_documents_are_highlighted_in_place(tmp_path: Path) -> None:
    chance = random.Random(7)
    checked = right = 0
    for source in sorted(DOCUMENTS.glob("*.pdf")):
        units = list(reader.read(source).units)
        document = pypdfium2.PdfDocument(source)
        for number in chance.sample(range(len(units)), min(8, len(units))):
            page = Viewed(units[number], document[number])
            for span in islice(located(page.text), 0, None, 5):
                checked += 1
                right += _is_marked(page, page.text[span.start : span.end], span.start)
    assert checked > 200
    assert right / checked >= 0.99


def _is_marked(page: Viewed, quote: str, start: int) -> bool:
    marked = rectangles(page.text, page.boxes, start, start + len(quote))
    inside = _letters("".join(page.read(rectangle, inset=0) for rectangle in marked))
    return all(_letters(word) in inside for word in words(quote))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)
