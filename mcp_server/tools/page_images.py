"""Pictures of pages for document_chat: pages of its documents without text, then pages of its sources."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mcp_server.tools.document_context import PromptSources, pages_of
from orc_core.documents.image_limits import ImageCounts, ImageLimits
from orc_core.documents.page_images import PageImage, WantedPage, draw_pages, pages_without_text
from orc_core.documents.pictures import PagePictures, has_pictures
from orc_core.documents.places import DocumentOrigin
from orc_core.documents.service import DocumentService
from orc_core.grounding.sources import pictured_sources
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Document, Record

SHARE_OF_WINDOW = 0.5
"""The share of the model's window that pictures may take."""


class AllowedImages(Record):
    """What pictures a call may send: `most` of them, of `tokens` each. `why_none`: why there can be none.

    `unread` are the pages of the named documents that have no text, in the order that they are wanted.
    """

    most: int = 0
    tokens: int = 0
    why_none: str = ""
    unread: list[WantedPage] = []

    @property
    def reserved(self) -> int:
        """Tokens of the window that the pictures may take."""
        return self.most * self.tokens


class SeenPages(Record):
    """The pictures of a prompt, and what the result says of them."""

    images: list[PageImage] = []
    counts: ImageCounts = ImageCounts()
    notes: list[str] = []

    def of(self, document: Document) -> list[int]:
        """The pages of a document that are shown."""
        return sorted(each.page for each in self.images if each.document.document_id == document.document_id)


@dataclass(frozen=True)
class DocumentImages:
    """Draws pages of documents that the caller has found in the scope of the call."""

    library: DocumentService
    pictures: PagePictures
    catalogue: ModelCatalogue

    async def allowed(
        self,
        limits: ImageLimits | None,
        model: str,
        window: int,
        question: str,
        documents: Sequence[Document],
    ) -> AllowedImages:
        """The pictures that may be sent; none if the caller allows none or the model reads none."""
        if limits is None:
            return AllowedImages()
        facts = self.catalogue.facts(model)
        free = min(limits.tokens, int(window * SHARE_OF_WINDOW))
        limits = limits.model_copy(update={"tokens": free})
        if why := limits.why_none(model, facts):
            return AllowedImages(why_none=f"No pictures of pages were sent: {why}.")
        unread = [
            wanted
            for each in documents
            if each.pages_without_text and has_pictures(each)
            for wanted in pages_without_text(each, await self.library.text(each), question)
        ]
        drawable = sum(each.pages for each in documents if has_pictures(each))
        most = min(limits.number(facts), drawable)
        return AllowedImages(most=most, tokens=facts.image_tokens, unread=unread)

    async def draw(
        self,
        allowed: AllowedImages,
        reading: PromptSources,
        documents: Sequence[Document],
        files: Collection[str],
    ) -> SeenPages:
        """The pictures for a prompt with these sources. The provider itself draws the pages of `files`."""
        if not allowed.most:
            return SeenPages(notes=[allowed.why_none] if allowed.why_none else [])
        drawable = {each.document_id: each for each in documents if has_pictures(each)}
        pages = dict.fromkeys((each.document_id, each.page) for each in reading.sources)
        found = [WantedPage(drawable[key], page, has_text=True) for key, page in pages if key in drawable]
        wanted = [each for each in [*allowed.unread, *found] if each.document.document_id not in files]
        drawn = await draw_pages(self.pictures, wanted, allowed.most)
        counts, notes = drawn.counts(allowed.tokens), []
        if counts.sent:
            notes.append(f"Pages sent as pictures: {counts.sent}, of at most {counts.tokens} tokens.")
        if drawn.failures:
            why = "; ".join(each.rstrip(".") for each in dict.fromkeys(drawn.failures))
            notes.append(f"Pages that could not be sent as pictures: {counts.failed}. {why}.")
        if drawn.left_out:
            notes.append(f"Pages without text that were not sent as pictures: {drawn.left_out}.")
        return SeenPages(images=drawn.images, counts=counts, notes=notes)


def with_pictures(
    reading: PromptSources, seen: SeenPages, origins: dict[str, DocumentOrigin], files: Collection[str]
) -> PromptSources:
    """The sources with one for each page that is shown as a picture and has no text."""
    sources = [
        source.model_copy(update={"pictured": True})
        if source.document_id in files and not source.page_text.strip()
        else source
        for source in reading.sources
    ]
    found = [(each, origins[each.document.document_id]) for each in seen.images]
    sources += pictured_sources(found, max((each.number for each in sources), default=0))
    return reading.model_copy(update={"sources": sources, "pages": pages_of(sources)})


def with_seen_pages(document: Document, seen: SeenPages) -> Document:
    """A document that could not be read, with its pages that were sent as pictures in the reason."""
    pages = seen.of(document)
    if document.readable or not pages:
        return document
    shown = f"Sent as pictures: page {', '.join(map(str, pages))}."
    return document.model_copy(update={"reason": f"{document.reason or ''} {shown}".strip()})
