"""Tool calls as OpenTelemetry's conventions for MCP have them, where they are made and where they are served.

MCP's library makes spans of its own, which hold messages of errors: they are not recorded. It does carry
the trace from one process to the other, in a call's `_meta`.
"""

from contextlib import AbstractContextManager

from opentelemetry.trace import Span, SpanKind

from core.infra.telemetry.spans import span, step

_CALL = {"gen_ai.operation.name": "execute_tool", "mcp.method.name": "tools/call"}


def tool_step(name: str | None) -> AbstractContextManager[Span]:
    """The span of one who calls a tool. None for a name that no tool has: a model may have made it up."""
    if name is None:
        return step("execute_tool", kind=SpanKind.CLIENT, attributes=_CALL)
    told = {**_CALL, "gen_ai.tool.name": name, "gen_ai.tool.type": "extension"}
    return step(f"execute_tool {name}", kind=SpanKind.CLIENT, attributes=told)


def tool_work() -> AbstractContextManager[Span]:
    """The span of one who is called, in the trace of the caller; see `name_tool`."""
    return span("tools/call", kind=SpanKind.SERVER, attributes=_CALL)


def name_tool(begun: Span, name: str) -> None:
    """Say which tool it was, once it is known that there is one of this name."""
    begun.update_name(f"tools/call {name}")
    begun.set_attribute("gen_ai.tool.name", name)
