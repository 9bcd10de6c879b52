"""Questions that name one of several similar documents, or ask for something from each of several."""

from collections.abc import Sequence

import pytest

from orc_core.documents.passages import split_pages
from orc_core.models import Page
from orc_core.search.mentions import (
    by_document,
    continues,
    documents_meant,
    naming_words,
    only_names,
)
from orc_core.search.postings import InMemoryIndex, collect_terms, index_passages
from orc_core.search.query import parse_question
from orc_core.search.ranking import Weights, rank_passages
from orc_core.search.statistics import ScopeStatistics

RENT = "The monthly rent is due on the third working day. The deposit is kept in an account."
ANIMALS = "Animals are allowed if they are small. Subletting needs consent."


def lease(tenant: str, trade: str) -> list[str]:
    return [f"Lease of the premises to {tenant}.", f"The tenant uses the premises as {trade}.", RENT, ANIMALS]


LEASES = [
    lease("Aldridge Bakery", "a bakery"),
    lease("Brandt Optics", "a shop"),
    lease("Castellano Dance", "a school of dance"),
]


def indexes(documents: Sequence[Sequence[str]]) -> list[InMemoryIndex]:
    return [
        index_passages(
            f"scan-{n}.pdf", split_pages(str(n), [Page(number=p, text=t) for p, t in enumerate(pages, 1)])
        )
        for n, pages in enumerate(documents)
    ]


def best_pages(question: str, weights: Weights | None = None) -> list[tuple[int, int]]:
    """The document and the page of each match; every page of a lease is one passage."""
    matches = rank_passages(parse_question(question), indexes(LEASES), 12, weights or Weights())
    return [(match.document, match.passage + 1) for match in matches]


def meant(question: str) -> list[int]:
    asked = parse_question(question)
    scope = ScopeStatistics(collect_terms(asked, indexes(LEASES)))
    return sorted(documents_meant(question, by_document(naming_words(asked.words, scope), len(LEASES))))


@pytest.mark.parametrize("tenant", range(len(LEASES)))
def test_a_name_selects_the_document_and_the_other_words_its_page(tenant: int) -> None:
    name = ("Aldridge Bakery", "Brandt Optics", "Castellano Dance")[tenant]
    assert best_pages(f"How high is the deposit of {name}?")[0] == (tenant, 3)
    assert best_pages(f"Are animals allowed at {name}?")[0] == (tenant, 4)
    first = best_pages(f"How high is the deposit of {name}?", Weights(named=0))[0]
    assert first == (tenant, 1), "its first page repeats the name"


def test_the_first_page_of_a_named_document_is_found_too() -> None:
    assert (1, 1) in best_pages("How high is the deposit of Brandt Optics?")
    assert best_pages("Brandt Optics")[0] == (1, 1)


def test_each_of_the_documents_that_are_compared_has_a_page_among_the_first() -> None:
    assert set(best_pages("Is the deposit of Aldridge Bakery or of Castellano Dance higher?")[:2]) == {
        (0, 3),
        (2, 3),
    }


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("Compare the rents of Aldridge Bakery and Brandt Optics.", [0, 1]),
        ("Who pays more, Brandt Optics or Castellano Dance?", [1, 2]),
        ("Wie unterscheiden sich die Mieten von Aldridge, Brandt, Castellano? Vergleich", [0, 1, 2]),
        ("What is the rent of Brandt Optics?", []),
        ("What is the rent of the lease?", []),
        ("Are animals and subletting allowed at Brandt Optics?", []),
    ],
)
def test_documents_are_meant_if_a_question_connects_or_compares_them(
    question: str, documents: list[int]
) -> None:
    assert meant(question) == documents


def test_a_document_with_some_of_the_names_of_another_one_is_not_meant() -> None:
    names = [
        frozenset({"tarn", "metals", "2022"}),
        frozenset({"tarn", "metals"}),
        frozenset({"oslo", "2021"}),
    ]
    assert documents_meant("Compare Tarn Metals 2022 with Oslo 2021.", names) == {0, 2}


def test_words_that_documents_use_on_other_pages_too_are_looked_for_there() -> None:
    asked = parse_question("May Castellano dance on the table?").words
    scope = ScopeStatistics(
        collect_terms(parse_question("May Castellano dance on the table?"), indexes(LEASES))
    )
    naming = naming_words(asked, scope)
    assert naming == {"castellano": {2}, "dance": {2}}
    assert only_names(["castellano", "table", "dance"], naming, scope) == {"castellano"}
    assert only_names(["castellano", "dance", "table"], naming, scope) == {"castellano", "dance"}


def test_no_word_names_a_document_that_is_alone() -> None:
    alone = indexes(LEASES[:1])
    found = rank_passages(parse_question("deposit of Aldridge Bakery"), alone, 4)
    assert found[0].passage + 1 == 1, "with one document, all words count on each page"


@pytest.mark.parametrize(
    "text", ["And for cats?", "Und für Katzen?", "Et pour les chats ?", "¿Y para gatos?"]
)
def test_a_question_that_begins_with_a_conjunction_continues_another(text: str) -> None:
    assert continues(text)


@pytest.mark.parametrize(
    "text",
    ["Que faire en cas de panne ?", "To which address do I write?", "Mit welchem Formular?", "Con qué?"],
)
def test_a_whole_question_continues_no_other(text: str) -> None:
    assert not continues(text)
