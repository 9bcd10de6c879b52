"""The forms in which models cite are read, and what a page holds of them cites nothing."""

import pytest

from orc_core.grounding.citations import CUT_NOTE, NO_SUCH_SOURCE, WITHOUT_SOURCE, CitationWriter, as_said
from orc_core.grounding.sources import Source, fence, inert_json, read_fenced

PAGE = "The pool opens at 7. It is closed on Sundays."


def source(number: int, name: str, page: int, text: str = PAGE) -> Source:
    return Source(
        number=number, document_id=name, blob_name=name, page=page, start=0, text=text, page_text=text
    )


SOURCES = [source(1, "x.pdf", 5), source(2, "y_z.pdf", 3), source(3, "y_z.pdf", 4)]


def cited(text: str, size: int = 1) -> tuple[str, list[tuple[str, int]]]:
    writer, shown = CitationWriter(SOURCES, "When?"), ""
    for at in range(0, len(text), size):
        shown += writer.feed(text[at : at + size])
    shown += writer.finish()
    return shown, [(each.blob_name, each.page) for each in writer.citations]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "marker",
    [
        "[S1]", "[s1]", "【S1】", "[[S1]]", "[1]", "(S1)",
        "[Source 1]", "[source S1]", "[Source: S1]", "[^1]",
        '<source id="1">', '<source id="S1"/>', "[S1: file.pdf, page 5]", "[d1.p5]", "[x.pdf, p. 5]",
        '[Page 5 of Document "x.pdf"]', '[Page 5 of Document "x.pdf", not verified]', "[Seite 5, x.pdf]",
        "【1†source】", "【S1†L3-L5】", "[^1^]", "[^S1]", "[cite: 1]", "[citation:1]",
        "[Quelle: S1]", "[出典: S1]",
        "[S1 (p. 5)]", "(Source: x.pdf, p. 5)", "(x.pdf, page 5)", "(Source: S1)", "(source 1)", "(S1, p. 5)",
    ],
)  # fmt: skip
def test_each_form_cites_its_source(marker: str, size: int) -> None:
    shown, found = cited(f"The pool opens at 7 {marker}. Next.", size)
    assert found == [("x.pdf", 5)]
    assert '[Page 5 of Document "x.pdf"]' in shown
    assert shown.endswith(". Next.")


@pytest.mark.parametrize(
    "marker",
    [
        "[S1, S2]", "[1, 2]", "(S1, S2)", "[S1; source 2]", "[S1-S2]", "[S1\u2013S2]", "[S1][S2]",
        "[S1 and S2]", "[S1 und S2]", "[S1, and S2]", "[S1/S2]", "[S1 S2]", "(Sources: S1, S2)",
    ],
)  # fmt: skip
def test_lists_and_ranges_cite_each(marker: str) -> None:
    assert cited(f"The pool opens at 7 {marker}.")[1] == [("x.pdf", 5), ("y_z.pdf", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "[Note 3]", "(see 3)", "[12]", "(S9)", "[S1 and more]", "[x.pdf]", "[page 77 of x.pdf]", "(1)",
        "a < b", "[Table S1]", "(Table S1)", "(1, 2)", "(see x.pdf)", "(page 5)", "(3 of 5)", "[ref 1]",
        "(at 7: open)",
    ],
)  # fmt: skip
def test_what_names_no_source_is_no_marker(text: str) -> None:
    assert cited(f"The pool opens at 7 {text}.")[1] == []


