"""The graph of a turn: nodes, edges and the routers between them. See docs/decisions/graph.md."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, TypeVar

from langgraph.channels import BinaryOperatorAggregate
from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from orc.graphs.answer_writer import return_state, write_answer
from orc.graphs.context_builder import build_context
from orc.graphs.critic import critique
from orc.graphs.mcp_executor import call_tools
from orc.graphs.models import ConversationState, Deps, with_changes
from orc.graphs.query_planner import plan_query
from orc.graphs.revision import end_revision
from orc.graphs.rewriting import rewrite_sentences
from orc_core.infra.telemetry.spans import traced

RECURSION_LIMIT = 40
"""More steps than six attempts at an answer need; a router with a bug ends the turn here."""


# LangGraph calls the type of a channel to make an empty value for each copy. `Any` cannot be called, so that
# step is skipped.
_TURN = BinaryOperatorAggregate[Any](Any, with_changes)


class Channels(TypedDict):
    """The channels of the graph: one, as each is versioned, copied and read again for each node."""

    turn: Annotated[ConversationState, _TURN]


Next = TypeVar("Next")
Update = dict[str, Any]
Node = Callable[[ConversationState, Runtime[Deps]], Coroutine[Any, Any, Update]]
TurnGraph = CompiledStateGraph[Channels, Deps, Any, Any]


@cache
def compile_graph() -> TurnGraph:
    """Compile the graph, once per process, since it holds no state of a turn.

    `end_revision` handles the errors of the nodes that make an attempt: it raises those of the first attempt
    and goes on to critique after those of a revision.
    """
    graph = StateGraph(Channels, context_schema=Deps)
    graph.add_node("plan_query", _of_turn(plan_query))
    graph.add_node("call_tools", _of_turn(call_tools), error_handler=_then_critique(end_revision))
    graph.add_node("build_context", _of_turn(build_context), error_handler=_then_critique(end_revision))
    graph.add_node("write_answer", _of_turn(write_answer), error_handler=_then_critique(end_revision))
    graph.add_node("critique", _of_turn(critique))
    graph.add_node(
        "rewrite_sentences", _of_turn(rewrite_sentences), error_handler=_then_critique(end_revision)
    )
    graph.add_node("return_state", _of_turn(return_state))

    graph.add_edge(START, "plan_query")
    graph.add_conditional_edges("plan_query", _in_place(after_plan), ["call_tools", "build_context"])
    graph.add_edge("call_tools", "build_context")
    graph.add_edge("build_context", "write_answer")
    graph.add_edge("write_answer", "critique")
    graph.add_conditional_edges(
        "critique", _in_place(after_critique), ["return_state", "rewrite_sentences", "call_tools"]
    )
    graph.add_edge("rewrite_sentences", "critique")
    graph.add_edge("return_state", END)
    return graph.compile()


async def run_graph(graph: TurnGraph, turn: ConversationState, deps: Deps) -> ConversationState:
    """The state at the end of a turn."""
    limit: Any = {"recursion_limit": RECURSION_LIMIT}
    output = await graph.ainvoke({"turn": turn}, limit, context=deps, version="v2")
    return output.value["turn"]  # type: ignore[no-any-return]


def _of_turn(node: Node) -> Any:
    """The node over the graph's channels, as a step of a trace; LangGraph has no public type for it."""
    step = traced(node)

    async def run(channels: Channels, runtime: Runtime[Deps]) -> Update:
        return {"turn": await step(channels["turn"], runtime)}

    return run


def _then_critique(handler: Callable[[ConversationState, NodeError], Update]) -> Any:
    """The handler of a node's error, which goes on to critique unless it raises."""

    async def handle(channels: Channels, error: NodeError) -> Command[Literal["critique"]]:
        return Command(goto="critique", update={"turn": handler(channels["turn"], error)})

    return handle


def _in_place(router: Callable[[ConversationState], Next]) -> Callable[[Channels], Awaitable[Next]]:
    """The router as a coroutine: the graph runs plain functions in threads, which takes longer than these."""

    async def route(channels: Channels) -> Next:
        return router(channels["turn"])

    return route


def after_plan(state: ConversationState) -> Literal["call_tools", "build_context"]:
    """Call tools if documents are named or the plan looks something up."""
    assert state.plan is not None
    return "call_tools" if state.blob_names or state.plan.looks_up else "build_context"


def after_critique(state: ConversationState) -> Literal["return_state", "rewrite_sentences", "call_tools"]:
    """Return the answer, or make the attempt that the verdict on the one before asks for."""
    if not state.earlier or state.attempt.verdict is not None:
        return "return_state"
    return "call_tools" if state.is_second_retrieval else "rewrite_sentences"
