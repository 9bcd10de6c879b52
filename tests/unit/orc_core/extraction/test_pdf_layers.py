"""Layers of PDFs: what is switched off is not read."""

import io
from pathlib import Path

from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

from orc_core.extraction import pdf as reader
from tests.unit.orc_core.extraction.samples import drawn_pages

PAGE = (
    b"BT /F 12 Tf 20 150 Td (Plain) Tj ET /P << /MCID 0 >> BDC BT /F 12 Tf 20 120 Td (Tagged) Tj ET EMC "
    b"/OC /Old BDC BT /F 12 Tf 20 90 Td (Old price 85) Tj ET 19 154 m 50 154 l S EMC "
    b"/OC /New BDC BT /F 12 Tf 20 60 Td (New price 97) Tj ET EMC"
)


def layered(*off: str) -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(drawn_pages(PAGE))))
    groups = {
        name: writer._add_object(
            DictionaryObject(
                {NameObject("/Type"): NameObject("/OCG"), NameObject("/Name"): TextStringObject(name)}
            )
        )
        for name in ("Old", "New")
    }
    resources = writer.pages[0]["/Resources"]
    assert isinstance(resources, DictionaryObject)
    named = DictionaryObject({NameObject(f"/{name}"): group for name, group in groups.items()})
    resources[NameObject("/Properties")] = named
    state = DictionaryObject({NameObject("/OFF"): ArrayObject([groups[name] for name in off])})
    writer._root_object[NameObject("/OCProperties")] = DictionaryObject(
        {NameObject("/OCGs"): ArrayObject(list(groups.values())), NameObject("/D"): state}
    )
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def text_of(content: bytes, source: Path) -> list[str]:
    source.write_bytes(content)
    [page] = reader.read(source).units
    return page.text.splitlines()


def test_only_layers_that_are_on_are_read(tmp_path: Path) -> None:
    """The old one strikes `Plain` out, too."""
    source = tmp_path / "a.pdf"
    assert text_of(layered("Old"), source) == ["Plain", "Tagged", "New price 97"]
    assert text_of(layered("Old", "New"), source) == ["Plain", "Tagged"]
    assert text_of(layered(), source) == ["Tagged", "Old price 85", "New price 97"]
