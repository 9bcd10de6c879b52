"""From a name to the pages that have to do with it."""

import pytest

from core.analysis.models import Anchor, Connection
from core.analysis.relations import Direction, follow
from tests.unit.core.analysis.analysis_samples import CONTRACT, analyse_pages, page

OWNS = ("Contoso Ltd.", "owns", "Fabrikam Inc.")
PAGES = {
    "d1": [
        page(1, OWNS, ("Fabrikam Inc.", "defined as", "Company"), names=["Contoso Ltd.", "Fabrikam Inc."]),
        page(2, ("Company", "acquired", "Litware"), names=["Company"]),
        page(3, names=["CONTOSO"]),
    ],
    "d2": [
        page(1, ("Contoso Ltd.", "abbreviated as", "CLT")),
        page(2, ("Company", "sold", "Tailspin"), names=["Company"]),
        page(3, ("CLT", "acquires", "Adatum")),
        page(4, names=["Contoso Coffee"]),
    ],
}


def told(found: list[Connection]) -> list[tuple[str, int, str | None]]:
    return [(each.document_id, each.page, each.relation.type if each.relation else None) for each in found]


def test_related_pages_come_first_then_those_that_name_it() -> None:
    found = follow(PAGES, "contoso")
    assert told(found) == [
        ("d1", 1, "owns"),
        ("d2", 1, "abbreviated as"),
        ("d2", 3, "acquires"),
        ("d1", 3, None),
    ]
    assert [each.named for each in found] == ["Contoso Ltd.", "Contoso Ltd.", "CLT", "CONTOSO"]
    assert found[0].relation is not None
    assert found[0].relation.evidence == "Contoso Ltd. owns Fabrikam Inc.."


@pytest.mark.parametrize(
    ("direction", "related"),
    [("source", [("d1", 1, "defined as")]), ("target", [("d1", 1, "owns")]), ("both", [("d1", 1, "owns")])],
)
def test_the_direction_says_which_end_the_name_is(
    direction: Direction, related: list[tuple[str, int, str]]
) -> None:
    assert set(told(follow(PAGES, "Fabrikam Inc.", None, direction))) >= set(related)
    kinds = {each.relation.type for each in follow(PAGES, "Fabrikam Inc.", None, direction) if each.relation}
    assert ("owns" in kinds) == (direction != "source")


def test_a_defined_term_counts_in_its_own_document_only() -> None:
    assert ("d1", 2, "acquired") in told(follow(PAGES, "Fabrikam"))
    assert ("d2", 2, "sold") not in told(follow(PAGES, "Fabrikam"))
    assert {("d1", 1, "owns"), ("d2", 2, "sold")} <= set(told(follow(PAGES, "Company")))


def test_a_name_is_not_taken_for_the_other_end() -> None:
    assert [each for each in follow(PAGES, "Contoso", "owns", "target") if each.relation] == []
    assert [each for each in follow(PAGES, "Fabrikam", "owns", "source") if each.relation] == []


def test_an_abbreviation_that_documents_disagree_about_joins_nothing() -> None:
    pages = {
        "d1": [page(1, ("Explanation of Benefits", "abbreviated as", "EOB"))],
        "d2": [page(1, ("End of Business", "abbreviated as", "EOB"))],
        "d3": [page(1, names=["EOB"])],
    }
    assert ("d3", 1, None) not in told(follow(pages, "End of Business"))
    assert ("d1", 1, "abbreviated as") not in told(follow(pages, "End of Business"))
    assert ("d3", 1, None) in told(follow(pages, "EOB"))


def test_a_term_with_two_meanings_on_one_page_joins_nothing() -> None:
    pages = {
        "d1": [
            page(1, ("Contoso", "defined as", "Party"), ("Fabrikam", "defined as", "Party")),
            page(2, ("Party", "sold", "Tailspin")),
        ]
    }
    assert "sold" not in {kind for _, _, kind in told(follow(pages, "Contoso"))}


def test_forms_of_a_verb_are_one_type() -> None:
    for wanted in ("acquired", "Acquires", "acquire"):
        assert told(follow(PAGES, "CLT", wanted))[0] == ("d2", 3, "acquires")
    assert [each for each in told(follow(PAGES, "CLT", "founded")) if each[2]] == []


def test_pages_that_only_name_it_are_marked_so_where_no_relation_matches() -> None:
    found = follow(PAGES, "Contoso Ltd.", "founded")
    assert {each.relation for each in found} == {None}
    assert [(each.document_id, each.page) for each in found] == [("d1", 1), ("d1", 3)]


def test_a_part_of_a_name_is_taken_where_nobody_has_it_whole() -> None:
    assert told(follow(PAGES, "coffee")) == [("d2", 4, None)]
    assert follow(PAGES, "off") == []


def test_unknown_names_lead_nowhere() -> None:
    assert follow(PAGES, "Wingtip") == follow({}, "Contoso") == follow(PAGES, "") == []


def test_the_limit_is_kept() -> None:
    assert len(follow(PAGES, "Contoso", limit=2)) == 2


def test_references_lead_to_where_their_target_stands() -> None:
    referring = page(5, ("page 5", "refers to", "Table 2")).model_copy(
        update={"anchors": [Anchor(kind="table", text="Table 2", target_page=9)]}
    )
    (found,) = follow({"d1": [referring]}, "table 2", "refers to", "target")
    assert (found.page, found.target_page) == (5, 9)


def test_a_contract_is_followed_by_any_name_of_its_party() -> None:
    analysed = {"d1": analyse_pages(CONTRACT)}
    for name in ("Contoso", "CONTOSO LTD", "the Customer"):
        kinds = [each.relation.type for each in follow(analysed, name, None, "source") if each.relation]
        assert kinds == ["defined as", "owns", "acquired"], name
