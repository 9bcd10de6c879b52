"""Questions that ask to count rows: a quote of one row does not answer them."""

import pytest

from core.grounding.closest import closest_label
from core.grounding.sources import FencedSource
from core.offline.quotes import answer_from
from core.offline.tables import cells

HALLS = """Halls
| Hall | Seats | Price |
| --- | --- | --- |
| Blue hall | 12 | 40 |
| Green hall | 30 | 80 |
"""
STOCK = """Price list
| Product | Stock |
| --- | --- |
| Cargo bike | 14 |
| City bike | 52 |
| Helmet | 210 |
"""
FIGURES = """Key figures
| Figure | 2024 |
| --- | --- |
| Employees | 450 |
| Offices | 8 |
"""
PLAIN = """Plan Members Copay
Standard plan 2,000 $35
Plus plan 1,500 $20
"""


def answer(question: str, table: str) -> str:
    return answer_from(question, [FencedSource(number=1, blob_name="a.xlsx", page=1, text=table)])


@pytest.mark.parametrize(
    ("question", "table", "quoted"),
    [
        ("How many halls are there?", HALLS, None),
        ("How many seats does the blue hall have?", HALLS, "| Blue hall | 12 | 40 |"),
        ("How many bikes are there?", STOCK, None),
        ("How many city bikes are in stock?", STOCK, "| City bike | 52 |"),
        ("How many employees were there in 2024?", FIGURES, "| Employees | 450 |"),
        ("How many plans are there?", PLAIN, None),
        ("How many halls are there?", HALLS.replace(" hall |", " |"), "| Blue | 12 | 40 |"),
    ],
)
def test_a_row_answers_if_the_question_names_a_column_or_this_row(
    question: str, table: str, quoted: str | None
) -> None:
    found = answer(question, table)
    assert found.startswith(closest_label("en")) == (quoted is None)
    assert quoted is None or f"{quoted} [S1]" in found


def test_a_row_without_separators_has_its_text_before_the_first_digit() -> None:
    assert cells("Standard plan 2,000 $35") == ["Standard plan "]
    assert cells("| Blue hall | 12 |") == ["Blue hall", "12"]
    assert cells("Total") == ["Total"]


LABELLED = """Hire
Article | Price per day | Deposit
Article: Mixer | Price per day: 19 | Deposit: 80
Article: Excavator | Price per day: 142 | Deposit: 800
Article: Dryer | Price per day: 22 | Deposit: 1,100
Article: Total | Price per day: 183 | Deposit: 1,980
"""
SITES = """Sites
Site | Employees
Site: Aveiro | Employees: 212
Site: Gdansk | Employees: 540
Site: Lund | Employees: 96
"""
SHARES = """Item Cost Share
Cleaning of the stairs 21,400 3,103
Lift 6,200 899
Total 27,600 4,002
"""


@pytest.mark.parametrize(
    ("question", "table", "row"),
    [
        ("Which article has the highest deposit?", LABELLED, "Article: Dryer"),
        ("Which article has the lowest deposit?", LABELLED, "Article: Mixer"),
        ("Which article has the highest price?", LABELLED, "Article: Excavator"),
        ("Which site has the most employees?", SITES, "Site: Gdansk"),
        ("Which item has the highest cost?", SHARES, "Item Cost Share [S1]\nCleaning of the stairs"),
    ],
)
def test_the_row_with_the_extreme_is_the_closest_passage_and_no_answer(
    question: str, table: str, row: str
) -> None:
    found = answer(question, table)
    assert found.startswith(f"{closest_label('en')}\n\n- {row}")


def test_a_column_may_be_named_as_the_smallest_is_asked_for() -> None:
    orders = "Stock\nItem | Minimum order\nItem: Batten | Minimum order: 60\nItem: Oil | Minimum order: 1\n"
    asked = answer("What is the minimum order of battens?", orders)
    assert asked == "Item: Batten | Minimum order: 60 [S1]"


def test_a_row_that_only_names_the_columns_is_not_quoted() -> None:
    assert "Article | Price per day" not in answer("Which article has a price and a deposit?", LABELLED)


