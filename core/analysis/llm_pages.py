"""Pages gathered so that one call to a model reads several of them."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.sax.saxutils import unescape

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from core.analysis.models import Entity, PageAnalysis, Relation
from core.analysis.relation_patterns import ABBREVIATED_AS, DEFINED_AS, REFERS_TO
from core.grounding.quotes import Located
from core.grounding.sources import Source, fence
from core.llm.chat_model import ChatModel, Meter
from core.llm.errors import ContentFiltered, ContextTooLong, ModelOutputInvalid
from core.models import Page

CALL_TOKENS = 6000
"""Of page text in one call: enough to save calls, little enough that every page gets its due."""
CALL_PAGES = 8
_CHARACTERS_PER_TOKEN = 3


def batches(pages: Sequence[Page]) -> Iterator[list[Page]]:
    """The pages that have text, in order, in lists that fit one call; a longer page goes alone."""
    batch: list[Page] = []
    spent = 0
    for page in pages:
        if not page.text.strip():
            continue
        cost = page.tokens or len(page.text) // _CHARACTERS_PER_TOKEN
        if batch and (spent + cost > CALL_TOKENS or len(batch) == CALL_PAGES):
            yield batch
            batch, spent = [], 0
        batch.append(page)
        spent += cost
    if batch:
        yield batch


def halves(batch: Sequence[Page]) -> list[list[Page]]:
    """A batch of two pages or more in two."""
    middle = len(batch) // 2
    return [list(batch[:middle]), list(batch[middle:])]


MOST_TOPICS = 8
MOST_ENTITIES = 30
MOST_RELATIONS = 15
LONGEST_SUMMARY = 1000
LONGEST_NAME = 120
ENTITY_TYPES = frozenset(
    "person organization place product term date amount percentage email url other".split()
)
REFUSALS = (ModelOutputInvalid, ContentFiltered, ContextTooLong)
"""What goes wrong with these very pages: asking again for the same would not help."""

_FOUND_BY_CODE = frozenset({REFERS_TO, ABBREVIATED_AS, DEFINED_AS})
_PROMPTS = Path(__file__).parent / "prompts"
_Form = TypeVar("_Form", bound=BaseModel)

log = logging.getLogger(__name__)


class NotedEntity(BaseModel):
    """Somebody or something that the page names."""

    name: str = Field(description="spelled exactly as on the page")
    type: str = Field(default="other", description="one of: " + ", ".join(sorted(ENTITY_TYPES)))


class NotedRelation(BaseModel):
    """What the page states about two things that it names."""

    source: str = Field(description="spelled as on the page")
    type: str = Field(description="a verb or a short phrase in lower case, such as: acquired, is part of")
    target: str = Field(description="spelled as on the page")
    evidence: str = Field(description="the sentence that says so, word for word from the page")


class PageNote(BaseModel):
    """What one page says."""

    page: int = Field(description="the page number of the source")
    summary: str = Field(default="", description="one to three sentences, in the language of the page")
    topics: list[str] = Field(default=[], description="key phrases of the page, most telling first")
    entities: list[NotedEntity] = []
    relations: list[NotedRelation] = []


class PageNotes(BaseModel):
    """What the pages say, one entry for each page."""

    pages: list[PageNote]


class AnalysisPrompts(NamedTuple):
    """The instructions of each kind of call."""

    pages: str
    part_summary: str
    document_summary: str


def load_prompts() -> AnalysisPrompts:
    """The prompts that ship with the code."""
    pages, part, document = (
        (_PROMPTS / f"{name}.md").read_text(encoding="utf-8")
        for name in ("pages", "part_summary", "document_summary")
    )
    limits = {"topics": MOST_TOPICS, "entities": MOST_ENTITIES, "relations": MOST_RELATIONS}
    return AnalysisPrompts(pages.format(**limits), part, document)


class Outcome(NamedTuple):
    """The pages that are analysed now, and the batches that have to be asked about again."""

    analyses: list[PageAnalysis]
    again: list[list[Page]]


class PageReader:
    """Asks a model about a few pages at a time. Raises what a later try may get past."""

    def __init__(self, model: ChatModel, prompt: str, meter: Meter) -> None:
        self._model = model
        self._prompt = prompt
        self._meter = meter

    async def read(self, batch: Sequence[Page], drafts: Mapping[int, PageAnalysis]) -> Outcome:
        """The analyses of these pages; `drafts` are the extractive ones, by page.

        A batch that the model refuses, or leaves pages out of, comes back in parts; a single page that
        it refuses stays with its draft. Raises BudgetExceeded and DependencyDown.
        """
        sources = [(page.number, page.text) for page in batch]
        try:
            notes = await fill(self._model, self._prompt, sources, PageNotes, self._meter)
        except REFUSALS as exc:
            log.info("model refused pages count=%d error=%s", len(batch), exc.code)
            return _split(batch, drafts)
        by_page = {note.page: note for note in reversed(notes.pages)}
        told = [page for page in batch if page.number in by_page]
        left_out = [page for page in batch if page.number not in by_page]
        merged = [_merge(page, by_page[page.number], drafts[page.number], self._model.name) for page in told]
        if not left_out:
            return Outcome(merged, [])
        if told:
            return Outcome(merged, [left_out])
        return _split(batch, drafts)


async def fill(
    model: ChatModel, prompt: str, sources: Iterable[tuple[int, str]], form: type[_Form], meter: Meter
) -> _Form:
    """The form, filled in from texts with their page numbers, which are fenced as quoted material."""
    fenced = fence(
        [
            Source(
                number=page, document_id="", blob_name="document", page=page, start=0, text=text, page_text=""
            )
            for page, text in sources
        ]
    )
    return await model.structured([SystemMessage(prompt), HumanMessage(fenced)], form, meter=meter)


def _split(batch: Sequence[Page], drafts: Mapping[int, PageAnalysis]) -> Outcome:
    if len(batch) == 1:
        return Outcome([drafts[batch[0].number]], [])
    return Outcome([], halves(batch))


def _merge(page: Page, note: PageNote, draft: PageAnalysis, method: str) -> PageAnalysis:
    """The model's note, less what does not stand on the page; places are found better by code."""
    located = Located(page.text)
    own = [relation for relation in draft.relations if relation.type in _FOUND_BY_CODE]
    told = [kept for each in note.relations[:MOST_RELATIONS] if (kept := _checked(each, page, located))]
    relations = {(each.source, each.type, each.target): each for each in [*told, *own]}
    return PageAnalysis(
        page=page.number,
        method=method,
        summary=_plain(note.summary)[:LONGEST_SUMMARY] or draft.summary,
        topics=_distinct(note.topics)[:MOST_TOPICS] or draft.topics,
        entities=_entities(note.entities, located),
        anchors=draft.anchors,
        relations=list(relations.values()),
    )


