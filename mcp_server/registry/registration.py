"""What all tools have in common: they read only, and say which errors they may end in."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec

from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations

from core.documents.scope import Scope
from mcp_server.errors import reports_failures

ERRORS_META_KEY = "orc/errors"
"""In a tool's `_meta`: the codes of the errors of its own, beside those that any tool may end in."""
READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

CallScope = Callable[[], Scope]
"""Gives the scope of the call that is being served."""
Arguments = ParamSpec("Arguments")
Tool = Callable[Arguments, Awaitable[CallToolResult]]


def offer(
    server: MCPServer[None], title: str, *errors: str, open_world: bool = False
) -> Callable[[Tool[Arguments]], Tool[Arguments]]:
    """Register a function as a tool under its own name; its docstring is the description.

    `open_world`: it asks somebody outside, to whom its arguments go.
    """

    def register(tool: Tool[Arguments]) -> Tool[Arguments]:
        meta = {ERRORS_META_KEY: sorted(errors)}
        annotations = READ_ONLY.model_copy(update={"open_world_hint": open_world})
        return server.tool(title=title, annotations=annotations, meta=meta)(reports_failures(tool))

    return register
