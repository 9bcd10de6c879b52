"""A turn as a span: its outcome and its usage."""

import asyncio
from datetime import UTC, datetime

import pytest

from devkit.recorded_telemetry import Recorded
from orc.conversations.models import Turn
from orc.events import Done, Event, Failed, LazyCounts, TurnMetadata, TurnResult
from orc.problems import problem_of
from orc.turns.spans import INTERRUPTED, begin_turn_span, observe
from orc_core.errors import DeadlineExceeded
from orc_core.models import Usage

TURN = Turn(
    turn_id="t1", conversation_id="c1", seq=1, attempt="a", request_hash="h", question="Where is the quokka?",
    created_at=datetime.now(UTC),
)  # fmt: skip
USAGE = Usage(model_calls=2, input_tokens=30, output_tokens=4)


async def ending(event: Event) -> Event:
    return event


async def test_the_span_of_a_turn_has_its_ids_and_usage(recorded: Recorded) -> None:
    metadata = TurnMetadata(trace_id="t", usage=USAGE, retrieval_mode="rag")
    done = Done(
        result=TurnResult(conversation_id="c1", turn_id="t1", answer="The quokka.", metadata=metadata)
    )
    assert await observe(begin_turn_span(TURN), ending(done)) is done
    assert recorded.attributes("invoke_agent orc") == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "orc",
        "gen_ai.agent.name": "orc",
        "gen_ai.conversation.id": "c1",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 4,
        "orc.model_calls": 2,
        "orc.retrieval.mode": "rag",
        "orc.turn.id": "t1",
    }


async def test_the_span_of_a_turn_has_its_route_budgets_memory_and_lazy_counts(recorded: Recorded) -> None:
    metadata = TurnMetadata(
        trace_id="t",
        route={"intent": "factual_lookup", "model": "gpt-4o", "retriever": "summaries"},
        context_budget={"retrieval": 500, "total": 900},
        summary_selection={"method": "lexical", "summary_points": 2, "notes": 1, "left_out": 3},
        lazy=LazyCounts(pages=4, summary_tokens=300, deferred_tokens=2000, pages_read=1),
    )
    result = TurnResult(conversation_id="c1", turn_id="t1", answer="The quokka.", metadata=metadata)
    await observe(begin_turn_span(TURN), ending(Done(result=result)))
    expected = {
        "orc.route.intent": "factual_lookup", "orc.route.model": "gpt-4o", "orc.route.retriever": "summaries",
        "orc.context.retrieval": 500, "orc.context.total": 900,
        "orc.memory.summary_points": 2, "orc.memory.notes": 1, "orc.memory.left_out": 3,
        "orc.lazy.pages": 4, "orc.lazy.summary_tokens": 300, "orc.lazy.deferred_tokens": 2000,
        "orc.lazy.pages_read": 1,
    }  # fmt: skip
    assert expected.items() <= recorded.attributes("invoke_agent orc").items()
    assert "quokka" not in recorded.span("invoke_agent orc").to_json()


async def test_a_turn_that_failed_is_counted_by_its_code(recorded: Recorded) -> None:
    before = recorded.counted("orc.turn.errors", error__type="deadline_exceeded")
    failed = Failed(problem=problem_of(DeadlineExceeded("No quokka in time."), "t"))
    assert await observe(begin_turn_span(TURN), ending(failed)) is failed
    assert recorded.attributes("invoke_agent orc")["error.type"] == "deadline_exceeded"
    assert recorded.counted("orc.turn.errors", error__type="deadline_exceeded") == before + 1
    assert "quokka" not in recorded.span("invoke_agent orc").to_json()


async def test_a_turn_that_was_stopped_counts_as_interrupted(recorded: Recorded) -> None:
    before = recorded.counted("orc.turn.duration", error__type=INTERRUPTED)
    never = asyncio.create_task(observe(begin_turn_span(TURN), asyncio.Event().wait()))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    never.cancel()
    with pytest.raises(asyncio.CancelledError):
        await never
    assert recorded.counted("orc.turn.duration", error__type=INTERRUPTED) == before + 1
