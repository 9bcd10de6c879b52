"""Lookups that code makes before the answer is written, and their fallbacks.

Documents: semantic_search, then search_pages (in reverse order if summaries come first). The web: web_search,
then the documents. The web is searched only if the plan says so, whatever was found.
"""

import asyncio
import contextlib
import logging
import re
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from orc.contexts.turn_scope import TurnScope
from orc.events import CitationMarked, Event, Plan, Reset, Token, Tool
from orc.graphs.models import ConversationState, Run, ToolResult
from orc.lookups import LookupStep, ReasonCode
from orc.tools.ports import SEARCH, SEARCH_PAGES, WEB_SEARCH
from orc.tools.schemas import hits_in, shown_arguments
from orc_core.documents.places import ALL, FOCUS, OTHERS
from orc_core.errors import INTERNAL, DependencyDown, OrcError
from orc_core.markdown.brackets import visible_name
from orc_core.mcp_contract import MAX_QUERY_CHARACTERS, MarkDelta, Progress, TextDelta
from orc_core.models import Record, Usage
from orc_core.text.provenance import asked_words, is_pasted, own_words
from orc_core.text.terms import STOP_WORDS, detect_language, stems, words
from orc_core.text.wording import has_subject

logger = logging.getLogger(__name__)
_STOPPED = frozenset[str]().union(*STOP_WORDS.values())
_COMPARES = re.compile(
    r"\b(?:compar\w+|versus|vs|as opposed to|differ\w*|unlike|vergl\w+|gegenüber|unterschied\w*)\b",
    re.IGNORECASE,
)
_ONLY_WORDS = re.compile(r"[\w\s.,;:?!'\"’()/%&€$+-]*")
_CITES_A_DOCUMENT = ' of Document "'


class ResultLimits(Record):
    """The number of results that each search asks for."""

    passages: int = 8
    pages: int = 8
    web_pages: int = 5


WIDER = ResultLimits(passages=24, pages=20, web_pages=10)
"""For the second retrieval, if the first did not suffice."""


class ContextOrder(Record):
    """Which contexts are searched, in order: each is a selection, the next only if none before sufficed.

    The one selection "" is all there is: the turn covers no other contexts. `reason` is why others follow.
    """

    selections: tuple[str, ...] = ("",)
    reason: str = ""


class RetrievalRequest(Record):
    """A query and the sources that it searches. `has_documents`: they are the fallback for the web.

    `web_query` is what a search engine is asked.
    """

    query: str
    web_query: str
    plan: Plan | None = None
    documents: bool = False
    web: bool = False
    has_documents: bool = False
    contexts: ContextOrder = ContextOrder()
    summaries_first: bool = False
    limits: ResultLimits = ResultLimits()


class RetrievalOutcome(Record):
    """The lookups that were made, in order, and the steps that explain them.

    `enough`: a search reached its threshold. `lost`: the tools server does not answer. `plan`: the plan with
    the reason for a web search that it does not name.
    """

    lookups: list[ToolResult] = []
    steps: list[LookupStep] = []
    enough: bool = False
    lost: bool = False
    plan: Plan | None = None

    def __add__(self, other: "RetrievalOutcome") -> "RetrievalOutcome":
        return RetrievalOutcome(
            lookups=self.lookups + other.lookups,
            steps=self.steps + other.steps,
            enough=self.enough or other.enough,
            lost=self.lost or other.lost,
            plan=other.plan or self.plan,
        )


def request_from(state: ConversationState, *, may_choose: bool = True) -> RetrievalRequest:
    """The lookups of the plan. If the retriever is `tools`, the model chooses how documents are searched,
    unless the turn has no model calls left for that (`may_choose`)."""
    steps = set(state.plan.steps) if state.plan else set()
    retriever = state.route.retriever if state.route else "search"
    model_chooses = may_choose and retriever == "tools" and "both" not in steps
    return RetrievalRequest(
        query=state.query[:MAX_QUERY_CHARACTERS],
        web_query=(asked_of_web := web_query(state.query, state)),
        plan=state.plan,
        documents=state.has_documents and bool(steps & {"retrieve", "both"}) and not model_chooses,
        web=bool(steps & {"web_search", "both"}) and bool(asked_of_web),
        has_documents=state.has_documents,
        contexts=order_of_contexts(state),
        summaries_first=retriever == "summaries",
    )


