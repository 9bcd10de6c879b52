"""Spans: what they belong to, what they say of failures, and what they never hold."""

import asyncio
import logging
import time
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.propagate import inject
from opentelemetry.trace import StatusCode

from devkit.recorded_telemetry import Recorded
from orc_core.errors import DependencyDown
from orc_core.infra.logs import keep_content_out
from orc_core.infra.resilience import CircuitBreaker
from orc_core.infra.sqlite import SPAN_SECONDS, Database
from orc_core.infra.telemetry.spans import (
    current_trace_id,
    long_step,
    request_span,
    span,
    step,
    trace_id_of,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"


async def test_a_failure_is_recorded_by_its_kind_alone(recorded: Recorded) -> None:
    breaker = CircuitBreaker("store", lambda _exc: DependencyDown("quokka", dependency="other"))

    async def ask() -> None:
        raise ValueError("quokka")

    with pytest.raises(DependencyDown), span("turn"):
        await breaker.call(ask)
    for name in ("store", "turn"):
        failed = recorded.span(name)
        assert (failed.attributes or {})["error.type"] == "dependency_down"
        assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, None)
        assert "quokka" not in failed.to_json()
        assert failed.events == ()


async def test_a_step_is_part_of_a_trace_or_nothing(recorded: Recorded) -> None:
    async def plan_query() -> str:
        with step("plan_query"), step("sqlite read"):
            return "planned"

    assert await plan_query() == "planned"
    assert recorded.names == []
    with span("turn"):
        assert await asyncio.create_task(plan_query()) == "planned"
    read, planned, turn = recorded.spans
    assert recorded.names == ["sqlite read", "plan_query", "turn"]
    assert read.parent == planned.context
    assert planned.parent == turn.context


@pytest.mark.parametrize(
    "given",
    [
        f"00-{TRACE.upper()}-{CALLER}-01",
        f"00-{'0' * 32}-{CALLER}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{CALLER}-01",
        "",
    ],
)
def test_a_traceparent_that_cannot_be_read_is_none(recorded: Recorded, given: str) -> None:
    with request_span(given, "POST") as begun:
        assert trace_id_of(begun) == current_trace_id() != TRACE
    assert recorded.span("POST").parent is None


def test_a_short_step_is_recorded_only_if_it_fails(recorded: Recorded) -> None:
    with pytest.raises(ValueError, match="quokka"), span("turn"):
        with long_step("quick", seconds=60):
            pass
        with long_step("slow", seconds=0):
            pass
        with long_step("failed", seconds=60):
            raise ValueError("quokka")
    slow, failed, turn = recorded.spans
    assert recorded.names == ["slow", "failed", "turn"]
    assert slow.parent == failed.parent == turn.context
    assert (failed.attributes or {})["error.type"] == "ValueError"


async def test_a_long_look_into_the_database_is_a_step(recorded: Recorded, tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    try:
        with span("turn"):
            await database.read(lambda _connection: time.sleep(SPAN_SECONDS))
        assert recorded.attributes("sqlite read") == {"db.system.name": "sqlite"}
    finally:
        await database.close()


@pytest.mark.parametrize("name", ["POST", None])
def test_a_callers_trace_goes_on_and_is_passed_on(recorded: Recorded, name: str | None) -> None:
    carried: dict[str, str] = {}
    with request_span(f"00-{TRACE}-{CALLER}-01", name) as begun:
        inject(carried)
    assert carried == {"traceparent": f"00-{TRACE}-{begun.get_span_context().span_id:016x}-01"}
    if name is not None:
        parent = recorded.span(name).parent
        assert parent is not None
        assert (f"{parent.trace_id:032x}", f"{parent.span_id:016x}") == (TRACE, CALLER)


def test_a_request_that_is_not_recorded_has_a_trace_all_the_same(recorded: Recorded) -> None:
    with request_span("", None) as begun:
        assert int(trace_id_of(begun), 16) > 0
        assert current_trace_id() == trace_id_of(begun)
    assert current_trace_id() is None
    assert recorded.names == []


def test_what_others_begin_is_not_recorded_and_hides_nothing(recorded: Recorded) -> None:
    vendor = trace.get_tracer("mcp-python-sdk")
    with (
        span("tools/call"),
        vendor.start_as_current_span("MCP send", attributes={"arguments": "quokka"}),
        step("sqlite read"),
    ):
        pass
    assert recorded.names == ["sqlite read", "tools/call"]
    assert recorded.spans[0].parent == recorded.spans[1].context


def test_what_others_take_over_from_a_caller_is_gone_on_with(recorded: Recorded) -> None:
    vendor = trace.get_tracer("mcp-python-sdk")
    with request_span(f"00-{TRACE}-{CALLER}-01", None) as caller:
        known = trace.set_span_in_context(caller)
    with vendor.start_as_current_span("tools/call", context=known), span("work"):
        pass
    assert f"{recorded.span('work').context.trace_id:032x}" == TRACE


def test_logs_say_which_trace_they_belong_to(caplog: pytest.LogCaptureFixture) -> None:
    before = logging.getLogRecordFactory()
    keep_content_out()
    try:
        with request_span(f"00-{TRACE}-{CALLER}-01", None):
            logging.getLogger("orc").warning("failed", exc_info=ValueError("quokka"))
    finally:
        logging.setLogRecordFactory(before)
    [record] = caplog.records
    assert vars(record)["trace_id"] == TRACE
    assert f"In trace {TRACE}:" in caplog.text
    assert "quokka" not in caplog.text
