"""Makes a process log every record, as a host may, and fail on demand with its content in the exception."""

import logging
import os
import sys
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "verbose"
EARLY, LATE = "explode-early", "explode-late"
"""A question with one of these makes its turn fail with an unexpected error: as it begins, or later."""


def log_everything() -> None:
    """Let every record of every logger through to standard error."""
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    logging.getLogger(__name__).debug("process %s writes everything", os.getpid())
    _explode_on_demand()


def _explode_on_demand() -> None:
    from mcp_server.tools.document_chat import DocumentChat
    from orc.conversations.turn_log import TurnLog

    setattr(TurnLog, "begin", _exploding(TurnLog.begin, EARLY))  # noqa: B010 - what is planted has no type
    setattr(TurnLog, "commit", _exploding(TurnLog.commit, LATE))  # noqa: B010
    setattr(DocumentChat, "answer", _exploding(DocumentChat.answer, LATE))  # noqa: B010


def _exploding(work: Callable[..., Awaitable[Any]], word: str) -> Callable[..., Awaitable[Any]]:
    """The same, but it fails if an argument holds the word; the exception contains all arguments."""

    @wraps(work)
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        if word in (content := f"{args} {kwargs}"):
            raise RuntimeError(f"{work.__qualname__} failed over {content}") from ValueError(content)
        return await work(*args, **kwargs)

    return guarded
