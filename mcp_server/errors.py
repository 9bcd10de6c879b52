"""Errors as tools return them: `{code, message, retryable}`, never a stack or a cause."""

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec

from mcp_types import CallToolResult, TextContent
from opentelemetry.trace import get_current_span
from pydantic import BaseModel

from core.errors import INTERNAL, OrcError
from core.infra.telemetry.spans import fail
from core.mcp_contract import ToolFailure

logger = logging.getLogger(__name__)
Arguments = ParamSpec("Arguments")


def failure(error: OrcError) -> CallToolResult:
    """The result of a tool that failed in a way that the caller should know about.

    The failure is JSON in the text: clients hold structured content against the tool's output schema,
    also where the result is an error, and then show a mismatch instead of the failure.
    """
    fail(get_current_span(), error)
    content = ToolFailure(
        code=error.code,
        message=error.message,
        retryable=error.retryable,
        dependency=getattr(error, "dependency", None),
    )
    return CallToolResult(is_error=True, content=[TextContent(text=content.model_dump_json())])


def reports_failures(
    tool: Callable[Arguments, Awaitable[CallToolResult]],
) -> Callable[Arguments, Awaitable[CallToolResult]]:
    """Turn our errors into results; anything else is logged and reaches the caller as `internal`."""

    @functools.wraps(tool)
    async def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> CallToolResult:
        try:
            return await tool(*args, **kwargs)
        except OrcError as exc:
            return failure(exc)
        except Exception:
            logger.exception("tool %s failed", tool.__name__)
            return failure(OrcError("The tool failed unexpectedly.", code=INTERNAL))

    return guarded


def success(result: BaseModel, text: str) -> CallToolResult:
    """A typed result, with `text` for callers that show plain content."""
    return CallToolResult(content=[TextContent(text=text)], structured_content=result.model_dump(mode="json"))
