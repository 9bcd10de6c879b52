"""Pictures of pages of the open documents: rectangles of quotes are on drawn words.

A campaign checks 200 quotes and draws every hostile file, the suite some of them.
"""

import io
import random
from collections.abc import Iterator
from pathlib import Path

import numpy
import numpy.typing
import pypdfium2
from PIL import Image

from devkit.shared_data import SHARED, needs_shared
from orc_core.errors import OrcError
from orc_core.extraction import pdf as reader
from orc_core.extraction.drawing import draw_pdf_page
from orc_core.extraction.extractor import PageDrawer
from orc_core.grounding.models import Rectangle
from orc_core.grounding.rectangles import rectangles
from orc_core.grounding.units import located
from orc_core.infra.sandbox import Sandbox

DOCUMENTS = SHARED / "data" / "open" / "docs"
NASTY = SHARED / "data" / "nasty"
PDF = "application/pdf"
Pixels = numpy.typing.NDArray[numpy.bool_]
TURNS = (0, 90, 180, 270)
AROUND = 0.8
"""The share of ink beyond the edges of a line, of that inside it: lines that are set close touch."""
INK = 60
"""The shade of a letter differs by so much from that of the paper."""

pytestmark = needs_shared


def turned(source: Path, number: int, by: int, target: Path) -> Path:
    """One page of a file, turned."""
    with pypdfium2.PdfDocument(source) as document, pypdfium2.PdfDocument.new() as one:
        one.import_pages(document, [number - 1])
        one[0].set_rotation((one[0].get_rotation() + by) % 360)
        one.save(target)
    return target


def letters_of(picture: Image.Image) -> Pixels:
    """Which pixels differ from the paper, whose shade most pixels have."""
    grey = numpy.asarray(picture.convert("L")).astype(int)
    paper = numpy.median(grey)
    return numpy.asarray(numpy.abs(grey - paper) > INK)


def is_on_letters(letters: Pixels, box: Rectangle, by: int) -> bool:
    """Whether letters fill the rectangle from one end of the line to the other, and end with it.

    Of a single letter or dot only some ink is expected.
    """
    height, width = letters.shape
    tall = by in (90, 270)
    turned_letters = letters.T if tall else letters
    edges = (box.left * width, box.right * width, box.top * height, box.bottom * height)
    first, last, top, bottom = map(round, (*edges[2:], *edges[:2]) if tall else edges)
    inside, thickness = turned_letters[top : bottom + 1, first : last + 1], bottom - top
    filled = numpy.flatnonzero(inside.any(axis=0))
    if not len(filled) or inside.shape[1] < 3 * thickness:
        return bool(len(filled))
    reaches = filled[0] <= thickness and inside.shape[1] - 1 - filled[-1] <= thickness
    above, below = (turned_letters[max(row, 0) : row + 2, first : last + 1] for row in (top - 3, bottom + 2))
    around = max(part.mean() if part.size else 0.0 for part in (above, below))
    return bool(reaches and around < AROUND * inside.mean())


def shifted(box: Rectangle, by: int) -> Rectangle:
    """The rectangle, moved by half the height of its line: one of its edges is amid the letters."""
    tall = by in (90, 270)
    one, other = ("left", "right") if tall else ("top", "bottom")
    half = (getattr(box, other) - getattr(box, one)) / 2
    return box.model_copy(update={one: getattr(box, one) + half, other: getattr(box, other) + half})


def quotes(most: int, folder: Path) -> Iterator[tuple[str, int, Path, list[Rectangle]]]:
    """Sentences of pages of the documents, on upright and turned pages, with their rectangles."""
    choose, found = random.Random(14), 0
    sources = sorted(DOCUMENTS.glob("*.pdf"))
    while found < most:
        source, by = sources[found % len(sources)], TURNS[found // len(sources) % len(TURNS)]
        with pypdfium2.PdfDocument(source) as document:
            number = choose.randint(1, len(document))
        single = turned(source, number, by, folder / f"{found}.pdf")
        [unit] = reader.read(single).units
        spans = [span for span in located(unit.text) if 40 <= span.end - span.start <= 300]
        if not spans:
            continue
        span = choose.choice(spans)
        boxes = rectangles(unit.text, unit.boxes, span.start, span.end)
        found += 1
        yield f"{source.name} page {number}: {unit.text[span.start : span.end]}", by, single, boxes


def test_rectangles_of_open_documents_are_on_letters(full_size: bool, tmp_path: Path) -> None:
    astray, elsewhere, total = [], 0, 0
    for name, by, source, boxes in quotes(200 if full_size else 8, tmp_path):
        picture = draw_pdf_page(source, 1, 1600)
        assert picture is not None
        letters = letters_of(picture)
        total += len(boxes)
        if not boxes or not all(is_on_letters(letters, box, by) for box in boxes):
            astray.append(f"{name} (turned by {by})")
        elsewhere += sum(not is_on_letters(letters, shifted(box, by), by) for box in boxes)
    assert astray == []
    assert elsewhere > 0.5 * total, "the check sees rectangles that are elsewhere"


async def test_hostile_files_cost_their_child_only(full_size: bool) -> None:
    sandbox = Sandbox()
    drawer = PageDrawer(sandbox)
    try:
        for source in sorted(NASTY.glob("*.pdf"))[:: 1 if full_size else 30]:
            try:
                drawn = await drawer.draw(source, PDF, 1, 1200)
            except OrcError:
                continue
            assert not drawn or Image.open(io.BytesIO(drawn)).format == "WEBP", source.name
    finally:
        await sandbox.close()
