"""Answers over the open question set, through the running product: refusals, citations, stored answers.

A campaign asks every question, the suite every sixteenth.
"""

import pytest

from devkit.shared_data import SHARED, needs_shared
from evals.answers import Results, Share, run

OPEN = SHARED / "data" / "open"
QUESTION_FILES = ("questions.jsonl", "unanswerable.jsonl")

pytestmark = needs_shared


@pytest.fixture(scope="module")
def results(full_size: bool, tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("questions")
    (folder / "docs").symlink_to(OPEN / "docs")
    for name in QUESTION_FILES:
        lines = (OPEN / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:: 1 if full_size else 16]), encoding="utf-8")
    answerable, unanswerable = (folder / name for name in QUESTION_FILES)
    return run(answerable, unanswerable)


@pytest.fixture(scope="module")
def shares(results: Results) -> dict[str, Share]:
    return {share.name: share for share in results.shares()}


def test_questions_without_an_answer_are_refused_and_others_are_not(
    shares: dict[str, Share], full_size: bool
) -> None:
    assert shares["unanswerable, not answered directly"].value >= 0.8
    assert shares["unanswerable, not answered directly"].total == (25 if full_size else 3)
    assert shares["no quote and no passage of a right page"].value <= 0.15
    assert shares["answerable, not answered directly"].value <= 0.2
    assert shares["answerable, not answered directly"].total == (160 if full_size else 10)


def test_every_citation_is_verified(results: Results, full_size: bool) -> None:
    cited = [(checked.answered.question.id, checked.citation) for checked in results.citations]
    assert len(cited) > (300 if full_size else 15)
    assert [(question, citation.quote) for question, citation in cited if not citation.verified] == []


def test_another_library_finds_the_quotes_on_the_cited_pages(results: Results) -> None:
    missing = [checked.citation for checked in results.citations if not checked.found]
    assert len(missing) <= 0.005 * len(results.citations), [(c.page, c.quote) for c in missing]


def test_citations_are_the_same_when_the_conversation_is_read_again(results: Results) -> None:
    everything = [*results.answerable, *results.unanswerable]
    assert [answered.question.id for answered in everything if not answered.kept] == []


def test_answers_cite_pages_that_hold_the_answer(shares: dict[str, Share]) -> None:
    assert shares["cited page is a gold page"].value >= 0.4
