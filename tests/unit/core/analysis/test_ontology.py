"""The vocabulary of a scope."""

from core.analysis.models import Alias, TypeUse
from core.analysis.ontology import build_ontology
from tests.unit.core.analysis.analysis_samples import CONTRACT, analyse_pages, page


def test_types_are_counted_and_shown_by_example() -> None:
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


def test_spellings_that_differ_in_case_article_or_legal_form_are_one() -> None:
    names = ["Contoso", "Contoso Ltd.", "CONTOSO", "the Contoso", "Contoso’s", "Contoso Bank"]
    (alias,) = build_ontology({"d1": [page(1, names=names), page(2, names=["Contoso"])]}).aliases
    assert alias.name == "Contoso"
    assert set(alias.aliases) == set(names) - {"Contoso", "Contoso Bank"}


def test_short_forms_belong_to_what_they_stand_for() -> None:
    pages = {
        "d1": [page(1, ("Northwind Health Plus", "abbreviated as", "NHP"), names=["Northwind Health Plus"])],
        "d2": [page(1, names=["NHP"])],
    }
    assert build_ontology(pages).aliases == [Alias(name="Northwind Health Plus", aliases=["NHP"])]


def test_a_term_that_two_documents_define_differently_joins_nothing() -> None:
    pages = {
        "d1": [page(1, ("Contoso Ltd.", "defined as", "Company"))],
        "d2": [page(1, ("Fabrikam Inc.", "defined as", "Company"))],
    }
    assert build_ontology(pages).aliases == []


def test_values_have_no_aliases() -> None:
    assert build_ontology({"d1": [page(1, names=["3 May", "3 MAY"], kind="date")]}).aliases == []


def test_the_ontology_of_a_contract_has_its_parties() -> None:
    found = {alias.name: alias.aliases for alias in build_ontology({"d1": analyse_pages(CONTRACT)}).aliases}
    assert set(found["Contoso Ltd."]) == {"Customer", "Contoso GmbH"}
    assert found["Transport Security Board"] == ["TSB"]


def test_nothing_analysed_is_an_empty_vocabulary() -> None:
    ontology = build_ontology({})
    assert (ontology.entity_types, ontology.relation_types, ontology.aliases) == ([], [], [])
