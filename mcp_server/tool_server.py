"""MCPServer whose refusals are as machine-readable as the failures of its tools."""

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from core.errors import InvalidInput, OrcError
from core.infra.telemetry.calls import name_tool, tool_work
from mcp_server.errors import failure


class ToolServer(MCPServer[None]):
    """Answers arguments that do not fit, and unknown tools, with `{code, message, retryable}`."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; what keeps it from running is a result too."""
        with tool_work() as begun:
            try:
                result = await super().call_tool(name, arguments, context)
            except ToolError as exc:
                if not isinstance(exc.__cause__, ValidationError):
                    return failure(OrcError(f"The tool {name} cannot be called.", code="tool_unavailable"))
                result = failure(InvalidInput(_describe(exc.__cause__)))
            name_tool(begun, name)
            return result


def _describe(error: ValidationError) -> str:
    """Which arguments do not fit, and why, without what was in them."""
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems[:5])
