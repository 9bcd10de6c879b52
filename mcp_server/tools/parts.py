"""Cuts a document into parts, and reads the relevant sources of each part, with or without a model."""

import asyncio
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from langchain_core.messages import SystemMessage

from mcp_server.tools.document_context import passage_source
from orc_core.documents.passages import split_pages
from orc_core.grounding.sources import Source, fence
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.messages import QuestionMessage
from orc_core.llm.tokens import take_each_fitting
from orc_core.markdown.brackets import MAX_BRACKET, OPENING, bracketed, cited_numbers
from orc_core.models import Document, Hit, Page, Passage
from orc_core.search.bm25 import Candidate, TextRanking

BLOCKS_PER_PART = 4
"""A block is at most this fraction of a part, so that packed parts are nearly full."""

Count = Callable[[str], int]


class Sized(NamedTuple):
    """A source and its tokens."""

    source: Source
    tokens: int


class PageBlock(NamedTuple):
    """Neighbouring sources of one page, which are read together or not at all."""

    page: int
    sources: tuple[Sized, ...]

    @property
    def tokens(self) -> int:
        return sum(sized.tokens for sized in self.sources)


Part = list[PageBlock]


class PartsPlan(NamedTuple):
    """The parts to read, and whether they contain the whole document."""

    parts: list[Part]
    is_whole: bool


def cut(document: Document, pages: Sequence[Page], part_tokens: int, count: Count) -> list[PageBlock]:
    """The document's text in reading order; its sources are numbered from 1."""
    by_number = {page.number: page for page in pages}
    sized = []
    for number, passage in enumerate(split_pages(document.document_id, pages), 1):
        source = passage_source(number, document, passage, by_number[passage.page])
        sized.append(Sized(source, count(passage.text)))
    return join(sized, part_tokens // BLOCKS_PER_PART)


def join(sized: Iterable[Sized], most: int) -> list[PageBlock]:
    """Neighbouring sources of a page joined into blocks of at most `most` tokens, or of one source."""
    blocks: list[PageBlock] = []
    for page, on_page in itertools.groupby(sized, key=lambda each: each.source.page):
        gathered: list[Sized] = []
        for each in on_page:
            if gathered and sum(one.tokens for one in gathered) + each.tokens > most:
                blocks.append(PageBlock(page, tuple(gathered)))
                gathered = []
            gathered.append(each)
        blocks.append(PageBlock(page, tuple(gathered)))
    return blocks


def total(blocks: Iterable[PageBlock]) -> int:
    """The tokens of all of them."""
    return sum(block.tokens for block in blocks)


def pack(blocks: Iterable[PageBlock], budget: int) -> list[Part]:
    """Parts of at most `budget` tokens, or of one block, in the same order."""
    parts: list[Part] = []
    used = 0
    for block in blocks:
        if not parts or used + block.tokens > budget:
            parts.append([])
            used = 0
        parts[-1].append(block)
        used += block.tokens
    return parts


def plan_parts(
    blocks: Sequence[PageBlock], best: Sequence[Hit], *, calls: int, usual: int, largest: int
) -> PartsPlan:
    """At most `calls` parts of `usual` tokens, or larger if needed to contain the whole document.

    If even the largest parts cannot contain all of it, the blocks around the `best` hits are read, and as
    many others as fit, from the whole document.
    """
    biggest = max(block.tokens for block in blocks)
    # Packing leaves less than the biggest block unused in a part, so this many tokens always fit.
    capacity = calls * max(1, largest - biggest)
    if total(blocks) <= capacity:
        needed = math.ceil(total(blocks) / calls) + biggest
        return PartsPlan(pack(blocks, min(largest, max(usual, needed))), is_whole=True)
    matching = dict.fromkeys(block for hit in best for block in blocks if _overlaps(block, hit.passage))
    chosen = set(take_each_fitting(matching, capacity, lambda block: block.tokens))
    others = [block for block in blocks if block not in chosen]
    chosen.update(thin_out(others, capacity - total(chosen)))
    in_order = [block for block in blocks if block in chosen]
    return PartsPlan(pack(in_order, largest)[:calls], is_whole=False)


def _overlaps(block: PageBlock, passage: Passage) -> bool:
    first, last = block.sources[0].source, block.sources[-1].source
    is_near = first.start < passage.end and passage.start < last.start + len(last.text)
    return block.page == passage.page and is_near


def thin_out(blocks: Sequence[PageBlock], budget: int) -> list[PageBlock]:
    """As many of these as fit, spread evenly; all of them if all fit."""
    everything = total(blocks)
    kept: list[PageBlock] = []
    seen = used = 0
    for block in blocks:
        seen += block.tokens
        if (used + block.tokens) * everything <= budget * seen:
            kept.append(block)
            used += block.tokens
    return kept


BEST_OF_PART = 4


class PartReader(Protocol):
    """Selects the relevant sources of a part; several parts are read concurrently."""

    async def relevant(self, question: str, sources: Sequence[Source], budget: CallBudget) -> set[int]:
        """The numbers of the sources relevant to the question. Raises OrcError if they cannot be read."""


class NoteTaker:
    """Lets a model write notes, and selects the sources that the notes cite."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self._model = model
        self._prompt = prompt

    async def relevant(self, question: str, sources: Sequence[Source], budget: CallBudget) -> set[int]:
        """The sources that the notes cite."""
        asked = QuestionMessage(content=f"{fence(sources)}\n\nQuestion: {question}", question=question)
        notes = await self._model.complete([SystemMessage(self._prompt), asked], budget=budget)
        starts = [opened.start() for opened in OPENING.finditer(notes)]
        brackets = (bracketed(notes[start : start + MAX_BRACKET], is_all=True) for start in starts)
        known = {source.number: source for source in sources}
        return {number for bracket in brackets if bracket for number in cited_numbers(bracket, known)}


class BestMatches:
    """Selects the sources that match the question best, if there is no model to take notes.

    The beginning of the part is selected if nothing matches: only all parts together can tell that.
    """

    async def relevant(self, question: str, sources: Sequence[Source], budget: CallBudget) -> set[int]:  # noqa: ARG002
        """The sources with the most, and the rarest, words of the question."""
        candidates = [Candidate(source.text) for source in sources]
        ranked = await asyncio.to_thread(lambda: TextRanking(question, candidates).matching())
        return {sources[index].number for index in ranked[:BEST_OF_PART] or [0]}
