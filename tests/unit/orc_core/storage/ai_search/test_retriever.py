"""One query for words, vectors and the reranker; what is tried if it finds little, and how it is reported."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devkit.doubles.search_double import Failure, SearchDouble
from devkit.topic_embedder import TopicEmbedder
from orc_core.documents.passages import split_pages
from orc_core.errors import DependencyDown
from orc_core.llm.errors import ContentFiltered
from orc_core.models import Page, Retrieval
from orc_core.search.hybrid import HYBRID_THRESHOLDS, LEXICAL_THRESHOLDS, HybridRetriever
from orc_core.storage.ai_search import retriever as retriever_module
from orc_core.storage.ai_search.client import Search
from orc_core.storage.ai_search.passages import AzurePassageIndex
from orc_core.storage.ai_search.retriever import AzureSearchRetriever
from orc_core.storage.ai_search.vectors import AzureVectorIndex

pytestmark = pytest.mark.slow

HIGH, LOW = 2.0, 1.0
HARBOUR = "The harbour is closed to all ships in winter."
ANCHOR = "Vessels lie at anchor until spring."
LUNCH = "Lunch is served at noon in the park."
TEXTS = [LUNCH, HARBOUR, ANCHOR]


async def keep(search: Search, document_id: str, *texts: str, vectors: bool = True) -> None:
    passages = split_pages(document_id, [Page(number=n, text=text) for n, text in enumerate(texts, 1)])
    if vectors:
        made = await TopicEmbedder().embed_passages(texts)
        await AzureVectorIndex(search, "topics").save(document_id, made)
    await AzurePassageIndex(search).save(document_id, f"{document_id}.pdf", passages)


def texts(found: Retrieval) -> list[str]:
    return [hit.passage.text for hit in found.hits]


def steps(found: Retrieval) -> list[tuple[str, float | None, int]]:
    return [(step.method, step.threshold, step.hits) for step in found.steps]


async def test_words_vectors_and_reranker_are_one_query(double: SearchDouble, search: Search) -> None:
    await keep(search, "d1", *TEXTS)
    double.asked.clear()
    found = await AzureSearchRetriever(search, TopicEmbedder()).search(
        "Is the harbour closed in winter?", ["d1"], 3
    )
    assert texts(found)[0] == HARBOUR
    assert steps(found) == [("semantic", HIGH, 1)]
    assert texts(found) == [HARBOUR], "what did not reach the threshold is not returned"
    assert 0.5 <= found.hits[0].score <= 1
    marks, ranking = double.searches()
    assert "vectorQueries" not in marks
    assert (ranking["queryType"], ranking["vectorFilterMode"]) == ("semantic", "preFilter")
    assert ranking["semanticQuery"] == "Is the harbour closed in winter?"


RUNGS = {
    "all": ((0.0, 0.0), [True], 3),
    "high": ((2.0, 1.0), [True], 1),
    "lower": ((3.5, 0.5), [False, True], 2),
    "vectors alone": ((3.5, 3.5), [False, False, True], 3),
}


@pytest.mark.parametrize("rung", RUNGS)
async def test_each_rung_returns_what_it_says(search: Search, rung: str) -> None:
    thresholds, served, hits = RUNGS[rung]
    await keep(search, "d1", "The harbour is closed in winter.", "A closed park.", LUNCH)
    retriever = AzureSearchRetriever(search, TopicEmbedder(), thresholds={"semantic": thresholds})
    found = await retriever.search("Harbour closed tomorrow?", ["d1"], 3)
    assert [step.served for step in found.steps] == served
    assert found.steps[-1].method == ("vector" if rung == "vectors alone" else "semantic")
    assert len(found.hits) == hits


async def test_where_the_reranker_finds_nothing_fit_vectors_lead_and_the_rest_follows(search: Search) -> None:
    await keep(search, "d1", LUNCH, ANCHOR, "The noon bell.")
    found = await AzureSearchRetriever(search, TopicEmbedder()).search("port", ["d1"], 3)
    assert steps(found) == [("semantic", HIGH, 0), ("semantic", LOW, 0), ("vector", None, 3)]
    assert texts(found)[0] == ANCHOR
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


async def test_without_vectors_words_that_resemble_those_asked_come_last(search: Search) -> None:
    await keep(search, "d1", LUNCH, "Harbouring is forbidden.", vectors=False)
    found = await AzureSearchRetriever(search).search("harbou", ["d1"], 3)
    assert steps(found) == [("semantic", HIGH, 0), ("semantic", LOW, 0), ("widened_lexical", None, 1)]
    assert texts(found) == ["Harbouring is forbidden."]


async def test_without_the_reranker_the_fused_ranks_take_its_place(
    double: SearchDouble, search: Search
) -> None:
    await keep(search, "d1", *TEXTS)
    found = await AzureSearchRetriever(search, TopicEmbedder(), semantic=False).search(
        "harbour closed", ["d1"], 3
    )
    assert steps(found) == [("hybrid", HYBRID_THRESHOLDS[0], 1)]
    assert texts(found)[0] == HARBOUR
    assert not any("semanticQuery" in body for body in double.searches())
    far = await AzureSearchRetriever(search, TopicEmbedder(), semantic=False).search("port", ["d1"], 3)
    assert [step[0] for step in steps(far)] == ["hybrid", "hybrid", "vector"]


async def test_without_reranker_and_embedder_it_is_the_lexical_search(search: Search) -> None:
    await keep(search, "d1", *TEXTS, vectors=False)
    for query in ("harbour closed", "harbour yesterday again never", "harbouring"):
        plain = await HybridRetriever(AzurePassageIndex(search)).search(query, ["d1"], 3)
        assert await AzureSearchRetriever(search, semantic=False).search(query, ["d1"], 3) == plain


async def test_a_reranker_out_of_quota_leaves_its_query_to_the_ranks(
    double: SearchDouble, search: Search
) -> None:
    await keep(search, "d1", *TEXTS)
    double.reranker = "tired"
    double.asked.clear()
    found = await AzureSearchRetriever(search, TopicEmbedder()).search("harbour closed", ["d1"], 3)
    assert (found.steps[0].method, found.steps[0].note) == ("hybrid", "the reranker did not take part")
    assert texts(found)[0] == HARBOUR
    assert len(double.searches()) == 2


@pytest.mark.parametrize("status", [400, 402, 429, 503])
async def test_a_reranker_that_fails_is_gone_without_after_one_attempt(
    double: SearchDouble, search: Search, status: int
) -> None:
    await keep(search, "d1", *TEXTS)
    double.failures.append(Failure("search", status, times=9, only_reranked=True))
    double.asked.clear()
    found = await AzureSearchRetriever(search, TopicEmbedder()).search("harbour closed", ["d1"], 3)
    assert found.steps[0].method == "hybrid"
    assert found.steps[0].note.startswith("the reranker does not answer (dependency_")
    assert texts(found)[0] == HARBOUR
    assert [body.get("queryType") for body in double.searches()] == [None, "semantic", None]


async def test_a_service_without_reranker_and_vectors_is_searched_by_words_and_says_so(
    double: SearchDouble, search: Search
) -> None:
    await keep(search, "d1", *TEXTS, vectors=False)
    double.reranker = "absent"
    found = await AzureSearchRetriever(search).search("harbour closed", ["d1"], 3)
    assert steps(found) == [("semantic", HIGH, 0), ("lexical", LEXICAL_THRESHOLDS[0], 1)]
    assert "the reranker does not answer" in found.steps[0].note
    assert texts(found) == [HARBOUR]


@pytest.mark.parametrize("semantic", [True, False])
@pytest.mark.parametrize(
    ("embedder", "code"),
    [
        (TopicEmbedder(DependencyDown("Down.", dependency="model")), "dependency_down"),
        (TopicEmbedder(ContentFiltered()), "content_filtered"),
        (TopicEmbedder(answers=False), "no answer in time"),
    ],
    ids=["down", "filtered", "silent"],
)
async def test_without_the_embedder_words_are_searched_and_the_step_says_so(
    search: Search, monkeypatch: pytest.MonkeyPatch, embedder: TopicEmbedder, code: str, semantic: bool
) -> None:
    monkeypatch.setattr(retriever_module, "QUERY_SECONDS", 0.05)
    await keep(search, "d1", *TEXTS)
    found = await AzureSearchRetriever(search, embedder, semantic=semantic).search(
        "harbour closed", ["d1"], 3
    )
    assert texts(found)[0] == HARBOUR
    assert found.steps[0].note == f"the embedder does not answer ({code}); words only"


async def test_documents_without_vectors_of_this_embedder_are_searched_by_words(search: Search) -> None:
    await keep(search, "d1", *TEXTS, vectors=False)
    found = await AzureSearchRetriever(search, TopicEmbedder()).search("harbour closed", ["d1"], 3)
    assert texts(found) == [HARBOUR]
    assert found.steps[0].note == "these documents have no vectors of topics; words only"


@pytest.mark.parametrize(
    ("query", "scope", "top_k"), [("port?", [], 5), ("port?", ["d1"], 0), (" \n", ["d1"], 5)]
)
async def test_an_empty_search_calls_neither_index_nor_embedder(
    double: SearchDouble, search: Search, query: str, scope: list[str], top_k: int
) -> None:
    assert await AzureSearchRetriever(search, TopicEmbedder()).search(query, scope, top_k) == Retrieval()
    assert double.searches() == []


async def test_a_question_of_nothing_but_small_words_is_searched_by_its_vector(search: Search) -> None:
    await keep(search, "d1", *TEXTS)
    found = await AzureSearchRetriever(search, TopicEmbedder()).search("?!", ["d1"], 3)
    assert found.steps[-1].method == "vector"
    assert (await AzureSearchRetriever(search).search("?!", ["d1"], 3)).hits == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    query=st.one_of(
        st.text(min_size=1), st.sampled_from(["harbour", "*", "') or 1 eq 1", "-harbour", "port"])
    ),
    semantic=st.booleans(),
    embedded=st.booleans(),
)
async def test_no_question_reaches_a_document_out_of_scope(
    search: Search, query: str, semantic: bool, embedded: bool
) -> None:
    index = AzurePassageIndex(search)
    if not await index.indexed(["mine"]):
        await keep(search, "mine", LUNCH, ANCHOR)
        await keep(search, "theirs", HARBOUR, LUNCH, ANCHOR)
    retriever = AzureSearchRetriever(search, TopicEmbedder() if embedded else None, semantic=semantic)
    found = await retriever.search(query, ["mine", "unknown", "' or '"], 50)
    assert {hit.passage.document_id for hit in found.hits} <= {"mine"}


@pytest.mark.slow
async def test_a_service_that_is_down_is_an_error_and_no_empty_answer(
    double: SearchDouble, search: Search
) -> None:
    await keep(search, "d1", *TEXTS)
    double.down = True
    with pytest.raises(DependencyDown):
        await AzureSearchRetriever(search, TopicEmbedder()).search("harbour", ["d1"], 3)


async def test_a_search_ends_in_time_whatever_the_service_does(
    double: SearchDouble, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retriever_module, "SEARCH_SECONDS", 0.2)
    double.delay = 0.15
    with pytest.raises(DependencyDown, match="in time"):
        await AzureSearchRetriever(search, TopicEmbedder()).search("harbour", ["d1"], 3)


async def test_the_reranker_reads_what_the_vocabulary_finds(double: SearchDouble, search: Search) -> None:
    statement = "Consolidated balance sheets. Total current assets 1,730 Total current liabilities 951"
    await keep(search, "d1", "Net income, net sales and total assets.", statement, LUNCH, vectors=False)
    found = await AzureSearchRetriever(search).search("What is the quick ratio?", ["d1"], 3)
    assert statement in texts(found)
    reranked = [search for search in double.searches() if search.get("queryType") == "semantic"]
    assert [search["semanticQuery"] for search in reranked] == ["What is the quick ratio?"]
