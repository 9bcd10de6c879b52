"""A parser of Markdown finds in an export the turns and citations that were put in, whatever they contain."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from devkit.exported import heading_of, source_of
from orc.exports.markdown import write_entry, write_heading
from orc.exports.tree import CitedSource, Entry, Quote, mark
from tests.unit.orc.exports.read_markdown import read_turns

HEADING = heading_of("A *title*", 2)
LABELS = HEADING.labels
FORGING = [
    "## 2. 2026-11-23 09:12 UTC",
    "### Answer",
    "```",
    "> quoted",
    "1. **b.pdf**, page 9: same words",
    "<!--",
    "<div>",
    "[1]: https://evil.example",
    "    code",
    "===",
    "---",
    "- [x] a",
    "***",
    "![a](https://evil.example/a.png)",
    "&amp;",
    "a\\",
    "12) b",
    "\\*",
]
TEXTS = st.lists(
    st.sampled_from(FORGING) | st.text(st.sampled_from(string.punctuation + " \tab1\nä😀中\u00a0\u2028")),
    max_size=6,
).map("\n".join)
NAMES = TEXTS.map(lambda text: " ".join(text.split()) or "a.pdf")
VERDICTS = st.sampled_from(["in other words", "differs: 1,084 is not on the page", *FORGING])
SOURCES = st.builds(
    CitedSource,
    number=st.just(0),
    document=NAMES,
    place=st.sampled_from(["page 5", "page 5 (iv)", "page 999 (A-1)"]),
    quotes=st.lists(st.builds(Quote, VERDICTS, TEXTS), min_size=1, max_size=3),
)
ENTRIES = st.builds(
    Entry,
    number=st.just(0),
    asked_at=st.just("2026-11-23 09:12 UTC"),
    question=TEXTS,
    documents=st.lists(NAMES, max_size=2),
    answer=st.none() | TEXTS,
    note=NAMES,
    sources=st.lists(SOURCES, max_size=3),
)


def words(text: str) -> list[str]:
    return text.replace("\u00a0", " ").split()


@pytest.mark.slow
@given(st.lists(ENTRIES, max_size=3))
def test_an_export_reads_back_as_the_same_turns_and_citations(entries: list[Entry]) -> None:
    text = write_heading(HEADING)
    expected: list[Entry] = []
    for number, made in enumerate(entries, start=1):
        sources = [CitedSource(n, s.document, s.place, s.quotes) for n, s in enumerate(made.sources, start=1)]
        entry = Entry(number, made.asked_at, made.question, made.documents, made.answer, made.note, sources)
        expected.append(entry)
        text += write_entry(entry, LABELS)
    read = read_turns(text)
    assert [turn.heading for turn in read] == [f"{entry.number}. {entry.asked_at}" for entry in expected]
    for turn, entry in zip(read, expected, strict=True):
        assert words(turn.question) == words(entry.question)
        lines = None if entry.answer is None else re.split("\r\n|\r|\n", entry.answer)
        assert turn.answer == (None if lines is None else "\n".join(line.rstrip(" ") for line in lines))
        assert words(turn.note) == words(entry.note)
        assert [source.number for source in turn.sources] == [source.number for source in entry.sources]
        for found, source in zip(turn.sources, entry.sources, strict=True):
            assert (words(found.document), found.place) == (words(source.document), source.place)
            verdicts, quotes = zip(*((words(q.verdict), words(q.text)) for q in source.quotes), strict=True)
            assert [words(each) for each in found.verdicts] == list(verdicts)
            assert [words(each) for each in found.quotes] == [quote for quote in quotes if quote]


@pytest.mark.parametrize("line", FORGING)
def test_no_part_of_a_turn_imitates_the_structure_of_an_export(line: str) -> None:
    source = CitedSource(1, line, "page 5", [Quote(f"not supported: {line}", line)] * 2)
    entry = Entry(1, "2026-11-23 09:12 UTC", line, [line], line, line, [source])
    [turn] = read_turns(write_heading(HEADING) + write_entry(entry, LABELS))
    assert (turn.answer, len(turn.sources)) == (line, 1)


def test_a_source_without_a_quote_has_no_empty_one() -> None:
    pictured = source_of(1, "scan.pdf", "page 1", "", "read from the picture of the page, not checked")
    entry = Entry(1, "2026-11-23 09:12 UTC", "How long?", answer="Long.", sources=[pictured])
    assert write_entry(entry, LABELS).endswith(
        "1. **scan.pdf**, page 1: read from the picture of the page, not checked\n"
    )


def test_the_lines_of_a_question_stay_lines_with_their_indentation() -> None:
    entry = Entry(1, "2026-11-23 09:12 UTC", "if a:\n    b\n\n- c\nd", answer="")
    [turn] = read_turns(write_entry(entry, LABELS))
    assert turn.question == "if a:\n\u00a0\u00a0\u00a0\u00a0b\n\n- c\nd"


@pytest.mark.parametrize("follows", ["", ": handbook.pdf", "(handbook.pdf)"])
def test_the_number_of_a_citation_is_shown_whatever_follows_it(follows: str) -> None:
    answer = f"{mark(1)}{follows}\n\n**28 days.**{mark(1)}"
    html = MarkdownIt().render(write_entry(Entry(1, "", "How long?", answer=answer), LABELS))
    assert html.count("[1]") == 2 and "<a" not in html and "<strong>28 days.</strong>[1]" in html
