"""Following relations, and the ontology of a scope."""

import pytest

from orc_core.analysis.models import Alias, Anchor, Connection, TypeUse
from orc_core.analysis.relations import Direction, build_ontology, follow
from tests.unit.orc_core.analysis.analysis_samples import page

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


def summarised(found: list[Connection]) -> list[tuple[str, int, str | None]]:
    return [(each.document_id, each.page, each.relation.type if each.relation else None) for each in found]


def test_pages_with_relations_come_before_pages_that_only_name_it() -> None:
    found = follow(PAGES, "contoso")
    assert summarised(found) == [
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
def test_direction_selects_source_or_target(
    direction: Direction, related: list[tuple[str, int, str]]
) -> None:
    assert set(summarised(follow(PAGES, "Fabrikam Inc.", None, direction))) >= set(related)
    kinds = {each.relation.type for each in follow(PAGES, "Fabrikam Inc.", None, direction) if each.relation}
    assert ("owns" in kinds) == (direction != "source")


def test_defined_term_is_valid_in_its_own_document_only() -> None:
    assert ("d1", 2, "acquired") in summarised(follow(PAGES, "Fabrikam"))
    assert ("d2", 2, "sold") not in summarised(follow(PAGES, "Fabrikam"))
    assert {("d1", 1, "owns"), ("d2", 2, "sold")} <= set(summarised(follow(PAGES, "Company")))


def test_name_does_not_match_the_other_end() -> None:
    assert [each for each in follow(PAGES, "Contoso", "owns", "target") if each.relation] == []
    assert [each for each in follow(PAGES, "Fabrikam", "owns", "source") if each.relation] == []


def test_ambiguous_abbreviation_is_no_alias() -> None:
    pages = {
        "d1": [page(1, ("Explanation of Benefits", "abbreviated as", "EOB"))],
        "d2": [page(1, ("End of Business", "abbreviated as", "EOB"))],
        "d3": [page(1, names=["EOB"])],
    }
    assert ("d3", 1, None) not in summarised(follow(pages, "End of Business"))
    assert ("d1", 1, "abbreviated as") not in summarised(follow(pages, "End of Business"))
    assert ("d3", 1, None) in summarised(follow(pages, "EOB"))


def test_term_with_two_meanings_on_one_page_is_no_alias() -> None:
    pages = {
        "d1": [
            page(1, ("Contoso", "defined as", "Party"), ("Fabrikam", "defined as", "Party")),
            page(2, ("Party", "sold", "Tailspin")),
        ]
    }
    assert "sold" not in {kind for _, _, kind in summarised(follow(pages, "Contoso"))}


def test_forms_of_a_verb_are_one_relation_type() -> None:
    for wanted in ("acquired", "Acquires", "acquire"):
        assert summarised(follow(PAGES, "CLT", wanted))[0] == ("d2", 3, "acquires")
    assert [each for each in summarised(follow(PAGES, "CLT", "founded")) if each[2]] == []


def test_a_type_that_no_page_states_finds_nothing() -> None:
    assert follow(PAGES, "Contoso Ltd.", "founded") == []


def test_part_of_a_name_matches_if_no_page_has_the_whole_name() -> None:
    assert summarised(follow(PAGES, "coffee")) == [("d2", 4, None)]
    assert follow(PAGES, "off") == []


def test_unknown_names_find_nothing() -> None:
    assert follow(PAGES, "Wingtip") == follow({}, "Contoso") == follow(PAGES, "") == []


def test_reference_has_the_page_of_its_target() -> None:
    referring = page(5, ("page 5", "refers to", "Table 2")).model_copy(
        update={"anchors": [Anchor(kind="table", text="Table 2", target_page=9)]}
    )
    (found,) = follow({"d1": [referring]}, "table 2", "refers to", "target")
    assert (found.page, found.target_page) == (5, 9)


def test_ontology_counts_types_and_has_examples() -> None:
    ontology = build_ontology(
        {
            "d1": [
                page(1, names=["Contoso"], kind="organization"),
                page(2, names=["Contoso", "X"], kind="organization"),
            ],
            "d2": [page(1, ("Contoso", "owns", "X"), names=["5 %"], kind="percentage")],
        }
    )
    assert ontology.entity_types == [
        TypeUse(type="organization", count=3, examples=["Contoso", "X"]),
        TypeUse(type="percentage", count=1, examples=["5 %"]),
    ]
    assert ontology.relation_types == [TypeUse(type="owns", count=1, examples=["Contoso owns X"])]


def test_spellings_that_differ_in_case_article_or_legal_form_are_aliases() -> None:
    names = ["Contoso", "Contoso Ltd.", "CONTOSO", "the Contoso", "Contoso’s", "Contoso Bank"]
    (alias,) = build_ontology({"d1": [page(1, names=names), page(2, names=["Contoso"])]}).aliases
    assert alias.name == "Contoso"
    assert set(alias.aliases) == set(names) - {"Contoso", "Contoso Bank"}


def test_short_form_is_an_alias_of_its_long_form() -> None:
    pages = {
        "d1": [page(1, ("Northwind Health Plus", "abbreviated as", "NHP"), names=["Northwind Health Plus"])],
        "d2": [page(1, names=["NHP"])],
    }
    assert build_ontology(pages).aliases == [Alias(name="Northwind Health Plus", aliases=["NHP"])]


def test_term_that_two_documents_define_differently_is_no_alias() -> None:
    pages = {
        "d1": [page(1, ("Contoso Ltd.", "defined as", "Company"))],
        "d2": [page(1, ("Fabrikam Inc.", "defined as", "Company"))],
    }
    assert build_ontology(pages).aliases == []


def test_values_have_no_aliases() -> None:
    assert build_ontology({"d1": [page(1, names=["3 May", "3 MAY"], kind="date")]}).aliases == []
