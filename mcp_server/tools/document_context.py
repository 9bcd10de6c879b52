"""The sources of a prompt: whole documents if they fit, otherwise the passages that a search found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from orc_core.documents.places import DocumentOrigin
from orc_core.documents.ports import Retriever
from orc_core.documents.service import DocumentService
from orc_core.errors import InvalidInput
from orc_core.grounding.sources import AttachedFile, Source
from orc_core.llm.model_catalog import REPLY
from orc_core.llm.tokens import TokenCounter, take_first_fitting, truncate
from orc_core.models import Document, DocumentStatus, Page, Passage, Record, RetrievalStep
from orc_core.search.whole_scope import NAMED
from orc_core.text.wording import has_subject

INSTRUCTIONS = 800
AROUND_A_SOURCE = 40
"""Tokens of the fence around a source, rounded up."""
SHARE_OF_TEXT = 0.8
"""The share of the window for whole documents; the rest is for fences and the question."""
MOST_BYTES = 4
"""Bytes of a character: no text has more tokens than bytes."""
OPENING_PAGES = 5
"""Pages that say what a document is: its title, its authors, its date and its introduction."""
MOST_OPENING_PAGES = 12
"""Such pages of all documents together: about as many tokens as are read of whole documents."""
MORE = 3
"""The factor for the number of passages if an earlier answer lacked something."""

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


class ReadingPlan(Record):
    """Which documents are read whole, which are searched, and why."""

    reason: str
    whole: list[Document]
    searched: list[Document]

    @property
    def mode(self) -> Mode:
        return "rag" if not self.whole else "mixed" if self.searched else "inline"


def plan_reading(
    documents: Sequence[Document], limits: ReadingLimits, at_once: int | None = None
) -> ReadingPlan:
    """Decides from number, size and status only; the documents must be readable.

    If there are more than `at_once`, all are searched.
    """
    if at_once is not None and len(documents) > at_once:
        named = f"{len(documents)} documents are named, and at most {at_once} are read whole together"
        reason = f"{named}: they were searched for passages."
        return ReadingPlan(reason=reason, whole=[], searched=list(documents))
    size = sum(document.tokens for document in documents)
    if size <= limits.whole:
        reason = f"The whole text ({size} tokens) fits the budget of {limits.whole}."
        return ReadingPlan(reason=reason, whole=list(documents), searched=[])
    waiting = [document for document in documents if document.status is not DocumentStatus.COMPLETED]
    ready = [document for document in documents if document.status is DocumentStatus.COMPLETED]
    too_large = f"The whole text ({size} tokens) exceeds the budget of {limits.whole}."
    if not waiting:
        return ReadingPlan(reason=too_large, whole=[], searched=ready)
    names = ", ".join(document.blob_name for document in waiting)
    if sum(document.tokens for document in waiting) <= limits.unindexed:
        reason = f"Not indexed yet, so read whole: {names}."
        whole, searched = waiting, ready
    else:
        reason = f"Not indexed yet and too long to read whole, so read through for passages: {names}."
        whole, searched = [], list(documents)
    if ready:
        reason = f"{too_large} {reason}"
    return ReadingPlan(reason=reason, whole=whole, searched=searched)


class Reader:
    """Reads the sources of a plan."""

    def __init__(self, library: DocumentService, retriever: Retriever, limits: ReadingLimits) -> None:
        self.limits = limits
        self._library = library
        self._retriever = retriever

    async def read(
        self, question: str, plan: ReadingPlan, attached: Collection[str] = (), *, more: bool = False
    ) -> PromptSources:
        """The sources for a question, in the order of their numbers; with `more`, three times the passages.

        Every page of the documents `attached` (ids) is a source, even if its text is not known: citations
        of such a page cannot be verified.
        """
        sources, files = await self._read_whole(plan.whole, attached)
        reason, steps = plan.reason, list[RetrievalStep]()
        if plan.searched:
            passages = self.limits.passages * (MORE if more else 1)
            found, steps, why = await self._read_searched(question, plan.searched, passages, len(sources))
            sources += found
            reason += why
        return PromptSources(
            mode=plan.mode, reason=reason, sources=sources, files=files, pages=pages_of(sources), steps=steps
        )

    async def _read_searched(
        self, question: str, documents: Sequence[Document], passages: int, after: int
    ) -> tuple[list[Source], list[RetrievalStep], str]:
        """The passages found, behind the opening pages if those are needed; and why they are."""
        searched = {document.document_id: document for document in documents}
        found = await self._retriever.search(question, list(searched), passages)
        sources: list[Source] = []
        why = "" if found.hits else " No passage matches the question, so the opening pages were read."
        if not has_subject(question) and not any(step.note == NAMED for step in found.steps):
            why = " The question names nothing to search for, so the opening pages were read."
        if why:
            # Fewer pages of several documents, and none of those after the most.
            last = max(1, min(OPENING_PAGES, MOST_OPENING_PAGES // len(documents)))
            for document in documents[:MOST_OPENING_PAGES]:
                pages = await self._library.text(document, range(1, last + 1))
                first = after + len(sources) + 1
                sources.extend(_whole_page(document, page, n) for n, page in enumerate(pages, first))
        read = {(source.document_id, source.page) for source in sources}
        hits = [hit for hit in found.hits if (hit.passage.document_id, hit.passage.page) not in read]
        quoted = [hit.passage for hit in hits]
        known: dict[tuple[str, int], Page] = {}
        for document_id, document in searched.items():
            if wanted := sorted({each.page for each in quoted if each.document_id == document_id}):
                pages = await self._library.text(document, wanted)
                known |= {(document_id, page.number): page for page in pages}
        # A document that was replaced since the search may have fewer pages.
        present = [each for each in quoted if (each.document_id, each.page) in known]
        sources += [
            passage_source(number, searched[p.document_id], p, known[p.document_id, p.page])
            for number, p in enumerate(present, after + len(sources) + 1)
        ]
        return sources, found.steps, why

    async def _read_whole(
        self, documents: Sequence[Document], attached: Collection[str]
    ) -> tuple[list[Source], list[AttachedFile]]:
        sources: list[Source] = []
        files: list[AttachedFile] = []
        for document in documents:
            pages, first = await self._library.text(document), len(sources) + 1
            if (key := document.document_id) in attached:
                known = {page.number: page for page in pages}
                numbers = range(1, max([document.pages, *known]) + 1)
                pages = [known.get(number) or Page(number=number, text="") for number in numbers]
                file = AttachedFile(
                    document_id=key, blob_name=document.blob_name, first=first, pages=len(pages)
                )
                files.append(file)
            else:
                pages = [page for page in pages if page.text.strip()]
            sources.extend(_whole_page(document, page, n) for n, page in enumerate(pages, first))
        return sources, files


def pages_of(sources: Sequence[Source]) -> int:
    """The number of pages of these sources."""
    return len({(source.document_id, source.page) for source in sources})


def passage_source(number: int, document: Document, passage: Passage, page: Page) -> Source:
    """The passage of the page as the source with this number."""
    return Source(
        number=number,
        document_id=document.document_id,
        blob_name=document.blob_name,
        page=passage.page,
        start=passage.start,
        text=passage.text,
        page_text=page.text,
        document_version=document.version,
        media_type=document.media_type,
        page_label=page.label,
    )


def with_origin(source: Source, origin: DocumentOrigin) -> Source:
    """The source with the context of its document, if the scope has contexts."""
    known = origin.model_dump(mode="json", exclude_none=True)
    return source.model_copy(update=known) if known else source


def _whole_page(document: Document, page: Page, number: int) -> Source:
    text, key = page.text, document.document_id
    whole = Passage(document_id=key, page=page.number, start=0, end=len(text), text=text)
    return passage_source(number, document, whole, page)


def tokens_for_text(window: int) -> int:
    """The tokens of text that can be read whole; documents that do not fit are searched."""
    return max(0, int((window - INSTRUCTIONS - REPLY) * SHARE_OF_TEXT))


def fit_to_window(
    reading: PromptSources, question: str, window: int, counter: TokenCounter, cap: int | None, taken: int = 0
) -> PromptSources:
    """The sources that fit a window of so many tokens together with the question, an answer and pictures.

    `taken` are the tokens of the pictures.

    The first sources are kept: the best passages or the first pages, and at least the beginning of the very
    first one. `left_out` and the reason say how many are missing or cut. Attached files are never cut.
    """
    available = window - taken - INSTRUCTIONS - (cap or REPLY)
    most = sum(MOST_BYTES * len(source.text) + AROUND_A_SOURCE for source in reading.sources)
    if reading.files or most + MOST_BYTES * len(question) <= available:
        return reading

    def size(source: Source) -> int:
        return AROUND_A_SOURCE + counter.count(source.text)

    tokens = available - counter.count(question)
    kept = take_first_fitting(reading.sources, tokens, size)
    if reading.sources and not kept:
        first = reading.sources[0]
        text = truncate(first.text, tokens - AROUND_A_SOURCE, counter)
        kept = [first.model_copy(update={"text": text})] if text else []
    left_out = sum(source not in kept for source in reading.sources)
    if not left_out:
        return reading
    shortage = f"{left_out} of {len(reading.sources)} sources were left out or cut"
    reason = f"{reading.reason} {shortage}: the model takes {window} tokens."
    update = {"sources": kept, "pages": pages_of(kept), "left_out": left_out, "reason": reason}
    return reading.model_copy(update=update)


def refuse_too_long(
    found: PromptSources, wishes: str, window: int, counter: TokenCounter, cap: int | None, taken: int = 0
) -> None:
    """Raise InvalidInput if sources would fit without the question and with pictures of `taken` tokens."""
    if fit_to_window(found, wishes, window, counter, cap, taken).sources:
        raise InvalidInput(
            f"The question is too long for a model that takes {window:,} tokens: it leaves no space for the"
            " documents. Ask a shorter one, or choose a model with a larger window.",
            field="question",
        )
