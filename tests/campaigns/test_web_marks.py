"""The quote is marked where it is: on pictures of turned, cropped and two-column pages, and in texts.

The words of the quote are red on these pages, and the others black. So the pixels of the window show which
words the rectangles are on.
"""

import io
from collections.abc import Callable
from pathlib import Path

import docx
import numpy
import openpyxl
import pytest
from fpdf import FPDF
from fpdf.fonts import FontFace
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject

from devkit.doubles.openai_double import ChatRequest, Reply
from devkit.doubles.openai_talk import default_reply
from devkit.visits import Visit

QUOTE = (
    "The harbour master keeps the key of the northern crane until the last ship of the day has left the quay."
)
WINDOWS = [(390, 844, 2.0), (1440, 900, 1.5), (1440, 900, 2.5)]
WIDTHS = (800, 1200, 1600)
ZOOMS = (50, 100, 400)
PLACES = """
[[...document.querySelectorAll(".marks rect")].map((each) => each.getBoundingClientRect().toJSON()),
  document.querySelector(".sheet img").getBoundingClientRect().toJSON(),
  document.querySelector(".frame").getBoundingClientRect().toJSON(),
  [document.querySelector(".sheet img").naturalWidth, document.querySelector(".sheet img").naturalHeight]]
"""
LOADED = "document.querySelector('.marks rect') && document.querySelector('.sheet img').complete"
RED = (200, 0, 0)
REDDER = 20
"""A pixel of a red letter has so much more red than green; one of a black letter has not."""
BLEED = 3
"""Pixels of the picture: its colours are coarser than its shades."""
SMALL_PRINT = 5
HIDDEN = "document.querySelectorAll('.marks, .zoom').forEach((each) => {{ each.style.visibility = '{}'; }})"
DRAWN = """
(async () => {
  await document.querySelector(".sheet img").decode();
  for (let frame = 0; frame < 3; frame += 1) await new Promise((done) => { requestAnimationFrame(done); });
})()
"""
EMOJI = "\N{GRINNING FACE} Notes of the day. "


def typed(columns: int = 1, *, table: bool = False) -> bytes:
    """A page with the quote, which takes several lines, amid other text."""
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    others = " ".join(f"Ship {number} leaves berth {number + 100} at seven." for number in range(30))
    if table:
        with pdf.table() as rows:
            for left, right in (("Rule", "Words"), ("Keys", QUOTE), ("Ships", others[:200])):
                row = rows.row()
                row.cell(left)
                row.cell(right, style=FontFace(color=RED) if right == QUOTE else None)
    elif columns == 1:
        write_quote(pdf, lambda text: pdf.write(6, text), f"{others} ", f" {others}")
    else:
        with pdf.text_columns(ncols=2, gutter=10, text_align="L") as column:
            write_quote(pdf, column.write, f"{others} {others} {others}\n\n", f" {others} {others}")
    return bytes(pdf.output())


def write_quote(pdf: FPDF, write: Callable[[str], object], before: str, after: str) -> None:
    """The quote in red, amid black text."""
    write(before)
    pdf.set_text_color(*RED)
    write(QUOTE)
    pdf.set_text_color(0)
    write(after)


def changed(content: bytes, degrees: int = 0, crop: tuple[float, float, float, float] | None = None) -> bytes:
    """The page, turned clockwise and cut to a box of points from its lower left corner."""
    writer = PdfWriter()
    page = PdfReader(io.BytesIO(content)).pages[0]
    if crop:
        page.cropbox = RectangleObject(crop)
    writer.add_page(page.rotate(degrees))
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


PAGES: dict[str, Callable[[], bytes]] = {
    "lines": typed,
    "turned by 90": lambda: changed(typed(), 90),
    "turned by 180": lambda: changed(typed(), 180),
    "turned by 270": lambda: changed(typed(), 270),
    "cropped": lambda: changed(typed(), crop=(20, 400, 580, 830)),
    "cropped and turned": lambda: changed(typed(), 90, crop=(20, 400, 580, 830)),
    "two columns": lambda: typed(2),
    "table": lambda: typed(table=True),
}


def quoting(asked: ChatRequest) -> Reply:
    return Reply(text=f"{QUOTE} [S1]") if asked.sources and not asked.schema_asked else default_reply(asked)


async def answered(visit: Visit, file: Path) -> dict[str, object]:
    """The citation of an answer about the file, whose marker was clicked."""
    visit.model.responder = quoting
    await visit.attach(file)
    await visit.ask("Who keeps the key?")
    citation: dict[str, object] = visit.get(f"/conversations/{await visit.conversation()}")["turns"][0][
        "citations"
    ][0]
    assert citation["verified"]
    await visit.click("button.marker")
    return citation


def width_of(window: int, scale: float, percent: int) -> int:
    """The picture that is asked for: the least that is sharp in the panel."""
    wanted = min(window, 640) * scale * percent / 100
    return next((each for each in WIDTHS if each >= wanted), WIDTHS[-1])


async def zoom_to(visit: Visit, percent: int, width: int) -> None:
    await visit.click(".zoom button:nth-child(2)")
    for _ in range(7):
        if await visit.page.value(f"Boolean(document.querySelector('.sheet.zoom-{percent}'))"):
            break
        side = "last" if percent > 100 else "first"
        await visit.page.value(f"document.querySelector('.zoom button:{side}-child').click()")
        await visit.page.value("new Promise((done) => requestAnimationFrame(() => done(1)))")
    # A picture that is decoded changes nothing in the document.
    drawn = f"document.querySelector('.sheet img')?.naturalWidth === {width}"
    wait = f"async () => {{ while (!({drawn})) await new Promise((done) => {{ setTimeout(done, 20); }}); }}"
    await visit.page.value(f"({wait})()")
    await visit.page.until(LOADED)


