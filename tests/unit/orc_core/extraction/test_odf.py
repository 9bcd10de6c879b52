"""ODT, ODS and ODP: units, tables, and hostile packages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from orc_core.errors import DocumentRejected, UnreadableDocument
from orc_core.extraction import odf as odf_reader
from orc_core.extraction.formats import Format
from orc_core.extraction.tables import Cell, grid
from tests.unit.orc_core.extraction.samples import Read, archive

pytestmark = pytest.mark.slow

NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "draw", "presentation")
)
FO = 'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}
BREAKING = (
    '<style:style style:name="B"><style:paragraph-properties fo:break-before="page"/></style:style>'
    '<style:style style:name="M" style:master-page-name="Landscape"/>'
)


def odf(
    kind: str, body: str, *, doctype: str = "", styles: str = "", members: Mapping[str, str | bytes] = {}
) -> bytes:
    media = f"application/vnd.oasis.opendocument.{KINDS[kind]}"
    content = f"<office:{KINDS[kind]}>{body}</office:{KINDS[kind]}>"
    xml = (
        f"{doctype}<office:document-content {NAMES} {FO}><office:automatic-styles>{BREAKING}"
        f"</office:automatic-styles><office:body>{content}</office:body></office:document-content>"
    )
    parts: dict[str, str | bytes] = {"mimetype": media, "content.xml": xml}
    if styles:
        parts["styles.xml"] = f"<office:document-styles {NAMES}>{styles}</office:document-styles>"
    return archive({**parts, **members})


def cells(*texts: str) -> str:
    return "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)


def table(*rows: str, name: str = "") -> str:
    inside = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return f'<table:table table:name="{name}">{inside}</table:table>'


async def test_sections_have_headings_and_tables_have_column_names(read: Read) -> None:
    rows = table(cells("Item", "Unit", "Price"), cells("Pump", "1", "40"), cells("Valve", "2", "7"))
    body = (
        '<text:h text:outline-level="1">Fees</text:h><text:p>Before the table.</text:p>'
        f"{rows}<text:section><text:list><text:list-item><text:p>After it.</text:p></text:list-item>"
        '</text:list></text:section><text:h text:outline-level="2">Notice</text:h>'
        "<text:p>Three months.</text:p>"
    )
    extraction = await read("a.odt", odf("odt", body))
    assert extraction.media_type == "application/vnd.oasis.opendocument.text"
    assert [(page.label, page.text) for page in extraction.pages] == [
        (
            "Fees",
            "Fees\nBefore the table.\nItem | Unit | Price\nItem: Pump | Unit: 1 | Price: 40\n"
            "Item: Valve | Unit: 2 | Price: 7\nAfter it.",
        ),
        ("Notice", "Notice\nThree months."),
    ]


async def test_blanks_tabs_and_line_breaks_are_kept(read: Read) -> None:
    body = '<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d<text:span>e</text:span> f</text:p>'
    assert (await read("a.odt", odf("odt", body))).pages[0].text == "a   b\tc\nde f"


async def test_a_font_of_symbols_has_its_own_name_in_a_file(read: Read) -> None:
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    face = f'<style:font-face {svg} style:name="Symbol1" svg:font-family="\'Symbol\'"/>'
    font = '<style:text-properties style:font-name="Symbol1"/>'
    look = f'<style:style style:name="S" style:family="text">{font}</style:style>'
    body = '<text:p>85 <text:span text:style-name="S">\uf0b1</text:span> 6</text:p>'
    content = odf("odt", body, styles=f"<office:font-face-decls>{face}</office:font-face-decls>{look}")
    assert (await read("a.odt", content)).pages[0].text == "85 ± 6"


async def test_a_gap_in_a_chart_is_empty(read: Read) -> None:
    gap = '<table:table-cell office:value="NaN"><text:p>NaN</text:p></table:table-cell>'
    rows = table(cells("Year", "Lake", "Fort"), cells("2024", "5", "6"), cells("2025", "7") + gap)
    assert "NaN" not in (await read("a.odt", odf("odt", rows))).pages[0].text


async def test_page_breaks_make_pages(read: Read) -> None:
    body = (
        "<text:p>One.</text:p><text:p>Two <text:soft-page-break/>three.</text:p>"
        '<text:p text:style-name="B">Four.</text:p><text:p text:style-name="M">Five.</text:p>'
    )
    extraction = await read("a.odt", odf("odt", body))
    assert [page.text for page in extraction.pages] == ["One.\nTwo", "three.", "Four.", "Five."]


async def test_notes_boxes_and_comments_are_read_but_deleted_text_is_not(read: Read) -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>source</text:p>"
    box = "<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame>"
    comment = "<office:annotation><text:p>check this</text:p></office:annotation>"
    deleted = (
        "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
    )
    claim = f"<text:p>claim{note}</text:note-body></text:note>{box}{comment} continues</text:p>"
    extraction = await read("a.odt", odf("odt", f"{deleted}{claim}<text:p>next</text:p>"))
    assert extraction.pages[0].text == "claim continues\nsource\nboxed\nComment: check this\nnext"


async def test_running_headers_come_once_and_last(read: Read) -> None:
    header = "<style:header><text:p>Contract 4711</text:p></style:header><style:footer><text:p>3</text:p>"
    page = f"<style:master-page>{header}</style:footer></style:master-page>"
    styles = f"<office:master-styles>{page * 2}</office:master-styles>"
    extraction = await read("a.odt", odf("odt", "<text:p>Body.</text:p>", styles=styles))
    assert [page.text for page in extraction.pages] == ["Body.", "Contract 4711"]


async def test_an_odt_of_images_needs_ocr(read: Read) -> None:
    extraction = await read("a.odt", odf("odt", "<text:p><draw:frame><draw:image/></draw:frame></text:p>"))
    assert not extraction.has_text
    assert extraction.pages_without_text == len(extraction.pages) == 1


def value(kind: str, shown: str, **attributes: str) -> str:
    given = "".join(f' office:{name.replace("_", "-")}="{text}"' for name, text in attributes.items())
    return f'<table:table-cell office:value-type="{kind}"{given}><text:p>{shown}</text:p></table:table-cell>'


async def test_sheets_keep_exact_values_under_their_column_names(read: Read) -> None:
    header = cells("Date", "Product", "Rate", "Active", "Logged")
    row = (
        value("date", "29.02.24", date_value="2024-02-29T00:00:00")
        + value("string", "Größe")
        + value("percentage", "4 %", value="0.0425")
        + value("boolean", "WAHR", boolean_value="true")
        + value("date", "1.3.", date_value="2024-03-01T13:45:00")
    )
    number = f"<table:table-cell/>{value('float', '1.250', value='1250.1')}{value('time', '07:30')}"
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    tail = f'<table:table-row table:number-rows-repeated="1048576">{empty}</table:table-row></table:table>'
    rates = table(header, row, number, name="Rates").replace("</table:table>", tail)
    sheets = rates + table(name="Nothing")
    extraction = await read("a.ods", odf("ods", sheets))
    assert [(page.label, page.text) for page in extraction.pages] == [
        (
            "Rates",
            "Date | Product | Rate | Active | Logged\n"
            "Date: 2024-02-29 | Product: Größe | Rate: 4.25% | Active: TRUE | Logged: 2024-03-01 13:45:00\n"
            "Product: 1250.1 | Rate: 07:30",
        ),
        ("Nothing", ""),
    ]


def test_no_cells_are_made_for_the_columns_behind_the_last_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs fill each row to its end. 8,000 rows of 16,384 cells took more time than a file has."""
    widths: list[int] = []

    def counted(rows: Iterable[list[Cell]], most: int) -> Iterator[list[str]]:
        widened = list(rows)
        widths.extend(map(len, widened))
        return grid(widened, most)

    monkeypatch.setattr(odf_reader, "grid", counted)
    behind = '<table:table-cell table:number-columns-repeated="16380"/>'
    gap = '<table:table-cell table:number-columns-repeated="2"/>'
    file = tmp_path / "a.ods"
    file.write_bytes(odf("ods", table(cells("Name", "") + behind, cells("a") + gap + cells("b") + behind)))
    [unit] = odf_reader.read_ods(file, 2**30).units
    assert (widths, unit.text) == ([1, 4], "Name\na | b")


