"""XLS, the format of Excel until 2007. `rates.xls` was made with xlwt, which is no longer maintained."""

import struct
from pathlib import Path

import pytest

from devkit.shared_data import SHARED, needs_shared
from orc_core.errors import UnreadableDocument, UnsupportedDocument
from tests.unit.orc_core.extraction.samples import Read
from tests.unit.orc_core.extraction.samples_compound import compound

RATES = Path(__file__).with_name("rates.xls").read_bytes()


def record(number: int, content: bytes) -> bytes:
    return struct.pack("<2H", number, len(content)) + content


async def test_xls_values_are_shown_as_in_xlsx(read: Read) -> None:
    extraction = await read("a.xls", RATES)
    assert extraction.media_type == "application/vnd.ms-excel"
    assert [(page.label, page.text) for page in extraction.pages] == [
        (
            "Rates",
            "Date | Product | Rate | Active | Opens | Logged\n"
            "Date: 2024-02-29 | Product: Größe 文 | Rate: 4.25% | Active: TRUE | Opens: 07:30:00 | "
            "Logged: 2024-03-01 13:45:00\n"
            "Date: 1999-12-31 | Product: Deposit | Rate: 1250.1 | Active: FALSE\n"
            "Product: #DIV/0!",
        ),
        ("Empty", ""),
    ]


async def test_a_password_is_reported_as_the_reason(read: Read) -> None:
    begin = record(0x809, struct.pack("<4H2I", 0x600, 5, 0, 0, 0, 0))
    locked = begin + record(0x2F, bytes(54)) + record(0x0A, b"")
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.xls", compound({"Workbook": locked}))
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
async def test_a_truncated_xls_file_is_damaged(read: Read, share: float) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.xls", RATES[: int(len(RATES) * share)])
    assert caught.value.code == "corrupt"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<?xml version='1.0'?><Workbook/>", "holds a web page or XML"),
        (compound({"WordDocument": b"text"}), r"type \.doc cannot be read"),
        (b"one\ntwo\n", "is not one"),
    ],
)
async def test_other_content_named_xls_is_refused(read: Read, content: bytes, words: str) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read("a.xls", content)


@needs_shared
async def test_the_same_workbook_reads_the_same_in_both_formats(read: Read) -> None:
    folder = SHARED / "data" / "open" / "formats"
    old = await read("test.xls", (folder / "test.xls").read_bytes())
    new = await read("test.xlsx", (folder / "test.xlsx").read_bytes())
    assert old.pages == new.pages
