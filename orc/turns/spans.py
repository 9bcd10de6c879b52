"""The span of a turn, its duration and its failure, for telemetry."""

import time
from collections.abc import Awaitable, Iterator

from opentelemetry import metrics
from opentelemetry.trace import Span

from orc.conversations.models import Turn
from orc.events import Done, Event, Failed, Stopped, TurnMetadata
from orc_core.documents.image_limits import ImageCounts
from orc_core.infra.telemetry.spans import ERROR_TYPE, SCOPE, begin_span, fail_by_code, within

INTERRUPTED = "interrupted"
_METER = metrics.get_meter(SCOPE)
_DURATION = _METER.create_histogram(
    "orc.turn.duration",
    unit="s",
    description="How long a turn took, from its stored question to its stored answer.",
    explicit_bucket_boundaries_advisory=[0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160],
)
_ERRORS = _METER.create_counter(
    "orc.turn.errors", unit="{turn}", description="Turns that ended without an answer, by the code of why."
)


def begin_turn_span(turn: Turn) -> Span:
    """The span of a turn, which is prepared in it and then answered."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "orc",
        "gen_ai.agent.name": "orc",
        "gen_ai.conversation.id": turn.conversation_id,
        "orc.turn.id": turn.turn_id,
    }
    return begin_span("invoke_agent orc", attributes)


async def observe(begun: Span, answering: Awaitable[Event]) -> Event:
    """Await the end of a turn inside its span, record the end, and end the span."""
    began, failure = time.perf_counter(), INTERRUPTED
    try:
        with within(begun):
            ending = await answering
            _record(begun, ending)
        failure = ending.problem.code if isinstance(ending, Failed) else ""
        return ending
    finally:
        outcome = {ERROR_TYPE: failure} if failure else {}
        _DURATION.record(time.perf_counter() - began, outcome)
        if failure:
            _ERRORS.add(1, outcome)


def _record(begun: Span, ending: Event) -> None:
    match ending:
        case Failed(problem=problem):
            fail_by_code(begun, problem.code)
        case Done(result=result) | Stopped(result=result):
            begun.set_attributes(dict(_attributes_of(result.metadata)))
            if isinstance(ending, Stopped):
                begun.set_attribute("orc.turn.stopped", True)


def _attributes_of(metadata: TurnMetadata) -> Iterator[tuple[str, str | int]]:
    """Names from the code and the configuration, and numbers: no content."""
    yield "gen_ai.usage.input_tokens", metadata.usage.input_tokens
    yield "gen_ai.usage.output_tokens", metadata.usage.output_tokens
    yield "orc.model_calls", metadata.usage.model_calls
    yield "orc.retrieval.mode", metadata.retrieval_mode
    for name in ("intent", "model", "retriever"):
        if value := metadata.route.get(name):
            yield f"orc.route.{name}", str(value)
    for name, tokens in metadata.context_budget.items():
        yield f"orc.context.{name}", tokens
    for name in ("summary_points", "notes", "left_out"):
        if isinstance(count := metadata.summary_selection.get(name), int):
            yield f"orc.memory.{name}", count
    if metadata.images != ImageCounts():
        for name, count in metadata.images.model_dump().items():
            yield f"orc.images.{name}", count
    if metadata.lazy.pages:
        for name, count in metadata.lazy.model_dump().items():
            yield f"orc.lazy.{name}", count
