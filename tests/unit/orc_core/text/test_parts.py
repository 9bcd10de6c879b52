"""Parts of a document that a question names: pages by number and label, sheets, clauses."""

import pytest

from orc_core.models import PROPERTIES, Page
from orc_core.text.parts import (
    MOST_NAMED,
    is_about_file,
    may_name_parts,
    named_parts,
    pages_named,
    parts_of_file,
)

LEASE = [
    Page(number=1, text="Contents\n3.3 Rent rises .... 2\n4 Deposit .... 3", label="i"),
    Page(
        number=2,
        text="3 Rent\n3.2 The rent is due.\n3.3 The rent rises\nwithin 14 days.\n3.3.1 Not in May.",
        label="1",
    ),
    Page(
        number=3,
        text="Nor in June.\nTable 2 and others.\n3.4 Other\n4. Deposit\nIt is 900.\n5. End\nArticle 12 Keys",
        label="2",
    ),
    Page(number=4, text="Item | Price\nTable 2: Fees", label="Prices (hidden sheet)"),
]


def found(question: str) -> list[str]:
    """The parts as their page and their text."""
    parts = named_parts(question, LEASE)
    return [f"{part.at + 1}: {LEASE[part.at].text[part.start : part.end].strip()}" for part in parts]


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What is on page 4?", [4]),
        ("Summarise page 2", [3, 2]),  # the printed number first
        ("Was steht auf Seite i?", [1]),
        ("And the last page?", [4]),
        ("¿Qué dice la última página?", [4]),
        ("La première page ?", [1]),
        ("Pages 3-4", [3, 4]),
        ("What is on sheet Prices?", [4]),
        ('Which columns has the "Prices" sheet?', [4]),
        ("slide 4", [4]),
        ("What is on page ix?", []),
        ("What are the prices?", []),
    ],
)
def test_pages_are_found_by_number_label_and_place(question: str, pages: list[int]) -> None:
    assert found(question) == [f"{page}: {LEASE[page - 1].text}" for page in pages]


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "What does clause 3.3 say?",
            [
                "2: 3.3 The rent rises\nwithin 14 days.\n3.3.1 Not in May.",
                "3: Nor in June.\nTable 2 and others.",
            ],
        ),
        ("3.3.1?", ["2: 3.3.1 Not in May.", "3: Nor in June.\nTable 2 and others."]),
        ("Was regelt Ziffer 3.2?", ["2: 3.2 The rent is due."]),
        ("How much is it by section 4?", ["3: 4. Deposit\nIt is 900."]),
        ("What is article 12 about?", ["3: Article 12 Keys"]),
        ("Is notice given within 14 days?", []),
        ("What does table 2 show?", ["4: Item | Price\nTable 2: Fees"]),  # a table can be above its caption
        ("Clause 9.9", []),
    ],
)
def test_a_clause_ends_where_the_next_one_begins(question: str, parts: list[str]) -> None:
    assert found(question) == parts


def test_most_questions_name_no_part() -> None:
    assert not may_name_parts("What was the revenue in Q2 2024, and who wrote it?")
    assert may_name_parts("Read § 4") and may_name_parts("the final page")


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What is on page 7?", [7]),
        ("Was steht auf Seite 12 und auf S. 3?", [12, 3]),
        ("Compare pages 2-4", [2, 3, 4]),
        ("pages 2 and 9", [2, 9]),
        ("Qué dice la página 5", [5]),
        ("Are there 7 pages?", []),
        ("page 1-999999", list(range(1, 22))),
        ("第3页", [3]),
        ("on the 3rd page", [3]),
    ],
)
def test_numbers_of_pages(question: str, pages: list[int]) -> None:
    assert pages_named(question) == pages


def test_a_question_can_name_so_many_pages_and_no_more() -> None:
    question = " ".join(f"s.{number}-{number + 20}" for number in range(1000, 18_000, 21))
    assert pages_named(question) == list(range(1000, 1000 + MOST_NAMED))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is in appendix 2?", "Appendix 2: Forms\nAll forms."),
        ("What does article 12 say?", "Article 12\nDamage is paid."),
        ("What does section 3 say?", "3 Deposit\nIt is EUR 90.\n"),
    ],
)
def test_a_part_begins_at_the_line_with_its_word_and_number(question: str, text: str) -> None:
    page = Page(
        number=1,
        text="Section 3 . . . . 1\n2. Term\nOne year.\n3 Deposit\nIt is EUR 90.\nArticle 12\n"
        "Damage is paid.\nArticle 13\nEnd.\nAppendix 2: Forms\nAll forms.\nAppendix 3: Map\nA map.",
    )
    (part,) = named_parts(question, [page])
    assert page.text[part.start : part.end].startswith(text.rstrip())


SAID = Page(number=5, text="Properties of the file: author Tove Dahl; 4 pages.", label=PROPERTIES)


@pytest.mark.parametrize(
    "question",
    [
        "How many pages does the document have?",
        "How many sheets are there?",
        "Who wrote lease-2026.pdf?",
        "Who sent the e-mail?",
        "What is its title?",
        "Wie viele Seiten hat das Dokument?",
        "Wer hat die Datei geschrieben?",
        "Combien de pages a le document ?",
        "¿Cuántas páginas tiene el archivo?",
        "What is this about?",
    ],
)
def test_a_question_without_another_subject_is_about_the_file(question: str) -> None:
    assert [part.at for part in parts_of_file(question, [SAID, *LEASE])] == [0]
    assert parts_of_file(question, LEASE) == []
    assert may_name_parts(question)


@pytest.mark.parametrize(
    "question", ["Who wrote the poem on the wall?", "How many pages on rent are there?", "Who pays?"]
)
def test_a_question_with_a_subject_is_not(question: str) -> None:
    assert not is_about_file(question)
    assert parts_of_file(question, [*LEASE, SAID]) == []


def test_what_a_file_says_of_itself_is_no_page_of_it() -> None:
    for question in ("What is on page 5?", "Page 'Properties of the file'"):
        assert 4 not in [part.at for part in named_parts(question, [*LEASE, SAID])]
    assert [part.at for part in named_parts("And the last page?", [SAID, *LEASE])] == [4]
