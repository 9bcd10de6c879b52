"""The made documents: the pages that questions need, and nothing that tells the documents apart by name."""

from pathlib import Path

from evals.made_documents import PAGE_BREAK, made_sets, read_families, write_documents
from evals.splits import half_of


def test_every_needed_page_exists_and_differs_from_those_of_the_other_documents(tmp_path: Path) -> None:
    pages = {name: path.read_text().split(PAGE_BREAK) for name, path in write_documents(tmp_path).items()}
    for questions in made_sets().values():
        for question in questions:
            assert "{" not in question.question
            assert {gold.file for gold in question.gold} <= set(question.files) <= pages.keys()
            answers = [pages[file][question.gold[0].page - 1] for file in question.files]
            assert len(set(answers)) == len(answers), question.id


def test_a_question_about_several_documents_needs_a_page_of_each() -> None:
    sets = made_sets()
    assert all(len(question.gold) == 1 for question in sets["one of several"])
    assert all(len({gold.file for gold in q.gold}) == len(q.gold) > 1 for q in sets["several"])
    identifiers = [question.id for questions in sets.values() for question in questions]
    assert len(set(identifiers)) == len(identifiers)


def test_no_file_name_contains_what_questions_call_the_document() -> None:
    for family in read_families():
        for values in family.document:
            assert not set(values["name"].lower().split()) & set(values["file"].replace(".", "-").split("-"))


def test_no_family_is_in_both_halves() -> None:
    for questions in made_sets().values():
        files = {half: {q.files[0] for q in questions if half_of(q) == half} for half in ("tuning", "test")}
        assert files["tuning"] and files["test"]
        assert not files["tuning"] & files["test"]
