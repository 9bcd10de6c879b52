"""PDF files are written in a child process that is confined, and whose end is an error of ours."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pypdfium2
import pytest

from devkit.exported import heading_of, source_of
from orc.exports.service import WRITE_PDF, Renderer, TooMuch, to_json
from orc.exports.tree import Entry
from orc_core.errors import OrcError, Unavailable
from orc_core.infra.sandbox import Sandbox
from tests.unit.orc_core.infra.test_landlock import needs_landlock

pytestmark = pytest.mark.slow

CHILDREN = "tests.unit.orc.exports.export_children"
HEADING = heading_of("Leave")
SOURCE = source_of(1, "a.pdf", "page 5", "Every employee has 28 days.", "same words")


async def entries(count: int = 1) -> AsyncIterator[Entry]:
    for number in range(count):
        yield Entry(number + 1, "2026-11-23 09:12 UTC", "How long?", [], "28 days. \ud800", "", [SOURCE])


async def rendered(box: Sandbox, title: str, function: str = WRITE_PDF, fonts: str = "") -> bytes:
    return await Renderer(box, fonts).pdf(replace(HEADING, title=title), entries(), function)


async def test_a_file_is_written_in_a_child(box: Sandbox, tmp_path: Path) -> None:
    content = await rendered(box, "Leave", fonts=str(tmp_path))
    with pypdfium2.PdfDocument(content) as document:
        text = " ".join(document[0].get_textpage().get_text_range().split())
    assert "28 days. ? [1] a.pdf, page 5: same words Every employee has 28 days." in text


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        ("SIGKILL", TooMuch),
        ("SIGXCPU", TooMuch),
        ("MemoryError", TooMuch),
        ("ValueError", OrcError),
        ("SIGSEGV", OrcError),
        ("1", OrcError),
        ("0", OrcError),
    ],
)
async def test_the_end_of_a_child_is_an_error_of_ours(
    box: Sandbox, ending: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await rendered(box, ending, f"{CHILDREN}:end")


@needs_landlock
async def test_the_child_reads_fonts_and_no_other_file(box: Sandbox, tmp_path: Path) -> None:
    fonts = tmp_path / "fonts"
    fonts.mkdir()
    for path in (fonts / "a.ttf", tmp_path / "secret.txt"):
        path.write_bytes(b"%PDF-")
    read = f"{CHILDREN}:read_title"
    assert await rendered(box, str(fonts / "a.ttf"), read, str(fonts)) == b"%PDF-"
    with pytest.raises(OrcError):
        await rendered(box, str(tmp_path / "secret.txt"), read, str(fonts))


async def test_nothing_is_written_after_the_sandbox_was_closed(box: Sandbox) -> None:
    await box.close()
    with pytest.raises(Unavailable):
        await rendered(box, "Leave")


def test_entries_for_the_child_are_text() -> None:
    assert json.loads(to_json({"text": "a\nb \u2028 中 \ud800"})) == {"text": "a\nb \u2028 中 ?"}
