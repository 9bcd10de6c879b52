"""The graph of a turn: its nodes, edges and routers. See docs/decisions/graph.md."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from orc.events import Citations, Contexts, Event, Revised, Route, Token
from orc.graphs.context_builder import context_event, context_of_lookups, context_of_reply
from orc.graphs.critic import (
    attempted,
    restore_earlier,
    start_revision,
    why_rejected,
    wished_verdict,
    with_coverage_gaps,
)
from orc.graphs.mcp_executor import call_document_chat, make_lookups
from orc.graphs.models import ConversationState, Resources, Run, RunContext, Update
from orc.graphs.plan_rules import documents_meant, intents_of, limit_note
from orc.graphs.query_planner import decide, recall, recalled_for
from orc.graphs.rewriting import rewrite_refuted
from orc.graphs.second_reading import read_again
from orc.graphs.writer import (
    Writing,
    adopt_reply,
    call_model,
    route_answer,
    route_reply,
    route_results,
    run_tools,
)
from orc_core.documents.unknown_files import unknown_files_note
from orc_core.grounding.rectangles import with_rectangles
from orc_core.grounding.sources import without_markers
from orc_core.infra.telemetry.spans import step
from orc_core.markdown.safe_markdown import made_safe

RECURSION_LIMIT = 40
"""More steps than six attempts at an answer need; a router with a bug ends the turn here."""

_Edges = dict[Hashable, str]
TurnGraph = CompiledStateGraph[Any, RunContext, Any, Any]


async def plan_query(state: ConversationState, run: Run) -> Update:
    """Recall what the memory holds on the question, then decide and emit the route and the plan.

    A planner that fails does not fail the turn.
    """
    recalled = await recall(state, run)
    name, retriever, plan = await decide(state.model_copy(update={"recalled": recalled}), run)
    if run.context.update_tools and not plan.looks_up:
        plan = plan.model_copy(update={"steps": ["retrieve", "answer"]})
    intent, models = intents_of(run.context.settings)[name], run.resources.models
    model = models.named(run.context.asked_model or intent.model)
    if meant := documents_meant(state, plan, run.context, may_call=run.takes_tools(model)):
        names = [state.shelf[path].blob_name for path in meant]
        retriever, plan = "document_chat", plan.model_copy(update={"documents": names})
    cap = intent.max_output_tokens
    route = Route(intent=name, model=model.name, retriever=retriever, max_output_tokens=cap)
    run.emit(route)
    if state.scope is not None:
        scope = state.scope
        event = Contexts(
            focus=scope.focus,
            active=scope.active,
            historical=scope.historical,
            left_out=scope.left_out,
            documents=state.counts,
        )
        run.emit(event)
        plan = plan.model_copy(update={"tools_off": state.scope.tools_off})
    run.emit(plan)
    update = {"recalled": recalled_for(plan, recalled, state.memory), "route": route, "plan": plan}
    return {**update, "blob_names": state.blob_names or meant}


def route_decision(state: ConversationState) -> Literal["call_tools", "build_context"]:
    """Call tools if documents are named or the plan looks something up."""
    assert state.plan is not None
    return "call_tools" if state.blob_names or state.plan.looks_up else "build_context"


async def call_tools(state: ConversationState, run: Run) -> Update:
    """Gather: the reply of document_chat if documents are named, else the lookups of the plan."""
    return await (call_document_chat if state.blob_names else make_lookups)(state, run)


def route_attempt(state: ConversationState) -> Literal["made", "failed"]:
    """Go on with an attempt, unless a step of it has failed: the answer before it is given then."""
    return "made" if state.attempt.failure is None else "failed"


async def build_context(state: ConversationState, run: Run) -> Update:
    """Number and fence what the tools found, within the token budget, and emit the `context` event."""
    if state.document_reply is not None:
        update = context_of_reply(state.document_reply)
    else:
        update = await context_of_lookups(state, run)
    run.emit(context_event(state, update["context_budget"], run))
    return update


async def critique(state: ConversationState, run: Run) -> Update:
    """Judge the attempt, and say how the turn goes on. Talk has no grounding and is not judged."""
    reading = await read_again(state, run)
    attempt = reading.attempt
    if attempt.grounding is not None:
        attempt = attempt.model_copy(update={"grounding": with_coverage_gaps(attempt.grounding, state)})
        state = state.model_copy(update={"attempt": attempt})
    if why := why_rejected(state):
        return restore_earlier(state, run, why)
    if attempt.grounding is None:
        return {}
    verdict = wished_verdict(state, attempt.grounding, reading, run)
    run.emit(verdict)
    judged = attempt.model_copy(update={"verdict": verdict})
    if verdict.action in ("revise", "retrieve"):
        return start_revision(state, run, judged, reading.judgement.query if reading.judgement else "")
    return {"attempt": judged}


def route_verdict(state: ConversationState) -> Literal["return_state", "rewrite_sentences", "call_tools"]:
    """Return the answer, or make the attempt that the verdict on the one before asks for."""
    if not state.earlier or state.attempt.verdict is not None:
        return "return_state"
    return "call_tools" if state.is_second_retrieval else "rewrite_sentences"


async def rewrite_sentences(state: ConversationState, run: Run) -> Update:
    """Ask once for all refuted sentences, and replace them in place. Raises OrcError if none is replaced."""
    made, corrections = await rewrite_refuted(state, run)
    run.emit(Revised(answer=made.answer, citations=made.citations, corrections=corrections))
    return {"attempt": state.attempt.model_copy(update=made._asdict())}


async def return_state(state: ConversationState, run: Run) -> Update:
    """Say which files were missing, not searched or read alone, and emit the citations with their places."""
    attempt = state.attempt
    if note := files_note(state):
        attempt = attempt.model_copy(update={"answer": f"{attempt.answer}\n\n{note}"})
        run.emit(Token(text=f"\n\n{note}"))
    if attempt.grounding is None:
        return {"attempt": attempt}
    citations = attempt.citations
    if attempt.sources:
        citations = await with_rectangles(citations, attempt.sources, run.resources.library.page_boxes)
    run.emit(Citations(citations=citations))
    return {"attempt": attempt.model_copy(update={"citations": citations})}


def files_note(state: ConversationState) -> str:
    """What is said behind the answer of the files that the question names, and of what was not searched."""
    looked_up = state.plan is not None and state.plan.looks_up
    cited = {each.blob_name for each in state.attempt.citations}
    left_out = state.not_searched.without(cited)
    said = left_out.sentences(state.question, is_found=bool(cited))
    missing = [unknown_files_note(state.unknown_files, state.question), limit_note(state)]
    # Names of files come from users: they neither link nor imitate a citation.
    return made_safe(without_markers(" ".join(filter(None, [*missing, *(said if looked_up else ())]))))


def build_graph(resources: Resources) -> TurnGraph:
    """The graph of all turns of a process, since it holds no state of a turn."""
    graph = StateGraph(ConversationState, context_schema=RunContext)
    for node in (plan_query, critique, return_state):
        graph.add_node(node.__name__, _bound(node, resources))
    for node in (call_tools, build_context, rewrite_sentences):
        graph.add_node(node.__name__, _bound(attempted(node), resources))
    graph.add_node("write_answer", build_writer(resources))

    graph.add_edge(START, "plan_query")
    graph.add_conditional_edges("plan_query", _in_place(route_decision), ["call_tools", "build_context"])
    after_tools: _Edges = {"made": "build_context", "failed": "critique"}
    graph.add_conditional_edges("call_tools", _in_place(route_attempt), after_tools)
    after_context: _Edges = {"made": "write_answer", "failed": "critique"}
    graph.add_conditional_edges("build_context", _in_place(route_attempt), after_context)
    graph.add_edge("write_answer", "critique")
    after_critique = ["return_state", "rewrite_sentences", "call_tools"]
    graph.add_conditional_edges("critique", _in_place(route_verdict), after_critique)
    graph.add_edge("rewrite_sentences", "critique")
    graph.add_edge("return_state", END)
    return graph.compile()


def build_writer(resources: Resources) -> TurnGraph:
    """write_answer, the only node that makes an answer: a model with its tools, or document_chat's reply."""
    writer = StateGraph(Writing, context_schema=RunContext)
    for node in (adopt_reply, call_model, run_tools):
        writer.add_node(node.__name__, _bound(attempted(node), resources), input_schema=Writing)
    writer.add_conditional_edges(START, _in_place(route_answer), ["adopt_reply", "call_model"])
    writer.add_edge("adopt_reply", END)
    writer.add_conditional_edges("call_model", _in_place(route_reply), ["run_tools", "call_model", END])
    writer.add_conditional_edges("run_tools", _in_place(route_results), ["call_model", END])
    return writer.compile()


