"""The context of the answer: what tools found, and the pages that a model is sent as pictures."""

import asyncio
import logging
from collections.abc import Sequence
from itertools import chain
from typing import Literal

from orc.events import Context
from orc.graphs.mcp_executor import TOOLS_SERVER
from orc.graphs.models import ConversationState, Origins, Run, Update
from orc.graphs.prompts import history_in_prompt, sources_prompt
from orc.graphs.sources import key_of
from orc.graphs.tool_context import ToolContext
from orc.lookups import LookupStep
from orc.tools.ports import DOCUMENT_CHAT, FINDS_DOCUMENTS
from orc_core.documents.image_limits import ImageCounts, with_image_tokens
from orc_core.documents.page_images import (
    DrawnPages,
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
from orc_core.llm.tokens import section_tokens
from orc_core.mcp_contract import DocumentChatResult
from orc_core.models import Document

MOST_LISTED = 200
"""Accessible documents among which those with pages without text are looked for."""
MOST_READ = 5
"""Documents whose pages without text are looked up."""
IMAGES = "page_images"
"""In the place of a tool's name, where the origin of material is noted."""
UNFORESEEN = "The pages for them could not be looked up."

logger = logging.getLogger(__name__)


async def context_of_lookups(state: ConversationState, run: Run) -> Update:
    """The sources of the lookups, numbered and fenced, with pictures of pages and the sizes of the prompt."""
    update = await _from_lookups(state, run)
    update |= await _images(state.model_copy(update=update), run)
    built = state.model_copy(update=update)
    sources, counter = built.attempt.sources, run.resources.counter
    prompt = sources_prompt(
        built, run, built.tool_results, sources, may_call=bool(built.tools) and not sources
    )
    tools = [] if sources else built.tools
    # In a thread: to count a long prompt takes milliseconds.
    sizes = await asyncio.to_thread(section_tokens, prompt, built.question, counter, tools)
    parts = chain.from_iterable(each.content for each in prompt if isinstance(each.content, list))
    # A second retrieval may have lost the sources of some pictures.
    pictures = sum(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)
    sizes = with_image_tokens(sizes, built.image_counts.of(pictures))
    return {**update, "context_budget": built.context_budget | sizes}


def context_event(state: ConversationState, budget: dict[str, int], run: Run) -> Context:
    """What the event says of the prompt."""
    # A question that a planner made understandable alone is sent to document_chat without history.
    history = [] if state.blob_names and not state.reads_whole else history_in_prompt(state, run)
    return Context(
        budget=budget,
        summary_selection=state.recalled.selection,
        history_turns=sum(message.role == "user" for message in history),
    )


async def _images(state: ConversationState, run: Run) -> Update:
    """The pictures of pages for the prompt, with a source for each page without text. No failure is raised.

    They are chosen for the first attempt, after code looked for documents; a second one is sent the same. So
    a turn whose tools for documents are off, or whose plan has the web alone, has none.
    """
    limits, accessible = run.context.settings.image_limits, run.context.accessible
    pictures, library = run.resources.pictures, run.resources.library
    looked = any(lookup.name in FINDS_DOCUMENTS for lookup in state.lookups)
    if limits is None or state.earlier or not looked or pictures is None or accessible is None:
        return {}
    model = run.writer_of(state)[0].name
    facts = run.resources.catalogue.facts(model)
    if why := limits.why_none(model, facts):
        return _without_images(state, "skipped", why)
    try:
        wanted = await _without_text(f"{state.question}\n{state.query}", library, accessible, limits.most)
        wanted += await _of_sources(state.attempt.sources, library, accessible)
    except OrcError as exc:
        return _without_images(state, "failed", exc.message)
    except Exception:
        # An error in the choice of pictures must not cost the turn.
        logger.exception("page_images.failed")
        return _without_images(state, "failed", UNFORESEEN)
    drawn = await draw_pages(pictures, wanted, limits.number(facts))
    return _with_images(state, drawn, drawn.counts(facts.image_tokens), accessible, run.context.origins)


def _without_images(state: ConversationState, status: Literal["skipped", "failed"], why: str) -> Update:
    step = LookupStep(tool="", status=status, reason_code="no_images", detail=why)
    return {"lookup_steps": [*state.lookup_steps, step]}


def _with_images(
    state: ConversationState, drawn: DrawnPages, counts: ImageCounts, accessible: Accessible, origins: Origins
) -> Update:
    """What the pictures change; `origins` learns of which documents they are."""
    found: list[Found] = [(each, accessible.described_origin(each.document)) for each in drawn.images]
    # As Origins reads results of tools.
    material = [
        {"document_id": each.document.document_id, **of.model_dump(mode="json")} for each, of in found
    ]
    origins.note(IMAGES, {"pages": material})
    sources = state.attempt.sources
    last = max((each.number for each in sources), default=0)
    attempt = state.attempt.model_copy(update={"sources": [*sources, *pictured_sources(found, last)]})
    steps = [*state.lookup_steps, *_steps(counts, drawn.failures, drawn.left_out)]
    return {"images": drawn.images, "image_counts": counts, "attempt": attempt, "lookup_steps": steps}


def context_of_reply(reply: DocumentChatResult) -> Update:
    """The tools server built the context; its file references replace those of the conversation."""
    return {
        "uploaded_file_refs": reply.files,
        "last_mcp_tool_used": DOCUMENT_CHAT,
        "retrieval_mode": reply.metadata.mode,
        "retrieval_steps": reply.metadata.retrieval,
        "image_counts": reply.metadata.images,
        "context_budget": reply.metadata.prompt,
    }


async def _from_lookups(state: ConversationState, run: Run) -> Update:
    """What the lookups change. After the first attempt its sources keep their numbers and up to half of the
    budget, cited ones first."""
    if not state.lookups:
        return {}
    budget = run.context.settings.retrieval_tokens
    if not state.earlier:
        context = ToolContext(run)
        await context.add(state.lookups, budget)
        update = context.state_update(state)
        if names := [result.name for result in state.lookups if result.name != TOOLS_SERVER]:
            update["last_mcp_tool_used"] = names[-1]
        if state.references:
            update["context_budget"] = {"summaries": context.tokens, **state.context_budget}
        return update
    if all(result.error for result in state.lookups):
        return {"tool_results": [*state.tool_results, *state.lookups]}
    cited = set(map(key_of, state.earlier[-1].citations))
    previous = sorted(state.attempt.sources, key=lambda source: key_of(source) not in cited)
    context = ToolContext(run, previous=previous)
    await context.add(state.lookups, budget - min(context.previous_tokens, budget // 2))
    context.keep_previous(budget - context.tokens)
    shown = set(map(key_of, context.shown))
    unread = [page for page in state.references if (page.document_id, page.page) not in shown]
    return {**context.state_update(state), "references": unread, "last_mcp_tool_used": state.lookups[-1].name}


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
