"""Variations of question sets: what they change, and which pages they expect."""

import zipfile
from pathlib import Path

from evals.corpus import Gold, Question
from evals.variations import (
    PLANS,
    PRESS_RELEASE,
    REPORT,
    earlier_name,
    earlier_reports,
    instructed,
    misspelled,
    names,
    periods,
    places,
)
from orc_core.models import Page

PLAN, OTHER_PLAN = PLANS


def question(text: str, *files: str, page: int = 3) -> Question:
    return Question(id="q", question=text, files=list(files), gold=[Gold(file=files[0], page=page)])


def test_a_question_on_one_plan_names_it_and_has_all_files_in_scope() -> None:
    everything = question("Who pays?", PLAN, OTHER_PLAN, "handbook.pdf")
    (varied,) = names([question("Is care covered?", PLAN), everything])
    assert varied.question == "Is care covered? I have the Northwind Standard plan."
    assert varied.files == everything.files
    assert varied.gold == [Gold(file=PLAN, page=3)]


def test_a_question_on_a_year_is_asked_of_each_of_three_reports() -> None:
    varied = periods([question("Sales in 2023 and 2022?", REPORT), question("Sales in 2022?", REPORT)])
    assert [(each.question, each.gold[0].file) for each in varied] == [
        ("Sales in 2023 and 2022?", REPORT),
        ("Sales in 2022 and 2021?", earlier_name(1)),
        ("Sales in 2021 and 2020?", earlier_name(2)),
    ]
    assert {tuple(each.files) for each in varied} == {
        (REPORT, PRESS_RELEASE, earlier_name(1), earlier_name(2))
    }


def test_earlier_reports_have_earlier_years_in_their_text_only(tmp_path: Path) -> None:
    report = tmp_path / REPORT
    with zipfile.ZipFile(report, "w") as archive:
        archive.writestr("word/document.xml", '<w id="2023">June 30, 2023, 20231</w>')
    found = earlier_reports({REPORT: report}, tmp_path)
    assert list(found) == [PRESS_RELEASE, earlier_name(1), earlier_name(2)]
    with zipfile.ZipFile(found[earlier_name(2)]) as archive:
        assert archive.read("word/document.xml") == b'<w id="2023">June 30, 2021, 20231</w>'


def test_places_have_their_caption_on_one_page_only() -> None:
    texts = [
        "Table 1: sizes",
        "see Table 1. NOTE 2 — LEASES",
        "Figure 3: a\nTable 4: b",
        "Table 4: b, continued",
    ]
    pages = [Page(number=number, text=text) for number, text in enumerate(texts, 1)]
    found = {each.question: each.gold[0].page for each in places({"paper.pdf": pages})}
    assert found == {"What does table 1 show?": 1, "What does figure 3 show?": 3}


def test_a_misspelled_question_has_two_letters_swapped() -> None:
    (varied,) = misspelled([question("What is the deductible?", PLAN), question("Who?", PLAN)])
    assert varied.question == "What is the deducitble?"


def test_an_instructed_question_contains_the_original() -> None:
    asked = question("What is the deductible?", PLAN)
    varied = instructed([asked] * 20)
    assert all(asked.question in each.question and each.question != asked.question for each in varied)
    assert all(each.gold == asked.gold for each in varied)
