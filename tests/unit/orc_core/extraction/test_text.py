"""HTML, Markdown, text and CSV: sections, rows and encodings."""

import codecs
import html
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.errors import UnreadableDocument, UnsupportedDocument
from orc_core.extraction.html import to_text
from orc_core.extraction.tables import render_rows
from orc_core.extraction.text import load, read_csv
from tests.unit.orc_core.extraction.samples import Read

PAGE = """<html><head><title>Manual</title><style>p {}</style></head><body>
<p>Before <b>any</b>
heading.</p><h2>Care <i>and</i> use</h2><p>Oil it.<br>Daily.</p><script>alert(1)</script><!-- hidden -->
<table><tr><th>Part</th><th>Months</th></tr><tr><td>Pump</td><td>37</td></tr></table>
<h2>Notice</h2><ul><li>Three</li><li>months</li></ul></body></html>"""


async def test_html_is_cut_at_headings_and_has_only_visible_text(read: Read) -> None:
    extraction = await read("a.html", PAGE.encode())
    assert [(page.label, page.text) for page in extraction.pages] == [
        ("Manual", "Before any heading."),
        ("Care and use", "Care and use\nOil it.\nDaily.\nPart | Months\nPart: Pump | Months: 37"),
        ("Notice", "Notice\nThree\nmonths"),
    ]


@given(st.text(max_size=200))
def test_html_with_any_content_is_read(text: str) -> None:
    to_text(text)
    assert to_text(f"<p>{html.escape(text)}</p>x").endswith("x")


async def test_html_with_only_scripts_has_no_text(read: Read) -> None:
    assert not (await read("a.html", b"<html><script>let text = 1</script></html>")).has_text


async def test_markdown_is_cut_at_headings_outside_of_fences(read: Read) -> None:
    content = "intro\n\n# Fees #\n\n```sh\n# no heading\n```\n\n## Empty\n\n### Deep\n\n"
    content += "text\n\nUnderlined\n====\nend"
    extraction = await read("a.md", content.encode())
    assert [(page.label, page.text.split("\n")[0]) for page in extraction.pages] == [
        ("", "intro"),
        ("Fees", "# Fees #"),
        ("Deep", "## Empty"),
        ("Underlined", "Underlined"),
    ]
    assert "# no heading" in extraction.pages[1].text


async def test_form_feeds_are_pages_and_long_text_is_cut_between_paragraphs(read: Read) -> None:
    long = "\n\n".join(["A sentence of words. " * 10] * 100)
    extraction = await read("a.txt", f"first\fsecond\f{long}".encode())
    assert [page.text for page in extraction.pages[:2]] == ["first", "second"]
    assert all(len(page.text) <= 6000 and page.text.endswith("words.") for page in extraction.pages[2:])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
async def test_csv_rows_have_column_names(read: Read, delimiter: str) -> None:
    rows = [["Name", "City", "Years"], ["Ann", '"Bonn, north"', "30"], ["Bob", "", "5"]]
    content = "\r\n".join(delimiter.join(row) for row in rows)
    extraction = await read("a.csv", content.encode())
    assert extraction.pages[0].text == (
        "Name | City | Years\nName: Ann | City: Bonn, north | Years: 30\nName: Bob | Years: 5"
    )


async def test_a_list_of_names_and_values_has_no_header(read: Read) -> None:
    extraction = await read("a.csv", b"Owner,Ann\nCity,Bonn\n")
    assert extraction.pages[0].text == "Owner | Ann\nCity | Bonn"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("Net,$,(1.4,),$138", "Year: Net | 2020: $(1.4) | $138"),
        ("Rate,5,%,(3,)%", "Year: Rate | 2020: 5% | 2019: (3)%"),
        ("Fees,$,-,$,7", "Year: Fees | 2020: $- | 2019: $7"),
        ("Notes,(a,),$,x", "Year: Notes | 2020: (a | ) | 2019: $ | x"),
    ],
)
def test_signs_in_separate_columns_join_their_numbers(row: str, text: str) -> None:
    rows = ["Year", "2020", "", "2019", ""], row.split(",")
    assert list(render_rows(rows, header=1))[1] == text


@pytest.mark.parametrize(
    ("names", "row", "text"),
    [
        ("Item,Unit,Value", "Interest rate 2020,%,5.4", "Item: Interest rate 2020 | Unit: % | Value: 5.4"),
        ("Year,Unit,Value", "2020,%,5.4", "Year: 2020 | Unit: % | Value: 5.4"),
        ("Gas,Unit,Value", "CO2,%,5.4", "Gas: CO2 | Unit: % | Value: 5.4"),
        ("Item,Currency,Year", "Rent,$,2019", "Item: Rent | Currency: $ | Year: 2019"),
    ],
)
def test_signs_in_columns_with_names_stay_there(names: str, row: str, text: str) -> None:
    assert list(render_rows([names.split(","), row.split(",")], header=1))[1] == text


async def test_csv_is_cut_between_rows(read: Read) -> None:
    content = "id,name,note\n" + "".join(f"{number},n{number},x\n" for number in range(2000))
    extraction = await read("a.csv", content.encode())
    assert len(extraction.pages) > 5
    assert all(page.text.startswith("id") and len(page.text) <= 6000 for page in extraction.pages)


def test_the_lines_of_a_csv_are_in_memory_once(tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").write_text("1;2\n" * 10_000)
    kept = load(file).split("\n")
    tracemalloc.start()
    read_csv(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * (sys.getsizeof(kept) + sum(map(sys.getsizeof, kept)))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "cp1252"]
)
async def test_text_is_read_in_its_encoding(read: Read, encoding: str) -> None:
    text = "Die Kündigungsfrist beträgt drei Monate und kostet 10 €. Größe: 5 µm."
    assert (await read("a.txt", text.encode(encoding))).pages[0].text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "El niño comió piña à la crème – 12 €"),
        ("cp932", "名前,年齢,住所\n佐藤太郎,三十,東京\n三木英子,二十五,大阪"),
        ("cp1251", "Москва столица России и крупнейший город страны"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy v květnu"),
        ("gb18030", "合同期限为三年，自双方签字之日起计算。"),
    ],
)
async def test_text_of_other_languages_is_recognised(read: Read, encoding: str, text: str) -> None:
    assert (await read("a.txt", text.encode(encoding))).pages[0].text == text


async def test_only_control_characters_and_trailing_spaces_are_removed(read: Read) -> None:
    dirty = "a\0b \t\r\nc\x07d\u00ade\x1b\rf\ufeffg  h\u0301"
    assert (await read("a.txt", dirty.encode())).pages[0].text == "ab\ncde\nfg  h\u0301"


@pytest.mark.parametrize("content", [b" \n\t \n", codecs.BOM_UTF8, b"--- *** ---"])
async def test_text_without_a_letter_is_refused_as_empty(read: Read, content: bytes) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.txt", content)
    assert caught.value.code == "empty"


async def test_binary_data_is_refused_as_text(read: Read) -> None:
    with pytest.raises(UnsupportedDocument):
        await read("a.txt", bytes(range(256)) * 100)
