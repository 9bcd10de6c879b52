"""Page analysis by a model: notes on batches of pages, then summaries of the parts and of the whole."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar, get_args
from xml.sax.saxutils import unescape

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.models import Anchor, AnchorKind, Entity, PageAnalysis, Relation
from orc_core.analysis.summaries import Overview, list_pages, page_range, summarise
from orc_core.grounding.sources import Source, fence
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.errors import ContentFiltered, ContextTooLong, ModelOutputInvalid
from orc_core.models import Page
from orc_core.text.quotes import QuoteFinder

CALL_TOKENS = 6000
"""Tokens of page text in one call: enough to save calls, few enough that each page is read with care."""
CALL_PAGES = 8
_CHARACTERS_PER_TOKEN = 3
PART_CHARACTERS = 18_000
"""Length of the summaries in one call, about 6000 tokens."""
SUMMARY_WORDS = 150
CONCURRENCY = 4
MOST_TOPICS = 8
MOST_ENTITIES = 30
MOST_ANCHORS = 40
MOST_RELATIONS = 15
LONGEST_SUMMARY = 1000
LONGEST_NAME = 120
ENTITY_TYPES = frozenset(
    "person organization place product term date amount percentage email url other".split()
)
ANCHOR_KINDS = get_args(AnchorKind)
REFUSALS = (ModelOutputInvalid, ContentFiltered, ContextTooLong)
"""Errors caused by the pages themselves: asking again for the same pages would not help."""

_PROMPTS = Path(__file__).parent / "prompts"
_Form = TypeVar("_Form", bound=BaseModel)
_Item = TypeVar("_Item")

log = logging.getLogger(__name__)


class NotedEntity(BaseModel):
    """A person or thing that the page names."""

    name: str = Field(description="spelled exactly as on the page")
    type: str = Field(default="other", description="one of: " + ", ".join(sorted(ENTITY_TYPES)))


class NotedRelation(BaseModel):
    """A relation that the page states between two things that it names."""

    source: str = Field(description="spelled as on the page")
    type: str = Field(description="a verb or a short phrase in lower case, such as: acquired, is part of")
    target: str = Field(description="spelled as on the page")
    evidence: str = Field(description="the sentence that says so, word for word from the page")


class NotedAnchor(BaseModel):
    """A place that the page contains or refers to."""

    kind: str = Field(description="one of: " + ", ".join(ANCHOR_KINDS))
    text: str = Field(description="spelled exactly as on the page, such as: Table 3, section 4.2")


class PageNote(BaseModel):
    """The notes on one page."""

    page: int = Field(description="the page number of the source")
    summary: str = Field(default="", description="one to three sentences, in the language of the page")
    topics: list[str] = Field(default=[], description="key phrases of the page, most telling first")
    entities: list[NotedEntity] = []
    anchors: list[NotedAnchor] = []
    relations: list[NotedRelation] = []


class PageNotes(BaseModel):
    """The notes on all pages, one entry for each page."""

    pages: list[PageNote]


class AnalysisPrompts(NamedTuple):
    """The system prompt of each kind of call."""

    pages: str
    part_summary: str
    document_summary: str


def load_prompts() -> AnalysisPrompts:
    """The prompts that ship with the code."""
    limits = {
        "topics": MOST_TOPICS,
        "entities": MOST_ENTITIES,
        "anchors": MOST_ANCHORS,
        "relations": MOST_RELATIONS,
    }
    texts = ((_PROMPTS / f"{name}.md").read_text(encoding="utf-8") for name in AnalysisPrompts._fields)
    return AnalysisPrompts(*(text.format(**limits, words=SUMMARY_WORDS) for text in texts))


class Outcome(NamedTuple):
    """The analyses of the pages that the model covered, and the batches to ask about again."""

    analyses: list[PageAnalysis]
    again: list[list[Page]]


def batches(pages: Sequence[Page]) -> Iterator[list[Page]]:
    """Batches of the pages with text, in order, each fit for one call; a longer page is a batch of one."""
    with_text = (page for page in pages if page.text.strip())
    sizes = ((page, page.tokens or len(page.text) // _CHARACTERS_PER_TOKEN) for page in with_text)
    return _groups(sizes, CALL_TOKENS, most=CALL_PAGES)


def _groups(
    sized: Iterable[tuple[_Item, int]], budget: int, *, least: int = 1, most: int | None = None
) -> Iterator[list[_Item]]:
    """Neighbouring items of which each has its size, in groups of `least` to `most` items.

    The sizes in a group add up to the budget at most, but for groups of `least` items.
    """
    group: list[_Item] = []
    spent = 0
    for item, size in sized:
        if len(group) >= least and (spent + size > budget or len(group) == most):
            yield group
            group, spent = [], 0
        group.append(item)
        spent += size
    if group:
        yield group


class PageReader:
    """Asks a model about a few pages at a time."""

    def __init__(self, model: ChatModel, prompt: str, budget: CallBudget) -> None:
        self._model = model
        self._prompt = prompt
        self._budget = budget

    async def read(self, batch: Sequence[Page], drafts: Mapping[int, PageAnalysis]) -> Outcome:
        """The analyses of these pages; `drafts` are the extractive ones, by page.

        A batch that the model refuses, or only partly covers, is returned in parts to ask about again. A
        single page that it refuses keeps its draft. Raises BudgetExceeded and DependencyDown.
        """
        sources = [(page.number, page.text) for page in batch]
        try:
            notes = await fill(self._model, self._prompt, sources, PageNotes, self._budget)
        except REFUSALS as exc:
            log.info("model refused pages count=%d error=%s", len(batch), exc.code)
            return _split(batch, drafts)
        by_page = {note.page: note for note in reversed(notes.pages)}
        merged = [
            _merge(page, by_page[page.number], drafts[page.number], self._model.name)
            for page in batch
            if page.number in by_page
        ]
        left_out = [page for page in batch if page.number not in by_page]
        if not merged:
            return _split(batch, drafts)
        return Outcome(merged, [left_out] if left_out else [])


async def fill(
    model: ChatModel, prompt: str, sources: Iterable[tuple[int, str]], form: type[_Form], budget: CallBudget
) -> _Form:
    """The structured output `form`, made by the model from texts with page numbers, fenced as quotes."""
    document = {"document_id": "", "blob_name": "document", "page_text": ""}
    numbered = [Source(number=page, page=page, start=0, text=text, **document) for page, text in sources]
    messages = [SystemMessage(prompt), HumanMessage(fence(numbered))]
    return await model.structured(messages, form, budget=budget)


def _split(batch: Sequence[Page], drafts: Mapping[int, PageAnalysis]) -> Outcome:
    if len(batch) == 1:
        return Outcome([drafts[batch[0].number]], [])
    middle = len(batch) // 2
    return Outcome([], [list(batch[:middle]), list(batch[middle:])])


def _merge(page: Page, note: PageNote, draft: PageAnalysis, method: str) -> PageAnalysis:
    """The model's note without what the page does not contain, plus the headings, which code finds.

    A note without anything is no reading of the page: that keeps its draft.
    """
    if note == PageNote(page=note.page):
        return draft
    quotes = QuoteFinder(page.text)
    stated = filter(None, (_checked(each, page, quotes) for each in note.relations[:MOST_RELATIONS]))
    relations = {(each.source, each.type, each.target): each for each in stated}
    anchors = {each.text: each for each in (*_anchors(note.anchors, quotes), *draft.anchors)}
    entities: dict[str, Entity] = {}
    for each in note.entities:
        name, kind = _plain(unescape(each.name)), each.type.strip().lower()
        if name not in entities and len(name) <= LONGEST_NAME and quotes.find(name):
            entities[name] = Entity(name=name, type=kind if kind in ENTITY_TYPES else "other")
    topics: dict[str, str] = {}
    for phrase in filter(None, (_plain(each)[:LONGEST_NAME] for each in note.topics)):
        topics.setdefault(phrase.casefold(), phrase)
    return PageAnalysis(
        page=page.number,
        method=method,
        summary=_plain(note.summary)[:LONGEST_SUMMARY] or draft.summary,
        topics=list(topics.values())[:MOST_TOPICS] or draft.topics,
        entities=list(entities.values())[:MOST_ENTITIES],
        anchors=list(anchors.values())[:MOST_ANCHORS],
        relations=list(relations.values()),
    )


def _anchors(noted: Iterable[NotedAnchor], quotes: QuoteFinder) -> Iterator[Anchor]:
    for each in noted:
        text, kind = _plain(unescape(each.text)), each.kind.strip().lower()
        if kind in ANCHOR_KINDS and len(text) <= LONGEST_NAME and quotes.find(text):
            yield Anchor.model_validate({"kind": kind, "text": text})


def _checked(noted: NotedRelation, page: Page, quotes: QuoteFinder) -> Relation | None:
    """The relation with its evidence in the page's own spelling; None if the page does not contain it."""
    names = [_plain(unescape(name)) for name in (noted.source, noted.target)]
    span = quotes.find(unescape(noted.evidence))
    if not span or not all(len(name) <= LONGEST_NAME and quotes.find(name) for name in names):
        return None
    evidence = _plain(page.text[span.start : span.end])
    kind = _plain(noted.type).lower()[:LONGEST_NAME]
    return Relation(source=names[0], type=kind, target=names[1], evidence=evidence) if kind else None


