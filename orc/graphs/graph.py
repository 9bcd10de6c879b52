"""The graph of a turn: nodes and edges, nothing else."""

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from core.infra.telemetry.spans import traced
from orc.graphs.answer_writer import return_state, write_answer
from orc.graphs.context_builder import build_context, recall_context
from orc.graphs.critic import critique
from orc.graphs.mcp_executor import call_tools
from orc.graphs.models import ConversationState, Deps
from orc.graphs.query_planner import plan_query
from orc.graphs.revision import in_attempt

RECURSION_LIMIT = 40
"""Above what six attempts at an answer take; a bug in a route ends here, and not never."""

TurnGraph = CompiledStateGraph[ConversationState, Deps, Any, Any]


def compile_graph() -> TurnGraph:
    """The compiled graph; made once per process, since it holds no state of a turn."""
    graph = StateGraph(ConversationState, context_schema=Deps)
    graph.add_node("recall_context", traced(recall_context))
    graph.add_node("plan_query", traced(plan_query))
    graph.add_node("call_tools", traced(in_attempt(call_tools)))
    graph.add_node("build_context", traced(in_attempt(build_context)))
    graph.add_node("write_answer", traced(in_attempt(write_answer)))
    graph.add_node("critique", traced(critique))
    graph.add_node("return_state", traced(return_state))

    graph.add_edge(START, "recall_context")
    graph.add_edge("recall_context", "plan_query")
    graph.add_conditional_edges("plan_query", route_decision, ["call_tools", "build_context"])
    graph.add_edge("call_tools", "build_context")
    graph.add_edge("build_context", "write_answer")
    graph.add_edge("write_answer", "critique")
    graph.add_conditional_edges("critique", after_critique, ["return_state", "write_answer", "call_tools"])
    graph.add_edge("return_state", END)
    return graph.compile()


def route_decision(state: ConversationState) -> Literal["call_tools", "build_context"]:
    """To the tools whenever something is to be looked up."""
    assert state.plan is not None
    return "call_tools" if state.blob_names or state.plan.looks_up else "build_context"


def after_critique(state: ConversationState) -> Literal["return_state", "write_answer", "call_tools"]:
    """Out, or once more: with what was found before, or with more.

    What document_chat has answered, document_chat revises: it alone has read the documents.
    """
    verdict = state.verdicts[-1] if state.verdicts else None
    if verdict is None or verdict.action in ("accept", "label_unverified"):
        return "return_state"
    return "call_tools" if verdict.action == "retrieve" or state.blob_names else "write_answer"
