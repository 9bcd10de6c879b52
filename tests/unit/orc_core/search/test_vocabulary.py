"""A domain's vocabulary finds the terms and pages of its documents, and affects no others."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from devkit.ranked_pages import rank_pages
from orc_core.documents.passages import split_pages
from orc_core.infra.sqlite import Database
from orc_core.models import Page
from orc_core.search.ranking import Weights
from orc_core.search.vocabulary import QueryExpansion, Vocabulary, shipped_vocabularies
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex
from orc_core.text.terms import words

FILLER = "Members of the board and the management read this report in the course of the fiscal year. " * 6
INCOME = """CONSOLIDATED STATEMENTS OF OPERATIONS
(In millions) 2023 2022
Net sales 4,512 4,301
Cost of sales 2,781 2,690
Gross profit 1,731 1,611
Operating income 512 498
Interest expense 31 29
Income before income taxes 481 469
Net income 377 362"""
BALANCE = """CONSOLIDATED BALANCE SHEETS
(In millions) 2023 2022
Cash and cash equivalents 612 580
Inventories 433 401
Total current assets 1,730 1,640
Total assets 4,210 4,011
Accounts payable 388 371
Total current liabilities 951 902
Total liabilities 2,100 2,020
Retained earnings 1,470 1,390"""
CASH = """CONSOLIDATED STATEMENTS OF CASH FLOWS
(In millions) 2023 2022
Net cash provided by operating activities 540 511
Additions to property and equipment (210) (188)
Net cash used in investing activities (233) (201)
Dividends paid (90) (85)
Net cash used in financing activities (180) (166)"""
CONTENTS = """Table of Contents
Consolidated Statements of Operations 3
Consolidated Balance Sheets 4
Consolidated Statements of Cash Flows 5
Returns and capital 9"""
REPORT = [f"Annual Report 2023\n{FILLER}", CONTENTS, INCOME, BALANCE, CASH, f"Risk Factors\n{FILLER}"]
GERMAN = [
    "Geschäftsbericht 2023\n" + "Der Vorstand berichtet, wie das Geschäftsjahr war. " * 9,
    """Konzernbilanz
in Mio. € 2023 2022
Vorräte 433 401
Umlaufvermögen 1.730 1.640
kurzfristige Schulden 951 902
Eigenkapital 1.470 1.390
Rückstellungen 120 118
Bilanzsumme 4.210 4.011""",
    """Gewinn- und Verlustrechnung
