"""A gateway that waits for no restart, and does not say who failed."""

from typing import Any

from orc.tools import mcp_client as mcp_gateway
from orc.tools.mcp_client import McpToolGateway
from orc_core.errors import DependencyDown

call = McpToolGateway.call


async def untyped(self: McpToolGateway, *given: Any, **options: Any) -> Any:
    try:
        return await call(self, *given, **options)
    except DependencyDown as exc:
        raise RuntimeError("planted") from exc


setattr(McpToolGateway, "call", untyped)  # noqa: B010 - a plain assignment would not be typed
mcp_gateway.RESTART_SECONDS = 0.0
