"""Progress notifications of a tool call: text by default, typed messages for a caller that streams."""

import asyncio
import logging
import time

from mcp.server.mcpserver import Context

from core.mcp_contract import STREAM_META_KEY, StatusLine, TextDelta, tool_progress

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
