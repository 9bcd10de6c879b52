"""Fusion of words and vectors, and the fallbacks if they find little."""

import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devkit.topic_embedder import TopicEmbedder
from orc_core.documents.ports import Neighbour, VectorIndex
from orc_core.errors import DependencyDown
from orc_core.infra.sqlite import Database
from orc_core.llm.errors import ContentFiltered, ModelMisconfigured
from orc_core.models import Hit, Passage, Retrieval
from orc_core.names import Owner
from orc_core.search import hybrid as retrieval
from orc_core.search.hybrid import (
    HYBRID_THRESHOLDS,
    LEXICAL_THRESHOLDS,
    LITTLE_WEIGHT,
    HybridRetriever,
    cover,
    fuse,
    fuse_hits,
    vector_weight,
)
from orc_core.storage.sqlite.vectors import SCHEMA, SqliteVectorIndex

HIGH, LOW = HYBRID_THRESHOLDS
WORDS_HIGH, WORDS_LOW = LEXICAL_THRESHOLDS
STEM = 4

HARBOUR = "The harbour is closed to all ships in winter."
ANCHOR = "Vessels lie at anchor until spring."
LUNCH = "Lunch is served at noon in the orchard."


class WordIndex:
    """Ranks passages by the number of query words in them; `widened` compares beginnings of words."""

    def __init__(self) -> None:
        self.passages: dict[str, list[Passage]] = {}
        self.searches: list[tuple[Sequence[str], int, bool]] = []

    def add(self, document_id: str, *texts: str) -> None:
        self.passages[document_id] = [
            Passage(document_id=document_id, page=n, start=0, end=len(text), text=text)
            for n, text in enumerate(texts, 1)
        ]

    async def indexed(self, document_ids: Sequence[str]) -> set[str]:
        return set(document_ids) & self.passages.keys()

    async def unplaced(self) -> list[str]:
        raise NotImplementedError

    async def place(self, document_id: str, owner: Owner) -> None:
        raise NotImplementedError

    async def search(
        self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        self.searches.append((document_ids, top_k, widened))
        length = STEM if widened else None
        asked = {word[:length] for word in _words(query)}
        inside = [passage for wanted in document_ids for passage in self.passages.get(wanted, [])]
        hits = [Hit(passage=p, score=len(asked & {word[:length] for word in _words(p.text)})) for p in inside]
        return sorted((hit for hit in hits if hit.score), key=lambda hit: -hit.score)[:top_k]

    async def get(self, document_id: str, ordinals: Sequence[int] | None = None) -> list[Passage]:
        passages = self.passages.get(document_id, [])
        wanted = range(len(passages)) if ordinals is None else sorted(set(ordinals))
        return [passages[ordinal] for ordinal in wanted if ordinal < len(passages)]

    async def save(
        self, document_id: str, name: str, passages: Sequence[Passage], owner: Owner | None = None
    ) -> None:
        raise NotImplementedError

    async def copy(self, source_id: str, target_id: str, name: str, owner: Owner | None = None) -> None:
        raise NotImplementedError

    async def delete(self, document_id: str) -> None:
        raise NotImplementedError


def _words(text: str) -> list[str]:
    return text.lower().replace(".", "").replace("?", "").split()


@pytest.fixture
def index() -> WordIndex:
    return WordIndex()


@pytest.fixture
async def vectors(tmp_path: Path) -> AsyncIterator[VectorIndex]:
    database = Database(tmp_path / "test.db")
    await database.migrate(SCHEMA)
    yield SqliteVectorIndex(database, "topics")
    await database.close()


async def keep(index: WordIndex, vectors: VectorIndex, document_id: str, *texts: str) -> None:
    index.add(document_id, *texts)
    await vectors.save(document_id, await TopicEmbedder().embed_passages(texts))


def texts(found: Retrieval) -> list[str]:
    return [hit.passage.text for hit in found.hits]


def steps(found: Retrieval) -> list[tuple[str, float | None, int]]:
    return [(step.method, step.threshold, step.hits) for step in found.steps]


async def test_hits_of_both_rankings_come_first_at_the_high_threshold(
    index: WordIndex, vectors: VectorIndex
) -> None:
    await keep(index, vectors, "d1", LUNCH, "The harbour gate is in the orchard.", HARBOUR)
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search("Is the harbour closed?", ["d1"], 5)
    assert texts(found)[0] == HARBOUR
    assert steps(found) == [("hybrid", HIGH, 2)]
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] <= 1


async def test_a_passage_without_the_words_is_found_by_its_vector(
    index: WordIndex, vectors: VectorIndex
) -> None:
    await keep(index, vectors, "d1", LUNCH, HARBOUR, ANCHOR)
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search("anchored port", ["d1"], 2)
    assert ANCHOR not in [hit.passage.text for hit in await index.search("anchored port", ["d1"], 2)]
    assert ANCHOR in texts(found)


