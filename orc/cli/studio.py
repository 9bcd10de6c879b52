"""Orc in LangGraph Studio: `langgraph dev --allow-blocking` serves the API, draws the graph and runs it.

Studio's form takes a question. The turn is one as any other: in the conversation of its id, or of Studio's
thread, with the documents that were attached there, on the page for example. Named in langgraph.json.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from orc.api.app import create_app
from orc.bootstrap import App
from orc.cli.ask import CALLER
from orc.cli.ports import with_free_ports
from orc.cli.processes import tools_server, workers
from orc.events import Done, Failed, Stopped
from orc.settings import Settings
from orc.turns.requests import TurnRequest
from orc_core.errors import error_named
from orc_core.grounding.models import Citation

ANY_PORT = "http://127.0.0.1:0/mcp"


class Chat(BaseModel):
    """A question and its answer. Without an id, the conversation is that of the thread of Studio."""

    question: str
    conversation_id: str = ""
    answer: str = ""
    citations: list[Citation] = []


@asynccontextmanager
async def _opened(server: Starlette) -> AsyncIterator[None]:
    """Orc with its tools server and its workers, for as long as LangGraph's server runs."""
    settings = with_free_ports(Settings().model_copy(update={"mcp_server_url": ANY_PORT}))
    server.state.api = api = create_app(settings)
    async with tools_server(settings) as tools_are_up, workers(settings):
        await asyncio.gather(api.state.provider.get(), tools_are_up())
        try:
            yield
        finally:
            await api.state.provider.close()


async def orc_api(scope: Scope, receive: Receive, send: Send) -> None:
    """The API, which is made when the server starts."""
    await server.state.api(scope, receive, send)


server = Starlette(lifespan=_opened, routes=[Mount("/orc", orc_api)])


async def turn_graph() -> Any:
    """A node that asks as a caller of the API does; the turn is stored, and its graph runs in the node."""
    app: App = await server.state.api.state.provider.get()
    graph = app.turn_service.graph

    async def turn(state: Chat) -> dict[str, Any]:
        _ = graph  # LangGraph draws the graphs that a node refers to
        thread = get_config().get("configurable", {}).get("thread_id")
        request = TurnRequest(
            question=state.question,
            conversation_id=state.conversation_id or thread,
            stream=True,
            trace_id=uuid.uuid4().hex,
        )
        ending = await (await app.turn_service.start(request, CALLER)).last()
        match ending:
            case Done(result=result) | Stopped(result=result):
                return result.model_dump(include={"conversation_id", "answer", "citations"})
            case Failed(problem=problem):
                raise error_named(problem.code, problem.detail, dependency=problem.dependency)
            case _:
                raise AssertionError("the last event of a turn is its end")

    studio = StateGraph(Chat)
    studio.add_node("turn", turn)
    studio.add_edge(START, "turn")
    studio.add_edge("turn", END)
    return studio.compile()