def _entities(noted: Iterable[NotedEntity], located: Located) -> list[Entity]:
    found: dict[str, Entity] = {}
    for each in noted:
        name, kind = _plain(unescape(each.name)), each.type.strip().lower()
        if name not in found and len(name) <= LONGEST_NAME and located.find_all(name):
            found[name] = Entity(name=name, type=kind if kind in ENTITY_TYPES else "other")
    return list(found.values())[:MOST_ENTITIES]


def _checked(noted: NotedRelation, page: Page, located: Located) -> Relation | None:
    """The relation with its evidence in the page's own spelling; None where the page does not hold it."""
    names = [_plain(unescape(name)) for name in (noted.source, noted.target)]
    spans = located.find_all(unescape(noted.evidence))
    if not spans or not all(len(name) <= LONGEST_NAME and located.find_all(name) for name in names):
        return None
    evidence = _plain(page.text[spans[0].start : spans[0].end])
    kind = _plain(noted.type).lower()[:LONGEST_NAME]
    return Relation(source=names[0], type=kind, target=names[1], evidence=evidence) if kind else None


def _distinct(phrases: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for phrase in phrases:
        if plain := _plain(phrase)[:LONGEST_NAME]:
            found.setdefault(plain.casefold(), plain)
    return list(found.values())


def _plain(text: str) -> str:
    return " ".join(text.split())
