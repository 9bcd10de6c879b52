"""PDF files are written in a child process that is confined, and whose end is an error of ours."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pypdfium2
import pytest

from core.errors import OrcError, Unavailable
from orc.exports.rendering import PdfRenderer, TooMuch, line_of
from orc.exports.tree import CitedSource, Entry, Heading

pytestmark = pytest.mark.slow

HEADING = Heading("Leave", "c-1", "2026-11-23 09:12 UTC", 1)
SOURCE = CitedSource(1, "a.pdf", 5, "Every employee has 28 days.", "same words")


async def entries(count: int = 1) -> AsyncIterator[Entry]:
    for number in range(count):
        yield Entry(number + 1, "2026-11-23 09:12 UTC", "How long?", [], "28 days. \ud800", "", [SOURCE])


async def test_a_file_is_written_in_a_child(tmp_path: Path) -> None:
    content = await PdfRenderer(str(tmp_path)).render(HEADING, entries())
    with pypdfium2.PdfDocument(content) as document:
        text = " ".join(document[0].get_textpage().get_text_range().split())
    assert "28 days. ? [1] a.pdf, page 5: same words Every employee has 28 days." in text


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os; os.kill(os.getpid(), 9)", TooMuch),
        ("import os; os.kill(os.getpid(), 24)", TooMuch),
        ("""print('{"error": "MemoryError"}')""", TooMuch),
        ("""print('{"error": "ValueError"}')""", OrcError),
        ("sys.exit(1)", OrcError),
        ("""print('{"bytes": 100, "boxes": 0}'); print('short')""", OrcError),
        ("print('garbage')", OrcError),
        ("print('[]')", OrcError),
    ],
)
async def test_the_end_of_a_child_is_an_error_of_ours(code: str, error: type[Exception]) -> None:
    worker = (sys.executable, "-c", f"import sys; sys.stdin.buffer.read(); {code}")
    with pytest.raises(error):
        await PdfRenderer("", worker=worker).render(HEADING, entries())


READING = """
import orc.exports.pdf_child as child
isolate, isolated = child.isolate, []
child.isolate = lambda *sources: isolated.append(isolate(*sources))
def read(source, folder):
    if isolated == [False] and {is_secret}:
        raise PermissionError("this kernel has no Landlock")
    return open({path!r}, "rb").read(), 0
child._write = read
child.main()
"""


async def test_the_child_reads_fonts_and_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "fonts").mkdir()
    for name, is_secret in (("fonts/a.ttf", False), ("secret.txt", True)):
        (tmp_path / name).write_bytes(b"%PDF-")
        code = READING.format(path=str(tmp_path / name), is_secret=is_secret)
        renderer = PdfRenderer(str(tmp_path / "fonts"), worker=(sys.executable, "-c", code))
        if is_secret:
            with pytest.raises(OrcError):
                await renderer.render(HEADING, entries())
        else:
            assert await renderer.render(HEADING, entries()) == b"%PDF-"


async def test_nothing_is_written_after_the_renderer_was_closed() -> None:
    renderer = PdfRenderer("")
    await renderer.close()
    with pytest.raises(Unavailable):
        await renderer.render(HEADING, entries())


def test_lines_to_the_child_are_json_on_one_line() -> None:
    line = line_of({"text": "a\nb \u2028 中"})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"text": "a\nb \u2028 中"}
