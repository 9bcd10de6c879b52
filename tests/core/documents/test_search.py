"""Search finds passages by page, in the documents asked for and by nothing outside them."""

import asyncio
import math
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.documents.models import Hit, Page, Passage
from core.documents.passages import split_pages
from core.documents.ranking import K1, B, bm25
from core.documents.search import SCHEMA, SqlitePassageIndex, rank_pages
from core.sqlite import Database

PLAN = ["Introduction to the plan.", "The deductible is 500 dollars a year.", "Emergency rooms are covered."]
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


async def test_a_hit_is_the_whole_passage_as_it_was_saved(index: SqlitePassageIndex) -> None:
    await save(index, "plan", PLAN, "Northwind")
    (hit,) = await index.search("deductible", ["plan"], 5)
    assert hit.passage == passages("plan", PLAN, "Northwind")[1]


async def test_only_documents_in_the_scope_are_found(index: SqlitePassageIndex) -> None:
    await save(index, "plan", PLAN)
    await save(index, "other", OTHER)
    assert places(await index.search("deductible", ["plan"], 5)) == [("plan", 2)]
    assert places(await index.search("deductible", ["other"], 5)) == [("other", 2)]
    assert set(places(await index.search("deductible", ["other", "plan"], 5))) == {("other", 2), ("plan", 2)}
    assert await index.search("deductible", ["unknown"], 5) == []


async def test_no_documents_means_no_hits_and_no_query(tmp_path: Path) -> None:
    database = Database(tmp_path / "never" / "made.db")
    assert await SqlitePassageIndex(database).search("deductible", [], 5) == []
    await database.close()
    assert not database.path.parent.exists()


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
    assert await rows(database) == {"indexed_documents": 1, "passages": 1, "postings": 2}


async def test_a_save_that_fails_leaves_the_old_passages(index: SqlitePassageIndex) -> None:
    await save(index, "plan", PLAN)
    broken = passages("plan", ["Parking."])[0].model_copy(update={"text": "Parking \udc80."})
    with pytest.raises(UnicodeEncodeError):
        await index.save("plan", "plan", [broken])
    assert places(await index.search("deductible", ["plan"], 5)) == [("plan", 2)]


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


async def test_deleting_removes_every_row_of_a_document(
    index: SqlitePassageIndex, database: Database
) -> None:
    await save(index, "plan", PLAN)
    await index.delete("plan")
    await index.delete("never there")
    assert await index.search("deductible", ["plan"], 5) == []
    assert set((await rows(database)).values()) == {0}


async def test_a_document_without_text_has_no_hits(index: SqlitePassageIndex) -> None:
    await index.save("empty", "empty", [])
    assert await index.search("deductible", ["empty"], 5) == []


async def test_hits_are_the_best_first_and_at_most_top_k(index: SqlitePassageIndex) -> None:
    await save(index, "plan", ["The plan of the plan.", "A plan and much else that is told here.", "Plan."])
    hits = await index.search("plan", ["plan"], 2)
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score
    assert await index.search("plan", ["plan"], 0) == []


async def test_a_page_is_judged_by_all_of_its_passages(index: SqlitePassageIndex) -> None:
    filler = "Members read this sentence without learning a thing. " * 20
    spread = f"Ambulance rides are paid. {filler}\n\nHelicopter rides are paid. {filler}"
    texts = [spread, f"Ambulance service. {filler}\n\n{filler}", filler]
    await save(index, "plan", texts)
    hits = await index.search("ambulance helicopter", ["plan"], 10)
    assert rank_pages(hits) == [("plan", 1), ("plan", 2)]
    assert places(hits)[:2] == [("plan", 1), ("plan", 1)]


async def test_words_that_stand_together_count_more_than_the_same_words_apart(
    index: SqlitePassageIndex,
) -> None:
    apart = "Billing follows the balance of the account and more."
    together = "Balance billing follows the rules of the account."
    await save(index, "plan", [apart, together])
    assert rank_pages(await index.search("balance billing", ["plan"], 5))[0] == ("plan", 2)


async def test_words_on_either_side_of_a_page_break_do_not_stand_together(
    index: SqlitePassageIndex,
) -> None:
    await save(index, "plan", ["Members keep balance", "billing reaches members"])
    first, second = await index.search("balance billing", ["plan"], 5)
    assert first.score == second.score


