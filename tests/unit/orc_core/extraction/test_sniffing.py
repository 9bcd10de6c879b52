"""Accepted files: the content decides, and the ending of the name is a hint."""

import pytest

from orc_core.errors import UnreadableDocument, UnsupportedDocument
from orc_core.extraction.formats import Format
from tests.unit.orc_core.extraction.samples import Read, archive, pdf

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("a.pdf", b"<!DOCTYPE html><html>text</html>", "holds a web page"),
        ("a.pdf", PNG, "holds an image"),
        ("a.html", PNG, "holds an image"),
        ("a.docx", b"plain text", "is not one"),
        ("a.docx", COMPOUND, "holds an older Office file"),
        ("a.pptx", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.csv", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.rtf", b"plain text", "is not one"),
        ("a.rtf", b"<html></html>", "holds a web page"),
        ("a.odt", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.xlsx", COMPOUND, "holds an older Office file"),
        ("a.eml", PNG, "holds an image"),
    ],
)
async def test_content_that_contradicts_the_name_is_refused(
    read: Read, file_name: str, content: bytes, words: str
) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read(file_name, content)


HEIC = b"\0\0\0\x18ftypheic" + bytes(60)
WORD = COMPOUND + "WordDocument\0".encode("utf-16-le") + bytes(400)


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("a.doc", b"text", "Save the file as .docx"),
        ("a.PPT", b"text", "Save the file as .pptx"),
        ("file_1_id", WORD, "Save the file as .docx"),
        ("a.svg", b"<svg>text</svg>", "holds XML"),
        ("file_1_id", b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>', "XML"),
        ("a.zip", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.heic", HEIC, "none of the supported formats"),
        ("a.pdf.exe", b"MZ\x90\0" + bytes(200), "none of the supported formats"),
        ("file_1_id", bytes(range(1, 256)) * 8, "is not text"),
        ("file_1_id", b"\x7fELF" + bytes(200), "holds a program"),
    ],
)
async def test_other_formats_are_refused_with_advice(
    read: Read, file_name: str, content: bytes, words: str
) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read(file_name, content)


SENTENCE = "The warranty period is 37 months."
MAIL = f"Received: from a by b\r\nSubject: Warranty\r\n\r\n{SENTENCE}\r\n".encode()
PAGE = f"<!-- saved --><!DOCTYPE html><html><body><p>{SENTENCE}</p><script>x()</script></body></html>"


@pytest.mark.parametrize(
    "file_name", ["file_1_id", "report.v2", "a.txt", "a.docx", "a.msg", "a.png", "a.doc"]
)
async def test_a_pdf_is_read_under_any_name(read: Read, file_name: str) -> None:
    extraction = await read(file_name, pdf(SENTENCE))
    assert (extraction.media_type, extraction.pages[0].text) == (Format.PDF.media_type, SENTENCE)


@pytest.mark.parametrize(
    ("file_name", "content", "found"),
    [
        ("file_1_id", b"\n junk \n" + pdf(SENTENCE), Format.PDF),
        ("a.md", b"{\\rtf1 " + SENTENCE.encode() + b"}", Format.RTF),
        ("a.doc", b"{\\rtf1 " + SENTENCE.encode() + b"}", Format.RTF),
        ("file_1_id", MAIL, Format.EML),
        ("file_1_id", PAGE.encode(), Format.HTML),
        ("file_1_id", PAGE.encode("utf-16"), Format.HTML),
        ("file_1_id", SENTENCE.encode(), Format.TEXT),
        ("file_1_id", SENTENCE.encode("utf-16-le"), Format.TEXT),
        ("a.log", f"A file begins with %PDF-1.7. {SENTENCE}".encode(), Format.TEXT),
        ("note", f"To: all\nDate: today\nPlace: the quay\n\n{SENTENCE}".encode(), Format.TEXT),
        ("README", f'<h1 align="center">Quay</h1>\n\n{SENTENCE}'.encode(), Format.TEXT),
        ("a.txt", PAGE.encode(), Format.TEXT),
        ("a.csv", f"term,words\n1,{SENTENCE}".encode(), Format.CSV),
        ("a.md", f"# Quay\n\n{SENTENCE}".encode(), Format.MARKDOWN),
    ],
)
async def test_the_content_decides_and_the_name_where_it_cannot(
    read: Read, file_name: str, content: bytes, found: Format
) -> None:
    extraction = await read(file_name, content)
    assert extraction.media_type == found.media_type
    assert SENTENCE in extraction.pages[0].text
    assert "Place" in extraction.pages[0].text or file_name != "note"


@pytest.mark.parametrize("file_name", ["a.docx", "a.pptx", "a.xlsx", "a.xls"])
async def test_an_encrypted_office_file_is_refused_with_that_reason(read: Read, file_name: str) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read(file_name, COMPOUND + "EncryptedPackage".encode("utf-16-le") + bytes(400))
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize(
    "file_name", ["A.PDF", "..pdf", "naïve – 文書.pdf", "\u202efdp.exe.pdf", "<img src=x>.pdf"]
)
async def test_only_the_extension_of_the_name_matters(read: Read, file_name: str) -> None:
    extraction = await read(file_name, pdf("The warranty period is 37 months."))
    assert extraction.pages[0].text == "The warranty period is 37 months."