async def test_an_empty_merged_cell_at_the_end_of_a_row_keeps_its_place_below(read: Read) -> None:
    merged = '<table:table-cell table:number-rows-spanned="2"/>'
    below = f"{cells('b')}<table:covered-table-cell/>{cells('7')}"
    sheet = table(cells("Name", "Note", "Price"), cells("a") + merged, below, cells("c", "d", "8"))
    extraction = await read("a.ods", odf("ods", sheet))
    assert "Name: b | Price: 7" in extraction.pages[0].text


@pytest.mark.slow
async def test_an_endlessly_repeated_row_is_too_much_text(read: Read) -> None:
    repeated = '<table:table-row table:number-rows-repeated="99999999">'
    sheet = table("", name="S").replace("<table:table-row>", repeated + cells("a long value" * 20))
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.ods", odf("ods", sheet))
    assert caught.value.code == "too_large"


async def test_slides_keep_their_order_titles_tables_and_notes(read: Read) -> None:
    title = '<draw:frame presentation:class="title"><draw:text-box><text:p>Prices</text:p></draw:text-box>'
    rows = table(cells("Item", "Unit", "Price"), cells("Pump", "1", "40"))
    number = '<draw:frame presentation:class="page-number"><draw:text-box><text:p>7</text:p></draw:text-box>'
    notes = "<presentation:notes><draw:frame><draw:text-box><text:p>say this</text:p></draw:text-box>"
    first = f"{title}</draw:frame><draw:frame>{rows}</draw:frame>{number}</draw:frame>{notes}</draw:frame>"
    slides = f"<draw:page>{first}</presentation:notes></draw:page><draw:page/>"
    extraction = await read("a.odp", odf("odp", slides))
    assert [(page.label, page.text) for page in extraction.pages] == [
        ("Prices", "Prices\nItem | Unit | Price\nItem: Pump | Unit: 1 | Price: 40\nNotes: say this"),
        ("", ""),
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_password_is_reported_as_the_reason(read: Read, kind: str) -> None:
    entry = "<f><encryption-data/></f>"
    with pytest.raises(UnreadableDocument) as caught:
        await read(
            f"a.{kind}", odf(kind, "", members={"META-INF/manifest.xml": f"<manifest>{entry}</manifest>"})
        )
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize("kind", KINDS)
async def test_no_external_entity_is_read(read: Read, tmp_path: object, kind: str) -> None:
    doctype = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    bodies = {
        "odt": "<text:p>text &x;</text:p>",
        "ods": table(cells("text &x;"), name="S"),
        "odp": "<draw:page><draw:frame><text:p>text &x;</text:p></draw:frame></draw:page>",
    }
    try:
        extraction = await read(f"a.{kind}", odf(kind, bodies[kind], doctype=doctype))
    except DocumentRejected:
        return
    assert "root" not in "".join(page.text for page in extraction.pages)


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (lambda: odf("odt", "<b/>" * 15_000_000), "too_much_memory"),
        (lambda: odf("odt", "", members={"Pictures/bomb.bmp": bytes(60_000_000)}), "too_much_memory"),
        (lambda: odf("odt", "<text:p>x</text:p>")[:300], "corrupt"),
        (lambda: archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "corrupt"),
        (lambda: odf("odt", "<text:span>" * 5000), "corrupt"),
    ],
)
async def test_harmful_and_broken_packages_are_refused(
    read: Read, write: Callable[[], bytes], code: str
) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.odt", write())
    assert caught.value.code == code


async def test_content_of_another_opendocument_format_is_read_as_that(read: Read) -> None:
    extraction = await read("a.odt", odf("ods", table(cells("Pump"))))
    assert extraction.media_type == Format.ODS.media_type
