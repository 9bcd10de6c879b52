"""Saves in AI Search that fail half way, are seen late, or meet a service that is down."""

import asyncio
import time
from contextlib import suppress

import pytest

from devkit.azure.search import connect
from devkit.azure.targets import Target
from devkit.doubles.search_double import Failure, SearchDouble
from orc_core.documents.passages import split_pages
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.models import Page, Passage
from orc_core.storage.ai_search import client as search_module
from orc_core.storage.ai_search.client import BATCH_ACTIONS, Search, open_search
from orc_core.storage.ai_search.index import Embedding
from orc_core.storage.ai_search.passages import AzurePassageIndex
from orc_core.storage.ai_search.vectors import AzureVectorIndex

pytestmark = pytest.mark.slow

INDEX = "passages"
TOPICS = Embedding("topics", 3)
PLAN = [
    "Introduction to the plan.",
    "The deductible is 500 dollars a year.",
    "Emergency care is covered.",
]
REGISTER = [f"Entry {number} of the register." for number in range(BATCH_ACTIONS + 20)]


@pytest.fixture
def index(search: Search) -> AzurePassageIndex:
    return AzurePassageIndex(search)


def passages(document_id: str, texts: list[str]) -> list[Passage]:
    return split_pages(document_id, [Page(number=n, text=text) for n, text in enumerate(texts, 1)])


async def save(index: AzurePassageIndex, document_id: str, texts: list[str]) -> None:
    await index.save(document_id, f"{document_id}.pdf", passages(document_id, texts))


@pytest.mark.parametrize("failure", [Failure("index", 503), Failure("index", 429, 2), Failure("search", 503)])
async def test_what_fails_briefly_is_done_all_the_same(
    double: SearchDouble, index: AzurePassageIndex, failure: Failure
) -> None:
    failure.headers = {"Retry-After": "1"}
    double.failures.append(failure)
    await save(index, "plan", PLAN)
    assert await index.get("plan") == passages("plan", PLAN)
    assert double.failures == []


@pytest.mark.parametrize("status", [503, 422, 409, 429])
async def test_single_items_that_fail_briefly_are_written_again(
    double: SearchDouble, index: AzurePassageIndex, status: int
) -> None:
    double.items_to_fail, double.item_status = 2, status
    await save(index, "plan", PLAN)
    assert await index.get("plan") == passages("plan", PLAN)


async def test_a_single_item_that_is_refused_fails_the_save(
    double: SearchDouble, index: AzurePassageIndex
) -> None:
    double.items_to_fail, double.item_status = 2, 400
    with pytest.raises(DependencyMisconfigured, match="400"):
        await save(index, "plan", PLAN)
    assert double.items_to_fail == 1, "a refused write is not repeated"
    assert await index.indexed(["plan"]) == set()


@pytest.mark.parametrize("before", [[], PLAN], ids=["fresh", "replacing"])
async def test_half_a_save_is_never_taken_for_a_document(
    double: SearchDouble, index: AzurePassageIndex, before: list[str]
) -> None:
    if before:
        await save(index, "register", before)
    # The mark goes, the first batch is written, the second is refused.
    double.failures.append(Failure("index", 400, after=2))
    with pytest.raises(DependencyMisconfigured):
        await save(index, "register", REGISTER)
    assert await index.indexed(["register"]) == set()
    assert await index.search("entry register deductible", ["register"], 50) == []
    assert await index.get("register") == []
    await save(index, "register", PLAN)
    assert await index.get("register") == passages("register", PLAN)
    assert len(double.indexes[INDEX].visible) == len(PLAN) + 1


@pytest.mark.slow
async def test_a_save_can_be_found_as_soon_as_it_returns(
    double: SearchDouble, index: AzurePassageIndex
) -> None:
    double.lag = 0.3
    await save(index, "plan", PLAN)
    assert await index.indexed(["plan"]) == {"plan"}
    assert await index.get("plan") == passages("plan", PLAN)
    assert [hit.passage.page for hit in await index.search("deductible", ["plan"], 5)] == [2]
    await save(index, "plan", PLAN[:1])
    assert await index.get("plan") == passages("plan", PLAN[:1])
    await index.delete("plan")
    assert await index.indexed(["plan"]) == set()
    assert await index.search("plan", ["plan"], 5) == []


