"""The context of the answer, from what tools found."""

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain

from langchain_core.messages import BaseMessage

from orc.events import Context
from orc.graphs.mcp_executor import TOOLS_SERVER
from orc.graphs.models import ConversationState, Run, Update
from orc.graphs.page_images import choose_images
from orc.graphs.prompts import answer_prompt, history_in_prompt
from orc.graphs.tool_context import ToolContext
from orc.graphs.utils import cited_first, writer_of
from orc.tools.ports import DOCUMENT_CHAT, FINDS_DOCUMENTS
from orc_core.documents.image_limits import with_image_tokens
from orc_core.llm.tokens import section_tokens
from orc_core.mcp_contract import DocumentChatResult

MOST_COUNTED_IN_PLACE = 4000
"""Characters of a prompt whose tokens are counted in less time than a thread takes to begin."""


async def context_of_lookups(state: ConversationState, run: Run) -> Update:
    """The sources of the lookups, numbered and fenced, with pictures of pages and the sizes of the prompt."""
    update = await _from_lookups(state, run)
    update |= await _images(state.model_copy(update=update), run)
    built = state.model_copy(update=update)
    sizes = await _sizes(answer_prompt(built, run), built, run)
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


async def _sizes(prompt: Sequence[BaseMessage], state: ConversationState, run: Run) -> dict[str, int]:
    """The tokens of each part of the prompt, counted in a thread if that takes longer than going there."""
    tools = [] if state.attempt.sources else state.tools
    count = partial(section_tokens, prompt, state.question, run.resources.counter, tools)
    is_short = not tools and sum(len(message.text) for message in prompt) <= MOST_COUNTED_IN_PLACE
    sizes = count() if is_short else await asyncio.to_thread(count)
    return with_image_tokens(sizes, state.image_counts.of(_pictures_in(prompt)))


def _pictures_in(prompt: Sequence[BaseMessage]) -> int:
    """How many pictures a prompt has. A second retrieval may have lost the sources of some."""
    parts = chain.from_iterable(each.content for each in prompt if isinstance(each.content, list))
    return sum(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)


async def _images(state: ConversationState, run: Run) -> Update:
    """The pictures of pages for the prompt, with a source for each page without text.

    They are chosen for the first attempt, after code looked for documents; a second one is sent the same. So
    a turn whose tools for documents are off, or whose plan has the web alone, has none.
    """
    limits = run.context.settings.image_limits
    looked = any(lookup.name in FINDS_DOCUMENTS for lookup in state.lookups)
    if limits is None or state.earlier or not looked:
        return {}
    question, sources = f"{state.question}\n{state.query}", state.attempt.sources
    model, _ = writer_of(state, run)
    chosen = await choose_images(question, sources, model.name, limits, run)
    return {
        "images": chosen.images,
        "image_counts": chosen.counts,
        "attempt": state.attempt.model_copy(update={"sources": [*sources, *chosen.sources]}),
        "lookup_steps": [*state.lookup_steps, *chosen.steps],
    }


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
    if not state.lookups:
        return {}
    if not state.earlier:
        return await _first_context(state, run)
    if all(result.error for result in state.lookups):
        return {"tool_results": [*state.tool_results, *state.lookups]}
    return await _wider_context(state, run)


async def _first_context(state: ConversationState, run: Run) -> Update:
    context, tokens = ToolContext(run), run.context.settings.retrieval_tokens
    await context.add(state.lookups, tokens)
    update = context.state_update(state)
    if names := [result.name for result in state.lookups if result.name != TOOLS_SERVER]:
        update["last_mcp_tool_used"] = names[-1]
    if state.references:
        update["context_budget"] = {"summaries": context.tokens, **state.context_budget}
    return update


async def _wider_context(state: ConversationState, run: Run) -> Update:
    """New results, and sources of the earlier attempt, which keep their numbers and up to half of the
    budget, cited ones first."""
    budget = run.context.settings.retrieval_tokens
    previous = cited_first(state.attempt.sources, state.earlier[-1].citations)
    context = ToolContext(run, previous=previous)
    await context.add(state.lookups, budget - min(context.previous_tokens, budget // 2))
    context.keep_previous(budget - context.tokens)
    shown = {(source.document_id, source.page) for source in context.shown}
    unread = [page for page in state.references if (page.document_id, page.page) not in shown]
    return {**context.state_update(state), "references": unread, "last_mcp_tool_used": state.lookups[-1].name}
