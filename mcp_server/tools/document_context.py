"""What a model gets to read: whole documents where they fit, else the passages that a search found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from core.documents.ports import Retriever
from core.documents.service import DocumentService
from core.grounding.sources import AttachedFile, Source
from core.llm.model_catalog import REPLY
from core.llm.token_budget import take_first_fitting, truncate
from core.llm.tokens import TokenCounter
from core.models import Document, DocumentStatus, Hit, Page, Record, RetrievalStep

OPENING_PAGES = 3
MORE = 3
"""So many times the passages are read where the usual number did not suffice."""

Mode = Literal["inline", "rag", "mixed"]
"""From the documents' own text, by the index, or both. The reason says what of the text was read."""


@dataclass(frozen=True)
class ReadingLimits:
    """Tokens up to which documents are read whole, and how many passages are read of others.

    `whole` holds for all of them together; `unindexed` is what is read of documents that are not yet
    completed, whose text cannot be searched by the index.
    """

    whole: int
    unindexed: int
    passages: int = 8


class PromptSources(Record):
    """The numbered sources of a prompt, and why they were chosen. Those of `files` the model reads itself.

    `left_out`: sources that were chosen and are not there, or only in part, for want of room.
    """

    mode: Mode
    reason: str
    sources: list[Source]
    files: list[AttachedFile] = []
    pages: int
    left_out: int = 0
    steps: list[RetrievalStep] = []


class Plan(Record):
    """Which documents are read whole and which are searched, and why."""

    mode: Mode
    reason: str
    whole: list[Document]
    searched: list[Document]


def plan_reading(documents: Sequence[Document], limits: ReadingLimits) -> Plan:
    """Decide from size and status alone; the documents must be readable."""
    size = _tokens(documents)
    if size <= limits.whole:
        reason = f"The whole text ({size} tokens) fits the budget of {limits.whole}."
        return Plan(mode="inline", reason=reason, whole=list(documents), searched=[])
    waiting = [document for document in documents if document.status is not DocumentStatus.COMPLETED]
    ready = [document for document in documents if document.status is DocumentStatus.COMPLETED]
    too_large = f"The whole text ({size} tokens) exceeds the budget of {limits.whole}"
    if not waiting:
        return Plan(mode="rag", reason=f"{too_large}.", whole=[], searched=ready)
    names = ", ".join(document.blob_name for document in waiting)
    if _tokens(waiting) <= limits.unindexed:
        reason = f"Not indexed yet, so read whole: {names}."
        whole, searched = waiting, ready
    else:
        reason = f"Not indexed yet and too long to read whole, so read through for passages: {names}."
        whole, searched = [], list(documents)
    if ready:
        reason = f"{too_large}. {reason}"
    return Plan(mode="mixed" if ready else "inline", reason=reason, whole=whole, searched=searched)


class Reader:
    """Gathers sources as a plan says."""

    def __init__(self, library: DocumentService, retriever: Retriever, limits: ReadingLimits) -> None:
        self._library = library
        self._retriever = retriever
        self._limits = limits

    def plan(self, documents: Sequence[Document]) -> Plan:
        """What to read of these readable documents."""
        return plan_reading(documents, self._limits)

    async def read(
        self, question: str, plan: Plan, attached: Collection[str] = (), *, more: bool = False
    ) -> PromptSources:
        """The sources for a question, in the order in which they are numbered; with `more`, of what is
        searched three times as many passages.

        Of the documents `attached`, by id, every page is a source, also one whose text is not known:
        nothing that is cited from it can be verified then.
        """
        sources, files = await self._read_whole(plan.whole, attached)
        if not plan.searched:
            return _reading(plan, sources, files, [])
        passages = self._limits.passages * (MORE if more else 1)
        found = await self._retriever.search(
            question, [document.document_id for document in plan.searched], passages
        )
        if found.hits:
            sources += await self._as_sources(plan.searched, found.hits, after=len(sources))
            return _reading(plan, sources, files, found.steps)
        sources += await self._read_openings(plan.searched, after=len(sources))
        note = "No passage matches the question, so the opening pages were read."
        plan = plan.model_copy(update={"reason": f"{plan.reason} {note}"})
        return _reading(plan, sources, files, found.steps)

    async def _read_whole(
        self, documents: Sequence[Document], attached: Collection[str]
    ) -> tuple[list[Source], list[AttachedFile]]:
        sources: list[Source] = []
        files: list[AttachedFile] = []
        for document in documents:
            pages, first = await self._library.text(document), len(sources) + 1
            if document.document_id in attached:
                pages = _every_page(document, pages)
                files.append(_attached(document, pages, first))
            else:
                pages = [page for page in pages if page.text.strip()]
            sources.extend(_whole_page(document, page, n) for n, page in enumerate(pages, first))
        return sources, files

    async def _read_openings(self, documents: Sequence[Document], after: int) -> list[Source]:
        sources: list[Source] = []
        for document in documents:
            pages = await self._library.text(document, range(1, OPENING_PAGES + 1))
            first = after + len(sources)
            sources.extend(_whole_page(document, page, first + n) for n, page in enumerate(pages, 1))
        return sources

    async def _as_sources(
        self, documents: Sequence[Document], hits: Sequence[Hit], after: int
    ) -> list[Source]:
        by_id = {document.document_id: document for document in documents}
        texts = await self._page_texts(by_id, hits)
        # A document that was replaced since the search may have fewer pages.
        present = [hit for hit in hits if (hit.passage.document_id, hit.passage.page) in texts]
        return [
            Source(
                number=number,
                document_id=hit.passage.document_id,
                blob_name=by_id[hit.passage.document_id].blob_name,
                page=hit.passage.page,
                start=hit.passage.start,
                text=hit.passage.text,
                page_text=texts[hit.passage.document_id, hit.passage.page],
            )
            for number, hit in enumerate(present, after + 1)
        ]

    async def _page_texts(
        self, documents: dict[str, Document], hits: Sequence[Hit]
    ) -> dict[tuple[str, int], str]:
        texts: dict[tuple[str, int], str] = {}
        for document_id, document in documents.items():
            wanted = sorted({hit.passage.page for hit in hits if hit.passage.document_id == document_id})
            if wanted:
                pages = await self._library.text(document, wanted)
                texts.update({(document_id, page.number): page.text for page in pages})
        return texts


