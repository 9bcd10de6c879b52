"""How a part of a document is read: which of its passages bear on a question."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from langchain_core.messages import SystemMessage

from core.grounding.sources import OPENING, Source, bracketed, cited_numbers, fence
from core.llm.chat_model import ChatModel, Meter
from core.llm.messages import QuestionMessage
from core.search.text_ranking import Candidate, TextRanking

BEST_OF_PART = 4


class PartReader(Protocol):
    """Reads one part after another, several at a time."""

    async def relevant(self, question: str, sources: Sequence[Source], meter: Meter) -> set[int]:
        """The numbers of the sources that bear on the question. Raises OrcError where they cannot be read."""


class NoteTaker:
    """Has a model write notes, and takes the sources that it cites."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self._model = model
        self._prompt = prompt

    async def relevant(self, question: str, sources: Sequence[Source], meter: Meter) -> set[int]:
        """The sources that the notes cite."""
        asked = QuestionMessage(content=f"{fence(sources)}\n\nQuestion: {question}", question=question)
        messages = [SystemMessage(self._prompt), asked]
        return _numbers_cited(await self._model.complete(messages, meter=meter))


class BestMatches:
    """Takes the sources that share most with the question; for where no model can take notes.

    The offline model answers or refuses: asked part by part, it would refuse where a part holds only a
    piece of the answer. A part without a match gives its beginning, for questions about the whole.
    """

    async def relevant(self, question: str, sources: Sequence[Source], meter: Meter) -> set[int]:  # noqa: ARG002
        """The sources with the most, and the rarest, words of the question."""
        return await asyncio.to_thread(_best_matches, question, sources)


def _best_matches(question: str, sources: Sequence[Source]) -> set[int]:
    ranking = TextRanking(question, [Candidate(source.text) for source in sources])
    best = ranking.matching()[:BEST_OF_PART] or [0]
    return {sources[index].number for index in best}


def _numbers_cited(text: str) -> set[int]:
    brackets = (bracketed(text[opened.start() :], is_all=True) for opened in OPENING.finditer(text))
    return {number for bracket in brackets if bracket for number in cited_numbers(bracket)}