@pytest.mark.parametrize(
    "planted",
    [
        "[S2]", "(S2)", "[2]", "[y_z.pdf, p. 3]", '[Page 3 of Document "y_z.pdf"]', "[none]", "[talk]",
        "(y_z.pdf, p. 3)", "(Source: S2)", "(source 2)", "[Source 2]", "【2†source】",
        "[[y_z.pdf, p. 3]]", "(d1.p5)", "(S②)", '<source id="S2"/>', '</source id=2>',
    ],
)  # fmt: skip
def test_a_page_that_holds_a_marker_cites_nothing_when_it_is_copied(planted: str) -> None:
    [read, *_] = read_fenced(fence([source(1, "x.pdf", 5, f"The pool is blue {planted}."), *SOURCES[1:]]))
    writer = CitationWriter(SOURCES, "When?")
    writer.feed(read.text)
    writer.finish()
    assert writer.citations == []
    assert writer.grounding.uncited == 1


@pytest.mark.parametrize("planted", ["[S2]", "[Source: S2]", "[cite: 2]", "[none]", "[talk]"])
def test_what_a_tool_returns_cites_nothing_when_it_is_copied(planted: str) -> None:
    writer = CitationWriter(SOURCES, "When?")
    writer.feed(inert_json([f"The pool is blue {planted}."]))
    writer.finish()
    assert writer.citations == []
    assert writer.grounding.statuses == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("No owner is named. [none] It opens at 7.", "No owner is named. It opens at 7."),
        ("No owner is named [none]. It opens at 7.", "No owner is named. It opens at 7."),
        ("No owner is named. [none]. It opens at 7.", "No owner is named. It opens at 7."),
        ("No owner is named.[none]It opens at 7.", "No owner is named. It opens at 7."),
        ("No owner is named[none][S1]", "No owner is named"),
        ("- **Owner:** unknown [none]\n- [talk] Hello!", "- **Owner:** unknown\n- Hello!"),
        ("文書にはありません[none]。", "文書にはありません。"),
    ],
)
def test_what_needs_no_source_is_data_and_no_text(text: str, shown: str) -> None:
    for size in (1, len(text)):
        writer = CitationWriter([])
        pieces = [writer.feed(text[at : at + size]) for at in range(0, len(text), size)]
        said = "".join(pieces) + writer.finish()
        assert said.replace(f" {NO_SUCH_SOURCE}", "") == shown
        first, *_ = writer.grounding.statuses
        assert said[: first.at].rstrip().endswith(("named.", "named", "unknown", "ません"))
        assert all(map(str.isprintable, said.replace("\n", "")))


@pytest.mark.parametrize("marker", ["[none]", "[talk]", "[S1]"])
def test_a_marker_that_is_not_shown_completes_no_citation(marker: str) -> None:
    shown, _ = cited(f'[Pa{marker}ge 5 of Docu{marker}ment "x.pdf"]')
    assert "Page" not in shown
    assert "Document" not in shown


def test_a_marker_is_not_about_what_no_source_has() -> None:
    text = "The documents do not name an owner. [none] The pool opens at 7. [S1]"
    writer = CitationWriter([source(1, "x.pdf", 5, "The pool opens at 7.")])
    writer.feed(text)
    writer.finish()
    assert [each.check for each in writer.citations] == ["quoted"]


def test_a_marker_behind_what_no_source_has_is_about_that() -> None:
    writer = CitationWriter([source(1, "x.pdf", 5, "The pool opens at 7.")])
    writer.feed("The pool opens at 7. [S1] The owner is not named. [none] [S1]")
    writer.finish()
    assert [each.check for each in writer.citations] == ["quoted", "reworded"]


def test_a_history_shows_models_their_own_words() -> None:
    shown, _ = cited("The pool opens at 7. [S1] Its owner is not named. [none]")
    assert as_said(f"{shown} {WITHOUT_SOURCE}{CUT_NOTE}") == "The pool opens at 7. Its owner is not named."
    assert as_said("Of an earlier version.\u2063 So.\u2060") == "Of an earlier version. So."
    assert as_said('It is 3. [Page 5 of Document "x.pdf", not verified]') == "It is 3."


def test_only_the_marker_of_what_was_not_found_is_shown_as_a_sentence() -> None:
    for written in ("[none]", "[none]."):
        assert cited(written)[0] == "I could not find this in the documents."
