"""Which pages a model is sent as pictures: pages that can only be seen, then those of its sources."""

import logging
from collections.abc import Sequence
from typing import Any

from orc.graphs.models import Run
from orc.lookups import LookupStep
from orc_core.documents.image_limits import ImageCounts, ImageLimits
from orc_core.documents.page_images import (
    PageImage,
    WantedPage,
    draw_pages,
    names_document,
    pages_without_text,
)
from orc_core.documents.pictures import has_pictures
from orc_core.documents.places import Accessible
from orc_core.documents.service import DocumentService
from orc_core.errors import OrcError
from orc_core.grounding.sources import Found, Source, pictured_sources
from orc_core.models import Document, Record

MOST_LISTED = 200
"""Accessible documents among which those with pages without text are looked for."""
MOST_READ = 5
"""Documents whose pages without text are looked up."""
IMAGES = "page_images"
"""In the place of a tool's name, where the origin of material is noted."""
UNFORESEEN = "The pages for them could not be looked up."

logger = logging.getLogger(__name__)


class ChosenImages(Record):
    """The pictures for a prompt, the sources that they add to it, and the steps that explain them."""

    images: list[PageImage] = []
    sources: list[Source] = []
    counts: ImageCounts = ImageCounts()
    steps: list[LookupStep] = []


async def choose_images(
    question: str, sources: Sequence[Source], model: str, limits: ImageLimits, run: Run
) -> ChosenImages:
    """The pictures that the model is sent with these sources. No failure is raised."""
    pictures, accessible = run.resources.pictures, run.context.accessible
    if pictures is None or accessible is None:
        return ChosenImages()
    facts = run.resources.catalogue.facts(model)
    if why := limits.why_none(model, facts):
        step = LookupStep(tool="", status="skipped", reason_code="no_images", detail=why)
        return ChosenImages(steps=[step])
    library = run.resources.library
    try:
        wanted = await _without_text(question, library, accessible, limits.most)
        wanted += await _of_sources(sources, library, accessible)
    except OrcError as exc:
        return _none_chosen(exc.message)
    except Exception:
        # An error in the choice of pictures must not cost the turn.
        logger.exception("page_images.failed")
        return _none_chosen(UNFORESEEN)
    drawn = await draw_pages(pictures, wanted, limits.number(facts))
    counts = drawn.counts(facts.image_tokens)
    found: list[Found] = [(each, accessible.described_origin(each.document)) for each in drawn.images]
    run.context.origins.note(IMAGES, _material(found))
    return ChosenImages(
        images=drawn.images,
        sources=pictured_sources(found, max((each.number for each in sources), default=0)),
        counts=counts,
        steps=_steps(counts, drawn.failures, drawn.left_out),
    )


async def _without_text(
    question: str, library: DocumentService, accessible: Accessible, most: int
) -> list[WantedPage]:
    """The pages without text: of documents that the question names, or of all if they are few.

    If no accessible document has text, the first pages without text are wanted in any case.
    """
    page = await library.page(accessible, limit=MOST_LISTED)
    documents = accessible.in_order(page.documents)
    scanned = [each for each in documents if each.pages_without_text and has_pictures(each)]
    named = [each for each in scanned if names_document(question, each)]
    few = sum(each.pages_without_text for each in scanned) <= most
    only = not any(each.tokens for each in documents) and page.after is None
    chosen = scanned if few or only else named
    chosen = sorted(chosen, key=lambda each: each not in named)[:MOST_READ]
    pages = [(each, await library.text(each)) for each in chosen]
    return [wanted for each, text in pages for wanted in pages_without_text(each, text, question)]


async def _of_sources(
    sources: Sequence[Source], library: DocumentService, accessible: Accessible
) -> list[WantedPage]:
    """The pages of the sources, in their order; not of a document that was replaced or deleted since."""
    pages = dict.fromkeys(
        (each.document_id, each.page, each.document_version) for each in sources if not each.url
    )
    ids = list(dict.fromkeys(document_id for document_id, _, _ in pages))
    known: dict[str, Document] = {}
    if ids:
        found = await library.find_accessible(accessible, ids)
        known = {each.document_id: each for each in found if has_pictures(each)}
    return [
        WantedPage(known[document_id], page, has_text=True)
        for document_id, page, version in pages
        if document_id in known and known[document_id].version == version
    ]


def _none_chosen(why: str) -> ChosenImages:
    step = LookupStep(tool="", status="failed", reason_code="no_images", detail=why)
    return ChosenImages(steps=[step])


def _material(found: Sequence[Found]) -> dict[str, Any]:
    """The pictures as Origins reads results of tools."""
    return {
        "pages": [
            {"document_id": image.document.document_id, **origin.model_dump(mode="json")}
            for image, origin in found
        ]
    }


def _steps(counts: ImageCounts, failures: Sequence[str], left_out: int) -> list[LookupStep]:
    steps = []
    if counts.sent:
        steps.append(LookupStep(tool="", reason_code="images_sent", hits=counts.sent, tokens=counts.tokens))
    if failures:
        why = "; ".join(dict.fromkeys(failures))
        failed = LookupStep(
            tool="", status="failed", reason_code="images_failed", hits=len(failures), detail=why
        )
        steps.append(failed)
    if left_out:
        steps.append(LookupStep(tool="", status="skipped", reason_code="images_left_out", hits=left_out))
    return steps
