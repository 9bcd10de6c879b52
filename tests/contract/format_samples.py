"""A small file for each extension that the product reads; `test_formats.py` reads them all.

A new format adds one row per extension.
"""

import io

import docx
import openpyxl
import pptx
from PIL import Image

from tests.unit.orc_core.extraction import test_email, test_epub, test_odf, test_rtf, test_xls
from tests.unit.orc_core.extraction.samples import pdf

SENTENCE = "The quay opens at seven."


def word() -> bytes:
    document = docx.Document()
    document.add_paragraph(SENTENCE)
    return saved(document)


def slides() -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes[0].text = SENTENCE
    return saved(presentation)


def sheet() -> bytes:
    workbook = openpyxl.Workbook()
    workbook.worksheets[0]["A1"] = SENTENCE
    return saved(workbook)


def saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def picture(form: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (40, 30)).save(buffer, form)
    return buffer.getvalue()


def text(content: str = SENTENCE) -> bytes:
    return content.encode()


DOCUMENTS: dict[str, bytes] = {
    ".pdf": pdf(SENTENCE),
    ".docx": word(),
    ".docm": word(),
    ".pptx": slides(),
    ".pptm": slides(),
    ".xlsx": sheet(),
    ".xlsm": sheet(),
    ".xls": test_xls.RATES,
    ".odt": test_odf.odf("odt", f"<text:p>{SENTENCE}</text:p>"),
    ".odp": test_odf.odf(
        "odp",
        '<draw:page draw:name="1"><draw:frame><draw:text-box>'
        f"<text:p>{SENTENCE}</text:p></draw:text-box></draw:frame></draw:page>",
    ),
    ".ods": test_odf.odf("ods", test_odf.table(test_odf.cells(SENTENCE), name="1")),
    ".rtf": test_rtf.rtf(SENTENCE),
    ".epub": test_epub.epub(),
    ".eml": text(f"Subject: Quay\nFrom: Ada <ada@example.com>\n\n{SENTENCE}\n"),
    ".msg": test_email.msg(),
    ".html": text(f"<html><body><p>{SENTENCE}</p></body></html>"),
    ".htm": text(f"<html><body><p>{SENTENCE}</p></body></html>"),
    ".md": text(f"# Quay\n\n{SENTENCE}\n"),
    ".markdown": text(f"# Quay\n\n{SENTENCE}\n"),
    ".txt": text(),
    ".csv": text(f"place,note\nquay,{SENTENCE}\n"),
    ".tsv": text(f"place\tnote\nquay\t{SENTENCE}\n"),
}
"""Files with text."""
OTHER_SENTENCES = {".xls": "Product: Deposit"}
"""What to look for in samples that do not contain SENTENCE."""
IMAGES: dict[str, bytes] = {
    ".png": picture("PNG"),
    ".jpg": picture("JPEG"),
    ".jpeg": picture("JPEG"),
    ".tif": picture("TIFF"),
    ".tiff": picture("TIFF"),
    ".gif": picture("GIF"),
    ".bmp": picture("BMP"),
    ".webp": picture("WEBP"),
}
"""Files whose pages have no text without OCR."""
