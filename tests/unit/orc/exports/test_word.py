"""A Word file of an export: answers keep their form, and nothing in them becomes a part of the export."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from io import BytesIO

import docx
import pytest
from docx.document import Document

from devkit.exported import heading_of, source_of
from orc.exports.service import Renderer
from orc.exports.tree import CitedSource, Entry, Quote, mark
from orc.exports.word import WordWriter
from orc_core.infra.sandbox import Sandbox

HEADING = heading_of("Leave")
SOURCE = source_of(1, "a.pdf", "page 5", "Every employee\nhas 28 days.", "same words")
ANSWER = """\
## Days

Employees have **28 days** and *no* `code` [1].

3. third
   - inside
4. fourth

| Group | Days |
| --- | --- |
| crane<br>drivers | 30 |

> quoted

```
x = 1
```

[a link](https://a.example/x) <b>raw</b> ![picture](https://a.example/p.png)
"""


def written(**fields: object) -> Document:
    writer = WordWriter(HEADING)
    given = {"number": 1, "asked_at": "2026-11-23 09:12 UTC", "question": "How long?", **fields}
    writer.write(Entry(**given))  # type: ignore[arg-type]
    return docx.Document(BytesIO(writer.finish()))


def lines(document: Document) -> list[tuple[str, str]]:
    return [(each.style.name if each.style else "", each.text) for each in document.paragraphs]


def test_an_answer_keeps_its_form() -> None:
    document = written(answer=ANSWER, sources=[SOURCE], documents=["a.pdf"])
    assert lines(document) == [
        ("Title", "Leave"),
        ("Subtitle", "Exported from Orc on Nov 23, 2026, 09:12 UTC: 1 question."),
        ("Heading 1", "How long?"),
        ("Caption", "1. 2026-11-23 09:12 UTC · About: a.pdf"),
        ("Heading 3", "Days"),
        ("Normal", "Employees have 28 days and no code [1]."),
        ("List Paragraph", "3. third"),
        ("List Paragraph", "• inside"),
        ("List Paragraph", "4. fourth"),
        ("Quote", "quoted"),
        ("Normal", "x = 1"),
        ("Normal", "a link (https://a.example/x) <b>raw</b> picture"),
        ("List Paragraph", "[1] a.pdf, page 5: same words"),
        ("Quote", "Every employee has 28 days."),
    ]
    [table] = document.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["Group", "Days"],
        ["crane\ndrivers", "30"],
    ]
    marked = {run.text: (run.bold, run.italic) for each in document.paragraphs for run in each.runs}
    assert (marked["28 days"], marked["no"]) == ((True, None), (None, True))
    indents = [each.paragraph_format.left_indent for each in document.paragraphs[6:9]]
    assert indents[0] == indents[2] and indents[1] == 2 * indents[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (f"28 days {mark(1)}.\n\n{mark(1)}: handbook.pdf", ["28 days [1].", "[1]: handbook.pdf"]),
        (f"28 days {mark(7)}(handbook.pdf){mark(1)}", ["28 days [7](handbook.pdf)[1]"]),
        (f"**28 days.**{mark(1)}", ["28 days.[1]"]),
        (f"`x {mark(1)}` <https://a.example/\u00fc>", ["x [1] https://a.example/\u00fc"]),
        ("[28](https://a.example/\u00fc)", ["28 (https://a.example/\u00fc)"]),
        ("`<br>` and `<br/>`", ["<br> and <br/>"]),
    ],
)
def test_numbers_of_citations_code_and_addresses_stay_as_they_are(answer: str, shown: list[str]) -> None:
    assert [text for _, text in lines(written(answer=answer))][4:] == shown


def test_the_file_has_the_time_of_the_export() -> None:
    """In UTC, which its properties name without a zone."""
    before = datetime.now(UTC).replace(microsecond=0)
    properties = written().core_properties
    assert properties.created and properties.modified == properties.created
    assert before <= properties.created.replace(tzinfo=UTC) <= datetime.now(UTC)


def test_a_page_has_its_number_once_and_each_quote_its_verdict() -> None:
    quotes = [Quote("same words", "28 days."), Quote("in other words", "Four weeks.")]
    document = written(answer="Long. [1]", sources=[CitedSource(1, "a.pdf", "page 5", quotes)])
    assert lines(document)[-4:] == [
        ("List Paragraph", "[1] a.pdf, page 5: same words"),
        ("Quote", "28 days."),
        ("List Paragraph", "in other words"),
        ("Quote", "Four weeks."),
    ]


def test_each_item_of_a_list_has_its_mark_whatever_it_begins_with() -> None:
    answer = "1. ```\n   make\n   ```\n2. > quoted\n3.\n4. <https://a.example>\n"
    assert lines(written(answer=answer))[4:] == [
        ("List Paragraph", "1. "),
        ("List Paragraph", "make"),
        ("List Paragraph", "2. "),
        ("Quote", "quoted"),
        ("List Paragraph", "3. "),
        ("List Paragraph", "4. https://a.example"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["\x00\x0b", "\ud800", "\ufffe", "# " * 500, "> " * 3000 + "x", "| a |\n|---|\n| b | c |", "[x](<\ty>)"],
)
def test_no_text_breaks_the_file(text: str) -> None:
    document = written(question=text, answer=text, note=text, documents=[text], sources=[SOURCE])
    assert [style for style, _ in lines(document)].count("Heading 1") == 1
    assert ("Quote", "Every employee has 28 days.") in lines(document)


async def entries() -> AsyncIterator[Entry]:
    yield Entry(1, "2026-11-23 09:12 UTC", "How long?", [], ANSWER, "", [SOURCE])


@pytest.mark.slow
async def test_the_file_is_written_in_a_confined_child(box: Sandbox) -> None:
    content = await Renderer(box, "").word(HEADING, entries())
    assert ("Heading 1", "How long?") in lines(docx.Document(BytesIO(content)))