def _plain(text: str) -> str:
    return " ".join(text.split())


class SectionLine(BaseModel):
    """The summary of one section of the document."""

    first_page: int
    last_page: int
    text: str = Field(description="one or two sentences")


class DocumentSummary(BaseModel):
    """The summary of a document."""

    summary: str = Field(description="one paragraph")


class PartSummary(DocumentSummary):
    """The summary of a part of a document."""

    lines: list[SectionLine] = Field(default=[], description="the sections of this part, in order")


class _Part(NamedTuple):
    first_page: int
    summary: str
    lines: list[str]
    is_by_model: bool


class Summariser:
    """Map and reduce over page summaries. Raises BudgetExceeded and DependencyDown."""

    def __init__(
        self, model: ChatModel, prompts: AnalysisPrompts, budget: CallBudget, context: DocumentContext
    ) -> None:
        self._model = model
        self._prompts = prompts
        self._budget = budget
        self._context = context
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def summarise(self, pages: Sequence[PageAnalysis]) -> tuple[Overview, bool]:
        """The overview, and whether the model wrote all of it; the rest is extracted from the pages."""
        sizes = ((page, len(page.summary)) for page in pages if page.summary)
        parts = _groups(sizes, PART_CHARACTERS)
        read = await asyncio.gather(*map(self._read, parts))
        detailed = "\n".join(line for part in read for line in part.lines)
        is_complete = all(part.is_by_model for part in read)
        summary = await self._reduce([(part.first_page, part.summary) for part in read])
        if summary is None:
            return Overview(summarise(pages, self._context), detailed), False
        return Overview(summary, detailed), is_complete

    async def _read(self, pages: Sequence[PageAnalysis]) -> _Part:
        sources = [(page.page, page.summary) for page in pages]
        made = await self._fill(self._prompts.part_summary, sources, PartSummary) or PartSummary(summary="")
        first, last = pages[0].page, pages[-1].page
        lines = [
            f"{page_range(line.first_page, line.last_page)}: {_plain(line.text)}"
            for line in made.lines
            if first <= line.first_page <= line.last_page <= last and line.text.strip()
        ]
        summary = _plain(made.summary)
        return _Part(
            first_page=first,
            summary=summary or summarise(pages, self._context),
            lines=lines or list_pages(pages, self._context),
            is_by_model=bool(lines and summary),
        )

    async def _reduce(self, summaries: Sequence[tuple[int, str]]) -> str | None:
        """One summary of many; None if the model refuses. Too many for one call are reduced in groups."""
        if len(summaries) <= 1:
            return summaries[0][1] if summaries else ""
        # Groups of at least two, so that every round leaves fewer.
        groups = list(_groups(((each, len(each[1])) for each in summaries), PART_CHARACTERS, least=2))
        prompt = self._prompts.document_summary
        made = await asyncio.gather(*(self._fill(prompt, group, DocumentSummary) for group in groups))
        shorter = [(group[0][0], _plain(one.summary)) for group, one in zip(groups, made, strict=True) if one]
        if len(shorter) < len(groups) or not all(text for _, text in shorter):
            return None
        return await self._reduce(shorter)

    async def _fill(
        self, prompt: str, summaries: Sequence[tuple[int, str]], form: type[_Form]
    ) -> _Form | None:
        try:
            async with self._slots:
                return await fill(self._model, prompt, summaries, form, self._budget)
        except REFUSALS as exc:
            log.info("model refused summaries count=%d error=%s", len(summaries), exc.code)
            return None
