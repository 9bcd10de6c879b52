"""Names of known files in a question."""

from time import process_time

import pytest

from orc_core.text.file_names import has_name, without_names

NAMES = ["plan.pdf", "old plan.pdf", "R&D.pdf", "Bob's lease.pdf", "报告.pdf"]


@pytest.mark.parametrize(
    ("question", "rest", "found"),
    [
        ("What does PLAN.pdf say?", "What does X say?", ["plan.pdf"]),
        ("Is old plan.pdf longer than plan.pdf?", "Is X longer than X?", ["plan.pdf", "old plan.pdf"]),
        ("Read R&D.pdf and Bob’s\u00a0lease.pdf.", "Read X and X.", ["R&D.pdf", "Bob's lease.pdf"]),
        ("请总结报告.pdf", "请总结X", ["报告.pdf"]),
        ("报告.pdf里有什么", "X里有什么", ["报告.pdf"]),
        ("Read Bob's\n lease.pdf", "Read X", ["Bob's lease.pdf"]),
        ("floorplan.pdf, my-plan.pdf, plan.pdfs", "floorplan.pdf, my-plan.pdf, plan.pdfs", []),
    ],
)
def test_known_names_are_found_whatever_is_around_them(question: str, rest: str, found: list[str]) -> None:
    assert without_names(question, NAMES, "X") == (rest, found)


@pytest.mark.parametrize(
    ("known", "written"),
    [("Plan.pdf", "plan.pdf"), ("final  plan.pdf", "final plan.pdf"), ("İzmir.pdf", "izmir.pdf")],
)
def test_names_that_are_the_same_in_one_form_are_all_found(known: str, written: str) -> None:
    assert without_names(f"Read {written}.", [known, written], "X") == ("Read X.", [known, written])
    assert without_names(f"Read {known}.", [written], "X") == ("Read X.", [written])


def test_thousands_of_names_are_looked_for_at_once() -> None:
    names = [f"f{number}.pdf" for number in range(3000)]
    start = process_time()
    assert without_names(" ".join(names), names, "X") == (" ".join("X" * 3000), names)
    assert process_time() - start < 2, "each name by itself takes 12 seconds"


@pytest.mark.parametrize(
    ("name", "expected"), [("plan 2020", True), ("PLAN 2020", True), ("plan", True), ("plan 20", False)]
)
def test_a_name_is_found_between_other_words_only(name: str, expected: bool) -> None:
    assert has_name("What does Plan 2020 say?", name) is expected


def test_what_is_put_in_the_place_of_a_name_is_no_pattern() -> None:
    assert without_names("Read plan.pdf.", NAMES, r"\1") == (r"Read \1.", ["plan.pdf"])
