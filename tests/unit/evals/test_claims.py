"""The eval of the checks: it makes mistakes, and finds none of them accepted."""

import pytest

from evals.claims import SHAPES, CitedPage, checked, cited_pages, measure, mistakes

PAGE = "The rent is due on the third of May. In 2019 Hannah Moss paid 40 pounds for each of the boats."


def test_a_mistake_changes_one_thing_that_the_page_does_not_have() -> None:
    sentence = PAGE.partition(". ")[2]
    assert dict(mistakes(sentence, PAGE)) == {
        "year": "In 2022 Hannah Moss paid 40 pounds for each of the boats.",
        "number": "In 2019 Hannah Moss paid 83 pounds for each of the boats.",
        "name": "In 2019 Hannah Barrowby paid 40 pounds for each of the boats.",
        "sign": "In 2019 Hannah Moss paid -40 pounds for each of the boats.",
        "word": "In 2019 Hannah Moss paid 40 pounds for some of the boats.",
    }
    assert dict(mistakes("Guests may stay for up to 5 days.", PAGE)) | {"negation": "", "number": ""} == {
        "number": "",
        "sign": "Guests may stay for up to -5 days.",
        "word": "Guests may stay for up to 5 weeks.",
        "comparison": "Guests may stay for 5 days.",
        "negation": "",
    }
    assert dict(mistakes("Result | (40) | 12", PAGE))["sign"] == "Result | 40 | 12"
    assert dict(mistakes("It is < 40 degrees.", PAGE))["sign"] == "It is > 40 degrees."
    assert dict(mistakes("The rent is due on the third of May.", PAGE))["negation"].startswith(
        "The rent is not"
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_in_any_shape_is_accepted_from_its_page_only(shape: str) -> None:
    page = CitedPage("lease.pdf", 1, PAGE, [], [])
    answer = SHAPES[shape](["The rent is due on the third of May."])
    assert checked(answer, page, PAGE).grounded
    assert not checked(answer, page, "The tenants clean the stairs.").grounded


@pytest.mark.slow
async def test_no_wrong_answer_passes_and_few_right_ones_fail() -> None:
    tallies = measure(await cited_pages())
    assert [tally.wrong for (_, kind), tally in tallies.items() if kind != "right" and tally.wrong] == []
    failed = {shape: len(tally.wrong) for (shape, kind), tally in tallies.items() if kind == "right"}
    hard = {
        "lines without full stops, the last cited": 10,
        "prose in lines of 60 characters": 1,
        "prose in lines of 40 characters": 5,
    }
    assert {shape: times for shape, times in failed.items() if times > hard.get(shape, 0)} == {}
    assert sum(tally.total for tally in tallies.values()) > 3000
