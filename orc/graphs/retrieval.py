"""One call of a tool, shown as it goes: its start, its progress, its end."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from core.errors import INTERNAL, DependencyDown, OrcError
from core.mcp_contract import MAX_QUERY_CHARACTERS, StatusLine, TextDelta
from core.models import Record, Usage
from orc.events import Reset, Token, Tool
from orc.graphs.models import ConversationState, Deps, ToolResult
from orc.tools.ports import SEARCH, SEARCH_PAGES, WEB_SEARCH

logger = logging.getLogger(__name__)


async def call_tool(
    name: str,
    arguments: dict[str, Any],
    deps: Deps,
    *,
    streams: bool = False,
    meta: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Call a tool; its failure is shown and raised. With `streams`, its text becomes tokens."""
    started = time.perf_counter()
    deps.emit(Tool(name=name, status="started"))

    def progress(update: TextDelta | StatusLine) -> None:
        if isinstance(update, TextDelta):
            deps.emit(Token(text=update.text))
        else:
            deps.emit(Tool(name=name, status="progress", message=update.message))

    def ended(status: str, **failure: str) -> None:
        duration = round((time.perf_counter() - started) * 1000, 1)
        fields = {"name": name, "status": status, "duration_ms": duration, **failure}
        deps.emit(Tool.model_validate(fields))

    try:
        content = await deps.tools.call(
            name,
            arguments,
            deps.scope_token,
            on_progress=progress if streams else None,
            on_restart=lambda reason: deps.emit(Reset(reason=reason)),
            meta=meta,
        )
    except OrcError as exc:
        ended("failed", message=exc.message, code=exc.code)
        raise
    except Exception as exc:
        # Of one call among several: the others go on, and their events belong before the turn's end.
        logger.exception("calling the tool %s failed", name)
        unforeseen = OrcError("The tool failed unexpectedly.", code=INTERNAL)
        ended("failed", message=unforeseen.message, code=unforeseen.code)
        raise unforeseen from exc
    ended("finished")
    deps.meter.by_tools += _used(content)
    return ToolResult(name=name, content=content)


def _used(content: Mapping[str, Any]) -> Usage:
    """What a tool says that its models have used."""
    try:
        return Usage.model_validate(content["metadata"]["usage"])
    except (KeyError, TypeError, ValidationError):
        return Usage()


class Amounts(Record):
    """How much a look-up asks for."""

    passages: int = 8
    pages: int = 8
    web_pages: int = 5


WIDER = Amounts(passages=24, pages=20, web_pages=10)
"""For a second look, after the first one did not suffice."""


class Need(Record):
    """What is to be looked up, and where."""

    query: str
    documents: bool = False
    web: bool = False
    has_documents: bool = False
    summaries_first: bool = False
    amounts: Amounts = Amounts()


class Call(Record):
    """One look-up that code made."""

    name: str
    arguments: dict[str, Any]
    result: ToolResult


class LookedUp(Record):
    """What was looked up, in order, and why there and not elsewhere.

    `enough`: something reached the threshold of a search. `lost`: the tools server does not answer.
    """

    calls: list[Call] = []
    reasons: list[str] = []
    enough: bool = False
    lost: bool = False

    def __add__(self, other: "LookedUp") -> "LookedUp":
        return LookedUp(
            calls=self.calls + other.calls,
            reasons=self.reasons + other.reasons,
            enough=self.enough or other.enough,
            lost=self.lost or other.lost,
        )

    @property
    def results(self) -> list[ToolResult]:
        return [call.result for call in self.calls]


def need_of(state: ConversationState, *, may_choose: bool = True) -> Need:
    """What the plan has code look up. How documents are looked into, a model may have been left to choose,
    unless it `may_choose` no more, for want of calls."""
    steps = set(state.plan.steps) if state.plan else set()
    retriever = state.route.retriever if state.route else "search"
    chooses = may_choose and retriever == "tools" and "both" not in steps
    return Need(
        query=state.query[:MAX_QUERY_CHARACTERS],
        documents=state.has_documents and bool(steps & {"retrieve", "both"}) and not chooses,
        web=bool(steps & {"web_search", "both"}),
        has_documents=state.has_documents,
        summaries_first=retriever == "summaries",
    )


async def look_up(need: Need, deps: Deps, there: Collection[str]) -> LookedUp:
    """Look things up with the tools that are `there`; both places side by side, neither spoils the other."""
    if need.documents and need.web:
        documents, web = await asyncio.gather(
            _in_documents(need, deps, there), _in_the_web(need, deps, there)
        )
        return documents + web
    if need.documents:
        found = await _in_documents(need, deps, there)
        if found.enough or WEB_SEARCH not in there:
            return found
        return found + _because("So the web was searched.") + await _in_the_web(need, deps, there)
    if need.web:
        found = await _in_the_web(need, deps, there)
        if found.enough or not need.has_documents:
            return found
        return found + _because("So the documents were searched.") + await _in_documents(need, deps, there)
    return LookedUp()


async def _in_documents(need: Need, deps: Deps, there: Collection[str]) -> LookedUp:
    ways = [(SEARCH, {"top_k": need.amounts.passages}), (SEARCH_PAGES, {"limit": need.amounts.pages})]
    looked = LookedUp()
    for name, amount in reversed(ways) if need.summaries_first else ways:
        looked += await _try(name, {"query": need.query, **amount}, deps, there)
        if looked.calls and not looked.calls[-1].result.error:
            return looked + _judged(looked.calls[-1].result.content)
    return looked


async def _in_the_web(need: Need, deps: Deps, there: Collection[str]) -> LookedUp:
    arguments = {"query": need.query, "limit": need.amounts.web_pages}
    looked = await _try(WEB_SEARCH, arguments, deps, there)
    if not looked.calls or looked.calls[-1].result.error:
        return looked
    if looked.calls[-1].result.content.get("results"):
        return looked + LookedUp(enough=True)
    return looked + _because("The web search found nothing.")


async def _try(name: str, arguments: dict[str, Any], deps: Deps, there: Collection[str]) -> LookedUp:
    """One call. A tool that is not there, or was switched off, is not called; a failure is a result too."""
    if name not in there:
        return _because(f"{name} is not available.")
    try:
        result = await call_tool(name, arguments, deps)
    except OrcError as exc:
        failed = ToolResult(name=name, error=exc.message)
        return LookedUp(
            calls=[Call(name=name, arguments=arguments, result=failed)],
            reasons=[f"{name} failed: {exc.message.rstrip('.')}."],
            lost=isinstance(exc, DependencyDown) and exc.dependency == "mcp_server",
        )
    return LookedUp(
        calls=[Call(name=name, arguments=arguments, result=result)], reasons=[f"Looked up with {name}."]
    )


def _judged(content: dict[str, Any]) -> LookedUp:
    """Whether a search of documents found enough. Only its last resorts have no threshold to reach."""
    if not (content.get("passages") or content.get("pages")):
        return _because("Nothing in the documents fits the question.")
    steps = content.get("steps", [])
    reached = any(step.get("threshold") is not None and step.get("hits") for step in steps)
    if steps and not reached:
        return _because("What the documents hold stayed below every threshold of the search.")
    return LookedUp(enough=True)


def _because(reason: str) -> LookedUp:
    return LookedUp(reasons=[reason])
