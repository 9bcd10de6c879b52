"""Scans: PDFs and images that contain text as pixels."""

import io
from itertools import islice
from typing import Any

import pypdfium2
from fpdf import FPDF
from PIL import Image

from tests.unit.orc_core.extraction.samples import pdf

LEASE = "The notice period is three months.\nRent is due on 15 March 2024: EUR 1,250.00."
QUAY = "The quay opens at seven.\nBring form 4711."


def picture(text: str, *, dpi: int = 150) -> Image.Image:
    """An image of a page with this text at the top."""
    with pypdfium2.PdfDocument(pdf(text)) as document:
        image: Image.Image = document[0].render(scale=dpi / 72).to_pil().convert("L")
    return image.crop((0, 0, image.width, image.height // 4))


def image_file(form: str, *texts: str, **options: Any) -> bytes:
    """An image of the first text, and frames of the others."""
    frames = [picture(text) for text in texts]
    buffer = io.BytesIO()
    if len(frames) > 1:
        options |= {"save_all": True, "append_images": list(islice(frames, 1, None))}
    frames[0].save(buffer, form, **options)
    return buffer.getvalue()


def scan(*pages: str, typed: str = "") -> bytes:
    """A PDF of pictures of these texts, blank where a text is empty; the last page is `typed`."""
    document = FPDF()
    document.set_font("helvetica", size=11)
    for text in pages:
        document.add_page()
        if text:
            document.image(picture(text), x=0, y=0, w=210)
    if typed:
        document.add_page()
        document.multi_cell(0, 6, typed)
    return bytes(document.output())
