"""How functions become read-only MCP tools: shared arguments, results and errors.

A failure is `{code, message, retryable, dependency}`, without a stack or a cause.
"""

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, ParamSpec

from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from opentelemetry.trace import get_current_span
from pydantic import BaseModel, Field

from core.documents.scope import Scope
from core.errors import INTERNAL, OrcError
from core.infra.telemetry.spans import fail
from core.mcp_contract import MAX_QUERY_CHARACTERS, MAX_QUESTION_CHARACTERS, ToolFailure

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

    def register(tool: Tool[Arguments]) -> Tool[Arguments]:
        meta = {ERRORS_META_KEY: sorted(errors)}
        annotations = READ_ONLY.model_copy(update={"open_world_hint": open_world})
        return server.tool(title=title, annotations=annotations, meta=meta)(reports_failures(tool))

    return register


MAX_ID_CHARACTERS = 200

DocumentId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="from documents_list or a search")
]
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]
PageId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="from a search")]
Query = Annotated[
    str,
    Field(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="a question or words to look for"),
]


logger = logging.getLogger(__name__)


def failure(error: OrcError) -> CallToolResult:
    """The result of a tool that failed in a way that the caller should know.

    The failure is JSON in the text: clients validate structured content against the tool's output schema
    even for errors, and would show a mismatch instead of the failure.
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