async def compare(visit: Visit, rectangles: list[dict[str, float]]) -> int:
    """All rectangles are within a pixel of their places on the picture; returns the picture's own width."""
    shapes, sheet, frame, (width, height) = await visit.page.value(PLACES)
    assert abs(sheet["width"] / sheet["height"] - width / height) < 0.01
    assert len(shapes) == len(rectangles) > 0
    for shape, known in zip(shapes, rectangles, strict=True):
        for side, start, size in (
            ("left", "left", "width"),
            ("right", "left", "width"),
            ("top", "top", "height"),
            ("bottom", "top", "height"),
        ):
            assert abs(sheet[start] + known[side] * sheet[size] - shape[side]) < 1, (side, known)
    assert frame["top"] - 1 <= shapes[0]["top"] <= frame["bottom"]
    assert shapes[0]["left"] <= frame["right"]
    assert shapes[0]["right"] >= frame["left"]
    return int(width)


async def words_are_marked(visit: Visit, scale: float) -> None:
    """In the window, red letters fill each rectangle from end to end, and there are none beyond it."""
    shapes, sheet, frame, (natural, _) = await visit.page.value(PLACES)
    await visit.page.value(HIDDEN.format("hidden"))
    await visit.page.value(DRAWN)
    window = Image.open(io.BytesIO(await visit.page.picture())).convert("RGB")
    await visit.page.value(HIDDEN.format(""))
    left, top, right, bottom = (round(frame[side] * scale) for side in ("left", "top", "right", "bottom"))
    pixels = numpy.asarray(window.crop((left, top, right, bottom))).astype(int)
    red = pixels[..., 0] - pixels[..., 1] > REDDER
    assert red.any(), "the quote is in view"
    beyond, edge = red.copy(), round(max(2, BLEED * sheet["width"] / natural) * scale)
    for shape in shapes:
        sides = [shape[side] * scale for side in ("left", "top", "right", "bottom")]
        x, y, end, below = (round(at - edge) for at, edge in zip(sides, (left, top) * 2, strict=True))
        beyond[max(y - edge, 0) : max(below + edge, 0), max(x - edge, 0) : max(end + edge, 0)] = False
        inside = red[max(y, 0) : max(below, 0), max(x, 0) : max(end, 0)]
        if inside.size == 0 or x < 0 or y < 0 or end > right - left or below > bottom - top:
            continue
        # On a turned page lines run from top to bottom.
        line = inside if inside.shape[1] >= inside.shape[0] else inside.T
        filled = numpy.flatnonzero(line.any(axis=0))
        # The first letters of small print are pale.
        end_of_line = max(line.shape[0], round(SMALL_PRINT * scale))
        assert len(filled), "a rectangle has no letter of the quote"
        assert filled[0] <= end_of_line
        assert line.shape[1] - filled[-1] <= end_of_line
    assert not beyond.any(), "letters of the quote are not marked"


@pytest.mark.campaign
@pytest.mark.parametrize("kind", PAGES)
async def test_a_quote_is_marked_within_a_pixel(visit: Visit, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "rules.pdf"
    file.write_bytes(PAGES[kind]())
    citation = await answered(visit, file)
    rectangles = citation["rectangles"]
    assert isinstance(rectangles, list)
    widths = set()
    for width, height, scale in WINDOWS:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        await visit.page.call("Emulation.setDeviceMetricsOverride", **size)
        await visit.page.press("Escape")
        await visit.click("button.marker")
        await visit.page.until(LOADED)
        for percent in ZOOMS:
            await zoom_to(visit, percent, width_of(width, scale, percent))
            widths.add(await compare(visit, rectangles))
            await words_are_marked(visit, scale)
    assert widths == set(WIDTHS)


def word() -> bytes:
    document, buffer = docx.Document(), io.BytesIO()
    for text in (EMOJI, f"{EMOJI}{QUOTE}", "The quay is closed."):
        document.add_paragraph(text)
    document.save(buffer)
    return buffer.getvalue()


def sheet() -> bytes:
    workbook, buffer = openpyxl.Workbook(), io.BytesIO()
    workbook.worksheets[0]["A1"], workbook.worksheets[0]["B2"] = EMOJI, QUOTE
    workbook.save(buffer)
    return buffer.getvalue()


def mail() -> bytes:
    head = "Subject: Keys\nFrom: Ada <ada@example.com>\nContent-Type: text/plain; charset=utf-8\n"
    return f"{head}Content-Transfer-Encoding: 8bit\n\n{EMOJI}\n{QUOTE}\nThe quay is closed.\n".encode()


TEXTS: dict[str, Callable[[], bytes]] = {"rules.docx": word, "rules.xlsx": sheet, "rules.eml": mail}


@pytest.mark.campaign
@pytest.mark.parametrize("name", TEXTS)
async def test_a_quote_is_marked_in_a_text_after_an_emoji(visit: Visit, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(TEXTS[name]())
    citation = await answered(visit, file)
    await visit.sees(".page-text mark")
    start, end = citation["start"], citation["end"]
    address = f"/conversations/{await visit.conversation()}/documents/{citation['document_id']}/pages/1"
    text = visit.get(address)["text"]
    assert await visit.texts(".page-text mark") == [text[start:end]]
    assert " ".join(text[start:end].split()) == QUOTE
    assert text.index("\N{GRINNING FACE}") < int(str(start))
