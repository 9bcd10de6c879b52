"""The three ways in which a model names its evidence are read."""

import pytest

from evals.evidence_forms import Located, located, messages, table

RULES = "Leave is 28 days. It lapses on 31 March."
NOISE = "The harbour is closed on Sundays."
LINE = {
    "id": "leave",
    "question": "How long is leave?",
    "facts": ["28 days"],
    "sources": [
        {"document": "a.txt", "page": 1, "start": 0, "text": NOISE, "page_text": NOISE},
        {"document": "a.txt", "page": 2, "start": 0, "text": RULES, "page_text": RULES},
    ],
}


@pytest.mark.parametrize(
    ("form", "reply", "quotes"),
    [
        ("sources", "You get 28 days [S2].", ["Leave is 28 days."]),
        ("sources", "You get 28 days [S7].", []),
        ("units", "You get 28 days [2.1].", [RULES]),
        ("units", "You get 28 days [2.1-2.3].", [RULES]),
        ("units", "You get 28 days [S2].", []),
        ("quotes", 'You get 28 days [S2: "leave is 28 days"].', ["Leave is 28 days"]),
        ("quotes", 'You get 28 days [S2: "28"] a year [S2: "nothing"].', ["28"]),
        ("quotes", 'You get 28 days [S2: "28 weeks"].', ["Leave is 28 days."]),
    ],
)
def test_a_reply_is_located_as_its_form_says(form: str, reply: str, quotes: list[str]) -> None:
    assert located(LINE, form, reply) == [Located("a.txt", 2, quote) for quote in quotes]


def test_only_units_have_numbers_in_the_prompt() -> None:
    assert f"[2.1] {RULES}" in messages(LINE, "units")[1]["content"]
    assert RULES in messages(LINE, "sources")[1]["content"]
    assert "[2.1]" not in messages(LINE, "sources")[1]["content"]
    assert '[S3: "28 working days"]' in messages(LINE, "quotes")[0]["content"]


def test_the_table_counts_the_places_that_have_the_fact() -> None:
    replies = [
        {"id": "leave", "form": "sources", "reply": "28 days [S2].", "tokens": 100},
        {"id": "leave", "form": "sources", "reply": "It lapses on 31 March [S2].", "tokens": 120},
    ]
    assert "| sources | 2 | 1 | 2 | 2 | 1 | 110 |" in table([LINE], replies)
