"""One call of a tool, shown as it goes: its start, its progress, its end."""

import time
from collections.abc import Mapping
from typing import Any

from core.contract import StatusLine, TextDelta
from core.errors import OrcError
from orc.events import Reset, Token, Tool
from orc.graphs.models import Deps, ToolResult


async def call_tool(
    name: str,
    arguments: dict[str, Any],
    deps: Deps,
    *,
    streams: bool = False,
    meta: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Call a tool; its failure is shown and raised. With `streams`, its text becomes tokens."""
    started = time.perf_counter()
    deps.emit(Tool(name=name, status="started"))

    def progress(update: TextDelta | StatusLine) -> None:
        if isinstance(update, TextDelta):
            deps.emit(Token(text=update.text))
        else:
            deps.emit(Tool(name=name, status="progress", message=update.message))

    def ended(status: str, **failure: str) -> None:
        duration = round((time.perf_counter() - started) * 1000, 1)
        fields = {"name": name, "status": status, "duration_ms": duration, **failure}
        deps.emit(Tool.model_validate(fields))

    try:
        content = await deps.tools.call(
            name,
            arguments,
            deps.scope_token,
            on_progress=progress if streams else None,
            on_restart=lambda reason: deps.emit(Reset(reason=reason)),
            meta=meta,
        )
    except OrcError as exc:
        ended("failed", message=exc.message, code=exc.code)
        raise
    ended("finished")
    return ToolResult(name=name, content=content)
