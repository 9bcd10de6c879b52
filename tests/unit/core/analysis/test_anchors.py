"""References and the places of their targets."""

import pytest

from core.analysis.anchors import Target, find_references, find_targets, is_caption, resolve
from core.models import Page


def references(text: str) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in find_references(text)]


def targets(*texts: str) -> dict[Target, int]:
    return find_targets([Page(number=number, text=text) for number, text in enumerate(texts, start=1)], ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See Table 3 and Fig. 2.", [("table", "Table 3"), ("figure", "Fig. 2")]),
        ("as in section 4.2 of it", [("section", "section 4.2")]),
        ("Siehe Abbildung 4 auf Seite 12", [("figure", "Abbildung 4"), ("page", "Seite 12")]),
        ("véase la Tabla 1 y el Anexo B", [("table", "Tabla 1"), ("section", "Anexo B")]),
        ("Appendix A.1 lists", [("section", "Appendix A.1")]),
        ("TableB, PartIV, Fig.2", [("table", "TableB"), ("section", "PartIV"), ("figure", "Fig.2")]),
        ("性能见表3和第4章", [("table", "表3"), ("section", "第4章")]),
    ],
)
def test_references_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert references(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a table for 4",
        "in part I agree",
        "the note a friend wrote",
        "Proc. ACL, pages 675–682",
        "Table 3% more",
    ],
)
def test_words_without_a_target_are_no_reference(text: str) -> None:
    assert references(text) == []


def test_a_table_is_on_the_page_of_its_caption() -> None:
    found = targets(
        "Table 1 shows that\nTable 2: Other", "As said,\nTable 1 Gives no title\n", "Table 1: Prices"
    )
    assert found[Target("table", "1")] == 3


def test_a_table_of_contents_is_no_target() -> None:
    contents = "\n".join(f"{number} Title Number {number} ..... {number + 1}" for number in range(1, 12))
    chapters = [f"{number} Title Number {number}\nText." for number in range(1, 12)]
    found = targets(contents, *chapters)
    assert [found[Target("section", str(number))] for number in range(1, 12)] == list(range(2, 13))


def test_an_appendix_may_be_headed_by_its_letter_alone() -> None:
    found = targets("see Appendix B", "A Data Sets\nText.", "B Further Results\nText.")
    assert resolve(Target("appe", "B"), found) == 3


def test_a_single_letter_is_no_appendix() -> None:
    assert resolve(Target("appe", "A"), targets("see Appendix A", "A Guide To Trees\nText.")) is None


def test_captions_and_references_are_distinguished() -> None:
    assert is_caption("Table 1: Prices by region")
    assert not is_caption("Table 1 shows prices by region.")
