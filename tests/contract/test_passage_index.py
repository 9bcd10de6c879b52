"""What every passage index must do, whatever engine ranks."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devkit.azure.targets import Target
from devkit.ranked_pages import rank_pages
from orc_core.documents.passages import split_pages
from orc_core.documents.ports import PassageIndex
from orc_core.infra.sqlite import Database
from orc_core.models import Hit, Page, Passage
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex

pytestmark = pytest.mark.contract("passage index")

PLAN = [
    "Introduction to the plan.",
    "The deductible is 500 dollars a year.",
    "Emergency rooms are covered.",  # prose: data
]
OTHER = ["Employees park in the garage.", "The garage has a deductible gate.", "Lunch is at noon."]
OPERATORS = (
    "deductible garage OR AND NOT NEAR( \" ' * ? ^2 ~ : -- - + | ( ) [ ] { } / \\ && || ! ; , "
    "document_id:other ') or document_id ne 'plan search.in( search.ismatch('garage') eq null"
).split()


@asynccontextmanager
async def open_sqlite(folder: Path) -> AsyncIterator[PassageIndex]:
    database = Database(folder / "orc.db")
    await database.migrate(SCHEMA)
    yield SqlitePassageIndex(database)
    await database.close()


@asynccontextmanager
async def open_azure(target: Target) -> AsyncIterator[PassageIndex]:
    from devkit.azure.search import connect, open_index
    from orc_core.storage.ai_search.passages import AzurePassageIndex

    async with open_index(target) as name, connect(target, name) as search:
        yield AzurePassageIndex(search)


@pytest.fixture(params=["sqlite", "azure"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def index(adapter: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PassageIndex]:
    opened: Callable[[], AbstractAsyncContextManager[PassageIndex]] = {
        "sqlite": lambda: open_sqlite(tmp_path),
        "azure": lambda: open_azure(request.getfixturevalue("search_target")),
    }[adapter]
    async with opened() as index:
        yield index


def passages(document_id: str, texts: list[str], heading: str = "") -> list[Passage]:
    return split_pages(
        document_id, [Page(number=n, text=text, label=heading) for n, text in enumerate(texts, 1)]
    )


async def save(index: PassageIndex, document_id: str, texts: list[str], heading: str = "") -> None:
    await index.save(document_id, document_id, passages(document_id, texts, heading))


def places(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.passage.document_id, hit.passage.page) for hit in hits]


async def test_a_hit_is_the_whole_passage_as_it_was_saved(index: PassageIndex) -> None:
    await save(index, "plan", PLAN, "Northwind")
    (hit,) = await index.search("deductible", ["plan"], 5)
    assert hit.passage == passages("plan", PLAN, "Northwind")[1]


async def test_only_documents_in_the_scope_are_found(index: PassageIndex) -> None:
    await save(index, "plan", PLAN)
    await save(index, "other", OTHER)
    assert places(await index.search("deductible", ["plan"], 5)) == [("plan", 2)]
    assert places(await index.search("deductible", ["other"], 5)) == [("other", 2)]
    assert set(places(await index.search("deductible", ["other", "plan"], 5))) == {("other", 2), ("plan", 2)}
    assert await index.search("deductible", ["unknown"], 5) == []
    assert await index.search("deductible", [], 5) == []


@pytest.mark.parametrize(
    "odd", ["*", "", "plan,other", "plan', 'other", "x' or document_id ne 'x", '"]', "%", "pl\x00an", "ä"]
)
async def test_an_unknown_document_id_matches_nothing(index: PassageIndex, odd: str) -> None:
    await save(index, "plan", PLAN)
    await save(index, "other", OTHER)
    assert await index.search("deductible", [odd], 5) == []
    assert places(await index.search("deductible", [odd, "plan"], 5)) == [("plan", 2)]
    assert await index.indexed([odd]) == set()
    assert await index.get(odd) == []
    await index.delete(odd)
    assert await index.indexed(["plan", "other"]) == {"plan", "other"}


async def test_a_scope_that_names_a_document_twice_finds_it_once(index: PassageIndex) -> None:
    await save(index, "plan", PLAN)
    assert places(await index.search("deductible", ["plan", "plan"], 5)) == [("plan", 2)]


async def test_saving_again_replaces_all_passages(index: PassageIndex) -> None:
    await save(index, "plan", PLAN)
    await save(index, "plan", ["Nothing but parking."])
    assert await index.search("deductible", ["plan"], 5) == []
    assert places(await index.search("parking", ["plan"], 5)) == [("plan", 1)]
    assert await index.get("plan") == passages("plan", ["Nothing but parking."])


async def test_a_save_that_fails_leaves_the_old_passages(index: PassageIndex) -> None:
    await save(index, "plan", PLAN)
    broken = passages("plan", ["Parking."])[0].model_copy(update={"text": "Parking \udc80."})
    with pytest.raises(UnicodeEncodeError):
        await index.save("plan", "plan", [broken])
    assert places(await index.search("deductible", ["plan"], 5)) == [("plan", 2)]


async def test_readers_never_see_two_versions_at_once(index: PassageIndex) -> None:
    versions = [[f"Version{i} deductible {word}." for word in "abcdefgh"] for i in range(2)]
    await save(index, "plan", versions[0])

    async def rewrite() -> None:
        for turn in range(12):
            await save(index, "plan", versions[turn % 2])

    writing = asyncio.create_task(rewrite())
    while not writing.done():
        hits = await index.search("deductible", ["plan"], 50)
        assert len({hit.passage.text.split()[0] for hit in hits}) <= 1
        assert len({hit.passage.page for hit in hits}) == len(hits)
    await writing


async def test_deleting_a_document_touches_no_other(index: PassageIndex) -> None:
    await save(index, "plan", PLAN)
    await save(index, "plan-1", PLAN)
    await index.delete("plan")
    await index.delete("never-there")
    assert await index.search("deductible", ["plan"], 5) == []
    assert await index.get("plan") == []
    assert await index.indexed(["plan", "plan-1"]) == {"plan-1"}
    assert places(await index.search("deductible", ["plan", "plan-1"], 5)) == [("plan-1", 2)]


async def test_a_document_without_text_is_indexed_but_has_no_hits(index: PassageIndex) -> None:
    await index.save("empty", "empty", [])
    assert await index.search("deductible", ["empty"], 5) == []
    assert await index.indexed(["empty"]) == {"empty"}
    await save(index, "empty", PLAN)
    await index.save("empty", "empty", [])
    assert await index.search("deductible", ["empty"], 5) == []
    assert await index.get("empty") == []


async def test_hits_are_the_best_first_and_at_most_top_k(index: PassageIndex) -> None:
    await save(index, "plan", ["The plan of the plan.", "A plan and much else besides.", "Plan."])
    hits = await index.search("plan", ["plan"], 2)
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score
    assert await index.search("plan", ["plan"], 0) == []


async def test_a_heading_counts_for_the_text_below_it(index: PassageIndex) -> None:
    pages = [
        Page(number=1, text="Coverage of dental visits.", label="Vision"),
        Page(number=2, text="Coverage of dental visits.", label="Dental"),
    ]
    await index.save("plan", "plan", split_pages("plan", pages))
    assert rank_pages(await index.search("dental coverage", ["plan"], 5))[0] == ("plan", 2)


async def test_one_question_finds_each_document_in_its_own_language(index: PassageIndex) -> None:
    await save(index, "de", ["Die Häuser sind in der Stadt und nicht auf dem Land.", "Der Hund ist alt."])
    await save(index, "ru", ["Это большие города, и они не были в списке.", "Он спит."])
    await save(index, "zh", ["保险公司支付医疗费用。", "我们喜欢喝茶。"])
    question = "Haus? большой город? 医疗费用?"
    assert set(rank_pages(await index.search(question, ["de", "ru", "zh"], 9))) == {
        ("de", 1),
        ("ru", 1),
        ("zh", 1),
    }


async def test_numbers_are_found_however_they_are_written(index: PassageIndex) -> None:
    await save(index, "report", ["Net sales were $1,234.5 million in fiscal 2018.", "Nothing here."])
    for query in ("1234.5", "1,234.5", "FY2018", "FY18"):
        assert rank_pages(await index.search(query, ["report"], 5)) == [("report", 1)], query


@pytest.mark.parametrize(
    "asked", ["2023-04-05", "5 April 2023", "April 5, 2023", "05.04.2023", "2023年4月5日"]
)
@pytest.mark.parametrize("written", ["on 5 April 2023", "am 05.04.2023", "on 2023-04-05", "le 5 avril 2023"])
async def test_a_date_is_found_however_it_is_written(index: PassageIndex, asked: str, written: str) -> None:
    await save(
        index, "log", ["Opened on 4 May 2023.", f"It was shut {written}.", "Paid 2023, in April, 5 times."]
    )
    assert rank_pages(await index.search(asked, ["log"], 5))[0] == ("log", 2)


async def test_passages_are_read_by_their_place(index: PassageIndex) -> None:
    saved = passages("plan", PLAN)
    await save(index, "plan", PLAN)
    assert await index.get("plan") == saved
    assert await index.get("plan", [2, 0, 9, 2]) == [saved[0], saved[2]]
    assert await index.get("plan", []) == []
    assert await index.get("never-there") == []


async def test_a_long_document_comes_back_in_order_and_whole(index: PassageIndex) -> None:
    texts = [f"Page {number} of the register." for number in range(1, 1203)]
    await save(index, "register", texts)
    assert await index.get("register") == passages("register", texts)
    assert rank_pages(await index.search("1111", ["register"], 5)) == [("register", 1111)]


@pytest.mark.parametrize(
    ("question", "text"),
    [("Umsatz", "Die Umsatzerlöse stiegen."), ("cardio", "Cardiology visits."), ("税", "法人税等の税率")],
)
async def test_only_a_widened_search_takes_words_that_resemble_those_asked(
    index: PassageIndex, question: str, text: str
) -> None:
    await save(index, "plan", [*PLAN, text])
    assert await index.search(question, ["plan"], 5) == []
    assert places(await index.search(question, ["plan"], 5, widened=True)) == [("plan", 4)]


@pytest.mark.parametrize("question", ["the deductibel", "DEDUCTABLE"])
async def test_a_widened_search_takes_a_misspelled_word_for_the_one_that_is_meant(
    index: PassageIndex, question: str
) -> None:
    await save(index, "plan", PLAN)
    assert places(await index.search(question, ["plan"], 5, widened=True)) == [("plan", 2)]


async def test_a_widened_search_stays_in_scope(index: PassageIndex) -> None:
    await save(index, "plan", PLAN)
    await save(index, "other", OTHER)
    assert await index.search("gara", ["plan"], 5, widened=True) == []


async def test_a_word_of_endless_length_is_no_error(index: PassageIndex) -> None:
    endless = "9a" * 40_000
    await save(index, "plan", [*PLAN, endless])
    for widened in (False, True):
        await index.search(endless, ["plan"], 5, widened=widened)
        assert places(await index.search("deductible", ["plan"], 5, widened=widened)) == [("plan", 2)]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.one_of(st.text(), st.lists(st.sampled_from(OPERATORS)).map(" ".join)))
async def test_no_query_fails_or_leaves_its_scope(index: PassageIndex, query: str) -> None:
    if not await index.indexed(["plan", "other"]):
        await save(index, "plan", PLAN)
        await save(index, "other", OTHER)
    for widened in (False, True):
        hits = await index.search(query, ["plan"], 10, widened=widened)
        assert {hit.passage.document_id for hit in hits} <= {"plan"}


@pytest.mark.parametrize(
    "query",
    [
        "-garage",
        "NOT garage",
        "*",
        "*:*",
        "/.*/",
        "[a TO z]",
        "emergenc*",
        '"rooms emergency"',  # prose: data
        "dollar?",
    ],  # prose: data
)
async def test_what_would_be_an_operator_is_read_as_words(index: PassageIndex, query: str) -> None:
    await save(index, "plan", PLAN)
    words = "".join(character if character.isalnum() else " " for character in query).lower()
    found = await index.search(query, ["plan"], 10)
    assert places(found) == places(await index.search(words, ["plan"], 10))
    assert len(found) < len(PLAN)
