"""An embedder for tests of search: it knows what means the same in three topics."""

import asyncio
import re
from collections.abc import Sequence

from orc_core.errors import OrcError

TOPICS = (
    {"harbour", "port", "anchor", "ships", "vessels"},
    {"lunch", "meal", "orchard", "park"},
    {"tax", "fee"},
)


class TopicEmbedder:
    """Embeds text with one dimension for each topic. It may fail with `failure`, or never answer."""

    name = "topics"

    def __init__(self, failure: OrcError | None = None, answers: bool = True) -> None:
        self.asked: list[str] = []
        self._failure = failure
        self._answers = answers

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        words = [re.findall(r"\w+", text.lower()) for text in texts]
        # A text without a topic has a direction too.
        return [[0.01 + sum(word in topic for word in each) for topic in TOPICS] for each in words]

    async def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        if self._failure is not None:
            raise self._failure
        if not self._answers:
            await asyncio.Event().wait()
        return (await self.embed_passages([text]))[0]
