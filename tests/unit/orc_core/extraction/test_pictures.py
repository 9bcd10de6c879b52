"""Pictures of pages: the rectangles of a quote lie on its drawn words, and hostile files cost their child."""

import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy
import pypdfium2
import pytest
from fpdf import FPDF
from PIL import Image

from devkit.shared_data import SHARED, needs_shared
from orc_core.errors import DocumentRejected, Unavailable, UnreadableDocument
from orc_core.extraction import pdf as reader
from orc_core.extraction.drawing import draw_frame, draw_in_colour, draw_pdf_page
from orc_core.extraction.extractor import PageDrawer
from orc_core.grounding.rectangles import rectangles
from orc_core.infra.sandbox import Limits, Sandbox
from tests.unit.orc_core.extraction.samples import raw_pdf

pytestmark = pytest.mark.slow

PDF = "application/pdf"
CHILDREN = "tests.unit.orc_core.infra.sandboxed"
QUOTE = "Boats are to be moored by eight in the evening at berth nine."
BEFORE, AFTER = "The harbour master is at the quay from six on.", "Anyone who comes later pays a fee."
WIDTHS = (800, 1200, 1600)
ROUNDING = 2
"""Pixels: of the edges of a letter, and of a rectangle's four decimals."""


def page_with_a_red_quote(columns: int = 1) -> bytes:
    """A page whose only red words are the quote, over several lines."""
    document = FPDF()
    document.set_font("helvetica", size=13)
    document.add_page()
    width = 180 / columns - 10
    for column in range(columns):
        document.set_y(40)
        for text in (BEFORE, QUOTE if column == columns - 1 else AFTER, AFTER):
            document.set_text_color(*((255, 0, 0) if text == QUOTE else (0, 0, 0)))
            document.set_x(15 + column * (width + 10))
            document.multi_cell(width, 7, text)
            document.set_y(document.get_y() + 8)
    return bytes(document.output())


def changed(content: bytes, change: Callable[[pypdfium2.PdfPage], object]) -> bytes:
    with pypdfium2.PdfDocument(content) as document:
        change(document[0])
        output = io.BytesIO()
        document.save(output)
    return output.getvalue()


def rotated(by: int) -> bytes:
    return changed(page_with_a_red_quote(), lambda page: page.set_rotation(by))


def cropped(rotation: int = 0) -> bytes:
    def crop(page: pypdfium2.PdfPage) -> None:
        page.set_cropbox(20, 400, 560, 780)
        page.set_rotation(rotation)

    return changed(page_with_a_red_quote(), crop)


SAMPLES = {
    "plain": page_with_a_red_quote(),
    "rotated 90": rotated(90),
    "rotated 180": rotated(180),
    "rotated 270": rotated(270),
    "cropped": cropped(),
    "cropped and rotated": cropped(90),
    "two columns": page_with_a_red_quote(columns=2),
}


def red_outside(picture: Image.Image, boxes: Sequence[tuple[float, ...]]) -> tuple[float, float]:
    """The share of the red pixels that no box has, and of the pixels of boxes that are black."""
    pixels = numpy.asarray(picture.convert("RGB")).astype(int)
    height, width = pixels.shape[:2]
    is_red = (pixels[..., 0] > 150) & (pixels[..., 1] < 110) & (pixels[..., 2] < 110)
    is_black = pixels.max(axis=2) < 90
    inside = numpy.zeros((height, width), bool)
    for left, top, right, bottom in boxes:
        rows = slice(max(round(top * height) - ROUNDING, 0), round(bottom * height) + ROUNDING)
        inside[rows, max(round(left * width) - ROUNDING, 0) : round(right * width) + ROUNDING] = True
    assert is_red.sum() > 100
    lost, foreign = int((is_red & ~inside).sum()), int((is_black & inside).sum())
    return lost / int(is_red.sum()), foreign / int(inside.sum())


