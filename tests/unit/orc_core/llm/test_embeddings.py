"""Embedding over the provider's own protocol, against the double."""

import asyncio
import itertools
import math

import pytest
from langchain_core.embeddings import Embeddings

from devkit.doubles.bag_of_words import bag_of_words
from devkit.doubles.openai_double import Failure, LoggedRequest, OpenAIDouble, Script
from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.resilience import CircuitBreaker
from orc_core.llm.embeddings import BATCH_TEXTS, CONCURRENCY, TEXT_TOKENS, OpenAIEmbedder, build_embedder
from orc_core.llm.errors import ContentFiltered, ModelMisconfigured, ModelOutputInvalid
from orc_core.llm.tokens import TokenCounter
from tests.unit.orc_core.conftest import MakeSettings, OpenFor

pytestmark = pytest.mark.slow


@pytest.fixture
async def embedder(
    base_url: str, make_settings: MakeSettings, open_for: OpenFor, counter: TokenCounter
) -> OpenAIEmbedder:
    settings = make_settings(
        openai_base_url=base_url, embedding_model="small-vectors", model_retries=0, model_timeout_seconds=5
    )
    built = build_embedder(settings, counter, open_for(settings))
    assert built is not None
    return built


def texts_of(requests: list[LoggedRequest]) -> list[list[str]]:
    return [request.body["input"] for request in requests]


def rounded(vectors: list[list[float]]) -> list[list[float]]:
    """Four-byte numbers travel."""
    return [[round(number, 5) for number in vector] for vector in vectors]


async def test_vectors_keep_the_order_of_their_texts(embedder: OpenAIEmbedder, double: OpenAIDouble) -> None:
    texts = ["The fee is due.", "Ships leave the harbour.", "手数料は五ドルです。"]
    vectors = await embedder.embed_passages(texts)
    assert rounded(vectors) == rounded([bag_of_words(text) for text in texts])
    assert rounded([await embedder.embed_query(texts[0])]) == rounded([bag_of_words(texts[0])])
    # Texts, not token numbers: servers other than OpenAI's own know no other input.
    assert texts_of(double.requests) == [texts, texts[:1]]
    assert {request.body["model"] for request in double.requests} == {"small-vectors"}
    assert embedder.name == "small-vectors"


async def test_no_request_is_made_without_texts(embedder: OpenAIEmbedder, double: OpenAIDouble) -> None:
    assert await embedder.embed_passages([]) == []
    assert double.requests == []


async def test_many_texts_are_embedded_in_batches(embedder: OpenAIEmbedder, double: OpenAIDouble) -> None:
    texts = [f"passage {number}" for number in range(2 * BATCH_TEXTS + 5)]
    vectors = await embedder.embed_passages(texts)
    assert rounded(vectors) == rounded([bag_of_words(text) for text in texts])
    assert sorted(len(batch) for batch in texts_of(double.requests)) == [5, BATCH_TEXTS, BATCH_TEXTS]


async def test_a_batch_has_a_token_limit(
    embedder: OpenAIEmbedder, double: OpenAIDouble, counter: TokenCounter
) -> None:
    await embedder.embed_passages(["word " * (TEXT_TOKENS - 10)] * 60)
    assert len(double.requests) == 3
    assert all(sum(map(counter.count, batch)) <= 100_000 for batch in texts_of(double.requests))


@pytest.mark.parametrize("text", ["word " * 20_000, "数" * 50_000, "x" * 100_000])
async def test_a_text_that_is_too_long_is_truncated(
    embedder: OpenAIEmbedder, double: OpenAIDouble, counter: TokenCounter, text: str
) -> None:
    await embedder.embed_query(text)
    [[sent]] = texts_of(double.requests)
    assert text.startswith(sent)
    assert TEXT_TOKENS / 2 < counter.count(sent) <= TEXT_TOKENS


async def test_concurrent_requests_are_limited(embedder: OpenAIEmbedder, double: OpenAIDouble) -> None:
    double.script = Script(embedding_delay_ms=50)
    await asyncio.gather(*(embedder.embed_passages(["passage"] * BATCH_TEXTS * 4) for _ in range(3)))
    assert len(double.requests) == 12
    assert double.most_embedding_at_once == CONCURRENCY


async def test_a_question_does_not_wait_for_passages(embedder: OpenAIEmbedder, double: OpenAIDouble) -> None:
    double.script = Script(embedding_delay_ms=300)
    indexing = asyncio.create_task(embedder.embed_passages(["passage"] * BATCH_TEXTS * CONCURRENCY * 2))
    for _ in range(CONCURRENCY):
        await asyncio.to_thread(double.embedding.acquire, timeout=5)
    await embedder.embed_query("question")
    assert texts_of(double.requests)[CONCURRENCY] == ["question"]
    await indexing


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(status=500), DependencyDown),
        (Failure(status=429, code="rate_limited"), DependencyDown),
        (Failure(status=401, code="invalid_api_key"), ModelMisconfigured),
        (Failure(status=404), ModelMisconfigured),
        (Failure(status=400, code="content_filter"), ContentFiltered),
    ],
)
async def test_failures_are_translated(
    embedder: OpenAIEmbedder, double: OpenAIDouble, failure: Failure, expected: type[OrcError]
) -> None:
    for embedding in (embedder.embed_query("text"), embedder.embed_passages(["text"])):
        double.script.embedding_failures.append(failure)
        with pytest.raises(OrcError) as caught:
            await embedding
        assert type(caught.value) is expected
        assert caught.value.__cause__ is not None


async def test_an_unknown_model_names_the_setting_of_the_embedding_model(
    embedder: OpenAIEmbedder, double: OpenAIDouble
) -> None:
    double.script.embedding_failures.append(Failure(status=404))
    with pytest.raises(ModelMisconfigured, match="ORC_EMBEDDING_MODEL") as caught:
        await embedder.embed_query("text")
    assert (caught.value.code, caught.value.retryable) == ("model_unknown", False)


async def test_a_failure_cancels_the_requests_that_wait(
    embedder: OpenAIEmbedder, double: OpenAIDouble
) -> None:
    double.script.embedding_failures.extend(itertools.repeat(Failure(status=500), CONCURRENCY))
    with pytest.raises(DependencyDown):
        await embedder.embed_passages(["passage"] * (BATCH_TEXTS * CONCURRENCY * 5))
    left = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*left, return_exceptions=True)
    assert len(double.requests) <= 2 * CONCURRENCY


@pytest.mark.parametrize("vectors", [0, 1])
async def test_a_missing_vector_is_invalid_output(
    embedder: OpenAIEmbedder, double: OpenAIDouble, vectors: int
) -> None:
    double.script = Script(vectors=vectors)
    with pytest.raises(DependencyDown):
        await embedder.embed_passages(["one", "two"])


@pytest.mark.parametrize("sent", [[[1.0], [1.0, 2.0]], [[], []], [[1.0], [math.nan]], [[1.0], [-math.inf]]])
async def test_vectors_that_cannot_be_compared_are_invalid_output(
    counter: TokenCounter, sent: list[list[float]]
) -> None:
    class OddModel(Embeddings):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return sent

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise NotImplementedError

        def embed_query(self, text: str) -> list[float]:
            raise NotImplementedError

    with pytest.raises(ModelOutputInvalid):
        breaker = CircuitBreaker("model", lambda _: None)
        await OpenAIEmbedder(OddModel(), counter, name="odd", breaker=breaker).embed_passages(["one", "two"])