def order_of_contexts(state: ConversationState) -> ContextOrder:
    """The focus first; other contexts at once if the question names one of them or compares with it."""
    scope = state.scope
    if scope is None or not scope.has_far_places:
        return ContextOrder()
    if names_other_context(f"{state.question}\n{state.query}", scope):
        return ContextOrder(selections=(ALL,))
    at = "the documents of this conversation"
    if scope.focus is not None:
        at = f'"{visible_name(scope.focus.name)}" and what belongs to it'
    reason = f"Nothing in {at} sufficed, so the session's other contexts were searched."
    # Without documents there is nothing to search first.
    near = (FOCUS,) if state.counts.near else ()
    return ContextOrder(selections=(*near, OTHERS), reason=reason)


async def look_up(request: RetrievalRequest, run: Run, available: Collection[str]) -> RetrievalOutcome:
    """Make the lookups with the available tools. Documents and web are searched concurrently."""
    search_documents = partial(_search_documents, request, run, available)
    on_the_web = {"query": request.web_query, "limit": request.limits.web_pages}
    search_web = partial(_search, WEB_SEARCH, on_the_web, run, available)
    outcome = RetrievalOutcome()
    if request.documents and request.web:
        documents, web = await asyncio.gather(search_documents(), search_web())
        return documents + web
    if request.documents:
        outcome = await search_documents()
    elif request.web:
        outcome = await search_web()
        if not outcome.enough and request.has_documents:
            outcome += await search_documents()
    return outcome


async def _search_documents(
    request: RetrievalRequest, run: Run, available: Collection[str]
) -> RetrievalOutcome:
    """Search the selections of contexts in their order, until one suffices."""
    searches = [
        (SEARCH, {"top_k": request.limits.passages}),
        (SEARCH_PAGES, {"limit": request.limits.pages}),
    ]
    outcome = RetrievalOutcome()
    for selection in request.contexts.selections:
        if selection == OTHERS and request.plan is not None:
            plan = outcome.plan or request.plan
            why = " ".join(filter(None, (plan.escalation, request.contexts.reason)))
            plan = plan.model_copy(update={"escalation": why})
            run.emit(plan)
            outcome += RetrievalOutcome(plan=plan)
        context = {"context": selection} if selection else {}
        for name, limit in reversed(searches) if request.summaries_first else searches:
            found = await _search(name, {"query": request.query, **limit, **context}, run, available)
            outcome += found
            if found.lookups and not found.lookups[-1].error:
                break
        if outcome.enough or outcome.lost:
            break
    return outcome


async def _search(
    name: str, arguments: dict[str, Any], run: Run, available: Collection[str]
) -> RetrievalOutcome:
    """One search. An unavailable tool is skipped; a failure is a result too."""
    if name not in available:
        off_by = run.context.off_by.get(name, "")
        reason: ReasonCode = "switched_off" if off_by else "unavailable"
        step = LookupStep(tool=name, status="skipped", reason_code=reason, detail=off_by)
        return RetrievalOutcome(steps=[step])
    try:
        result = await call_tool(name, arguments, run)
    except OrcError as exc:
        return RetrievalOutcome(
            lookups=[ToolResult(name=name, arguments=arguments, error=exc.message)],
            steps=[failed_step(name, exc.message)],
            lost=isinstance(exc, DependencyDown) and exc.dependency == "mcp_server",
        )
    content, steps = result.content, result.content.get("steps", [])
    reached = any(step.get("threshold") is not None and step.get("hits") for step in steps)
    hits = len(content.get("passages") or content.get("pages") or content.get("results") or [])
    found: ReasonCode = "found" if hits else "nothing_found"
    # The widest search of documents has no threshold: what it finds is enough for a query that has no word to
    # search for, and so reaches none.
    if hits and steps and not reached and has_subject(str(arguments["query"])):
        found = "below_threshold"
    return RetrievalOutcome(
        lookups=[result],
        steps=[LookupStep(tool=name, reason_code=found, hits=hits)],
        enough=found == "found",
    )


def failed_step(tool: str, message: str) -> LookupStep:
    """The step of a call that failed."""
    return LookupStep(tool=tool, status="failed", reason_code="failed", detail=message)


