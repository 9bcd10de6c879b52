"""Spans hold names, kinds, numbers and ids: what fails inside one leaves its kind there, never its text."""

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from opentelemetry import context, trace
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from orc_core.errors import OrcError

Attributes = Mapping[str, str | int | float | bool]

SCOPE = "orc"
"""The instrumentation scope of all that is recorded, see orc_core/infra/telemetry/exporters.py."""
ERROR_TYPE = "error.type"

_TRACER = trace.get_tracer(SCOPE)
_NOTHING = nullcontext(INVALID_SPAN)
_TRACE_CONTEXT = TraceContextTextMapPropagator()


def span(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, attributes: Attributes | None = None
) -> AbstractContextManager[Span]:
    """The current span while the context is open, below the previous one; without one a trace begins."""
    return within(_TRACER.start_span(name, kind=kind, attributes=attributes))


def begin_span(name: str, attributes: Attributes) -> Span:
    """A new span below the current one, which the caller ends."""
    return _TRACER.start_span(name, attributes=attributes)


@contextmanager
def within(begun: Span) -> Iterator[Span]:
    """The span is the current one while the context is open, and ends with it."""
    # Not `start_as_current_span`, which is four context managers one in the other.
    token = context.attach(trace.set_span_in_context(begun))
    try:
        yield begun
    except BaseException as exc:
        fail(begun, exc)
        raise
    finally:
        context.detach(token)
        begun.end()


def step(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, attributes: Attributes | None = None
) -> AbstractContextManager[Span]:
    """A span within a recorded trace; outside of one none, or else polling would create traces all day."""
    if not trace.get_current_span().is_recording():
        return _NOTHING
    return span(name, kind=kind, attributes=attributes)


@contextmanager
def long_step(
    name: str, *, seconds: float, kind: SpanKind = SpanKind.INTERNAL, attributes: Attributes | None = None
) -> Iterator[None]:
    """A step without inner steps, which is recorded only if it took long or failed.

    For short steps that are repeated many times: each span costs a turn about 0.03 ms.
    """
    if not trace.get_current_span().is_recording():
        yield
        return
    began, error = time.time_ns(), None
    try:
        yield
    except BaseException as exc:
        error = exc
        raise
    finally:
        if error is not None or time.time_ns() - began >= seconds * 1e9:
            done = _TRACER.start_span(name, kind=kind, attributes=attributes, start_time=began)
            if error is not None:
                fail(done, error)
            done.end()


def begin_step(name: str, *, kind: SpanKind) -> Span:
    """A step that is not made current, for generators: their callers' context changes. The caller ends it."""
    if not trace.get_current_span().is_recording():
        return INVALID_SPAN
    return _TRACER.start_span(name, kind=kind)


@contextmanager
def request_span(traceparent: str, name: str | None) -> Iterator[Span]:
    """The span of a request that came in, in the trace that it names if that can be read.

    Its trace id is always valid, also if nothing is exported, and travels on. Without a `name`
    nothing is recorded. A caller's tracestate and baggage are left behind.
    """
    given = _TRACE_CONTEXT.extract({"traceparent": traceparent})
    caller = trace.get_current_span(given)
    known = caller.get_span_context().is_valid
    begun = _TRACER.start_span(name, given if known else None, SpanKind.SERVER) if name else INVALID_SPAN
    if not begun.get_span_context().is_valid:
        ids, sampled = (secrets.randbits(128), secrets.randbits(64)), TraceFlags(TraceFlags.SAMPLED)
        begun = caller if known else NonRecordingSpan(SpanContext(*ids, is_remote=False, trace_flags=sampled))
    with trace.use_span(begun, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield begun
        except BaseException as exc:
            fail(begun, exc)
            raise


def fail(failed: Span, error: BaseException) -> None:
    """Mark a span as failed, by the kind of the error alone."""
    fail_by_code(failed, kind_of(error))


def fail_by_code(failed: Span, code: str) -> None:
    """Mark a span as failed. It has the code twice: Azure's exporter leaves out `error.type`."""
    failed.set_attributes({ERROR_TYPE: code, "orc.error": code})
    failed.set_status(StatusCode.ERROR)


def kind_of(error: BaseException) -> str:
    """The code of an OrcError, the name of the class of any other error."""
    return error.code if isinstance(error, OrcError) else type(error).__qualname__


def trace_id_of(known: Span) -> str:
    """The trace of a span, in 32 hexadecimal digits."""
    return trace.format_trace_id(known.get_span_context().trace_id)


def current_trace_id() -> str | None:
    """The id of the current trace, if any."""
    here = trace.get_current_span()
    return trace_id_of(here) if here.get_span_context().is_valid else None
