"""One call of a tool, shown as it goes: its start, its progress, its end."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from core.errors import INTERNAL, OrcError
from core.mcp_contract import StatusLine, TextDelta
from core.models import Usage
from orc.graphs.models import Deps, ToolResult
from orc.turns.events import Reset, Token, Tool

logger = logging.getLogger(__name__)


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
    except Exception as exc:
        # Of one call among several: the others go on, and their events belong before the turn's end.
        logger.exception("calling the tool %s failed", name)
        unforeseen = OrcError("The tool failed unexpectedly.", code=INTERNAL)
        ended("failed", message=unforeseen.message, code=unforeseen.code)
        raise unforeseen from exc
    ended("finished")
    deps.meter.by_tools += _used(content)
    return ToolResult(name=name, content=content)


def _used(content: Mapping[str, Any]) -> Usage:
    """What a tool says that its models have used."""
    try:
        return Usage.model_validate(content["metadata"]["usage"])
    except (KeyError, TypeError, ValidationError):
        return Usage()
