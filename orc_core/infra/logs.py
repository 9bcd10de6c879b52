"""The log of a process that has no host to keep one: a line for each event, on standard error."""

import json
import logging
from datetime import datetime

from orc_core.infra.settings import TelemetrySettings


def start_logging(settings: TelemetrySettings) -> None:
    """Write the log of this process as the settings say, unless its host has set up logging already.

    `log_redaction` keeps content out of it.
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
