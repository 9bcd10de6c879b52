"""What is shown without a model for the open questions, through the running product: pages and citations.

A campaign asks every question, the suite every sixteenth.
"""

import pytest

from devkit.shared_data import SHARED, needs_shared
from evals.passages import Results, Share, run

OPEN = SHARED / "data" / "open"

pytestmark = needs_shared


@pytest.fixture(scope="module")
def results(full_size: bool, tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("questions")
    (folder / "docs").symlink_to(OPEN / "docs")
    lines = (OPEN / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "questions.jsonl").write_text("".join(lines[:: 1 if full_size else 16]), encoding="utf-8")
    return run(folder / "questions.jsonl")


@pytest.fixture(scope="module")
def shares(results: Results) -> dict[str, Share]:
    return {share.name: share for share in results.shares()}


def test_a_page_with_the_answer_is_among_the_passages(shares: dict[str, Share], full_size: bool) -> None:
    assert shares["recall@1"].total == (160 if full_size else 10)
    assert shares["recall@1"].value >= (0.78 if full_size else 0.6)
    assert shares["recall@5"].value >= (0.92 if full_size else 0.8)


def test_nothing_is_given_as_an_answer(shares: dict[str, Share]) -> None:
    assert shares["given as answers"].count == 0


def test_every_citation_is_verified(results: Results, full_size: bool) -> None:
    cited = [(checked.shown.question.id, checked.citation) for checked in results.citations]
    assert len(cited) > (600 if full_size else 35)
    assert [(question, citation.quote) for question, citation in cited if not citation.verified] == []
    assert all(citation.closest for _, citation in cited)


def test_another_library_finds_the_quotes_on_the_cited_pages(results: Results) -> None:
    missing = [checked.citation for checked in results.citations if not checked.found]
    assert len(missing) <= 0.01 * len(results.citations), [(c.page, c.quote) for c in missing]


def test_citations_are_the_same_when_the_conversation_is_read_again(results: Results) -> None:
    assert [each.question.id for each in results.shown if not each.kept] == []