LADDER = [HARBOUR, f"{HARBOUR} Lunch.", f"{LUNCH} The harbour.", ANCHOR, LUNCH]
RUNGS = {
    "all": ((0.0, 0.0), [("hybrid", 0.0, True)], 5),
    "high": ((0.97, 0.55), [("hybrid", 0.97, True)], 2),
    "lower": ((1.01, 0.55), [("hybrid", 1.01, False), ("hybrid", 0.55, True)], 3),
    "vectors alone": (
        (1.01, 1.01),
        [("hybrid", 1.01, False), ("hybrid", 1.01, False), ("vector", None, True)],
        5,
    ),
}


@pytest.mark.parametrize("rung", RUNGS)
async def test_each_rung_returns_what_it_says(index: WordIndex, vectors: VectorIndex, rung: str) -> None:
    thresholds, expected, hits = RUNGS[rung]
    await keep(index, vectors, "d1", *LADDER)
    retriever = HybridRetriever(index, vectors, TopicEmbedder(), thresholds=thresholds)
    found = await retriever.search("harbour yesterday again never", ["d1"], 5)
    assert [(step.method, step.threshold, step.served) for step in found.steps] == expected
    assert len(found.hits) == hits
    if rung == "vectors alone":
        near = await vectors.nearest((await TopicEmbedder().embed_passages(["harbour"]))[0], ["d1"], 5)
        assert texts(found) == [LADDER[neighbour.ordinal] for neighbour in near]
    else:
        assert all(hit.score >= found.steps[-1].threshold for hit in found.hits)  # type: ignore[operator]


async def test_what_reached_the_lower_threshold_leads_and_vectors_follow(
    index: WordIndex, vectors: VectorIndex
) -> None:
    await keep(index, vectors, "d1", *[ANCHOR, LUNCH] * 4, HARBOUR)
    retriever = HybridRetriever(index, vectors, TopicEmbedder())
    found = await retriever.search("harbour yesterday again never", ["d1"], 8)
    assert texts(found)[0] == HARBOUR
    assert [(step.hits, step.served) for step in found.steps] == [(0, False), (1, True), (9, True)]
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


async def test_an_exact_number_is_found_although_no_vector_is_near(
    index: WordIndex, vectors: VectorIndex
) -> None:
    index.add("d1", "Invoice 2291.")
    await keep(index, vectors, "d2", *[f"{ANCHOR} {n}" for n in range(60)])
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search("invoice 2291", ["d1", "d2"], 4)
    assert texts(found)[0] == "Invoice 2291."
    assert steps(found) == [("hybrid", HIGH, 0), ("hybrid", LOW, 1)]


@pytest.mark.parametrize(
    ("query", "order"), [("port winter", "11"), ("port winter again never tomorrow", "22")]
)
async def test_words_lead_if_they_are_those_of_the_question_and_vectors_if_few_are(
    index: WordIndex, vectors: VectorIndex, query: str, order: str
) -> None:
    index.add("d1", "Winter in port rules.", "Winter in port coats.")
    await keep(index, vectors, "d2", ANCHOR, ANCHOR + " ")
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search(query, ["d1", "d2"], 4)
    assert [hit.passage.document_id[1] for hit in found.hits] == list(order)


@pytest.mark.parametrize("query", ["What is the quick ratio?", "What does table 3 say?", "Summarise page 7"])
def test_words_lead_if_the_ranking_by_words_knows_more_than_an_embedder(query: str) -> None:
    assert vector_weight(query, []) == LITTLE_WEIGHT


def test_vectors_count_as_much_as_words_if_no_page_has_most_words_of_the_question() -> None:
    asked = "Who drives me to the doctor without a car?"
    assert (
        vector_weight(asked, [hit("Transport to medical appointments for members."), hit("A car.", 2)]) == 1
    )
    assert vector_weight(asked, [hit("A car drives members to a doctor.", 2)]) == LITTLE_WEIGHT


async def test_a_question_is_embedded_once(index: WordIndex, vectors: VectorIndex) -> None:
    embedder = TopicEmbedder()
    await keep(index, vectors, "d1", LUNCH, ANCHOR)
    await HybridRetriever(index, vectors, embedder).search("port?", ["d1"], 1)
    assert embedder.asked == ["port?"]


