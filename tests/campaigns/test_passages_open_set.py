"""What is shown without a model for the open questions, through the running product: pages and citations."""

import pytest

from devkit.shared_data import SHARED, needs_shared
from evals.passages import Results, Share, run

pytestmark = [needs_shared, pytest.mark.campaign]


@pytest.fixture(scope="module")
def results() -> Results:
    return run(SHARED / "data" / "open" / "questions.jsonl")


@pytest.fixture(scope="module")
def shares(results: Results) -> dict[str, Share]:
    return {share.name: share for share in results.shares()}


def test_a_page_with_the_answer_is_among_the_passages(shares: dict[str, Share]) -> None:
    assert shares["recall@1"].total == 160
    assert shares["recall@1"].value >= 0.78
    assert shares["recall@5"].value >= 0.92


def test_nothing_is_given_as_an_answer(shares: dict[str, Share]) -> None:
    assert shares["given as answers"].count == 0


def test_every_citation_is_verified(results: Results) -> None:
    cited = [(checked.shown.question.id, checked.citation) for checked in results.citations]
    assert len(cited) > 600
    assert [(question, citation.quote) for question, citation in cited if not citation.verified] == []
    assert all(citation.closest for _, citation in cited)


def test_another_library_finds_the_quotes_on_the_cited_pages(results: Results) -> None:
    missing = [checked.citation for checked in results.citations if not checked.found]
    assert len(missing) <= 0.01 * len(results.citations), [(c.page, c.quote) for c in missing]


def test_citations_are_the_same_when_the_conversation_is_read_again(results: Results) -> None:
    assert [each.question.id for each in results.shown if not each.kept] == []
