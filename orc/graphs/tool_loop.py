"""The loop of a model and its tools: calls until it answers, in a prompt of bounded size."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from orc.events import Event, Reset
from orc.graphs.answer_stream import AnswerStream, answer_fields
from orc.graphs.models import ConversationState, Deps, ToolResult
from orc.graphs.prompts import round_messages, round_tokens, sources_prompt
from orc.graphs.retrieval import call_tool
from orc.graphs.tool_context import ToolContext
from orc.graphs.utils import changes, writer_of
from orc.graphs.web_queries import web_query
from orc.lookups import LookupStep
from orc.tools.arguments import with_handles, within_limits
from orc.tools.ports import WEB_SEARCH
from orc.tools.schemas import CONTEXT
from orc_core.documents.places import ALL, FOCUS
from orc_core.errors import OrcError
from orc_core.grounding.sources import Source

Schemas = Mapping[str, Mapping[str, Any]]
"""The arguments of the tools that may be called, as JSON Schema, by name."""
MAX_CONCURRENT_CALLS = 8
TOO_MANY = f"Only the first {MAX_CONCURRENT_CALLS} calls of a reply are made."


async def answer_with_tools(state: ConversationState, deps: Deps) -> dict[str, Any]:
    """Let the model answer or call tools. If the rounds run out, the update has results and no answer.

    A model that has passages answers from them, and is offered tools only if they lack the answer. What it
    then says without a call is no better. The last model call of the turn is for an answer without tools.
    """
    conversation = ToolConversation(state, deps)
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in state.tools}
    may_call, found_nothing = not state.attempt.sources, dict[str, Any]()
    for _ in range(deps.settings.max_tool_rounds + (not may_call)):
        if deps.budget.calls_left <= 1:
            break
        reply, stream = await ask_writer(
            conversation.messages(may_call=may_call),
            conversation.context.sources,
            state,
            deps,
            tools=state.tools if may_call else [],
            emit=_unseen if found_nothing else None,
        )
        if not reply.tool_calls and not reply.invalid_tool_calls:
            answer = found_nothing or answer_fields(stream, conversation.context.results, state)
            if may_call or not (answer["grounding"] and answer["grounding"].not_found):
                return conversation.state_update(answer)
            found_nothing, may_call = answer, True
            continue
        if stream.text or found_nothing:
            deps.emit(Reset(reason="The model went on to use tools."))
        found_nothing, may_call = {}, True
        first, others = reply.tool_calls[:MAX_CONCURRENT_CALLS], reply.tool_calls[MAX_CONCURRENT_CALLS:]
        made = await asyncio.gather(
            *(_run(call, schemas, conversation.context, state, deps) for call in first)
        )
        refused = [ToolResult(name=call["name"], error=TOO_MANY) for call in others]
        await conversation.add_round(reply, [*made, *refused])
    return conversation.state_update(found_nothing)


class ToolConversation:
    """The prompt of the tool loop: the question, what code looked up for it, and the model's rounds of calls.

    If it exceeds the token budget, results of the oldest rounds are dropped first; if the calls alone take
    half of the budget, whole rounds are dropped. `_dropped` counts their results. What code looked up stays,
    its best parts in half of the budget.
    """

    def __init__(self, state: ConversationState, deps: Deps) -> None:
        self.context = ToolContext(
            deps, results=state.tool_results, sources=state.attempt.sources, handles=known_handles(state)
        )
        self._looked_up = len(state.tool_results)
        self._rounds: list[AIMessage] = []
        self._dropped = 0
        self._state = state
        self._deps = deps

    async def add_round(self, reply: AIMessage, results: Sequence[ToolResult]) -> None:
        """Add the calls of a reply and the result of each."""
        self._rounds.append(reply)
        budget = self._deps.settings.retrieval_tokens
        while len(self._rounds) > 1 and self._calls_tokens() > budget // 2:
            self._dropped += len(self._rounds.pop(0).tool_calls)
        budget -= self._calls_tokens()
        self.context.shorten_first(self._looked_up, budget // 2)
        await self.context.add(results, budget)
        self.context.evict_oldest(budget, shown=self._looked_up, dropped=self._dropped)

    def messages(self, *, may_call: bool) -> list[BaseMessage]:
        """The whole prompt; `may_call`: the model is offered tools."""
        by_code, context = self._looked_up, self.context
        found = context.results[:by_code]
        sources = [*context.shown_by(found), *context.pictured]
        opening = sources_prompt(self._state, self._deps, found, sources, may_call=may_call)
        return [*opening, *round_messages(self._rounds, context.rendered()[by_code + self._dropped :])]

    def state_update(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer of the attempt, the results, and the steps of the calls that the model made."""
        state, chosen = self._state, self.context.results[len(self._state.tool_results) :]
        if not chosen:
            return changes(attempt=state.attempt.model_copy(update=answer))
        before = state.model_copy(update={"lookup_steps": [*state.lookup_steps, *map(_call_step, chosen)]})
        update = self.context.state_update(before)
        update["attempt"] = update["attempt"].model_copy(update=answer)
        return changes(**update, last_mcp_tool_used=chosen[-1].name)

    def _calls_tokens(self) -> int:
        return sum(round_tokens(reply, self._deps.counter) for reply in self._rounds)


