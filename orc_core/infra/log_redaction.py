"""What may be in a log: events and ids, never what people asked, what documents say, or a key.

The operator of a process chooses the levels and the destination. This removes content from what is logged.
"""

import logging
import traceback
from collections.abc import Iterator
from functools import partial
from typing import Any

from orc_core.infra.telemetry.spans import current_trace_id

TALKATIVE = """
    aiohttp azure httpcore httpcore2 httpx httpx2 langchain langchain_core langchain_openai langgraph
    langsmith mcp msal openai opentelemetry sse_starlette urllib3
""".split()
"""Loggers that write whole requests and answers, headers included, below the level of a warning."""
_NAMES_ONLY = (AttributeError, ImportError, NameError, NotImplementedError, RecursionError)
"""Exceptions whose text is about the program alone."""


def keep_content_out() -> None:
    """Limit vendors' libraries to warnings, and log exceptions by kind and place only.

    The text of an exception may quote content. Each record has the `trace_id` of its trace, which is logged
    with an exception. Call this once, when a process starts.
    """
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    factory = logging.getLogRecordFactory()
    if getattr(factory, "func", None) is not _record:
        logging.setLogRecordFactory(partial(_record, factory))


def _record(factory: Any, *args: Any, **kwargs: Any) -> logging.LogRecord:
    record: logging.LogRecord = factory(*args, **kwargs)
    trace_id = vars(record)["trace_id"] = current_trace_id()
    if record.exc_info and (error := record.exc_info[1]) is not None:
        within = f"In trace {trace_id}:\n" if trace_id else ""
        record.exc_text, record.exc_info = within + reported_error(error), None
    return record


def reported_error(error: BaseException) -> str:
    """Where an exception was raised and what it came from, without its text."""
    return "\n".join(_lines(error))


def _lines(error: BaseException) -> Iterator[str]:
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _lines(earlier)
        yield "and from that:"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    yield f"{kind}: {error}" if isinstance(error, _NAMES_ONLY) else kind
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield "holding:"
            yield from _lines(part)