async def test_while_it_is_written_a_document_is_not_indexed_and_never_in_part(
    double: SearchDouble, index: AzurePassageIndex
) -> None:
    double.lag = 0.2
    saving = asyncio.create_task(save(index, "plan", PLAN))
    seen = set()
    while not saving.done():
        seen.add(len(await index.get("plan")))
        assert len(await index.indexed(["plan"])) <= 1
    await saving
    assert seen <= {0, len(PLAN)}


@pytest.mark.slow
async def test_versions_never_mix_however_late_their_items_are_seen(
    double: SearchDouble, index: AzurePassageIndex
) -> None:
    versions = [[f"Version{number} deductible {word}." for word in "abcdefgh"] for number in range(3)]
    await save(index, "plan", versions[0])
    double.lag = 0.2

    async def rewrite() -> None:
        for version in versions[1:]:
            await save(index, "plan", version)

    writing = asyncio.create_task(rewrite())
    while not writing.done():
        hits = await index.search("deductible", ["plan"], 50)
        assert len({hit.passage.text.split()[0] for hit in hits}) <= 1
        with suppress(DependencyDown):
            assert await index.get("plan") in ([], *(passages("plan", version) for version in versions))
    await writing


async def test_a_save_that_stays_unseen_is_an_error_and_no_document(
    double: SearchDouble, index: AzurePassageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "VISIBLE_SECONDS", 0.1)
    double.lag = 60
    with pytest.raises(DependencyDown, match="behind"):
        await save(index, "plan", REGISTER)
    double.lag = 0
    assert await index.indexed(["plan"]) == set()


async def test_deleting_leaves_no_item_of_a_document(double: SearchDouble, search: Search) -> None:
    index, vectors = AzurePassageIndex(search), AzureVectorIndex(search, "topics")
    await vectors.save("plan", [[1.0, 0.0, 0.0]] * len(PLAN))
    await save(index, "plan", PLAN)
    await save(index, "plan-2", PLAN)
    await index.delete("plan")
    assert {item["document_id"] for item in double.indexes[INDEX].stored.values()} == {"plan-2"}


@pytest.mark.parametrize("vectors_first", [True, False])
async def test_text_and_vector_of_a_passage_are_one_item(
    double: SearchDouble, search: Search, vectors_first: bool
) -> None:
    index, vectors = AzurePassageIndex(search), AzureVectorIndex(search, "topics")
    if not vectors_first:
        await save(index, "plan", PLAN)
    await vectors.save("plan", [[1.0, 0.0, 0.0]] * len(PLAN))
    if vectors_first:
        await save(index, "plan", PLAN)
    assert len(double.indexes[INDEX].visible) == len(PLAN) + 2
    await vectors.delete("plan")
    assert not any(item.get(TOPICS.field) for item in double.indexes[INDEX].stored.values())
    assert await index.get("plan") == passages("plan", PLAN)
    assert await vectors.nearest([1.0, 0.0, 0.0], ["plan"], 5) == []