async def test_a_heading_counts_for_the_text_below_it(index: SqlitePassageIndex) -> None:
    pages = [
        Page(number=1, text="Coverage of dental visits.", label="Vision"),
        Page(number=2, text="Coverage of dental visits.", label="Dental"),
    ]
    await index.save("plan", "plan", split_pages("plan", pages))
    assert rank_pages(await index.search("dental coverage", ["plan"], 5))[0] == ("plan", 2)


async def test_a_question_for_a_number_prefers_pages_of_figures(index: SqlitePassageIndex) -> None:
    prose = "Revenue comes from many places, where people work hard for it."
    table = "Revenue by quarter 512 498 476 463 451 449 432 420 411 405 399 388 and in other quarters"
    await save(index, "report", [prose, table])
    assert rank_pages(await index.search("Where does revenue come from?", ["report"], 5))[0] == ("report", 1)
    assert rank_pages(await index.search("How much is revenue?", ["report"], 5))[0] == ("report", 2)


async def test_the_document_whose_first_page_is_meant_comes_first(index: SqlitePassageIndex) -> None:
    body = "The deductible is explained on this page for all members."
    await save(index, "a", ["Standard edition.", body])
    await save(index, "b", ["Premium edition.", body])
    assert rank_pages(await index.search("deductible in Premium", ["a", "b"], 5))[:2] == [("b", 1), ("b", 2)]
    assert rank_pages(await index.search("deductible in Standard", ["a", "b"], 5))[:2] == [("a", 1), ("a", 2)]


async def test_one_question_finds_each_document_in_its_own_language(index: SqlitePassageIndex) -> None:
    await save(index, "de", ["Die Häuser sind in der Stadt und nicht auf dem Land.", "Der Hund ist alt."])
    await save(index, "ru", ["Это большие города, и они не были в списке.", "Он спит."])
    await save(index, "zh", ["保险公司支付医疗费用。", "我们喜欢喝茶。"])
    question = "Haus? большой город? 医疗费用?"
    assert set(rank_pages(await index.search(question, ["de", "ru", "zh"], 9))) == {
        ("de", 1),
        ("ru", 1),
        ("zh", 1),
    }


async def test_numbers_are_found_however_they_are_written(index: SqlitePassageIndex) -> None:
    await save(index, "report", ["Net sales were $1,234.5 million in fiscal 2018.", "Nothing here."])
    for query in ("1234.5", "1,234.5", "FY2018", "FY18"):
        assert rank_pages(await index.search(query, ["report"], 5)) == [("report", 1)], query


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    query=st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(
                [
                    "deductible",
                    "document_key",
                    "OR",
                    "AND",
                    "NOT",
                    "NEAR(",
                    '"',
                    "'",
                    "*",
                    "^",
                    ":",
                    "--",
                    ";",
                ]
            )
        ).map(" ".join),
    )
)
async def test_no_query_is_an_error_or_reaches_out_of_scope(index: SqlitePassageIndex, query: str) -> None:
    await save(index, "plan", PLAN)
    await save(index, "other", OTHER)
    assert {hit.passage.document_id for hit in await index.search(query, ["plan"], 10)} <= {"plan"}


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=8))
def test_bm25_is_the_formula(units: list[list[str]]) -> None:
    lengths = [len(unit) for unit in units]
    average = sum(lengths) / len(units)
    counts = [
        {number: unit.count(term) for number, unit in enumerate(units) if term in unit} for term in "abcd"
    ]
    scores = bm25(counts, lengths)
    for number, unit in enumerate(units):
        expected = 0.0
        for term in set(unit):
            having = sum(term in other for other in units)
            idf = math.log(1 + (len(units) - having + 0.5) / (having + 0.5))
            norm = K1 * (1 - B + B * len(unit) / average)
            expected += idf * unit.count(term) * (K1 + 1) / (unit.count(term) + norm)
        assert math.isclose(scores[number], expected)


async def rows(database: Database) -> dict[str, int]:
    def count(connection: sqlite3.Connection) -> dict[str, int]:
        tables = ("indexed_documents", "passages", "postings")
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}

    return await database.read(count)