def pages_of(sources: Sequence[Source]) -> int:
    """How many pages these sources stand on."""
    return len({(source.document_id, source.page) for source in sources})


def _reading(
    plan: Plan, sources: list[Source], files: list[AttachedFile], steps: list[RetrievalStep]
) -> PromptSources:
    return PromptSources(
        mode=plan.mode,
        reason=plan.reason,
        sources=sources,
        files=files,
        pages=pages_of(sources),
        steps=steps,
    )


def _every_page(document: Document, pages: Sequence[Page]) -> list[Page]:
    known = {page.number: page for page in pages}
    last = max([document.pages, *known])
    return [known.get(number) or Page(number=number, text="") for number in range(1, last + 1)]


def _attached(document: Document, pages: Sequence[Page], first: int) -> AttachedFile:
    return AttachedFile(
        document_id=document.document_id, blob_name=document.blob_name, first=first, pages=len(pages)
    )


def _tokens(documents: Sequence[Document]) -> int:
    return sum(document.tokens for document in documents)


def _whole_page(document: Document, page: Page, number: int) -> Source:
    return Source(
        number=number,
        document_id=document.document_id,
        blob_name=document.blob_name,
        page=page.number,
        start=0,
        text=page.text,
        page_text=page.text,
    )


INSTRUCTIONS = 800
AROUND_A_SOURCE = 40
"""Tokens of the fence around a source, amply."""
SHARE_OF_TEXT = 0.8
"""Of the room, for documents that are read whole: the rest is for fences and the question."""
MOST_BYTES = 4
"""Of a character: no text has more tokens than bytes."""


def tokens_for_text(window: int) -> int:
    """Tokens of text that may be read whole, so that what does not fit into the window is searched."""
    return max(0, int((window - INSTRUCTIONS - REPLY) * SHARE_OF_TEXT))


def fit_to_window(
    reading: PromptSources, question: str, window: int, counter: TokenCounter, cap: int | None
) -> PromptSources:
    """The reading, shortened to what a window of so many tokens takes beside the question and an answer.

    The first sources are kept: the best passages, or the first pages, and of the very first one at least the
    beginning; `left_out` and the reason say how many are not there in full. What goes as files stays: the
    model cuts those up itself.
    """
    room = window - INSTRUCTIONS - (cap or REPLY)
    most = sum(MOST_BYTES * len(source.text) + AROUND_A_SOURCE for source in reading.sources)
    if reading.files or most + MOST_BYTES * len(question) <= room:
        return reading
    kept = _fitting(reading.sources, room - counter.count(question), counter)
    left_out = sum(source not in kept for source in reading.sources)
    if not left_out:
        return reading
    told = f"{left_out} of {len(reading.sources)} sources were left out or cut"
    reason = f"{reading.reason} {told}: the model takes {window} tokens."
    update = {"sources": kept, "pages": pages_of(kept), "left_out": left_out, "reason": reason}
    return reading.model_copy(update=update)


def _fitting(sources: Sequence[Source], room: int, counter: TokenCounter) -> list[Source]:
    """The first sources that fit; of the very first one at least its beginning."""

    def size(source: Source) -> int:
        return AROUND_A_SOURCE + counter.count(source.text)

    if (kept := take_first_fitting(sources, room, size)) or not sources:
        return kept
    text = truncate(sources[0].text, room - AROUND_A_SOURCE, counter)
    return [sources[0].model_copy(update={"text": text})] if text else []
