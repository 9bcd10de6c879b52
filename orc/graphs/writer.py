"""The nodes of write_answer: a model that answers or calls tools, in a prompt of bounded size."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from pydantic import Field

from orc.events import Event, Reset, Tool
from orc.graphs.answer_stream import AnswerStream, answer_fields
from orc.graphs.models import ConversationState, Run, ToolResult, Update
from orc.graphs.prompts import round_messages, round_tokens, sources_prompt
from orc.graphs.retrieval import call_tool, web_query
from orc.graphs.tool_context import ToolContext
from orc.lookups import LookupStep
from orc.tools.ports import WEB_SEARCH
from orc.tools.schemas import CONTEXT, shown_arguments, with_handles, within_limits
from orc_core.documents.places import ALL, FOCUS
from orc_core.errors import OrcError
from orc_core.mcp_contract import TOOL_FACTS

Schemas = Mapping[str, Mapping[str, Any]]
"""The arguments of the tools that may be called, as JSON Schema, by name."""
MAX_CONCURRENT_CALLS = 8
MOST_NAMED = 20
"""Documents whose names hold what a model calls one of them."""
TOO_MANY = f"Only the first {MAX_CONCURRENT_CALLS} calls of a reply are made."


class Writing(ConversationState):
    """The state of write_answer: that of the turn, and what the model has asked for so far."""

    calling: AIMessage | None = Field(default=None, description="the reply whose calls are to be made")
    rounds: list[AIMessage] = Field(default=[], description="replies whose calls are in the prompt")
    dropped: int = Field(default=0, description="results of earlier replies, which are no longer in it")
    asked: int = Field(default=0, description="how often the model was asked")
    most_asked: int = Field(default=0, description="how often it may be asked with tools at hand")
    not_found: dict[str, Any] = Field(default={}, description="the answer that its passages alone gave")
    last_source: int = 0
    left_out: int = Field(default=0, description="parts of results that did not fit")

    @property
    def may_call(self) -> bool:
        """Whether tools are offered: a model that has passages answers from them first, unless the user has
        switched on a tool that changes something."""
        known = [TOOL_FACTS.get(tool["function"]["name"]) for tool in self.tools]
        may_change = any(facts is not None and facts.kind == "update" for facts in known)
        return self.asked > 0 or may_change or not self.attempt.sources

    @property
    def looked_up(self) -> int:
        """How many of the results code has looked up, before the model called tools."""
        return len(self.tool_results) - self.dropped - sum(len(each.tool_calls) for each in self.rounds)


def route_answer(state: Writing) -> Literal["adopt_reply", "call_model"]:
    """Adopt the reply of document_chat if there is one."""
    return "adopt_reply" if state.document_reply is not None else "call_model"


async def adopt_reply(state: Writing, run: Run) -> Update:  # noqa: ARG001
    """The tools server has written and checked this answer, whose text was emitted on arrival."""
    reply = state.document_reply
    assert reply is not None
    checks = reply.metadata.grounding
    grounding = None if checks.is_talk else checks
    answer = {"answer": reply.answer, "citations": reply.citations, "grounding": grounding}
    return {"attempt": state.attempt.model_copy(update=answer)}


async def call_model(state: Writing, run: Run) -> Update:
    """Let the model answer or call tools; without tools if there are none, or no calls left for them.

    A model that has passages answers from them, and is offered tools only if they lack the answer. What it
    then says without a call is no better. The last model call of the turn is for an answer without tools.
    """
    most = state.most_asked or run.context.settings.max_tool_rounds + (not state.may_call)
    if not state.tools or state.asked >= most or run.context.budget.calls_left <= 1:
        if state.not_found:
            return _answered(state, state.not_found, run)
        prompt = sources_prompt(state, run, state.tool_results, state.attempt.sources)
        _, stream = await _ask(prompt, state, run, emit=run.emit)
        return _answered(state, answer_fields(stream, state.tool_results, state), run)
    # The question, what code looked up for it, and the model's rounds of calls with their results.
    found = state.tool_results[: state.looked_up]
    context = ToolContext(run, results=found, sources=state.attempt.sources, handles=known_handles(state))
    sources = [*context.shown, *context.pictured]
    prompt = sources_prompt(state, run, found, sources, may_call=state.may_call)
    prompt += round_messages(state.rounds, state.tool_results[state.looked_up + state.dropped :])
    # A reply that is not shown has no events.
    emit = (lambda _: None) if state.not_found else run.emit
    tools = state.tools if state.may_call else []
    reply, stream = await _ask(prompt, state, run, tools=tools, emit=emit)
    update: Update = {"asked": state.asked + 1, "most_asked": most}
    if reply.tool_calls or reply.invalid_tool_calls:
        if stream.text or state.not_found:
            run.emit(Reset(reason="The model went on to use tools."))
        return {**update, "calling": reply, "not_found": {}}
    answer = state.not_found or answer_fields(stream, state.tool_results, state)
    if state.may_call or not (answer["grounding"] and answer["grounding"].not_found):
        return _answered(state, answer, run)
    return {**update, "not_found": answer}


def route_reply(state: Writing) -> Literal["run_tools", "call_model", "__end__"]:
    """Make the calls of the reply, or ask again with tools if the passages lack the answer."""
    if state.answer is not None or state.attempt.failure is not None:
        return "__end__"
    return "run_tools" if state.calling else "call_model"


def route_results(state: Writing) -> Literal["call_model", "__end__"]:
    """Ask the model again with the results, unless the attempt has failed."""
    return "call_model" if state.attempt.failure is None else "__end__"


async def run_tools(state: Writing, run: Run) -> Update:
    """Make the calls of the model's reply, and add their results to the prompt.

    If the prompt exceeds the token budget, results of the oldest rounds are dropped first; if the calls alone
    take half of the budget, whole rounds are. What code looked up stays: its best parts in half of the
    budget.
    """
    reply = state.calling
    assert reply is not None
    context = ToolContext(
        run,
        results=state.tool_results,
        sources=state.attempt.sources,
        handles=known_handles(state),
        last=state.last_source,
    )
    made = await _make_calls(reply.tool_calls, context, state, run)
    rounds, dropped, counter = [*state.rounds, reply], state.dropped, run.resources.counter
    budget = run.context.settings.retrieval_tokens
    while len(rounds) > 1 and sum(round_tokens(each, counter) for each in rounds) > budget // 2:
        dropped += len(rounds.pop(0).tool_calls)
    budget -= sum(round_tokens(each, counter) for each in rounds)
    context.shorten_first(state.looked_up, budget // 2)
    await context.add(made, budget)
    context.evict_oldest(budget, shown=state.looked_up, dropped=dropped)
    added = context.results[len(state.tool_results) :]
    steps = [*state.lookup_steps, *map(_call_step, added)]
    return {
        **context.state_update(state),
        "lookup_steps": steps,
        "left_out": state.left_out + context.left_out,
        "last_mcp_tool_used": added[-1].name if added else state.last_mcp_tool_used,
        "last_source": context.last,
        "calling": None,
        "rounds": rounds,
        "dropped": dropped,
    }


def _answered(state: Writing, answer: dict[str, Any], run: Run) -> Update:
    """The answer of the attempt, and what it was written without."""
    steps = [*state.lookup_steps]
    if state.left_out:
        tokens = run.context.settings.retrieval_tokens
        steps.append(LookupStep(tool="", reason_code="left_out", hits=state.left_out, tokens=tokens))
    if state.plan and state.plan.looks_up and not state.tool_results and not state.earlier:
        steps.append(LookupStep(tool="", reason_code="not_looked_up"))
    return {"attempt": state.attempt.model_copy(update=answer), "lookup_steps": steps}


async def _ask(
    messages: Sequence[BaseMessage],
    state: Writing,
    run: Run,
    *,
    emit: Callable[[Event], None],
    tools: Sequence[dict[str, Any]] = (),
) -> tuple[AIMessage, AnswerStream]:
    """The calls of the reply, and the stream of its text. Text that ends at its cap is an answer."""
    writer, cap = run.writer_of(state)
    stream = AnswerStream(emit, state.attempt.sources, f"{state.question}\n{state.query}")
    reply = AIMessage("")
    pieces = writer.stream_with_tools(messages, tools, budget=run.context.budget, max_tokens=cap)
    async with stream.accept_cut(cap), aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, str):
                stream.write(piece)
            else:
                reply = piece
    stream.finish()
    return reply, stream


def known_handles(state: ConversationState) -> list[str]:
    """The ids of documents with handles; before anything was found, those of the conversation in order."""
    return state.handles or [document_id for document_id, _ in state.documents]


def _call_step(result: ToolResult) -> LookupStep:
    name, error = result.name, result.error
    if error:
        return LookupStep(tool=name, status="failed", reason_code="model_call_failed", detail=error)
    return LookupStep(tool=name, reason_code="model_called", hits=result.hits)


async def _make_calls(
    calls: Sequence[ToolCall], context: ToolContext, state: Writing, run: Run
) -> list[ToolResult]:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in state.tools}
    first, others = calls[:MAX_CONCURRENT_CALLS], calls[MAX_CONCURRENT_CALLS:]
    made = await asyncio.gather(*(_make_call(call, schemas, context, state, run) for call in first))
    return [*made, *(ToolResult(name=call["name"], error=TOO_MANY) for call in others)]


async def _make_call(
    call: ToolCall, schemas: Schemas, context: ToolContext, state: Writing, run: Run
) -> ToolResult:
    """One call of the model; a failure becomes a result that the model reads and the user sees."""
    name = call["name"]
    try:
        arguments, changed = await _resolved(call, schemas, context, state, run)
    except OrcError as exc:
        shown = shown_arguments(call["args"])
        run.emit(Tool(name=name, status="failed", message=exc.message, code=exc.code, arguments=shown))
        return ToolResult(name=name, error=exc.message)
    try:
        if state.scope and state.scope.has_far_places and CONTEXT in schemas[name].get("properties", {}):
            # The focus first; a model that calls the tool again without saying where has not found enough.
            calls = [each.arguments for each in context.results if each.name == name]
            usual = ALL if any(each.get(CONTEXT) == FOCUS for each in calls) else FOCUS
            arguments[CONTEXT] = arguments.get(CONTEXT) or usual
        if name == WEB_SEARCH:
            arguments["query"] = web_query(str(arguments.get("query", "")), state)
        result = await call_tool(name, arguments, run, asked=call["args"])
        if changed:
            result = result.model_copy(update={"content": {**result.content, "changed": changed}})
        return result
    except OrcError as exc:
        return ToolResult(name=name, error=exc.message)


async def _resolved(
    call: ToolCall, schemas: Schemas, context: ToolContext, state: Writing, run: Run
) -> tuple[dict[str, Any], list[str]]:
    """The arguments of a call with ids for handles and file names, and what was put right in them.

    Raises OrcError for an unknown tool, handle or file.
    """
    if call["name"] not in schemas:
        raise OrcError(f"There is no tool {call['name']}.", code="unknown_tool")
    given, changed = within_limits(call["args"], schemas[call["name"]])
    known = with_handles(given, context.handles, state.documents)
    if (named := known.get("document")) and not context.handles.knows(named) and run.context.accessible:
        # A file of a context: only the tools server has a list of all.
        page = await run.resources.library.page(run.context.accessible, limit=MOST_NAMED, name=str(named))
        known = with_handles(
            given, context.handles, [(each.document_id, each.blob_name) for each in page.documents]
        )
    return context.handles.resolve(known), changed
