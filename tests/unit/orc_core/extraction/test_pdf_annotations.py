"""Fields, notes and attached files of PDFs."""

import io
from pathlib import Path

import numpy as np
import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    PdfObject,
    TextStringObject,
)

from orc_core.extraction import pdf as reader
from orc_core.extraction.drawing import draw_pdf_page
from orc_core.extraction.pages import Unit
from orc_core.extraction.pdf_annotations import Additions, Field, with_additions
from orc_core.extraction.reading_order import Layout
from orc_core.extraction.word_boxes import BOX_BYTES
from tests.unit.orc_core.extraction.samples import drawn_pages

ROWS = {700: "Name:", 660: "Insured:", 620: "Dangerous goods:"}
PAGE = b" ".join(b"BT /F 12 Tf 50 %d Td (%s) Tj ET" % (at, text.encode()) for at, text in ROWS.items())


def annotation(kind: str, top: int, **entries: PdfObject) -> DictionaryObject:
    edges = ArrayObject([FloatObject(edge) for edge in (200, top - 4, 320, top + 12)])
    given = {f"/{name}": value for name, value in entries.items()}
    fixed = {"/Type": NameObject("/Annot"), "/Subtype": NameObject(kind), "/Rect": edges}
    return DictionaryObject({NameObject(key): value for key, value in (fixed | given).items()})


def tick(name: str, top: int, state: str) -> DictionaryObject:
    looks = DictionaryObject({NameObject("/N"): DictionaryObject({NameObject("/On"): DictionaryObject()})})
    values: dict[str, PdfObject] = {
        "FT": NameObject("/Btn"),
        "T": TextStringObject(name),
        "V": NameObject(state),
    }
    return annotation("/Widget", top, AS=NameObject(state), AP=looks, **values)


def made(
    *annotations: DictionaryObject, attached: str = "", attached_pdf: bytes = b"", page: bytes = PAGE
) -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(drawn_pages(page))))
    added = ArrayObject([writer._add_object(each) for each in annotations])
    writer.pages[0][NameObject("/Annots")] = added
    form = DictionaryObject({NameObject("/Fields"): added})
    writer._root_object[NameObject("/AcroForm")] = writer._add_object(form)
    if attached:
        writer.add_attachment(attached, b"prices")
    if attached_pdf:
        writer.add_attachment("prices.pdf", attached_pdf)
        writer.add_attachment("damaged.pdf", b"%PDF-1.7 damaged")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def text_field(value: str, top: int, **entries: PdfObject) -> DictionaryObject:
    names: dict[str, PdfObject] = {
        "FT": NameObject("/Tx"),
        "T": TextStringObject("name"),
        "V": TextStringObject(value),
    }
    return annotation("/Widget", top, **names, **entries)


def first_page(content: bytes, source: Path) -> Unit:
    source.write_bytes(content)
    return next(iter(reader.read(source).units))


def test_filled_in_values_and_ticks_are_on_the_line_of_their_label(tmp_path: Path) -> None:
    fields = (tick("goods", 620, "/Off"), tick("insured", 660, "/On"), text_field("Gudrun Falk", 700))
    unit = first_page(made(*fields), tmp_path / "a.pdf")
    assert unit.text.split("\n") == ["Name: Gudrun Falk", "Insured: ☒", "Dangerous goods: ☐"]
    assert len(unit.boxes) == len(unit.text.split()) * BOX_BYTES


def test_choices_signatures_and_free_text_are_read(tmp_path: Path) -> None:
    """A button of a group is a box; an empty field to sign is nothing, a signed one says so."""
    choice = {"FT": NameObject("/Ch"), "Ff": NumberObject(1 << 17), "T": TextStringObject("berth")}
    chosen = annotation("/Widget", 700, V=TextStringObject("B-17"), **choice)
    of_group = tick("group", 660, "/On")
    of_group[NameObject("/Ff")] = NumberObject(1 << 15)
    signed: dict[str, PdfObject] = {"FT": NameObject("/Sig"), "V": DictionaryObject()}
    signature = annotation("/Widget", 620, T=TextStringObject("signature"), **signed)
    empty = annotation("/Widget", 560, T=TextStringObject("second"), FT=NameObject("/Sig"))
    typed = annotation("/FreeText", 500, Contents=TextStringObject("now week 17"))
    unit = first_page(made(chosen, of_group, signature, empty, typed), tmp_path / "a.pdf")
    assert unit.text.split("\n") == [
        "Name: B-17",
        "Insured: ☒",
        "Dangerous goods: (signed electronically)",
        "Note: now week 17",
    ]