async def run_graph(
    graph: TurnGraph, state: ConversationState, context: RunContext, emit: Callable[[Event], None]
) -> ConversationState:
    """The state at the end of a turn, whose events are passed on as they come."""
    values: Any = {}
    limit: Any = {"recursion_limit": RECURSION_LIMIT}
    modes: Any = ["custom", "values"]
    stream = graph.astream(state, limit, context=context, stream_mode=modes, subgraphs=True)
    root: Any = None
    async for place, _mode, chunk in stream:
        if isinstance(chunk, Event):
            emit(chunk)
        elif root in (None, place):
            # Its own values come before those of write_answer, also if it runs inside of another graph.
            root, values = place, chunk
    return ConversationState.model_validate(values)


def _bound(node: Callable[[Any, Run], Awaitable[Update]], resources: Resources) -> Any:
    """The node over these resources, as a step of a trace; LangGraph has no public type for it.

    LangGraph drops a name that is no field of the state: it raises KeyError here.
    """

    async def bound(state: ConversationState, runtime: Runtime[RunContext]) -> Update:
        with step(node.__name__):
            update = await node(state, Run(resources, runtime.context, runtime.stream_writer))
        if unknown := update.keys() - type(state).model_fields.keys():
            raise KeyError(f"not part of the state: {', '.join(sorted(unknown))}")
        return update

    return bound


def _in_place(router: Callable[[Any], str]) -> Any:
    """The router as a coroutine: the graph runs plain functions in threads, which takes longer than these."""

    async def route(state: Any) -> str:
        return router(state)

    return route
