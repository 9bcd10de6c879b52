"""How functions become MCP tools: shared arguments, results and errors.

A failure is `{code, message, retryable, dependency}`, without a stack or a cause.
"""

import asyncio
import functools
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from opentelemetry.trace import get_current_span
from pydantic import BaseModel, Field

from orc_core.documents.scope import Scope
from orc_core.errors import INTERNAL, OrcError
from orc_core.grounding.models import WrittenMark
from orc_core.infra.exhaustion import exhausted
from orc_core.infra.telemetry.spans import fail
from orc_core.mcp_contract import (
    MAX_QUERY_CHARACTERS,
    MAX_QUESTION_CHARACTERS,
    STREAM_META_KEY,
    TOOL_FACTS,
    MarkDelta,
    Progress,
    StatusLine,
    TextDelta,
    ToolFacts,
    ToolFailure,
    tool_progress,
    without_nulls,
)

logger = logging.getLogger(__name__)

MIN_SECONDS_BETWEEN_STATUS = 0.25

SILENT_SECONDS = 4.0
"""After this long without a notification one is sent: clients give up on calls that are silent."""


class CallProgress:
    """Sends the progress notifications of one call, if the caller asked for them.

    While the context is open, the last step is reported again whenever nothing was for `SILENT_SECONDS`.
    """

    def __init__(
        self,
        context: Context[None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._context = context
        self._clock, self._sleep = clock, sleep
        self._begun = self._last_sent = clock()
        self._now_at = StatusLine(message="Working")
        self._sent = 0
        self._last_status = float("-inf")
        self._pending: set[asyncio.Task[None]] = set()
        self._beat: asyncio.Task[None] | None = None
        self.streaming = bool((context.request_context.meta or {}).get(STREAM_META_KEY))

    async def __aenter__(self) -> "CallProgress":
        self._beat = asyncio.create_task(self._repeat_when_silent())
        self._beat.add_done_callback(self._settle)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._beat is not None:
            self._beat.cancel()
            await asyncio.gather(self._beat, *self._pending, return_exceptions=True)

    async def _repeat_when_silent(self) -> None:
        while True:
            silent = self._clock() - self._last_sent
            if silent < SILENT_SECONDS:
                await self._sleep(SILENT_SECONDS - silent)
                continue
            line = f"{self._now_at.message} ({self._clock() - self._begun:.0f} s)"
            await self._send(self._now_at.model_copy(update={"message": line}), line)

    def working(self, done: int, total: int, message: str) -> None:
        """Report a step without waiting; at most four a second are sent, each before what follows it."""
        status = StatusLine(
            message=f"{message} ({done} of {total})" if total else message, done=done, total=total
        )
        now, self._now_at = self._clock(), status
        if now - self._last_status < MIN_SECONDS_BETWEEN_STATUS:
            return
        self._last_status = now
        task = asyncio.ensure_future(self._send(status, status.message))
        self._pending.add(task)
        task.add_done_callback(self._settle)

    def _settle(self, task: asyncio.Task[None]) -> None:
        """Forget a notification; the call does not fail if the notification could not be sent."""
        self._pending.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.info("a progress notification was not sent: %s", type(error).__name__)

    async def text(self, delta: str) -> None:
        """Send text of the answer to a caller that streams."""
        self._now_at = StatusLine(message="Writing the answer")
        if self.streaming:
            await asyncio.gather(*self._pending, return_exceptions=True)
            await self._send(TextDelta(text=delta), delta)

    async def marks(self, marks: Sequence[WrittenMark]) -> None:
        """Send markers of the text so far to a caller that streams; others read them in the result."""
        if self.streaming:
            for each in marks:
                await self._send(MarkDelta.model_validate(each.model_dump()), "")

    async def _send(self, typed: Progress, plain: str) -> None:
        self._sent += 1
        self._last_sent = self._clock()
        message = tool_progress.dump_json(typed).decode() if self.streaming else plain
        await self._context.report_progress(self._sent, message=message)


ERRORS_META_KEY = "orc/errors"
"""Key in a tool's `_meta`: the error codes of this tool, besides those of every tool."""

CallScope = Callable[[], Scope]
"""Returns the scope of the current call."""
Arguments = ParamSpec("Arguments")
Tool = Callable[Arguments, Awaitable[CallToolResult]]


def offer(
    server: MCPServer[None], *errors: str, facts: ToolFacts | None = None
) -> Callable[[Tool[Arguments]], Tool[Arguments]]:
    """Registers a function as the tool of its name, with the title and kind of TOOL_FACTS.

    Its docstring is the description for models, `errors` are its additional error codes. `facts` replace
    those of TOOL_FACTS.
    """

    def register(tool: Tool[Arguments]) -> Tool[Arguments]:
        known = facts or TOOL_FACTS[tool.__name__]
        only_reads = known.kind == "read"
        annotations = ToolAnnotations(
            read_only_hint=only_reads,
            destructive_hint=False,
            idempotent_hint=only_reads,
            open_world_hint=known.external,
        )
        # Below Python 3.13 a docstring has the indentation of its source.
        return server.tool(
            title=known.title,
            description=inspect.getdoc(tool),
            annotations=annotations,
            meta={ERRORS_META_KEY: sorted(errors)},
        )(reports_failures(tool))

    return register


ContextName = Annotated[
    str,
    Field(
        max_length=64,
        description="which contexts: `all`; `focus` (the session and what belongs to the focus); `others`;"
        " or the handle of one, such as `c1`",
    ),
]
"""The contexts that a call selects in its scope. It cannot add any: see Accessible.narrowed."""
MAX_ID_CHARACTERS = 300
"""Enough for the longest file name with a page number."""

DocumentId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="id or file name, from documents_list or a search",
    ),
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
    content = [TextContent(text=ToolFailure.model_validate(error, from_attributes=True).model_dump_json())]
    return CallToolResult(is_error=True, content=content)


def reports_failures(tool: Tool[Arguments]) -> Tool[Arguments]:
    """Converts our errors into results; other exceptions are logged and returned as `internal`."""

    @functools.wraps(tool)
    async def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> CallToolResult:
        try:
            return await tool(*args, **kwargs)
        except OrcError as exc:
            return failure(exc)
        except Exception as exc:
            if (ours := exhausted(exc)) is not None:
                logger.warning("tool %s failed: %s", tool.__name__, ours.code)
                return failure(ours)
            logger.exception("tool %s failed", tool.__name__)
            return failure(OrcError("The tool failed unexpectedly.", code=INTERNAL))

    return guarded


def document_line(filename: str, document_id: str) -> str:
    """A document as the text of a result names it."""
    return f"{filename} (document_id {document_id})"


def page_line(filename: str, number: int, page_id: str) -> str:
    """A page as the text of a result names it. Its id starts with the document's."""
    return f"{filename}, page {number} (page_id {page_id})"


def success(result: BaseModel, text: str) -> CallToolResult:
    """A typed result, with `text` for clients that give a model only the text: it names documents and pages
    by their ids, so that the model can use them in further calls."""
    content = without_nulls(result.model_dump(mode="json"))
    return CallToolResult(content=[TextContent(text=text)], structured_content=content)
