"""The sources of a prompt: whole documents if they fit, otherwise the passages that a search found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from core.documents.ports import Retriever
from core.documents.service import DocumentService
from core.grounding.sources import AttachedFile, Source
from core.llm.model_catalog import REPLY
from core.llm.tokens import TokenCounter, take_first_fitting, truncate
from core.models import Document, DocumentStatus, Hit, Page, Record, RetrievalStep

INSTRUCTIONS = 800
AROUND_A_SOURCE = 40
"""Tokens of the fence around a source, rounded up."""
SHARE_OF_TEXT = 0.8
"""The share of the window for whole documents; the rest is for fences and the question."""
MOST_BYTES = 4
"""Bytes of a character: no text has more tokens than bytes."""
OPENING_PAGES = 3
MORE = 3
"""The factor for the number of passages if a revision needs more."""

Mode = Literal["inline", "rag", "mixed"]
"""The sources come from the documents' full text, from the index, or from both."""


@dataclass(frozen=True)
class ReadingLimits:
    """The tokens up to which documents are read whole, and the number of passages read of others.

    `whole` is the limit for all documents together, `unindexed` the limit for documents that are not
    completed, which the index cannot search yet.
    """

    whole: int
    unindexed: int
    passages: int = 8


class PromptSources(Record):
    """The numbered sources of a prompt, and why they were chosen. The model reads those of `files` itself.

    `left_out`: the number of chosen sources that did not fit, or only in part.
    """

    mode: Mode
    reason: str
    sources: list[Source]
    files: list[AttachedFile] = []
    pages: int
    left_out: int = 0
    steps: list[RetrievalStep] = []


class Plan(Record):
    """Which documents are read whole, which are searched, and why."""

    mode: Mode
    reason: str
    whole: list[Document]
    searched: list[Document]


def plan_reading(documents: Sequence[Document], limits: ReadingLimits) -> Plan:
    """Decides from size and status only; the documents must be readable."""
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
    """Reads the sources of a plan."""

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
        """The sources for a question, in the order of their numbers; with `more`, three times the passages.

        Every page of the documents `attached` (ids) is a source, even if its text is not known: citations
        of such a page cannot be verified.
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
    """The number of pages of these sources."""
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


def tokens_for_text(window: int) -> int:
    """The tokens of text that can be read whole; documents that do not fit are searched."""
    return max(0, int((window - INSTRUCTIONS - REPLY) * SHARE_OF_TEXT))


def fit_to_window(
    reading: PromptSources, question: str, window: int, counter: TokenCounter, cap: int | None
) -> PromptSources:
    """The sources that fit a window of so many tokens together with the question and an answer.

    The first sources are kept: the best passages or the first pages, and at least the beginning of the very
    first one. `left_out` and the reason say how many are missing or cut. Attached files are never cut.
    """
    available = window - INSTRUCTIONS - (cap or REPLY)
    most = sum(MOST_BYTES * len(source.text) + AROUND_A_SOURCE for source in reading.sources)
    if reading.files or most + MOST_BYTES * len(question) <= available:
        return reading
    kept = _fitting(reading.sources, available - counter.count(question), counter)
    left_out = sum(source not in kept for source in reading.sources)
    if not left_out:
        return reading
    shortage = f"{left_out} of {len(reading.sources)} sources were left out or cut"
    reason = f"{reading.reason} {shortage}: the model takes {window} tokens."
    update = {"sources": kept, "pages": pages_of(kept), "left_out": left_out, "reason": reason}
    return reading.model_copy(update=update)


def _fitting(sources: Sequence[Source], tokens: int, counter: TokenCounter) -> list[Source]:
    """The first sources that fit, and at least the beginning of the very first one."""

    def size(source: Source) -> int:
        return AROUND_A_SOURCE + counter.count(source.text)

    if (kept := take_first_fitting(sources, tokens, size)) or not sources:
        return kept
    text = truncate(sources[0].text, tokens - AROUND_A_SOURCE, counter)
    return [sources[0].model_copy(update={"text": text})] if text else []
