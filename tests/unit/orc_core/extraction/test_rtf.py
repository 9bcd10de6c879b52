"""RTF: characters of every code page, tables, page breaks, pictures."""

import pytest

from orc_core.errors import UnreadableDocument
from tests.unit.orc_core.extraction.samples import Read

FONTS = (
    r"{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset238 Arial CE;}{\f2\fnil\fcharset128 Mincho;}}"
)


def rtf(body: str) -> bytes:
    return rf"{{\rtf1\ansi\ansicpg1252\deff0\uc1{FONTS}{{\info{{\author Unknown}}}}\f0 {body}}}".encode(
        "latin-1"
    )


def row(*cells: str) -> str:
    ends = "".join(rf"\cellx{1000 * (number + 1)}" for number in range(len(cells)))
    return rf"\trowd{ends} " + "".join(rf"\intbl {cell}\cell " for cell in cells) + r"\row "


async def test_rtf_characters_are_read_in_every_notation(read: Read) -> None:
    body = r"caf\'e9 \f1 \'bf\'f3\'b3w\f2 \'93\'fa\'96\'7b\f0  \u8364?5 \lquote x\rquote \endash  end"
    extraction = await read("a.rtf", rtf(body))
    assert [page.text for page in extraction.pages] == ["café żółw日本 €5 ‘x’– end"]
    assert extraction.media_type == "application/rtf"


async def test_unescaped_rtf_bytes_use_the_files_code_page(read: Read) -> None:
    assert (await read("a.rtf", rtf("Stra\xdfe"))).pages[0].text == "Straße"


async def test_rtf_tables_keep_their_column_names(read: Read) -> None:
    table = row("Item", "Unit", "Price") + row("Pump", "1", "40") + row("Valve", "2", "7")
    extraction = await read("a.rtf", rtf(rf"Before.\par {table}\pard After.\par {row('x', 'y')}"))
    assert extraction.pages[0].text == (
        "Before.\nItem | Unit | Price\nItem: Pump | Unit: 1 | Price: 40\nItem: Valve | Unit: 2 | Price: 7\n"
        "After.\nx | y"
    )


async def test_a_first_cell_of_several_lines_stays_in_its_row(read: Read) -> None:
    rows = [
        ("Berth\\line name", "2025", "2026"),
        ("Bell", "340", "365"),
        (r"{\pard\intbl Crane\par}", "", "560"),
    ]
    page = (await read("a.rtf", rtf("".join(row(*each) for each in rows)))).pages[0]
    assert page.text.split("\n")[1:] == [
        "Berth name: Bell | 2025: 340 | 2026: 365",
        "Berth name: Crane | 2026: 560",
    ]


async def test_cells_cover_the_columns_above_which_they_end(read: Read) -> None:
    def ends(*places: int) -> str:
        return r"\trowd" + "".join(rf"\cellx{place}" for place in places)

    table = (
        rf"{ends(990, 3000)}\intbl Quay\cell Summer\cell\row {ends(1000, 2000, 3010)}\intbl North\cell"
        rf" 880\cell 990\cell\row {ends(1000, 3000)}\intbl South\cell closed\cell\row \pard\par"
        rf" {row('Sign', 'Red')}"
    )
    assert (await read("a.rtf", rtf(table))).pages[0].text.split("\n") == [
        "Quay | Summer",
        "Quay: North | Summer: 880 | Summer: 990",
        "Quay: South | Summer: closed",
        "",
        "Sign | Red",
    ]


async def test_text_boxes_follow_their_paragraph(read: Read) -> None:
    box = (
        r"{\shp{\*\shpinst{\sp{\sn shapeType}{\sv 202}}{\shptxt \pard\plain {\b Open} 9 to 17\par Ring.\par}}"
    )
    fallback = r"{\shprslt{\*\do{\dptxbx{\dptxbxtext\pard Open 9 to 17\par}}}}}"
    extraction = await read("a.rtf", rtf(rf"Before.{box}{fallback} Behind.\par Next.\par"))
    assert extraction.pages[0].text.split() == "Before. Behind. Open 9 to 17 Ring. Next.".split()


async def test_text_directly_behind_a_change_of_looks_is_kept(read: Read) -> None:
    extraction = await read("a.rtf", rtf(r"One.\par\pard\strike gone\strike0 kept\super 2\nosupersub\par"))
    assert extraction.pages[0].text == "One.\nkept[2]"


async def test_page_breaks_make_pages(read: Read) -> None:
    extraction = await read("a.rtf", rtf(r"One.\page Two, \\page is text.\par\pagebb Three."))
    assert [page.text for page in extraction.pages] == ["One.", "Two, \\page is text.\nThree."]


@pytest.mark.slow
async def test_rtf_images_cost_no_time_and_give_no_text(read: Read) -> None:
    """Otherwise this takes half a minute: the library parses each digit separately."""
    picture = r"{\pict\wmetafile8 " + ("0123456789abcdef" * 8 + "\n") * 300_000 + "}"
    extraction = await read("a.rtf", rtf(f"Before. {picture}After."))
    assert extraction.pages[0].text == "Before. After."


async def test_an_rtf_of_images_needs_ocr_and_a_blank_one_is_empty(read: Read) -> None:
    extraction = await read("a.rtf", rtf(r"{\pict\pngblip 89504e47}"))
    assert not extraction.has_text
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.rtf", rtf(r"\par \par"))
    assert caught.value.code == "empty"


@pytest.mark.parametrize(
    "body", ["{" * 200_000, r"\'zz\u99999999? text", r"\bin99999999999 text", "text}}}}{{"]
)
async def test_broken_rtf_files_terminate(read: Read, body: str) -> None:
    try:
        extraction = await read("a.rtf", rtf(body))
    except UnreadableDocument as error:
        assert error.code in {"corrupt", "empty"}
    else:
        assert len(extraction.pages) == 1