in Mio. € 2023 2022
Umsatzerlöse 4.512 4.301
Umsatzkosten 2.781 2.690
Ergebnis vor Steuern 481 469
Jahresüberschuss 377 362""",
]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "test.db")
    await database.migrate(SCHEMA)
    yield database
    await database.close()


async def save(database: Database, name: str, texts: list[str]) -> None:
    pages = [Page(number=number, text=text) for number, text in enumerate(texts, 1)]
    await SqlitePassageIndex(database).save(name, name, split_pages(name, pages))


async def scores_of(database: Database, question: str, page: int) -> dict[str, float]:
    """The score of this page in each document in which it is found."""
    documents = [row["document_id"] for row in await database.read(_documents)]
    hits = await SqlitePassageIndex(database).search(question, documents, 100)
    return {hit.passage.document_id: hit.score for hit in reversed(hits) if hit.passage.page == page}


def _documents(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return connection.execute("SELECT document_id FROM search_documents").fetchall()


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What is the quick ratio?", {4}),
        ("What is the working capital of the company?", {4}),
        ("What is the operating margin?", {3}),
        ("What is the interest coverage?", {3}),
        ("How high was capex?", {5}),
        ("What is the free cash flow?", {5}),
        ("What is the return on assets?", {3, 4}),
        ("What is the inventory turnover of the company?", {3, 4}),
        ("What is the payout ratio?", {3, 5}),
    ],
)
async def test_a_measure_leads_to_the_statements_that_it_is_computed_from(
    database: Database, question: str, pages: set[int]
) -> None:
    await save(database, "report", REPORT)
    ranked = rank_pages(await SqlitePassageIndex(database).search(question, ["report"], 10))
    assert {page for _, page in ranked[: len(pages)]} == pages


async def test_contents_are_found_when_asked_for(database: Database) -> None:
    await save(database, "report", REPORT)
    hits = await SqlitePassageIndex(database).search(
        "Which parts does the table of contents list?", ["report"], 9
    )
    assert rank_pages(hits)[0] == ("report", 2)


async def test_without_the_vocabulary_they_are_not_found(database: Database) -> None:
    await save(database, "report", REPORT)
    index = SqlitePassageIndex(database, vocabularies=[])
    assert await index.search("What is the quick ratio?", ["report"], 10) == []


PROSE = "Our balance sheet, our income statement and our return on assets are what management looks at. " * 4


async def test_a_statement_without_a_title_is_recognised_by_its_lines(database: Database) -> None:
    lines = [
        INCOME.partition("\n")[2]
        + "\nResearch and development 88 80\nIncome taxes 104 107\nDiluted 3.10 2.97"
    ]
    await save(database, "titled", [REPORT[0], f"CONSOLIDATED STATEMENTS OF OPERATIONS\n{lines[0]}", FILLER])
    await save(database, "untitled", [REPORT[0], *lines, FILLER])
    scores = await scores_of(database, "What is the net margin?", page=2)
    assert scores["untitled"] == pytest.approx(scores["titled"], abs=0.3)


async def test_words_of_a_measure_are_not_searched_one_by_one(database: Database) -> None:
    await save(database, "report", [*REPORT, "The return of the goods to the club. " * 4])
    hits = await SqlitePassageIndex(database).search("What is the return on assets?", ["report"], 30)
    assert {3, 4} <= {page for _, page in rank_pages(hits)} <= {2, 3, 4, 5}


async def test_a_question_for_figures_ranks_tables_before_prose_of_the_same_terms(database: Database) -> None:
    prose = "Of the total assets and the net income we speak in the report."
    table = "Net income 377 362\nOther 12 13\nSundry 14 15\nTotal assets 4,210 4,011"
    await save(database, "report", [REPORT[0], prose, table])
    index = SqlitePassageIndex(database, weights=Weights(kinds=0, figures=0, measures=0, passage=0, pairs=0))
    ranked = rank_pages(await index.search("ROA?", ["report"], 30))
    assert ranked == [("report", 3), ("report", 2)]


async def test_a_statement_is_ranked_before_prose_that_mentions_it(database: Database) -> None:
    await save(database, "report", [*REPORT, *[PROSE] * 4])
    ranked = rank_pages(
        await SqlitePassageIndex(database).search("What is the return on assets?", ["report"], 20)
    )
    assert {page for _, page in ranked[:2]} == {3, 4}


async def test_a_title_in_running_headers_is_ignored(database: Database) -> None:
    await save(database, "plain", [*REPORT, *[FILLER] * 6])
    await save(database, "headed", [f"Table of Contents\n{text}" for text in [*REPORT, *[FILLER] * 6]])
    scores = await scores_of(database, "What is the quick ratio?", page=4)
    assert scores["headed"] == pytest.approx(scores["plain"], abs=0.2)


@pytest.mark.parametrize(
    ("question", "page"),
    [("Wie hoch ist die Liquidität nach working capital?", 2), ("Wie hoch ist die Umsatzrendite?", 3)],
)
async def test_a_german_report_is_found_in_its_own_terms(
    database: Database, question: str, page: int
) -> None:
    await save(database, "bericht", GERMAN)
    ranked = rank_pages(await SqlitePassageIndex(database).search(question, ["bericht"], 10))
    assert ranked[0] == ("bericht", page)


async def test_a_vocabulary_does_not_change_the_ranking_of_other_documents(
    database: Database,
) -> None:
    manual = [
        "The equity of care: members have a lease on health.",
        "The cash desk sells tickets. A turnover of staff is a risk to care.",
        "Properties of the drug, its assets and risks, and how care is restructured.",
    ]
    await save(database, "manual", manual)
    for question in ("What is the turnover of staff?", "Is there a lease?", "Which risks has the drug?"):
        with_it = await SqlitePassageIndex(database).search(question, ["manual"], 10)
        without = await SqlitePassageIndex(database, vocabularies=[]).search(question, ["manual"], 10)
        assert with_it == without


def expand(text: str) -> QueryExpansion:
    (vocabulary,) = shipped_vocabularies()
    expansion = vocabulary.expand(words(text), "en")
    assert expansion is not None
    return expansion


def test_the_longest_term_is_expanded() -> None:
    expansion = expand("fixed asset turnover ratio")
    assert [kind.name for kind in expansion.kinds] == ["income statement", "balance sheet"]
    assert ("asset", "turnover") not in {phrase for concept in expansion.concepts for phrase in concept}


def test_every_shipped_term_is_expanded_by_its_own_name() -> None:
    for vocabulary in shipped_vocabularies():
        assert [term for term in vocabulary.terms if vocabulary.expand(words(term), "en") is None] == []


@pytest.mark.parametrize(
    "toml",
    [
        'known_by = ["x"]\n[[term]]\nsay = ["a"]',
        'known_by = ["x"]\n[[term]]\nsays = ["a"]\nuses = ["b"]',
        'known_by = ["x"]\n[[term]]\nsays = ["a"]\non = ["b"]',
    ],
)
def test_an_inconsistent_vocabulary_is_refused(toml: str) -> None:
    with pytest.raises((ValidationError, ValueError)):
        Vocabulary(toml)
