"""The log of a process: what may be in it, how its lines look, and which requests came in.

A log has events and ids, never what people asked, what documents say, or a key.
"""

import json
import logging
import time
import traceback
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc_core.infra.settings import TelemetrySettings
from orc_core.infra.telemetry.spans import current_trace_id


def start_logging(settings: TelemetrySettings) -> None:
    """Write the log of this process as the settings say, unless its host has set up logging already.

    `keep_content_out` keeps content out of it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])


class TextLines(logging.Formatter):
    """For people: time with its zone, level, trace id, logger and message; a traceback in further lines."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{_time(record)} {record.levelname:7} {_trace(record)} {record.name}: {record.getMessage()}"
        return f"{text}\n{record.exc_text}" if record.exc_text else text


class JsonLines(logging.Formatter):
    """For programs: one JSON object a line; the figures of a request are fields too."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "trace_id": _trace(record),
            "message": record.getMessage(),
            **getattr(record, "request", {}),
        }
        if record.exc_text:
            fields["exception"] = record.exc_text
        return json.dumps(fields, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


def _trace(record: logging.LogRecord) -> str:
    return getattr(record, "trace_id", None) or "-"


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
        record.exc_text, record.exc_info = within + "\n".join(_lines(error)), None
    return record


def _lines(error: BaseException) -> Iterator[str]:
    """Where an exception was raised and what it came from, without its text."""
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


QUIET = frozenset({"assets", "health", "live", "ready"})
"""Parts of paths that machines and pages ask for all the time: logged at the level debug."""
LINE = "%(method)s %(path)s %(status)d in %(milliseconds)d ms"

log = logging.getLogger(__name__)


class RequestLog:
    """ASGI middleware: a line for each request when its response has ended, refused ones included.

    Parts of the path that are not among `words` are left out, as they may name a document.
    """

    def __init__(self, app: ASGIApp, words: Collection[str]) -> None:
        self._app = app
        self._words = frozenset(words)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            parts = scope["path"].split("/")
            request = {
                "method": scope["method"],
                "path": "/".join(part if part in self._words else part and "{}" for part in parts),
                "status": status,
                "milliseconds": round(1000 * (time.perf_counter() - began)),
            }
            level = logging.DEBUG if QUIET.intersection(parts) else logging.INFO
            log.log(level, LINE, request, extra={"request": request})