async def call_tool(
    name: str,
    arguments: dict[str, Any],
    run: Run,
    *,
    streams: bool = False,
    meta: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Call a tool and emit its events. A failure is emitted and raised. With `streams`, text deltas become
    tokens, and markers their citations. `asked`: the arguments as a model gave them."""
    started = time.perf_counter()
    run.emit(Tool(name=name, status="started"))

    def ended(status: str, **about: Any) -> None:
        duration = round((time.perf_counter() - started) * 1000, 1)
        shown = shown_arguments(arguments if asked is None else asked)
        fields = {"name": name, "status": status, "duration_ms": duration, "arguments": shown, **about}
        run.emit(Tool.model_validate(fields))

    try:
        content = await run.resources.tools.call(
            name,
            arguments,
            run.context.scope_token,
            on_progress=(lambda update: run.emit(_progress_event(name, update))) if streams else None,
            on_restart=lambda reason: run.emit(Reset(reason=reason)),
            meta=meta,
        )
    except OrcError as exc:
        ended("failed", message=exc.message, code=exc.code)
        raise
    except Exception as exc:
        # One of several calls: the others go on, and their events must precede the end of the turn.
        logger.exception("calling the tool %s failed", name)
        unforeseen = OrcError("The tool failed unexpectedly.", code=INTERNAL)
        ended("failed", message=unforeseen.message, code=unforeseen.code)
        raise unforeseen from exc
    ended("finished", hits=(hits := hits_in(content)))
    run.context.origins.note(name, content)
    # Only tools that ask a model report its usage.
    with contextlib.suppress(KeyError, TypeError, ValidationError):
        run.context.budget.by_tools += Usage.model_validate(content["metadata"]["usage"])
    return ToolResult(name=name, arguments=arguments, content=content, hits=hits or 0)


def _progress_event(name: str, update: Progress) -> Event:
    """What the user is shown of a tool that is still running."""
    if isinstance(update, TextDelta):
        return Token(text=update.text)
    if isinstance(update, MarkDelta):
        return CitationMarked.of(update)
    steps = {"progress": update.done, "total": update.total} if update.total else {}
    return Tool(name=name, status="progress", message=update.message, **steps)


def names_other_context(question: str, scope: TurnScope) -> bool:
    """Whether the question names a context outside of the focus, or compares with one.

    Two words of a name are enough, or one that no other name has; for a comparison any word is.
    """
    near = [_name_words(place.name) for place in scope.places if place.near]
    far_ids = {place.id for place in scope.places if not place.near}
    names = {place.id: place.name for place in scope.places if not place.near}
    names |= {ref.id: ref.name for ref in [*scope.active, *scope.historical] if ref.id in far_ids}
    far = [_name_words(name) for name in names.values()]
    asked = set(_folded(question))
    common = Counter(word for name in [*near, *far] for word in name)
    of_focus = set[str]().union(*near)
    compares = _COMPARES.search(question) is not None
    for name in far:
        hits = name & asked
        is_named = compares or len(hits) >= min(2, len(name)) or any(common[word] == 1 for word in hits)
        if is_named and hits - of_focus:
            return True
    return False


def _name_words(name: str) -> set[str]:
    return set(_folded(name)) - _STOPPED


def _folded(text: str) -> Sequence[str]:
    return [word.casefold() for word in words(text)]


# Why only the user's words leave: docs/decisions/web-search.md.
def web_query(wanted: str, state: ConversationState) -> str:
    """`wanted`, if a model can have it from the user alone; otherwise the question as the user asked it.

    A document can order a model that reads it to send other documents' text to the search engine. The planner
    reads answers from documents.
    """
    before = [message.content for message in state.history]
    before += [point.text for point in state.recalled.summary]
    # Whether documents, answers from them or other texts of others can be in a prompt of this turn.
    may_know = state.has_documents or any(_CITES_A_DOCUMENT in text for text in before)
    if not may_know and not is_pasted(state.question):
        return wanted[:MAX_QUERY_CHARACTERS]
    said = [own_words(message.content) for message in state.history if message.role == "user"]
    asked = asked_words(state.question)
    own = words("\n".join([asked, *said, *(note.text for note in state.recalled.notes)]))
    language = detect_language(own)
    known = {"", *stems(own, language)}
    is_own = _ONLY_WORDS.fullmatch(wanted) and known.issuperset(stems(words(wanted), language))
    return (wanted if is_own and wanted.strip() else asked)[:MAX_QUERY_CHARACTERS]
