"""The graph of a turn: nodes, edges and the routers between them."""

from collections.abc import Awaitable, Callable
from functools import cache, wraps
from typing import Any, Literal, TypeVar

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from core.infra.telemetry.spans import traced
from orc.graphs.answer_writer import return_state, write_answer
from orc.graphs.context_builder import build_context, recall_context
from orc.graphs.critic import critique
from orc.graphs.mcp_executor import call_tools
from orc.graphs.models import ConversationState, Deps
from orc.graphs.query_planner import plan_query
from orc.graphs.revision import end_revision

RECURSION_LIMIT = 40
"""More steps than six attempts at an answer need; a router with a bug ends the turn here."""

Next = TypeVar("Next")
TurnGraph = CompiledStateGraph[ConversationState, Deps, Any, Any]


@cache
def compile_graph() -> TurnGraph:
    """Compile the graph, once per process, since it holds no state of a turn.

    `end_revision` handles the errors of the nodes that make an attempt: it raises those of the first attempt
    and goes on to critique after those of a revision.
    """
    graph = StateGraph(ConversationState, context_schema=Deps)
    graph.add_node("recall_context", traced(recall_context))
    graph.add_node("plan_query", traced(plan_query))
    graph.add_node("call_tools", traced(call_tools), error_handler=end_revision)
    graph.add_node("build_context", traced(build_context), error_handler=end_revision)
    graph.add_node("write_answer", traced(write_answer), error_handler=end_revision)
    graph.add_node("critique", traced(critique))
    graph.add_node("return_state", traced(return_state))

    graph.add_edge(START, "recall_context")
    graph.add_edge("recall_context", "plan_query")
    graph.add_conditional_edges("plan_query", _in_place(after_plan), ["call_tools", "build_context"])
    graph.add_edge("call_tools", "build_context")
    graph.add_edge("build_context", "write_answer")
    graph.add_edge("write_answer", "critique")
    graph.add_conditional_edges(
        "critique", _in_place(after_critique), ["return_state", "build_context", "call_tools"]
    )
    graph.add_edge("return_state", END)
    return graph.compile()


def _in_place(router: Callable[[ConversationState], Next]) -> Callable[[ConversationState], Awaitable[Next]]:
    """The router as a coroutine: the graph runs plain functions in threads, which takes longer than these."""

    @wraps(router)
    async def route(state: ConversationState) -> Next:
        return router(state)

    return route


def after_plan(state: ConversationState) -> Literal["call_tools", "build_context"]:
    """Call tools if documents are named or the plan looks something up."""
    assert state.plan is not None
    return "call_tools" if state.blob_names or state.plan.looks_up else "build_context"


def after_critique(state: ConversationState) -> Literal["return_state", "build_context", "call_tools"]:
    """Return the answer, or make the attempt that the critic asked for.

    document_chat revises its own answers, because only the tools server has read the documents.
    """
    revision = state.attempt.revision
    if revision is None or state.answer is not None:
        return "return_state"
    return "call_tools" if revision.read_more or state.blob_names else "build_context"