@pytest.mark.parametrize("name", SAMPLES)
def test_rectangles_of_a_quote_lie_on_its_drawn_words(name: str, tmp_path: Path) -> None:
    (source := tmp_path / "a.pdf").write_bytes(SAMPLES[name])
    [unit] = reader.read(source).units
    start = unit.text.index("Boats")
    found = rectangles(unit.text, unit.boxes, start, unit.text.index("nine.") + len("nine."))
    boxes = [(each.left, each.top, each.right, each.bottom) for each in found]
    assert boxes
    picture = None
    for width in WIDTHS if name == "two columns" else (1200,):
        picture = draw_pdf_page(source, 1, width)
        assert picture is not None
        assert picture.width == width
        assert red_outside(picture, boxes) == (0.0, 0.0)
    assert picture is not None
    moved = [tuple(edge + 0.01 for edge in box) for box in boxes]
    assert red_outside(picture, moved)[0] > 0.04, "the check sees rectangles that lie elsewhere"


def test_a_frame_is_upright_on_white_and_never_enlarged(tmp_path: Path) -> None:
    photo, exif = Image.new("RGB", (400, 200), "blue"), Image.Exif()
    exif[0x112] = 6
    photo.save(tmp_path / "turned", "JPEG", exif=exif)
    turned = draw_frame(tmp_path / "turned", "JPEG", 1, 800)
    assert turned is not None
    assert turned.size == (200, 400)
    Image.new("RGBA", (2000, 100), (0, 0, 0, 0)).save(tmp_path / "clear", "PNG")
    clear = draw_frame(tmp_path / "clear", "PNG", 1, 800)
    assert clear is not None
    assert (clear.size, clear.getpixel((5, 5))) == ((800, 40), (255, 255, 255))
    assert draw_frame(tmp_path / "clear", "PNG", 2, 800) is None


def test_a_picture_says_nothing_of_camera_and_place(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F] = "Canary camera"
    Image.new("RGB", (40, 20)).save(tmp_path / "a", "JPEG", exif=exif, icc_profile=b"canary profile")
    [drawn] = draw_in_colour(str(tmp_path / "a"), "image/jpeg", 1, 800)
    assert b"anary" not in drawn.content


async def test_pages_are_drawn_by_a_child_in_colour_as_webp(tmp_path: Path, box: Sandbox) -> None:
    (source := tmp_path / "a.pdf").write_bytes(SAMPLES["plain"])
    drawer = PageDrawer(box)
    drawn = Image.open(io.BytesIO(await drawer.draw(source, PDF, 1, 800)))
    assert (drawn.format, drawn.width, drawn.mode) == ("WEBP", 800, "RGB")
    assert await drawer.draw(source, PDF, 2, 800) == b""
    poster = raw_pdf(b"").replace(b"[0 0 600 800]", b"[0 0 60 80000]")
    source.write_bytes(poster)
    assert max(Image.open(io.BytesIO(await drawer.draw(source, PDF, 1, 1600))).size) <= 16_383
    source.write_bytes(b"%PDF-1.4 and nothing else")
    with pytest.raises(UnreadableDocument):
        await drawer.draw(source, PDF, 1, 800)


@pytest.mark.parametrize(("function", "reason"), [("aborted", "too_much_memory"), ("endless", "too_slow")])
async def test_a_child_that_misbehaves_gives_an_error(
    function: str, reason: str, tmp_path: Path, box: Sandbox
) -> None:
    limits = Limits(2**29, step=0.5, most=10.0, idle=60.0, wall=120.0)
    drawer = PageDrawer(box, limits=limits, function=f"{CHILDREN}:{function}")
    with pytest.raises(UnreadableDocument) as raised:
        await drawer.draw(tmp_path / "a.pdf", PDF, 1, 800)
    assert raised.value.code == reason


@pytest.mark.parametrize("function", ["waiting", "killed"])
async def test_a_page_is_not_to_blame_if_the_machine_is_busy(
    function: str, tmp_path: Path, box: Sandbox
) -> None:
    drawer = PageDrawer(box, limits=Limits(2**29, idle=0.2), function=f"{CHILDREN}:{function}")
    with pytest.raises(Unavailable):
        await drawer.draw(tmp_path / "a.pdf", PDF, 1, 800)


@needs_shared
@pytest.mark.slow
async def test_hostile_pdfs_cost_their_child_only(box: Sandbox) -> None:
    drawer = PageDrawer(box)
    for name in ("gen-pdf-flate-bomb-500MB.pdf", "gen-truncated-half.pdf", "gen-random-bytes.pdf"):
        with suppress(DocumentRejected):
            await drawer.draw(SHARED / "data" / "nasty" / name, PDF, 1, 1200)