def test_all_chosen_entries_of_a_list_are_read(tmp_path: Path) -> None:
    entries = [TextStringObject(each) for each in ("Crane", "Saw", "Rope")]
    choice = {"FT": NameObject("/Ch"), "Ff": NumberObject(1 << 21), "T": TextStringObject("tools")}
    chosen = annotation("/Widget", 700, Opt=ArrayObject(entries), V=ArrayObject(entries[::2]), **choice)
    assert first_page(made(chosen), tmp_path / "a.pdf").text.startswith("Name: Crane, Rope\n")


def test_a_hidden_field_is_left_out(tmp_path: Path) -> None:
    hidden = text_field("secret", 700, F=NumberObject(2))
    assert "secret" not in first_page(made(hidden), tmp_path / "a.pdf").text


def test_a_scan_with_typed_values_stays_a_scan_and_its_values_follow(tmp_path: Path) -> None:
    source = tmp_path / "a.pdf"
    source.write_bytes(made(text_field("Gudrun Falk", 700), page=b""))
    scan, values = reader.read(source).units
    assert (scan.text, scan.follows) == ("", False)
    assert values == Unit("name: Gudrun Falk", "Page 1 (fields)", follows=True)


def test_the_pages_of_attached_pdfs_follow_and_other_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.pdf"
    inner = made(attached="deeper.pdf", page=b"BT /F 12 Tf 50 700 Td (The dredger costs 18,400.) Tj ET")
    source.write_bytes(made(attached="prices.csv", attached_pdf=inner))
    page, locked, following = reader.read(source).units
    assert page.text.split("\n")[-1] == "Attached files (not read): prices.csv"
    assert following == Unit("The dredger costs 18,400.", "prices.pdf, page 1", follows=True)
    assert locked == Unit("Attached files (not read): damaged.pdf", "damaged.pdf", follows=True)
    assert not list(reader.read(source, 2).units)[1:]  # a second child does not read them again
    monkeypatch.setattr(reader, "MOST_ATTACHED", 1)
    assert [unit.label for unit in reader.read(source).units] == ["", "damaged.pdf", "Attached files"]


def test_notes_and_attached_files_are_at_the_end(tmp_path: Path) -> None:
    note = annotation("/Text", 700, Contents=TextStringObject("now week 17"), T=TextStringObject("Berit"))
    link = annotation("/Link", 700, Contents=TextStringObject("not a note"))
    unit = first_page(made(note, link, attached="prices.csv"), tmp_path / "a.pdf")
    assert unit.text.split("\n")[3:] == ["Note (Berit): now week 17", "Attached files (not read): prices.csv"]


def test_a_scan_with_an_attached_file_has_no_text(tmp_path: Path) -> None:
    assert not first_page(made(attached="prices.csv", page=b""), tmp_path / "a.pdf").text


def test_the_picture_of_a_page_shows_what_is_filled_in(tmp_path: Path) -> None:
    pixels = []
    for name, value in (("empty", ""), ("filled", "Gudrun Falk")):
        source = tmp_path / name
        looks = TextStringObject("/F 12 Tf 0 g")
        source.write_bytes(made(text_field(value, 700, DA=looks)))
        picture = draw_pdf_page(source, 1, 600)
        assert picture is not None
        pixels.append(picture.tobytes())
    assert pixels[0] != pixels[1]


def test_very_many_fields_are_listed_at_the_end() -> None:
    words = Layout(" ".join(["word"] * 1001), np.ones((1001, 4), np.int32))
    fields = [Field("name", "Falk", (0, 0, 9, 9))] * 1000
    lines = with_additions(words, Additions(fields)).text.split("\n")
    assert lines == [words.text, *["name: Falk"] * 1000]
