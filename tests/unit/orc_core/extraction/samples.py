"""Small files of all formats, made with common libraries."""

import io
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Sequence

from fpdf import FPDF

from orc_core.extraction.extractor import Extraction

Read = Callable[[str, bytes], Awaitable[Extraction]]
"""Extracts the text of a file with this name and this content."""


def pdf(*pages: str) -> bytes:
    """A PDF with one page for each text; an empty text is a page without any."""
    document = FPDF()
    document.set_font("helvetica", size=11)
    for text in pages:
        document.add_page()
        document.multi_cell(0, 6, text)
    return bytes(document.output())


def raw_pdf(content: bytes, *, count: int = 1, missing: int = 0) -> bytes:
    """A hand-made PDF of one page that declares `count` pages and refers to `missing` absent ones."""
    kids = " ".join(["3 0 R", *["99 0 R"] * missing])
    page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
    font = "/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
    packed = zlib.compress(content, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        f"{page} {font}".encode(),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
    ]
    return assembled(objects)


def drawn_pages(*contents: bytes) -> bytes:
    """A PDF whose pages are drawn by these operators; /F is a font."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, content in enumerate(contents):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * index} 0 R"
        packed = zlib.compress(content)
        objects.append(f"{page} /Resources << /Font << /F 3 0 R >> >> >>".encode())
        objects.append(
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
        )
    return assembled(objects)


def assembled(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, the first of which is the catalog."""
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(body))
    return body + head + table + trailer


def archive(members: dict[str, str | bytes]) -> bytes:
    """A zip file with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def with_member(package: bytes, name: str, change: Callable[[str], str]) -> bytes:
    """The package with one of its XML parts changed; `change` gets it without the XML declaration."""
    with zipfile.ZipFile(io.BytesIO(package)) as file:
        members: dict[str, str | bytes] = {info.filename: file.read(info) for info in file.infolist()}
    content = members[name]
    assert isinstance(content, bytes)
    xml = content.decode()
    members[name] = change(xml.partition("?>")[2] if xml.startswith("<?xml") else xml)
    assert members[name] != xml
    return archive(members)


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str, *, doctype: str = "") -> bytes:
    """A DOCX of this WordprocessingML and nothing else."""
    return archive(
        {"word/document.xml": f'{doctype}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'}
    )


def paragraph(text: str, *, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