async def test_vectors_that_the_index_was_not_made_for_are_an_error(search: Search) -> None:
    with pytest.raises(DependencyMisconfigured):
        await AzureVectorIndex(search, "another").save("plan", [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize("odd", ["a b", "a'b", "../x", "_x", "", "ä"])
async def test_an_id_that_cannot_be_a_key_is_refused_before_anything_is_written(
    double: SearchDouble, index: AzurePassageIndex, odd: str
) -> None:
    with pytest.raises(ValueError, match="id"):
        await save(index, odd, PLAN)
    assert [operation for operation, _ in double.asked if operation == "index"] == []


async def test_the_accessible_documents_are_part_of_every_query(
    double: SearchDouble, index: AzurePassageIndex
) -> None:
    await save(index, "plan", PLAN)
    await save(index, "duplicate", PLAN)
    for widened in (False, True):
        await index.search("deductible", ["plan", "duplicate"], 5, widened=widened)
    await index.get("plan")
    await index.delete("duplicate")
    for body in double.searches():
        assert "document_id" in body["filter"] or body["filter"].startswith("key eq "), body


@pytest.mark.slow
async def test_a_service_that_is_down_fails_fast_and_is_used_again_within_two_seconds(
    double: SearchDouble, index: AzurePassageIndex
) -> None:
    await save(index, "plan", PLAN)
    double.down = True
    with pytest.raises(DependencyDown):
        await index.search("deductible", ["plan"], 5)
    asked = len(double.asked)
    with pytest.raises(DependencyDown) as raised:
        await index.search("deductible", ["plan"], 5)
    assert len(double.asked) == asked
    assert (raised.value.dependency, raised.value.retryable) == ("search", True)
    double.down = False
    returned = time.monotonic()
    while True:
        try:
            assert len(await index.search("deductible", ["plan"], 5)) == 1
            break
        except DependencyDown:
            assert time.monotonic() - returned < 2
            await asyncio.sleep(0.05)


async def test_what_the_service_says_of_a_refusal_is_not_repeated(
    double: SearchDouble, search: Search
) -> None:
    with pytest.raises(DependencyMisconfigured) as raised:
        await search.query("kind eq 'CANARY'", select=["document_id"])
    cause = raised.value.__cause__
    assert (str(cause), "CANARY" in f"{raised.value}{cause!r}") == (
        "status 400 InvalidRequestParameter",
        False,
    )


async def test_a_service_that_is_silent_is_waited_for_a_few_seconds_at_most(
    double: SearchDouble, index: AzurePassageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "READ_SECONDS", 0.2)
    monkeypatch.setattr(search_module, "QUERY_SECONDS", 0.6)
    double.delay = 2.0
    started = time.monotonic()
    with pytest.raises(DependencyDown):
        await index.indexed(["plan"])
    assert time.monotonic() - started < 1.5


async def test_a_service_that_cannot_be_reached_is_down() -> None:
    search = open_search("http://127.0.0.1:9", "key", INDEX)
    with pytest.raises(DependencyDown):
        await search.ping()
    await search.close()


@pytest.mark.parametrize(("key", "name"), [("wrong", INDEX), (None, "another-index")])
async def test_a_wrong_key_and_a_missing_index_are_misconfigured(
    target: Target, search: Search, key: str | None, name: str
) -> None:
    async with connect(Target(target.url, key or target.key), name) as wrong:
        with pytest.raises(DependencyMisconfigured):
            await wrong.ping()
        with pytest.raises(DependencyMisconfigured):
            await AzurePassageIndex(wrong).indexed(["plan"])
    await search.ping()


REPORT = [
    "Annual report. How liquid are we? The ratio of what we own to what we owe is quick to say in a letter.",
    "Consolidated statements of income. Net sales 4,512 Cost of sales 2,781 Operating income 512"
    " Net income 377",
    "Consolidated balance sheets. Cash and cash equivalents 612 Accounts receivable 401 Inventories 433"
    " Total current assets 1,730 Total assets 4,210 Accounts payable 388 Total current liabilities 951",
    "Cash flows. Additions to property and equipment 210 Dividends paid 90 Fiscal year of 52 weeks.",
    "Risk. A quick change of the ratio of prices would reduce demand.",
]
ASKED = {
    "What is the quick ratio?": 3,
    "What was the gross margin?": 2,
    "How high was capital expenditure?": 4,
    "What is the working capital?": 3,
    "What is the return on sales?": 2,
}


async def first_page(index: AzurePassageIndex, query: str, *document_ids: str) -> tuple[str, int]:
    best = (await index.search(query, document_ids, 8))[0].passage
    return best.document_id, best.page


async def test_questions_in_an_analysts_words_find_the_statements(index: AzurePassageIndex) -> None:
    await save(index, "report", REPORT)
    found = {query: await first_page(index, query, "report") for query in ASKED}
    assert found == {query: ("report", page) for query, page in ASKED.items()}


async def test_an_expansion_finds_nothing_in_documents_of_other_domains(index: AzurePassageIndex) -> None:
    recipes = [
        "A quick dough: the ratio of flour to water is two to one.",
        "Total current assets of a kitchen.",
    ]
    await save(index, "recipes", recipes)
    hits = await index.search("What is the quick ratio?", ["recipes"], 8)
    assert [hit.passage.page for hit in hits] == [1]
