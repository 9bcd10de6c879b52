"""The lines of the log: for people and for programs, with the trace they belong to."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

from orc_core.infra.logs import keep_content_out, start_logging
from orc_core.infra.settings import TelemetrySettings
from orc_core.infra.telemetry.spans import request_span, trace_id_of


@contextmanager
def process() -> Iterator[io.StringIO]:
    """A process without a host, and what it writes to standard error."""
    root, out = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    keep_content_out()
    with redirect_stderr(out):
        yield out
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_has_time_level_trace_and_logger() -> None:
    with process() as written, request_span("", "GET") as span:
        start_logging(TelemetrySettings())
        logging.getLogger("orc.turns").info("turn %d ended", 7)
    time, level, trace, rest = written.getvalue().split(maxsplit=3)
    assert (level, trace, rest) == ("INFO", trace_id_of(span), "orc.turns: turn 7 ended\n")
    assert time[10] == "T"
    assert time[-6] in "+-"


def test_json_has_the_same_as_fields_and_a_traceback_without_texts() -> None:
    with process() as written:
        start_logging(TelemetrySettings(log_format="json"))
        try:
            int("quokka")
        except ValueError:
            logging.getLogger("orc").exception("failed\nbadly")
    (line,) = written.getvalue().splitlines()
    fields = json.loads(line)
    assert (fields["level"], fields["trace_id"], fields["message"]) == ("error", "-", "failed\nbadly")
    assert fields["exception"].endswith("builtins.ValueError")
    assert "quokka" not in fields["exception"].replace('int("quokka")', "")


def test_the_level_is_the_least_that_is_written() -> None:
    with process() as written:
        start_logging(TelemetrySettings(log_level="warning"))
        logging.getLogger("orc").info("not this")
        logging.getLogger("orc").warning("but this")
    assert "not this" not in written.getvalue()
    assert "but this" in written.getvalue()


def test_logging_that_a_host_has_set_up_stays_as_it_is() -> None:
    host = logging.StreamHandler(io.StringIO())
    with process():
        logging.getLogger().addHandler(host)
        start_logging(TelemetrySettings())
        assert logging.getLogger().handlers == [host]


def test_settings_are_accepted_in_any_case() -> None:
    assert TelemetrySettings.model_validate({"log_level": "DEBUG", "log_format": "JSON"}).log_level == "debug"