@pytest.mark.parametrize(
    ("query", "scope", "top_k"), [("port?", [], 5), ("port?", ["d1"], 0), (" \n", ["d1"], 5)]
)
async def test_an_empty_search_calls_neither_index_nor_embedder(
    index: WordIndex, vectors: VectorIndex, query: str, scope: list[str], top_k: int
) -> None:
    embedder = TopicEmbedder()
    await keep(index, vectors, "d1", ANCHOR)
    assert await HybridRetriever(index, vectors, embedder).search(query, scope, top_k) == Retrieval()
    assert (embedder.asked, index.searches) == ([], [])


async def test_documents_out_of_scope_are_never_found(index: WordIndex, vectors: VectorIndex) -> None:
    await keep(index, vectors, "mine", LUNCH, ANCHOR)
    await keep(index, vectors, "theirs", HARBOUR, LUNCH, ANCHOR)
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search("harbour lunch", ["mine"], 50)
    assert {hit.passage.document_id for hit in found.hits} == {"mine"}
    assert all(scope == ["mine"] for scope, *_ in index.searches)


async def test_vectors_of_deleted_passages_give_no_hits(index: WordIndex, vectors: VectorIndex) -> None:
    await keep(index, vectors, "d1", LUNCH, HARBOUR, ANCHOR)
    index.add("d1", LUNCH, HARBOUR)
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search("port", ["d1"], 5)
    assert sorted(texts(found)) == [LUNCH, HARBOUR]


@pytest.mark.parametrize(
    ("embedder", "note"),
    [
        (
            TopicEmbedder(DependencyDown("Down.", dependency="model")),
            "the embedder does not answer (dependency_down); lexical only",
        ),
        (
            TopicEmbedder(ModelMisconfigured("No such model.", code="model_unknown")),
            "the embedder does not answer (model_unknown); lexical only",
        ),
        (TopicEmbedder(answers=False), "the embedder does not answer (no answer in time); lexical only"),
        (
            TopicEmbedder(ContentFiltered()),
            "the embedder refuses the question (content_filtered); lexical only",
        ),
    ],
    ids=["down", "misconfigured", "silent", "filtered"],
)
async def test_without_the_embedder_words_are_searched_and_the_step_says_so(
    index: WordIndex,
    vectors: VectorIndex,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    embedder: TopicEmbedder,
    note: str,
) -> None:
    monkeypatch.setattr(retrieval, "QUERY_SECONDS", 0.05)
    await keep(index, vectors, "d1", *[LUNCH, "harbour"] * 3, HARBOUR)
    with caplog.at_level(logging.WARNING):
        found = await HybridRetriever(index, vectors, embedder).search("harbour closed", ["d1"], 2)
    plain = await HybridRetriever(index).search("harbour closed", ["d1"], 2)
    assert found.hits == plain.hits
    assert len(found.hits) == 2
    assert steps(found) == [("hybrid", HIGH, 0), ("lexical", WORDS_HIGH, 1)]
    assert found.steps[0].note == note
    assert "harbour" not in caplog.text
    assert "embedder" in caplog.text


async def test_documents_without_vectors_of_this_embedder_are_searched_by_words(
    index: WordIndex, vectors: VectorIndex
) -> None:
    index.add("d1", LUNCH, HARBOUR)
    await vectors.save("d1", [[1.0, 0.0], [0.0, 1.0]])
    found = await HybridRetriever(index, vectors, TopicEmbedder()).search("harbour closed", ["d1"], 2)
    assert texts(found) == [HARBOUR]
    assert found.steps[0].note == "these documents have no vectors of topics; lexical only"


async def test_while_the_vector_index_is_down_search_uses_words_and_says_so(index: WordIndex) -> None:
    class DownIndex(SqliteVectorIndex):
        async def nearest(
            self, vector: Sequence[float], document_ids: Sequence[str], top_k: int
        ) -> list[Neighbour]:
            raise DependencyDown("Down.", dependency="vectors")

    index.add("d1", LUNCH, HARBOUR)
    down = DownIndex(Database(Path("unused")))
    found = await HybridRetriever(index, down, TopicEmbedder()).search("harbour closed", ["d1"], 2)
    assert texts(found) == [HARBOUR]
    assert found.steps[0].note == "the vector index does not answer (dependency_down); lexical only"


