"""How functions become read-only MCP tools: shared arguments, results and errors.

A failure is `{code, message, retryable, dependency}`, without a stack or a cause.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from opentelemetry.trace import get_current_span
from pydantic import BaseModel, Field

from core.documents.scope import Scope
from core.errors import INTERNAL, OrcError
from core.infra.telemetry.spans import fail
from core.mcp_contract import (
    MAX_QUERY_CHARACTERS,
    MAX_QUESTION_CHARACTERS,
    STREAM_META_KEY,
    StatusLine,
    TextDelta,
    ToolFailure,
    tool_progress,
)

logger = logging.getLogger(__name__)

MIN_SECONDS_BETWEEN_STATUS = 0.25


class CallProgress:
    """Sends the progress notifications of one call, if the caller asked for them."""

    def __init__(self, context: Context[None]) -> None:
        self._context = context
        self._sent = 0
        self._last_status = 0.0
        self._pending: set[asyncio.Task[None]] = set()
        self.streaming = bool((context.request_context.meta or {}).get(STREAM_META_KEY))

    def working(self, done: int, total: int, message: str) -> None:
        """Report a step without waiting; at most four a second are sent."""
        now = time.monotonic()
        if now - self._last_status < MIN_SECONDS_BETWEEN_STATUS:
            return
        self._last_status = now
        line = f"{message} ({done} of {total})" if total else message
        task = asyncio.ensure_future(self._send(StatusLine(message=line), line))
        self._pending.add(task)
        task.add_done_callback(self._settle)

    def _settle(self, task: asyncio.Task[None]) -> None:
        """Forget a notification; the call does not fail if the notification could not be sent."""
        self._pending.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.info("a progress notification was not sent: %s", type(error).__name__)

    async def text(self, delta: str) -> None:
        """Send text of the answer to a caller that streams."""
        if self.streaming:
            await self._send(TextDelta(text=delta), delta)

    async def _send(self, typed: StatusLine | TextDelta, plain: str) -> None:
        self._sent += 1
        message = tool_progress.dump_json(typed).decode() if self.streaming else plain
        await self._context.report_progress(self._sent, message=message)


ERRORS_META_KEY = "orc/errors"
"""Key in a tool's `_meta`: the error codes of this tool, besides those of every tool."""
READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

CallScope = Callable[[], Scope]
"""Returns the scope of the current call."""
Arguments = ParamSpec("Arguments")
Tool = Callable[Arguments, Awaitable[CallToolResult]]


def offer(
    server: MCPServer[None], title: str, *errors: str, open_world: bool = False
) -> Callable[[Tool[Arguments]], Tool[Arguments]]:
    """Register a function as a tool under its own name; its docstring is the description.

    `open_world`: it sends its arguments to an external service.
    """

    annotations = READ_ONLY.model_copy(update={"open_world_hint": open_world})
    register = server.tool(title=title, annotations=annotations, meta={ERRORS_META_KEY: sorted(errors)})
    return lambda tool: register(reports_failures(tool))


MAX_ID_CHARACTERS = 200

DocumentId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="from documents_list or a search")
]
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]
PageId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="from a search")]
Query = Annotated[
    str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="a question or words to look for")
]


def failure(error: OrcError) -> CallToolResult:
    """The result of a tool that failed in a way that the caller should know.

    The failure is JSON in the text: clients validate structured content against the tool's output schema
    even for errors, and would show a mismatch instead of the failure.
    """
    fail(get_current_span(), error)
    dependency = getattr(error, "dependency", None)
    content = ToolFailure(
        code=error.code, message=error.message, retryable=error.retryable, dependency=dependency
    )
    return CallToolResult(is_error=True, content=[TextContent(text=content.model_dump_json())])


def reports_failures(tool: Tool[Arguments]) -> Tool[Arguments]:
    """Converts our errors into results; other exceptions are logged and returned as `internal`."""

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
    """A typed result, with `text` for clients that show plain content."""
    return CallToolResult(content=[TextContent(text=text)], structured_content=result.model_dump(mode="json"))
