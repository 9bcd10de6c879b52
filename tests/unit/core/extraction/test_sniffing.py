"""Accepted files: the content decides, and the name must agree."""

import pytest

from core.errors import UnreadableDocument, UnsupportedDocument
from tests.unit.core.extraction.samples import Read, archive, pdf

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("a.pdf", b"<!DOCTYPE html><html>text</html>", "holds a web page"),
        ("a.pdf", PNG, "holds an image"),
        ("a.txt", pdf("text"), "holds a PDF"),
        ("a.html", PNG, "holds an image"),
        ("a.docx", pdf("text"), "holds a PDF"),
        ("a.docx", b"plain text", "is not one"),
        ("a.docx", COMPOUND, "holds an older Office file"),
        ("a.docx", archive({"xl/workbook.xml": ""}), "holds a .xlsx file"),
        ("a.pptx", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.csv", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.rtf", b"plain text", "is not one"),
        ("a.rtf", b"<html></html>", "holds a web page"),
        ("a.txt", b"{\\rtf1 text}", "holds an RTF file"),
        ("a.odt", archive({"readme.txt": "text"}), "holds a zip archive"),
        ("a.xlsx", COMPOUND, "holds an older Office file"),
        ("a.msg", pdf("text"), "holds a PDF"),
        ("a.eml", PNG, "holds an image"),
    ],
)
async def test_content_that_contradicts_the_name_is_refused(
    read: Read, file_name: str, content: bytes, words: str
) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read(file_name, content)


@pytest.mark.parametrize(
    ("file_name", "words"),
    [
        ("a.doc", "Save the file as .docx"),
        ("a.PPT", "Save the file as .pptx"),
        ("a.svg", "type .svg"),
        ("a.zip", "type .zip"),
        ("a.heic", "type .heic"),
        ("README", "without an extension"),
        ("a.pdf.exe", "type .exe"),
    ],
)
async def test_other_formats_are_refused_with_advice(read: Read, file_name: str, words: str) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read(file_name, b"<svg>text</svg>")


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