async def test_a_failing_index_is_an_error(vectors: VectorIndex) -> None:
    class BrokenIndex(WordIndex):
        async def search(
            self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
        ) -> list[Hit]:
            raise DependencyDown("The database cannot be used.", dependency="store")

    with pytest.raises(DependencyDown):
        await HybridRetriever(BrokenIndex(), vectors, TopicEmbedder()).search("harbour", ["d1"], 2)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("harbour closed winter", [("lexical", WORDS_HIGH, 1)]),
        ("harbour closed yesterday again", [("lexical", WORDS_HIGH, 0), ("lexical", WORDS_LOW, 1)]),
        (
            "harbour yesterday again never",
            [("lexical", WORDS_HIGH, 0), ("lexical", WORDS_LOW, 0), ("widened_lexical", None, 0)],
        ),
        (
            "harbours anchored",
            [("lexical", WORDS_HIGH, 0), ("lexical", WORDS_LOW, 0), ("widened_lexical", None, 2)],
        ),
        ("nothing", [("lexical", WORDS_HIGH, 0), ("lexical", WORDS_LOW, 0), ("widened_lexical", None, 0)]),
    ],
)
async def test_without_an_embedder_thresholds_fall_step_by_step(
    index: WordIndex, query: str, expected: list[tuple[str, float | None, int]]
) -> None:
    index.add("d1", HARBOUR, ANCHOR, LUNCH)
    found = await HybridRetriever(index).search(query, ["d1"], 5)
    assert steps(found) == expected
    assert len(index.searches) == 1 + (expected[-1][0] == "widened_lexical")


@pytest.mark.parametrize("top_k", [1, 5])
async def test_similar_words_lead_if_few_words_are_found(index: WordIndex, top_k: int) -> None:
    weak, resembling = "At noon.", "Harbouring of vesseling."
    index.add("d1", weak, resembling)
    found = await HybridRetriever(index).search("noon harbour vessel springs", ["d1"], top_k)
    assert texts(found) == [resembling, weak][:top_k]
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert index.searches == [(["d1"], top_k, False), (["d1"], top_k, True)]


@pytest.mark.parametrize("top_k", [1, 3, 20])
async def test_lexical_hits_keep_the_order_of_the_index(index: WordIndex, top_k: int) -> None:
    index.add("d1", *[f"{word} harbour lunch closed" for word in ("a b", "winter", "ships winter", "c")])
    for query in ("winter ships harbour", "harbour x y z w", "lunch"):
        plain = await index.search(query, ["d1"], top_k)
        found = await HybridRetriever(index).search(query, ["d1"], top_k)
        assert found.hits[: len(plain)] == plain


def hit(text: str, page: int = 1, score: float = 1.0, document_id: str = "d1", heading: str = "") -> Hit:
    passage = Passage(document_id=document_id, page=page, start=0, end=len(text), text=text, heading=heading)
    return Hit(passage=passage, score=score)


def test_coverage_counts_a_whole_page_and_its_headings() -> None:
    hits = [hit("The harbour is wide."), hit("Ships come."), hit("Fees.", 2, heading="Harbour")]
    assert cover("Which ships use the harbours?", hits) == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert cover("the of and", []) == []


RANKINGS = st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=4)


@given(RANKINGS)
def test_fusion_keeps_each_key_once_with_a_score_up_to_one(rankings: list[list[int]]) -> None:
    fused = fuse(rankings)
    assert set(fused) == {key for ranking in rankings for key in ranking}
    assert list(fused.values()) == sorted(fused.values(), reverse=True)
    assert all(0 < score <= 1 + 1e-9 for score in fused.values())


@given(st.lists(st.integers(), unique=True))
def test_fusion_of_one_ranking_or_of_equal_ones_is_that_ranking(ranking: list[int]) -> None:
    assert list(fuse([ranking])) == list(fuse([ranking, ranking])) == ranking


def test_fusion_is_the_published_formula() -> None:
    fused = fuse([["a", "b", "c"], ["c", "a"]])
    best = 2 / 61
    assert fused == pytest.approx(
        {"a": (1 / 61 + 1 / 62) / best, "c": (1 / 63 + 1 / 61) / best, "b": (1 / 62) / best}
    )


def test_the_ranking_with_more_weight_decides() -> None:
    assert list(fuse([["a", "b"], ["b", "a"]], (0.1, 1.0))) == ["b", "a"]
    assert fuse([["a"], ["a"]], (0.1, 1.0)) == pytest.approx({"a": 1.0})


def test_passages_of_a_page_in_both_rankings_support_each_other() -> None:
    one, other, alone = hit("first half", page=1), hit("second half", page=1), hit("elsewhere", page=2)
    fused = fuse_hits([alone, one], [hit("third", page=3), other])
    assert [found.passage.page for found in fused[:2]] == [1, 1]
    assert fused[0].score >= LOW


@given(RANKINGS.filter(lambda rankings: len(rankings) == 2))
def test_a_hit_of_one_ranking_never_reaches_a_threshold(rankings: list[list[int]]) -> None:
    sides = [[hit(str(n), page=n + 1) for n in ranking] for ranking in rankings]
    both = set(rankings[0]) & set(rankings[1])
    for found in fuse_hits(*sides):
        assert (found.score >= LOW) == (int(found.passage.text) in both)
