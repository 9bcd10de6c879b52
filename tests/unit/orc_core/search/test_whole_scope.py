"""Full scans: of documents that are not indexed yet, and of all while the index is unavailable."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from devkit.azure.search import connect
from devkit.azure.targets import Target
from devkit.doubles.search_double import ADMIN_KEY, Failure, SearchDouble, serving
from orc_core.documents.passages import split_pages
from orc_core.errors import DependencyDown
from orc_core.infra.sqlite import Database
from orc_core.models import PROPERTIES, Page, Retrieval, RetrievalStep
from orc_core.search.whole_scope import NAMED, OF_FILE, WholeScopeRetriever
from orc_core.storage.ai_search.client import Search
from orc_core.storage.ai_search.index import create_index
from orc_core.storage.ai_search.passages import AzurePassageIndex
from orc_core.storage.ai_search.retriever import AzureSearchRetriever
from orc_core.storage.sqlite.documents import PAGES_SCHEMA as SCHEMA
from orc_core.storage.sqlite.documents import SqlitePageStore

pytestmark = pytest.mark.slow

DOWN = "The search does not answer (dependency_down); the text of the documents was read through instead."
PLAN = [
    Page(number=1, text="The deductible is 500 dollars a year."),
    Page(number=2, text="Rooms are covered."),  # prose: data
]
OTHER = [Page(number=1, text="The garage has a deductible gate.")]


@pytest.fixture
async def pages(tmp_path: Path) -> AsyncIterator[SqlitePageStore]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    store = SqlitePageStore(database)
    await store.save("plan", PLAN)
    await store.save("other", OTHER)
    yield store
    await database.close()


@pytest.fixture
def double() -> SearchDouble:
    return SearchDouble()


@pytest.fixture
def url(double: SearchDouble) -> Iterator[str]:
    with serving(double) as target:
        yield target.url


@pytest.fixture
async def search(url: str) -> AsyncIterator[Search]:
    await create_index(url, ADMIN_KEY, "passages")
    async with connect(Target(url, ADMIN_KEY), "passages") as search:
        yield search


@pytest.fixture
async def retriever(search: Search, pages: SqlitePageStore) -> WholeScopeRetriever:
    index = AzurePassageIndex(search)
    await index.save("plan", "plan.pdf", split_pages("plan", PLAN))
    return WholeScopeRetriever(AzureSearchRetriever(search), index, pages)


def places(found: Retrieval) -> set[tuple[str, int]]:
    return {(hit.passage.document_id, hit.passage.page) for hit in found.hits}


async def test_where_a_sentence_goes_on_that_ends_with_its_page_is_found(
    retriever: WholeScopeRetriever, pages: SqlitePageStore
) -> None:
    """Only if the part on its page has what is asked for."""
    lease = [
        Page(number=1, text="Keys are lent.\nThe deposit is returned when the hall is"),
        Page(number=2, text="empty and clean, after 40 days."),
        Page(number=3, text="Smoking is forbidden."),
    ]
    await pages.save("lease", lease)
    found = await retriever.search("When is the deposit returned?", ["lease", "plan"], 5)
    assert [hit.passage.page for hit in found.hits if hit.passage.document_id == "lease"] == [1, 2]
    found = await retriever.search("When is the deposit returned?", ["lease", "plan"], 1)
    assert places(found) == {("lease", 1)}
    found = await retriever.search("Are keys lent?", ["lease", "plan"], 5)
    assert places(found) == {("lease", 1)}


async def test_parts_that_a_question_names_come_first(retriever: WholeScopeRetriever) -> None:
    found = await retriever.search("What does page 2 say about the deductible?", ["plan"], 5)
    assert [hit.passage.page for hit in found.hits] == [2, 1]
    assert (found.steps[0].note, found.steps[0].hits) == (NAMED, 1)
    found = await retriever.search("What is on page 1?", ["plan", "other"], 1)
    assert (places(found), len(found.hits)) == ({("plan", 1)}, 1)
    found = await retriever.search("Page 7?", ["plan", "other"], 5)
    assert NAMED not in [step.note for step in found.steps]


async def test_what_a_file_says_of_itself_comes_first_if_the_question_is_about_it(
    retriever: WholeScopeRetriever, pages: SqlitePageStore
) -> None:
    said = Page(number=3, text="Properties of the file: author Tove Dahl; 2 pages.", label=PROPERTIES)
    await pages.save("plan", [*PLAN, said])
    found = await retriever.search("How many pages does plan.pdf have, and who wrote it?", ["plan"], 5)
    assert (found.hits[0].passage.text, found.steps[0].note) == (said.text, OF_FILE)
    found = await retriever.search("Who wrote about the deductible?", ["plan"], 5)
    assert OF_FILE not in [step.note for step in found.steps]


async def test_documents_without_an_index_are_scanned(
    retriever: WholeScopeRetriever,
) -> None:
    found = await retriever.search("What is the deductible?", ["plan"], 5)
    assert (places(found), [step.method for step in found.steps]) == ({("plan", 1)}, ["semantic"])
    found = await retriever.search("What is the deductible?", ["plan", "other"], 5)
    assert places(found) == {("plan", 1), ("other", 1)}
    assert found.steps[-1].note == "1 of 2 documents are not indexed yet; their text was read through."


@pytest.mark.slow
async def test_all_documents_are_scanned_while_the_search_is_down(
    double: SearchDouble, retriever: WholeScopeRetriever
) -> None:
    double.down = True
    found = await retriever.search("What is the deductible?", ["plan", "other"], 5)
    assert places(found) == {("plan", 1), ("other", 1)}
    assert found.steps == [RetrievalStep(method="lexical", threshold=0.75, hits=2, served=True, note=DOWN)]


@pytest.mark.slow
async def test_a_search_that_breaks_off_is_replaced_by_a_scan(
    double: SearchDouble, retriever: WholeScopeRetriever
) -> None:
    double.failures.append(Failure("search", 503, times=99, after=1))
    found = await retriever.search("What is the deductible?", ["plan"], 5)
    assert (places(found), found.steps[-1].note) == ({("plan", 1)}, DOWN)


async def test_a_search_that_refuses_is_replaced_by_a_scan(
    double: SearchDouble, retriever: WholeScopeRetriever
) -> None:
    double.failures.append(Failure("search", 403, times=99))
    found = await retriever.search("What is the deductible?", ["plan"], 5)
    assert places(found) == {("plan", 1)}
    assert "dependency_misconfigured" in found.steps[-1].note


@pytest.mark.slow
async def test_the_search_is_used_again_within_two_seconds_of_its_return(
    double: SearchDouble, retriever: WholeScopeRetriever
) -> None:
    double.down = True
    for _ in range(3):
        assert (await retriever.search("deductible", ["plan"], 5)).steps[-1].note
    double.down = False
    returned = time.monotonic()
    while (found := await retriever.search("deductible", ["plan"], 5)).steps[-1].note:
        assert time.monotonic() - returned < 2
        await asyncio.sleep(0.05)
    assert (places(found), found.steps[0].method) == ({("plan", 1)}, "semantic")


@pytest.mark.slow
async def test_only_documents_in_scope_are_scanned(
    double: SearchDouble, retriever: WholeScopeRetriever
) -> None:
    double.down = True
    assert places(await retriever.search("deductible", ["other"], 5)) == {("other", 1)}
    assert (await retriever.search("deductible", [], 5)).hits == []


class DownPages(SqlitePageStore):
    """A page store whose pages cannot be read."""

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        raise DependencyDown("The database cannot be used.", dependency="store")


async def test_unreadable_pages_are_an_error(double: SearchDouble, search: Search, tmp_path: Path) -> None:
    double.down = True
    index = AzurePassageIndex(search)
    pages = DownPages(Database(tmp_path / "unused.db"))
    with pytest.raises(DependencyDown, match="database"):
        await WholeScopeRetriever(AzureSearchRetriever(search), index, pages).search("x", ["plan"], 5)
