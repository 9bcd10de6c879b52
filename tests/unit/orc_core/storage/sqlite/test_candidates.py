"""The first stage of a search over very many documents finds those that the second one would rank first."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from orc_core.documents.passages import split_pages
from orc_core.documents.places import Accessible, Place, PlaceType, session_place
from orc_core.infra.sqlite import Database
from orc_core.models import Page
from orc_core.names import BlobPath, Owner
from orc_core.search.hybrid import HybridRetriever
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex
from orc_core.storage.sqlite.places import WIDE

pytestmark = pytest.mark.slow

SESSION = Owner("acme", "ann", "s1")
FOLDER, ELSEWHERE = Owner.of_context("acme", "o1-f1-u1"), Owner.of_context("acme", "o1-f11")
PLACES = (session_place(SESSION), Place(type=PlaceType.FOLDER, id="o1-f1", deep=True, near=False))
EVERYTHING = Accessible(SESSION, PLACES)
WORDS = [f"word{number}" for number in range(400)]
MANY = 60
"""Instead of WIDE, so that the tests take no time."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "orc.db")
    await opened.migrate(SCHEMA)
    yield opened
    await opened.close()


@pytest.fixture
def index(database: Database) -> SqlitePassageIndex:
    return SqlitePassageIndex(database, [], most_ranked=MANY)


async def save(index: SqlitePassageIndex, owner: Owner | None, name: str, *texts: str) -> str:
    """A saved document; returns its id."""
    document_id = BlobPath(owner or SESSION, name).document_id
    pages = [Page(number=number, text=text) for number, text in enumerate(texts, 1)]
    await index.save(document_id, name, split_pages(document_id, pages), owner)
    return document_id


async def save_many(index: SqlitePassageIndex, count: int, owner: Owner = FOLDER) -> list[str]:
    """Documents with random words of a small vocabulary."""
    chance = random.Random(7)
    texts = [" ".join(chance.choices(WORDS, k=60)) + "." for _ in range(count)]
    return [await save(index, owner, f"file {n}.txt", text) for n, text in enumerate(texts)]


async def test_all_of_few_documents_are_candidates(index: SqlitePassageIndex) -> None:
    assert WIDE == 200
    ids = await save_many(index, MANY)
    assert await index.candidates("nothing of it", EVERYTHING) == sorted(ids)


@pytest.mark.slow
async def test_the_best_page_of_many_documents_is_found_as_by_ranking_all(
    index: SqlitePassageIndex,
) -> None:
    ids = await save_many(index, 5 * MANY)
    retriever = HybridRetriever(index, finder=index)
    chance, same = random.Random(8), 0
    for _ in range(20):
        query = " ".join(chance.choices(WORDS, k=4))
        wide = await retriever.search_places(query, EVERYTHING, 5)
        plain = await retriever.search(query, ids, 5)
        assert len(await index.candidates(query, EVERYTHING)) <= MANY
        same += plain.hits[0].passage in [hit.passage for hit in wide.hits]
    assert same >= 19


async def test_candidates_are_accessible(index: SqlitePassageIndex) -> None:
    await save_many(index, 2 * MANY)
    mine = await save(index, SESSION, "mine.txt", "The canary sings at noon.")
    hidden = await save(index, Owner.of_context("acme", "o1-f1-gone"), "gone.txt", "The canary sings.")
    for owner in (ELSEWHERE, Owner("acme", "bob", "s1"), Owner.of_context("globex", "o1-f1"), None):
        await save(index, owner, "other.txt", "The canary sings at noon, at noon.")
    hiding = PLACES[1].model_copy(update={"without": ("o1-f1-gone",)})
    accessible = Accessible(SESSION, (PLACES[0], hiding))
    assert await index.candidates("canary noon", accessible) == [mine]
    assert await index.candidates("canary noon", EVERYTHING) == sorted([mine, hidden])
    assert mine not in await index.candidates("canary noon", EVERYTHING.narrowed("others"))
    some = replace(EVERYTHING, document_ids=frozenset({mine, "unknown"}))
    assert await index.candidates("canary noon", some) == [mine]


async def test_a_document_is_a_candidate_by_its_name_and_its_year(index: SqlitePassageIndex) -> None:
    await save_many(index, 2 * MANY)
    by_name = await save(index, FOLDER, "Wingtip_10K.txt", "Sales grew.")
    by_year = await save(index, FOLDER, "report_2023_Q1.txt", "Sales fell.")
    assert by_name in await index.candidates("What did Wingtip report?", EVERYTHING)
    for question in ("What happened in Q1 2023?", "What happened in 2023?"):
        assert by_year in await index.candidates(question, EVERYTHING)


async def test_a_question_without_candidates_is_ranked_over_the_first_documents(
    index: SqlitePassageIndex,
) -> None:
    await save_many(index, 2 * MANY)
    assert len(await index.candidates("xylophne", EVERYTHING)) == MANY


async def test_deletions_keep_places_and_counts(index: SqlitePassageIndex, database: Database) -> None:
    await save_many(index, 2 * MANY)
    source = await save(index, SESSION, "Wingtip.txt", "The canary sings at noon.")
    target = await save(index, FOLDER, "Adatum.txt", "The canary sings at noon.")
    others = EVERYTHING.narrowed("others")
    assert await index.candidates("canary noon", others) == [target]
    assert await index.candidates("Adatum", others) == [target]
    assert await index.candidates("Wingtip", EVERYTHING) == [source]
    await index.delete(target)
    assert target not in await index.candidates("canary noon", others)
    await index.delete(source)
    left = await database.rows(
        "SELECT count(*) AS n FROM search_batches WHERE document_key NOT IN"
        " (SELECT document_key FROM search_documents)"
    )
    assert left[0]["n"] == 0


async def test_documents_of_an_earlier_version_are_placed_later(
    index: SqlitePassageIndex, database: Database
) -> None:
    await save_many(index, 2 * MANY)
    saved = await save(index, FOLDER, "Wingtip_2023.txt", "The canary sings at noon.")
    # As they were written: without places, counts, and terms of documents as a whole.
    await database.execute(
        ("DELETE FROM search_owners", ()),
        ("DELETE FROM search_batches", ()),
        ("DELETE FROM search_terms WHERE term GLOB char(1) || '*'", ()),
    )
    unplaced = await index.unplaced()
    assert len(unplaced) == 2 * MANY + 1
    for document_id in unplaced:
        await index.place(document_id, FOLDER)
    assert await index.unplaced() == []
    for question in ("canary noon", "Wingtip", "What happened in 2023?"):
        assert await index.candidates(question, EVERYTHING) == [saved]
