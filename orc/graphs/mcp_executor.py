"""Gathers what the answer is made of, from document_chat or from lookups."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import ValidationError

from orc.events import Tool, whole_text
from orc.graphs.models import ConversationState, PageReference, Run, ToolResult, Update
from orc.graphs.prompts import history_in_prompt
from orc.graphs.retrieval import WIDER, RetrievalOutcome, call_tool, failed_step, look_up, request_from
from orc.lookups import LookupStep
from orc.memory.models import NoteKind
from orc.memory.notes import notes_in
from orc.tools.ports import DOCUMENT_CHAT, GET_PAGE, LOOKS_FURTHER, SEARCH_PAGES, WEB_SEARCH
from orc.tools.schemas import function_definitions
from orc_core.errors import DependencyDown, OrcError
from orc_core.mcp_contract import (
    CAP_META_KEY,
    HISTORY_META_KEY,
    IMAGES_META_KEY,
    MAX_QUERY_CHARACTERS,
    MAX_WISHES,
    MODEL_META_KEY,
    WHOLE_META_KEY,
    WISHES_META_KEY,
    DocumentChatResult,
    FileStatus,
)

TOOLS_SERVER = "tools"
"""Replaces the name of a tool in events and results if the server does not answer."""
Texts = dict[tuple[str, int], str]
"""Full pages by document id and number."""

PLACE = ("document_id", "page_id", "page_number", "blob_name")


async def call_document_chat(state: ConversationState, run: Run) -> Update:
    """Its reply, typed. The text is emitted on arrival: while the tools server writes it if the turn streams,
    otherwise at once."""
    arguments, meta = document_chat_arguments(state), _meta_of(state, run)
    result = await call_tool(DOCUMENT_CHAT, arguments, run, streams=run.context.stream, meta=meta)
    try:
        reply = DocumentChatResult.model_validate(result.content)
    except ValidationError as exc:
        raise DependencyDown("document_chat returned no answer.", dependency="mcp_server") from exc
    reply = as_first_read(reply, state.files)
    if not run.context.stream:
        for event in whole_text(reply.answer, reply.citations):
            run.emit(event)
    step = LookupStep(
        tool=DOCUMENT_CHAT,
        reason_code="document_chat",
        hits=reply.metadata.pages_read or reply.metadata.passages,
        detail=reply.metadata.reason,
    )
    return {"document_reply": reply, "lookup_steps": [step]}


def as_first_read(reply: DocumentChatResult, before: Sequence[FileStatus]) -> DocumentChatResult:
    """The reply of a later attempt; what an earlier one of this turn has created is not called reused."""
    created = {each.document_id for each in before if each.status == "created"}
    files = [
        each.model_copy(update={"status": "created"}) if each.document_id in created else each
        for each in reply.metadata.files
    ]
    return reply.model_copy(update={"metadata": reply.metadata.model_copy(update={"files": files})})


def document_chat_arguments(state: ConversationState) -> dict[str, Any]:
    """The arguments of document_chat; `cached_file_info` only for exactly the same set of blobs."""
    arguments: dict[str, Any] = {"question": state.query, "document_names": state.blob_names}
    refs = state.uploaded_file_refs
    if refs and set(state.blob_names) == {ref.blob_name for ref in refs}:
        arguments["cached_file_info"] = [ref.model_dump() for ref in refs]
    if state.earlier:
        arguments["look_for"] = state.attempt.wanted
    return arguments


def _meta_of(state: ConversationState, run: Run) -> dict[str, Any]:
    """The limit of documents if it is exceeded, the user's wishes, the model of the route and its cap.

    What was said before too, if no planner has made the question understandable without it.

    The usual model is left out: the tools server has its own.
    """
    most = run.context.settings.max_documents_per_request
    meta: dict[str, Any] = {WHOLE_META_KEY: most} if len(state.blob_names) > most else {}
    # How the user wants to be answered, from memory and from the history, oldest first: the newest ones.
    asked = [message.content for message in state.history if message.role == "user"]
    recent = [note for text in asked for note in notes_in(text, 1)]
    notes = [*reversed(state.recalled.notes), *(n for n in recent if not state.memory.is_withdrawn(n))]
    if wishes := dict.fromkeys(note.text for note in notes if note.kind is NoteKind.PREFERENCE):
        meta[WISHES_META_KEY] = list(wishes)[-MAX_WISHES:]
    if state.reads_whole and (said := history_in_prompt(state, run)):
        meta[HISTORY_META_KEY] = [message.model_dump() for message in said]
    if (limits := run.context.settings.image_limits) is not None:
        meta[IMAGES_META_KEY] = limits.model_dump()
    if state.route is None:
        return meta
    if state.route.model != run.resources.models.writer.name:
        meta[MODEL_META_KEY] = state.route.model
    if state.route.max_output_tokens is not None:
        meta[CAP_META_KEY] = state.route.max_output_tokens
    return meta


async def make_lookups(state: ConversationState, run: Run) -> Update:
    """The lookups of the plan, and the tools that the writer may call for more."""
    try:
        tools = await run.available_tools()
    except DependencyDown as exc:
        return _server_down(state, exc, run)
    names = {tool.name for tool in tools}
    if state.earlier:
        outcome = await _look_further(state, run, names)
        more = LookupStep(tool="", reason_code="more_requested")
        steps = [*state.lookup_steps, more, *outcome.steps]
        return {"lookups": outcome.lookups, "lookup_steps": steps, "plan": outcome.plan or state.plan}
    # The last model call of a turn is for the answer.
    may_call = run.takes_tools(run.writer_of(state)[0]) and run.context.budget.calls_left > 1
    request = request_from(state, may_choose=may_call)
    outcome = await look_up(request, run, names)
    plan = outcome.plan or state.plan
    if outcome.lookups and (request.summaries_first or outcome.lost):
        outcome, references, tokens = await summarized(outcome, run)
        return {
            "lookups": outcome.lookups,
            "references": references,
            "context_budget": {"deferred": tokens} if references else {},
            "lookup_steps": outcome.steps,
            "plan": plan,
        }
    # A model that reads documents could pass their content on to a search engine: the writer may search the
    # web only if the plan or a fallback did.
    web = request.web or any(lookup.name == WEB_SEARCH for lookup in outcome.lookups)
    has_passages = any(step.hits for step in outcome.steps)
    callable_tools = [
        tool
        for tool in tools
        if (web if tool.name == WEB_SEARCH else state.has_documents)
        and (not has_passages or tool.name in LOOKS_FURTHER or not tool.only_reads)
    ]
    covers_contexts = state.scope is not None and bool(state.scope.places)
    definitions = function_definitions(callable_tools, with_contexts=covers_contexts) if may_call else []
    return {
        "lookups": outcome.lookups,
        "tools": definitions,
        "lookup_steps": outcome.steps,
        "plan": plan,
    }


def _server_down(state: ConversationState, error: DependencyDown, run: Run) -> Update:
    """A second retrieval keeps what was found before; a first answer has to mention the failure."""
    run.emit(Tool(name=TOOLS_SERVER, status="failed", message=error.message, code=error.code))
    step = LookupStep(tool=TOOLS_SERVER, status="failed", reason_code="server_down", detail=error.message)
    lookups = [] if state.earlier else [ToolResult(name=TOOLS_SERVER, error=error.message)]
    return {"lookups": lookups, "lookup_steps": [*state.lookup_steps, step]}


async def _look_further(state: ConversationState, run: Run, available: Collection[str]) -> RetrievalOutcome:
    """The second retrieval: the full text of pages known by their summaries, otherwise a wider search."""
    outcome = RetrievalOutcome()
    if state.references and GET_PAGE in available:
        outcome = await read_in_full(state.references, run)
    if outcome.enough:
        return outcome
    request = request_from(state)
    wanted = state.attempt.wanted
    if wanted and not (state.plan and state.plan.names_web):
        # A critic, which has read documents, does not decide that the web is searched.
        available = [name for name in available if name != WEB_SEARCH]
    query = (wanted or request.query)[:MAX_QUERY_CHARACTERS]
    documents = state.has_documents and (request.documents or not request.web)
    wider = {"query": query, "documents": documents, "summaries_first": False, "limits": WIDER}
    return outcome + await look_up(request.model_copy(update=wider), run, available)


async def summarized(
    outcome: RetrievalOutcome, run: Run
) -> tuple[RetrievalOutcome, list[PageReference], int]:
    """The outcome with pages as summaries, references to those pages, and the tokens of their full text."""
    references = [
        PageReference(document_id=page["document_id"], page=page["page_number"])
        for lookup in outcome.lookups
        if lookup.name == SEARCH_PAGES
        for page in lookup.content.get("pages", [])
    ]
    try:
        read = await asyncio.gather(*(run.page_text(page.document_id, page.page) for page in references))
    except OrcError as exc:
        failed = ToolResult(name=SEARCH_PAGES, error=exc.message)
        steps = [*outcome.steps, failed_step(SEARCH_PAGES, exc.message)]
        return outcome.model_copy(update={"lookups": [failed], "steps": steps}), [], 0
    texts = {(page.document_id, page.page): text for page, text in zip(references, read, strict=True)}
    lookups = [_as_summaries(lookup, texts) for lookup in outcome.lookups]
    if not references:
        return outcome.model_copy(update={"lookups": lookups}), [], 0
    tokens = sum(map(run.resources.counter.count, texts.values()))
    step = LookupStep(tool=SEARCH_PAGES, reason_code="summaries_only", hits=len(references), tokens=tokens)
    steps = [*outcome.steps, step]
    return outcome.model_copy(update={"lookups": lookups, "steps": steps}), references, tokens


async def read_in_full(references: Sequence[PageReference], run: Run) -> RetrievalOutcome:
    """Read the pages: one lookup for all that could be read, in their order, and one for each failure."""
    read = await asyncio.gather(*(_read(page, run) for page in references))
    pages = [page for result in read for page in result.content.get("pages", [])]
    failures = [result for result in read if result.error]
    steps = [failed_step(GET_PAGE, error) for error in dict.fromkeys(str(each.error) for each in failures)]
    if not pages:
        return RetrievalOutcome(lookups=failures, steps=steps)
    whole = ToolResult(name=GET_PAGE, content={"pages": pages})
    done = LookupStep(tool=GET_PAGE, reason_code="read_in_full", hits=len(pages))
    return RetrievalOutcome(lookups=[whole, *failures], steps=[done, *steps], enough=True)


def _as_summaries(result: ToolResult, texts: Texts) -> ToolResult:
    """The result of search_pages as `pages` with summary and topics, and `passages` that can be cited.

    The passages are the sentences that match best. A page that was found by its meaning alone has none: then
    it is the passage that was found.
    """
    if result.name != SEARCH_PAGES or result.error:
        return result
    found = result.content.get("pages", [])
    passages = [
        passage
        for page in found
        for passage in _quoted(page, texts[str(page["document_id"]), int(page["page_number"])])
    ]
    pages = [{**_place(page), "summary": page["summary"], "topics": page["topics"]} for page in found]
    return result.model_copy(update={"content": {**result.content, "passages": passages, "pages": pages}})


async def _read(page: PageReference, run: Run) -> ToolResult:
    arguments = {"document_id": page.document_id, "page_number": page.page}
    try:
        result = await call_tool(GET_PAGE, arguments, run)
    except OrcError as exc:
        return ToolResult(name=GET_PAGE, error=exc.message)
    wanted, found = (*PLACE, "text", "start"), result.content.get("pages", [])
    pages = [{name: page[name] for name in wanted if name in page} for page in found]
    return result.model_copy(update={"content": {"pages": pages}})


def _place(page: dict[str, Any]) -> dict[str, Any]:
    return {name: page[name] for name in PLACE}


def _quoted(page: dict[str, Any], text: str) -> list[dict[str, Any]]:
    place, starts = _place(page), {match: text.find(match) for match in page["matches"]}
    sentences = [{**place, "text": match, "start": start} for match, start in starts.items() if start >= 0]
    return sentences or [{**place, "text": page["text"], "start": page["start"]}]
