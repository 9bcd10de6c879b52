"""Embeds texts with an OpenAI-compatible provider; without a provider there is no embedder."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING

from orc_core.infra.resilience import CircuitBreaker
from orc_core.infra.settings import CoreSettings
from orc_core.infra.telemetry.calls import Model
from orc_core.llm.errors import ModelOutputInvalid
from orc_core.llm.later import Later
from orc_core.llm.provider import Provider
from orc_core.llm.tokens import TokenCounter, truncate

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

BATCH_TEXTS = 128
BATCH_TOKENS = 100_000
TEXT_TOKENS = 4_000
"""Half of what the models accept: their older encoding has up to twice as many tokens as we count."""
CONCURRENCY = 4


def build_embedder(
    settings: CoreSettings, counter: TokenCounter, provider: Provider | None
) -> "OpenAIEmbedder | None":
    """The embedder, or None without a provider or an embedding model. Connects to nothing."""
    if (name := settings.embedder_name) is None or provider is None:
        return None
    return OpenAIEmbedder(
        Later(partial(_build_model, provider, name)),
        counter,
        name=name,
        breaker=provider.embeddings,
        provider=provider.endpoint.telemetry_name,
    )


@dataclass(eq=False)
class OpenAIEmbedder:
    """Implements the Embedder port. `name` is the model's: vectors of different models are not comparable.
    The model may be made at its first use.

    Also raises ContextTooLong and ContentFiltered. The passages of all documents share a few concurrent
    requests; a question never waits for them.
    """

    model: "Embeddings | Later[Embeddings]"
    counter: TokenCounter
    _: KW_ONLY
    name: str
    breaker: CircuitBreaker
    provider: str = "orc"

    def __post_init__(self) -> None:
        self._telemetry = Model(self.name, operation="embeddings", provider=self.provider)
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in order. Only the beginning of a text that is too long is embedded."""

        async def in_turn(batch: list[str]) -> list[list[float]]:
            async with self._slots:
                return await self._embed(batch)

        batches = await asyncio.to_thread(lambda: list(self._batches(texts)))
        requests = [asyncio.create_task(in_turn(batch)) for batch in batches]
        try:
            answers = await asyncio.gather(*requests)
        finally:
            for request in requests:
                request.cancel()
        return [vector for answer in answers for vector in answer]

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        fitted = await asyncio.to_thread(self._fit, text)
        (vector,) = await self._embed([fitted])
        return vector

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        with self._telemetry.call():
            async with self.breaker.attempt():
                model = await self.model.take() if isinstance(self.model, Later) else self.model
                vectors = await model.aembed_documents(texts)
        sizes = {len(vector) for vector in vectors}
        # A sum is finite only if all of its numbers are, and takes a hundredth of the time.
        are_finite = all(math.isfinite(sum(vector)) for vector in vectors)
        if len(vectors) != len(texts) or len(sizes) != 1 or 0 in sizes or not are_finite:
            raise ModelOutputInvalid("The embedding model did not send one vector for each text.")
        return vectors

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text in map(self._fit, texts):
            more = self.counter.count(text)
            if batch and (len(batch) == BATCH_TEXTS or tokens + more > BATCH_TOKENS):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += more
        if batch:
            yield batch

    def _fit(self, text: str) -> str:
        return truncate(text, TEXT_TOKENS, self.counter)


def _build_model(provider: Provider, name: str) -> "Embeddings":
    from langchain_openai import OpenAIEmbeddings

    return OpenAIEmbeddings(
        model=name,
        openai_api_base=provider.endpoint.url,
        openai_api_key=provider.key,
        http_async_client=provider.http,
        request_timeout=provider.http.timeout,
        max_retries=provider.retries,
        chunk_size=BATCH_TEXTS,
        check_embedding_ctx_length=False,  # it would send token numbers, which only OpenAI itself reads
    )