RESULTS = """Results
| Branch | Result |
| --- | --- |
| Aldgate Street | 5 |
| Wexley Market | {} |
| Tarnbeck | 80 |
"""


def first_row(question: str, table: str) -> str:
    """The closest passage that is shown first, without its header."""
    passages = answer(question, table).split("\n- ")[1:]
    return next(line for line in passages[0].splitlines() if "Branch" not in line)


@pytest.mark.parametrize("loss", ["(120)", "-120", "−120", "(€120)", "-€ 120", "(12.5)%"])
def test_a_loss_is_less_than_a_profit(loss: str) -> None:
    assert first_row("Which branch had the lowest result?", RESULTS.format(loss)).startswith(
        "| Wexley Market"
    )
    assert first_row("Which branch had the highest result?", RESULTS.format(loss)).startswith("| Tarnbeck")


@pytest.mark.parametrize("other", ["110 (120)", "90-120", "95 (2 desks)", "(99 desks)"])
def test_a_range_and_a_remark_in_brackets_are_no_losses(other: str) -> None:
    assert first_row("Which branch had the highest result?", RESULTS.format(other)).startswith("| Wexley")


def test_a_row_without_separators_keeps_the_sign_of_its_number() -> None:
    assert cells("Wexley (120) 5") == cells("Wexley -120 5") == ["Wexley "]
    plain = "Branch Result\nAldgate Street 5 7\nWexley Market (120) 9\nTarnbeck 80 8\n"
    assert first_row("Which has the lowest result?", plain) == "Wexley Market (120) 9 [S1]"


def test_a_short_row_is_quoted_below_its_header() -> None:
    trees = "Trees\n| Tree | Age |\n| --- | --- |\n| Oak | 90 |\n| Elm | 7 |\n"
    assert answer("What is the age of the elm?", trees) == "| Tree | Age | [S1]\n| Elm | 7 | [S1]"
    paged = "Tree Age Height\nOak 90 Jahre 12\n4 / 5\n"
    assert "4 / 5" not in answer("Which tree is the oldest of the 5?", paged)


BREADS = """Item | Price | Contains nuts | Vegan
Item: Rye loaf | Price: 3.9 | Contains nuts: no | Vegan: yes
Item: Walnut bread | Price: 4.6 | Contains nuts: yes | Vegan: yes
Item: Brioche | Price: 4.2 | Contains nuts: no | Vegan: no
"""
FERRY = """Ferry Corran
Summer timetable
From port To island Ship
06:45 07:30 Corran
09:15 10:00 Skua
13:00 13:45 Corran
"""
ACTIONS = (
    "## 5. Actions\n\n| Action | Owner |\n| --- | --- |\n| Order swings | Osei |\n| Write letter | Lomax |"
)


@pytest.mark.parametrize(
    ("question", "table", "shown", "hidden"),
    [
        ("Which breads are vegan?", BREADS, ["Rye loaf", "Walnut bread"], ["Brioche"]),
        ("Which breads contain no nuts?", BREADS, ["Rye loaf", "Brioche"], ["Walnut"]),
        ("Is the brioche vegan?", BREADS, ["Item: Brioche"], []),
        ("When does the ferry Corran go?", FERRY, ["06:45", "13:00"], ["09:15"]),
        ("What are the actions?", ACTIONS, ["Order swings", "Write letter"], []),
    ],
)
def test_all_rows_that_answer_are_shown_and_none_that_says_no(
    question: str, table: str, shown: list[str], hidden: list[str]
) -> None:
    found = answer(question, table)
    assert closest_label("en") not in found
    assert all(text in found for text in shown)
    assert not any(text in found for text in hidden)


def test_more_rows_than_can_be_shown_are_no_answer() -> None:
    rows = "".join(f"| Task {number} | Osei |\n" for number in range(1, 10))
    found = answer("What are the actions?", f"## 5. Actions\n\n| Action | Owner |\n| --- | --- |\n{rows}")
    assert found.startswith(closest_label("en"))
