"""The ranking over SQLite, and the stored rows; the contract of passage indexes has its own file."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.ranked_pages import rank_pages
from orc_core.documents.passages import split_pages
from orc_core.infra.sqlite import Database
from orc_core.models import Hit, Page, Passage
from orc_core.search.hybrid import HybridRetriever, search_in_memory
from orc_core.search.query import parse_question
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex

PLAN = [
    "Introduction to the plan.",
    "The deductible is 500 dollars a year.",
    "Emergency rooms are covered.",  # prose: data
]
OTHER = ["Employees park in the garage.", "The garage has a deductible gate.", "Lunch is at noon."]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "test.db")
    await database.migrate(SCHEMA)
    yield database
    await database.close()


@pytest.fixture
def index(database: Database) -> SqlitePassageIndex:
    return SqlitePassageIndex(database)


def passages(document_id: str, texts: list[str], heading: str = "") -> list[Passage]:
    return split_pages(
        document_id, [Page(number=n, text=text, label=heading) for n, text in enumerate(texts, 1)]
    )


async def save(index: SqlitePassageIndex, document_id: str, texts: list[str], heading: str = "") -> None:
    await index.save(document_id, document_id, passages(document_id, texts, heading))


def places(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.passage.document_id, hit.passage.page) for hit in hits]


async def test_text_outside_the_scope_changes_no_score(index: SqlitePassageIndex) -> None:
    await save(index, "plan", PLAN)
    await save(index, "other", OTHER)
    before = await index.search("What deductible do employees have?", ["plan", "other"], 10)
    for tenant in range(20):
        await save(index, f"foreign-{tenant}", ["deductible employees " * 50, *PLAN, *OTHER])
    assert await index.search("What deductible do employees have?", ["plan", "other"], 10) == before
    await index.delete("foreign-3")
    assert await index.search("What deductible do employees have?", ["other", "plan"], 10) == before


async def test_saving_again_replaces_all_passages(index: SqlitePassageIndex, database: Database) -> None:
    await save(index, "plan", PLAN)
    await save(index, "plan", ["Nothing but parking."])
    assert await index.search("deductible", ["plan"], 5) == []
    assert places(await index.search("parking", ["plan"], 5)) == [("plan", 1)]
    # Two words, and the name of the document.
    assert await rows(database) == {"search_documents": 1, "search_passages": 1, "search_terms": 3}


async def test_readers_see_the_old_passages_or_the_new_ones(index: SqlitePassageIndex) -> None:
    versions = [[f"Version{i} deductible {word}." for word in "abcdefgh"] for i in range(2)]
    await save(index, "plan", versions[0])

    async def rewrite() -> None:
        for turn in range(30):
            await save(index, "plan", versions[turn % 2])

    writing = asyncio.create_task(rewrite())
    while not writing.done():
        hits = await index.search("deductible", ["plan"], 50)
        assert len({hit.passage.text.split()[0] for hit in hits}) == 1
        assert len(hits) == 8
    await writing


async def test_a_page_is_scored_by_all_of_its_passages(index: SqlitePassageIndex) -> None:
    filler = "Members read this sentence without learning a thing. " * 20
    spread = f"Ambulance rides are paid. {filler}\n\nHelicopter rides are paid. {filler}"
    texts = [spread, f"Ambulance service. {filler}\n\n{filler}", filler]
    await save(index, "plan", texts)
    hits = await index.search("ambulance helicopter", ["plan"], 10)
    assert rank_pages(hits) == [("plan", 1), ("plan", 2)]
    assert places(hits)[:2] == [("plan", 1), ("plan", 1)]


async def test_neighbouring_words_count_more_than_the_same_words_apart(
    index: SqlitePassageIndex,
) -> None:
    apart = "Billing follows the balance of the account and more."
    together = "Balance billing follows the rules of the account."
    await save(index, "plan", [apart, together])
    assert rank_pages(await index.search("balance billing", ["plan"], 5))[0] == ("plan", 2)


async def test_words_across_a_page_break_are_not_neighbours(
    index: SqlitePassageIndex,
) -> None:
    await save(index, "plan", ["Members keep balance", "billing reaches members"])
    first, second = await index.search("balance billing", ["plan"], 5)
    assert first.score == second.score


async def test_a_question_for_a_number_prefers_pages_of_figures(index: SqlitePassageIndex) -> None:
    prose = "Revenue comes from many places, where people work hard for it, early and late, in mills."
    table = f"Revenue by quarter {' '.join(map(str, range(388, 512, 6)))} and in other quarters"
    await save(index, "report", [prose, table])
    assert rank_pages(await index.search("Where does revenue come from?", ["report"], 5))[0] == ("report", 1)
    assert rank_pages(await index.search("How much is revenue?", ["report"], 5))[0] == ("report", 2)


async def test_the_document_whose_first_page_matches_comes_first(index: SqlitePassageIndex) -> None:
    body = "The deductible is explained on this page for all members."
    await save(index, "a", ["Standard edition.", body])
    await save(index, "b", ["Premium edition.", body])
    premium = rank_pages(await index.search("deductible in Premium", ["a", "b"], 5))
    assert premium[0] == ("b", 2), "the name of a document does not make its first page the answer"
    assert ("b", 1) in premium
    assert rank_pages(await index.search("deductible in Standard", ["a", "b"], 5))[0] == ("a", 2)


async def test_a_database_of_the_first_version_is_emptied(tmp_path: Path) -> None:
    database = Database(tmp_path / "old.db")
    await database.migrate(
        "CREATE TABLE indexed_documents (document_key INTEGER PRIMARY KEY, document_id TEXT)",
        "CREATE TABLE postings (document_key INTEGER, term TEXT)",
        "INSERT INTO indexed_documents VALUES (1, 'plan')",
    )
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    assert await index.indexed(["plan"]) == set()
    await save(index, "plan", PLAN)
    await database.migrate(SCHEMA)
    assert places(await index.search("deductible", ["plan"], 5)) == [("plan", 2)]
    await database.close()


@pytest.mark.parametrize("question", ["the deductible of the plan", "who pays deductibles", "a tuba"])
async def test_a_document_is_judged_alike_before_and_after_it_is_indexed(
    index: SqlitePassageIndex, question: str
) -> None:
    """Also by the thresholds: a question that is below all of them may be sent to the web."""
    await index.save("plan", "", passages("plan", PLAN))
    indexed = await HybridRetriever(index).search(question, ["plan"], 5)
    assert search_in_memory(question, [passages("plan", PLAN)], 5) == indexed
    assert [step.threshold for step in indexed.steps][:1] == [0.75]


@pytest.mark.parametrize("question", ["the deductibel", "DEDUCTABLE", "dedcutible", "deductible"])
async def test_a_misspelled_word_is_repaired(index: SqlitePassageIndex, question: str) -> None:
    await save(index, "plan", PLAN)
    assert places(await index.search(question, ["plan"], 5)) == [("plan", 2)]


async def test_a_word_of_the_documents_is_not_repaired(index: SqlitePassageIndex) -> None:
    await save(index, "plan", ["A dedication of the plan.", "A medication of the plan."])
    assert places(await index.search("medication", ["plan"], 5)) == [("plan", 2)]


@pytest.mark.parametrize("widened", [False, True])
async def test_a_similar_term_in_headings_only_is_no_error(index: SqlitePassageIndex, widened: bool) -> None:
    await save(index, "plan", PLAN, "Ambulances")
    await save(index, "other", OTHER)
    hits = await index.search("ambulanze plan", ["plan", "other"], 5, widened=widened)
    assert {hit.passage.document_id for hit in hits} == {"plan"}


async def test_the_named_file_comes_first(index: SqlitePassageIndex) -> None:
    body = ["Notes.", "Net sales rose in the year, says the board of the company."]
    names = ["BLUEYONDER_2022_10K.pdf", "FABRIKAM_2022_10K.pdf", "FABRIKAM_2023_10K.pdf"]
    for name in names:
        await index.save(name, name, passages(name, body))
    for question, name in (
        ("How did net sales of Blue Yonder change in 2022?", names[0]),
        ("How did Fabrikam's net sales change in FY2022?", names[1]),
        ("How did Fabrikam's net sales change in fiscal 2023?", names[2]),
        ("How did Fabrikam's net sales change between FY22 and FY23?", names[2]),
    ):
        assert rank_pages(await index.search(question, names, 5))[0] == (name, 2), question


async def test_a_page_or_table_named_by_number_comes_first(index: SqlitePassageIndex) -> None:
    pages = [f"The results of the experiment are here. See Table {n}." for n in (3, 4, 5)]
    await save(index, "paper", pages)
    assert rank_pages(await index.search("results on page 3", ["paper"], 5))[0] == ("paper", 3)
    assert rank_pages(await index.search("results in Table 4", ["paper"], 5))[0] == ("paper", 2)


@pytest.mark.parametrize(
    "instruction",
    [
        "Round your answer to two decimal places, in USD millions.",
        "Answer as if you are an investment banker and your goal is to judge the details.",
        "Respond to the question as an equity analyst with access only to the details.",
        "If it is not a meaningful metric for a banker, state so in detail.",
        "A reasonable approximation (or exact number if possible), rounded to two decimal places.",
        "Arrondir à deux décimales.",
    ],
)
async def test_instructions_on_how_to_answer_are_ignored(index: SqlitePassageIndex, instruction: str) -> None:
    decoy = (
        "Round decimal places to millions, an investment banker is an exact equity analyst. Décimales. " * 3
    )
    await save(index, "plan", ["The cost of care.", decoy])
    hits = await index.search(f"What is the cost of care? {instruction}", ["plan"], 5)
    assert rank_pages(hits)[0] == ("plan", 1)


def test_a_question_that_resembles_an_instruction_is_kept() -> None:
    question = parse_question("Who has access to the data centre, and what is the role of an auditor?", [])
    assert question.words == ["access", "data", "centre", "role", "auditor"]


async def rows(database: Database) -> dict[str, int]:
    def count(connection: sqlite3.Connection) -> dict[str, int]:
        tables = ("search_documents", "search_passages", "search_terms")
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}

    return await database.read(count)