def known_handles(state: ConversationState) -> list[str]:
    """The ids of documents with handles; before anything was found, those of the conversation in order."""
    return state.handles or [document_id for document_id, _ in state.documents]


def _call_step(result: ToolResult) -> LookupStep:
    name, error = result.name, result.error
    if error:
        return LookupStep(tool=name, status="failed", reason_code="model_call_failed", detail=error)
    return LookupStep(tool=name, reason_code="model_called", hits=result.hits)


async def ask_writer(
    messages: Sequence[BaseMessage],
    sources: Sequence[Source],
    state: ConversationState,
    deps: Deps,
    *,
    tools: Sequence[dict[str, Any]] = (),
    emit: Callable[[Event], None] | None = None,
) -> tuple[AIMessage, AnswerStream]:
    """The calls of the reply, and the stream of its text. Text that ends at its cap is an answer."""
    writer, cap = writer_of(state, deps)
    stream = AnswerStream(emit or deps.emit, sources, f"{state.question}\n{state.query}")
    reply = AIMessage("")
    pieces = writer.stream_with_tools(messages, tools, budget=deps.budget, max_tokens=cap)
    async with stream.accept_cut(cap), aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, str):
                stream.write(piece)
            else:
                reply = piece
    stream.finish()
    return reply, stream


def _unseen(_: Event) -> None:
    """Takes the events of a reply that is not shown."""


def _selects_contexts(name: str, state: ConversationState) -> bool:
    """Whether the tool can search some contexts, and the turn covers others than the focus."""
    if state.scope is None or not state.scope.has_far_places:
        return False
    functions = [tool["function"] for tool in state.tools if tool["function"]["name"] == name]
    return any(CONTEXT in function["parameters"].get("properties", {}) for function in functions)


def _usual_selection(name: str, results: Sequence[ToolResult]) -> str:
    """The focus first; a model that calls the tool again without saying where did not find enough there."""
    asked = any(result.name == name and result.arguments.get(CONTEXT) == FOCUS for result in results)
    return ALL if asked else FOCUS


async def _run(
    call: ToolCall, schemas: Schemas, context: ToolContext, state: ConversationState, deps: Deps
) -> ToolResult:
    """One call of the model; a failure becomes a result that the model reads and the user sees."""
    name = call["name"]
    try:
        if name not in schemas:
            raise OrcError(f"There is no tool {name}.", code="unknown_tool")
        given, changed = within_limits(call["args"], schemas[name])
        given = with_handles(given, context.handles, state.documents)
        arguments = context.handles.resolve(given)
        if _selects_contexts(name, state):
            arguments[CONTEXT] = arguments.get(CONTEXT) or _usual_selection(name, context.results)
        if name == WEB_SEARCH:
            arguments["query"] = web_query(str(arguments.get("query", "")), state)
        result = await call_tool(name, arguments, deps, asked=call["args"])
        if changed:
            result = result.model_copy(update={"content": {**result.content, "changed": changed}})
        return result
    except OrcError as exc:
        return ToolResult(name=name, error=exc.message)
