"""One turn from begin to commit, on a real turn log with scripted dependencies."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import cast

import pytest
from langchain_core.messages import AIMessage
from pydantic import ValidationError

from devkit.fakes import FakeTools, scripted
from devkit.held_turns import (
    CALLER,
    CONVERSATION,
    ELSEWHERE,
    OWNER,
    FakeLibrary,
    Log,
    RecordingGraph,
    SlowScopes,
    SlowTools,
    WatchedMemory,
    asking,
    ending,
    turn_service,
)
from devkit.recorded_telemetry import Recorded
from devkit.store_pairs import items_here
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import Turn, TurnStatus
from orc.events import Done, Failed, Stopped
from orc.graphs.graph import TurnGraph
from orc.graphs.prompts import INSTRUCTIONS_AND_TOOLS
from orc.identity import Principal
from orc.limits.models import LimitStore, RateLimit, Window
from orc.settings import TurnSettings
from orc.turns.requests import TurnRequest
from orc.turns.service import TurnService
from orc_core.errors import DependencyDown, NotFound, OrcError, TooMany, TurnInFlight
from orc_core.infra.model_settings import ModelFacts
from orc_core.infra.sqlite import Database
from orc_core.infra.telemetry.spans import span
from orc_core.llm.errors import ContentFiltered
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Document
from orc_core.names import Owner

pytestmark = pytest.mark.slow


async def test_done_comes_only_after_the_turn_is_stored(log: Log, tools: SlowTools) -> None:
    done = await ending(await turn_service(log, tools).start(asking("a.pdf"), CALLER))
    assert isinstance(done, Done)
    turn = await log.turn(OWNER, done.result.turn_id)
    assert turn is not None
    assert turn.result == done.data()


async def test_the_question_is_stored_before_the_tool_is_called(log: Log, tools: SlowTools) -> None:
    tools.may_answer.clear()
    events = await turn_service(log, tools).start(asking("a.pdf"), CALLER)
    [turn] = await log.turns(OWNER)
    assert turn.status is TurnStatus.PENDING
    tools.may_answer.set()
    await ending(events)


async def test_a_turn_is_prepared_and_run_only_when_its_question_is_stored(
    log: Log, tools: SlowTools
) -> None:
    log.may_begin.clear()
    memory = WatchedMemory()
    service = TurnService(replace(turn_service(log, tools)._parts, memory=memory))
    with service.changes.followed(OWNER) as changed:
        starting = asyncio.create_task(service.start(asking("a.pdf"), CALLER))
        await asyncio.sleep(0.05)
        assert not (memory.was_read.is_set() or tools.calls or changed.is_set() or starting.done())
        log.may_begin.set()
        assert isinstance(await ending(await starting), Done)
        assert memory.was_read.is_set() and tools.calls and changed.is_set()


async def test_a_turn_whose_question_could_not_be_stored_does_not_run(log: Log, tools: SlowTools) -> None:
    log.begin_error = DependencyDown("The database cannot be used.", dependency="store")
    memory = WatchedMemory()
    parts = turn_service(log, tools, turns_per_user=1)._parts
    service = TurnService(replace(parts, memory=memory))
    for _ in range(2):
        with pytest.raises(DependencyDown):
            await service.start(asking("a.pdf"), CALLER)
    await asyncio.sleep(0.05)
    assert not (memory.was_read.is_set() or tools.calls or service._running)


async def test_what_prepares_a_turn_is_inside_of_its_span(
    log: Log, tools: SlowTools, recorded: Recorded
) -> None:
    parts = turn_service(log, tools)._parts
    service = TurnService(replace(parts, memory=WatchedMemory(), contexts=SlowScopes()))
    request = asking("a.pdf").model_copy(update={"contexts": [ELSEWHERE]})
    with span("POST /api/orc"):
        assert isinstance(await ending(await service.start(request, CALLER)), Done)
    await service.close()
    [turn] = [each for each in recorded.spans if each.name == "invoke_agent orc"]
    for name in ("find contexts", "read memory", "plan_query"):
        parent = recorded.span(name).parent
        assert parent is not None and parent.span_id == turn.context.span_id, name
    assert turn.parent == recorded.span("POST /api/orc").context


async def test_the_span_of_a_turn_that_was_not_begun_says_nothing_of_its_contents(
    log: Log, tools: SlowTools, recorded: Recorded
) -> None:
    class Broken(SlowScopes):
        async def of_turn(self, *_words: object, **_options: object) -> TurnScope | None:
            raise DependencyDown("The quokka cannot be found.", dependency="store")

    service = TurnService(replace(turn_service(log, tools)._parts, contexts=Broken()))
    request = asking("a.pdf").model_copy(update={"contexts": [ELSEWHERE]})
    with suppress(DependencyDown):
        await service.start(request, CALLER)
    await service.close()
    turn = recorded.span("invoke_agent orc")
    assert (turn.events, "quokka" in turn.to_json()) == ((), False)


async def test_an_answer_that_cannot_be_stored_is_never_reported_as_done(log: Log, tools: SlowTools) -> None:
    log.commit_error = DependencyDown("The database cannot be used.", dependency="store")
    failed = await ending(await turn_service(log, tools, commit_seconds=0.1).start(asking("a.pdf"), CALLER))
    assert isinstance(failed, Failed)
    assert (failed.problem.status, failed.problem.dependency) == (503, "store")


async def test_an_answer_waits_for_a_store_that_is_briefly_down(log: Log, tools: SlowTools) -> None:
    log.commit_error = DependencyDown("The database cannot be used.", dependency="store")
    events = await turn_service(log, tools).start(asking("a.pdf"), CALLER)
    await asyncio.sleep(0.1)
    log.commit_error = None
    assert isinstance(await ending(events), Done)
    [turn] = await log.turns(OWNER)
    assert turn.status is TurnStatus.COMMITTED


async def test_an_answer_that_was_made_in_time_may_be_stored_after_the_deadline(
    log: Log, tools: SlowTools
) -> None:
    log.commit_error = DependencyDown("The database cannot be used.", dependency="store")
    events = await turn_service(log, tools, turn_deadline_seconds=0.3).start(asking("a.pdf"), CALLER)
    await asyncio.sleep(0.5)
    log.commit_error = None
    assert isinstance(await ending(events), Done)


async def test_only_a_conversation_that_the_request_began_is_not_searched_for_documents(
    log: Log, tools: SlowTools
) -> None:
    class Shelf(FakeLibrary):
        async def list_documents(self, owner: Owner) -> list[Document]:
            raise DependencyDown("The database cannot be used.", dependency="store")

    service = turn_service(log, tools, Shelf())
    unnamed = TurnRequest(question="Hello!", trace_id="trace")
    assert isinstance(await ending(await service.start(unnamed, CALLER)), Done)
    for known in ({"idempotency_key": "a-key"}, {"conversation_id": CONVERSATION}):
        again = unnamed.model_copy(update=known)
        assert isinstance(await ending(await service.start(again, CALLER)), Failed)


async def test_a_hanging_store_has_a_time_limit(log: Log, tools: SlowTools) -> None:
    log.may_commit.clear()
    failed = await ending(await turn_service(log, tools, commit_seconds=0.1).start(asking("a.pdf"), CALLER))
    assert isinstance(failed, Failed)
    assert (failed.problem.status, failed.problem.dependency) == (503, "store")


async def test_the_retry_of_a_turn_that_is_being_answered_does_not_count(log: Log, tools: SlowTools) -> None:
    class Counting(RateLimit):
        taken = 0

        async def take(self, caller: Principal, amount: int = 1) -> None:
            self.taken += amount

    tools.may_answer.clear()
    messages = Counting()
    turns = TurnService(replace(turn_service(log, tools)._parts, messages=messages))
    request = asking("a.pdf").model_copy(update={"idempotency_key": "key"})
    events = await turns.start(request, CALLER)
    [turn] = await log.turns(OWNER)
    for _ in range(2):
        with pytest.raises(TurnInFlight) as raised:
            await turns.start(request, CALLER)
        assert raised.value.turn_id == turn.turn_id
        with pytest.raises(TurnInFlight):
            await turns.retry(OWNER, turn.turn_id, CALLER, key=None, stream=False, trace_id="trace")
    tools.may_answer.set()
    assert isinstance(await ending(events), Done)
    assert messages.taken == 1


DOWN = DependencyDown("The database cannot be used.", dependency="store")


async def test_a_stored_answer_is_never_reported_as_a_failure(
    log: Log, tools: SlowTools, caplog: pytest.LogCaptureFixture
) -> None:
    log.confirmation_error = DOWN
    done = await ending(await turn_service(log, tools, commit_seconds=1).start(asking("a.pdf"), CALLER))
    assert isinstance(done, Done)
    [turn] = await log.turns(OWNER)
    assert turn.result == done.data()
    assert "failed" not in caplog.text


async def test_a_returning_reader_gets_the_stored_answer_instead_of_the_reported_failure(
    log: Log, tools: SlowTools
) -> None:
    log.confirmation_error = log.fail_error = DOWN
    here = turn_service(log, tools, commit_seconds=1)
    assert isinstance(await ending(await here.start(asking("a.pdf"), CALLER)), Failed)
    [turn] = await log.turns(OWNER)
    again = await here.events_of(OWNER, turn.turn_id, CALLER, after=0, trace_id="trace")
    assert again is not None
    assert isinstance(await ending(again), Done)


async def test_an_answer_of_another_process_replaces_a_failure_here(log: Log, tools: SlowTools) -> None:
    request = asking("a.pdf").model_copy(update={"idempotency_key": "key"})
    log.commit_error = DOWN
    here, there = turn_service(log, tools, commit_seconds=0.1), turn_service(log, tools)
    assert isinstance(await ending(await here.start(request, CALLER)), Failed)
    log.commit_error = None
    done = await ending(await there.start(request, CALLER))
    assert isinstance(done, Done)
    again = await here.events_of(OWNER, done.result.turn_id, CALLER, after=0, trace_id="trace")
    assert again is not None
    assert isinstance(await ending(again), Done)


@pytest.mark.parametrize("error", [OrcError("no"), RuntimeError("a bug")], ids=["ours", "a bug"])
async def test_a_failure_that_cannot_be_stored_still_ends_the_stream(
    log: Log, tools: SlowTools, error: Exception
) -> None:
    log.commit_error = log.fail_error = error
    assert isinstance(await ending(await turn_service(log, tools).start(asking("a.pdf"), CALLER)), Failed)


async def test_a_bug_before_a_turn_runs_fails_the_turn_and_can_be_asked_again(
    log: Log, tools: SlowTools
) -> None:
    turns = turn_service(log, tools)
    # The recorder of the turn refuses an id that is no text.
    broken = asking("a.pdf").model_copy(update={"trace_id": 5, "idempotency_key": "key"})
    with pytest.raises(ValidationError):
        await turns.start(broken, CALLER)
    [turn] = await log.turns(OWNER)
    assert (turn.status, turn.failure and turn.failure.code) == (TurnStatus.FAILED, "internal")
    events = await turns.events_of(OWNER, turn.turn_id, CALLER, after=0, trace_id="trace")
    assert events is not None
    kinds = [event.kind async for _, event in events.follow()]
    assert kinds.count("error") == 1
    again = asking("a.pdf").model_copy(update={"idempotency_key": "key"})
    assert isinstance(await ending(await turns.start(again, CALLER)), Done)


async def test_a_known_failure_is_one_line_of_the_log_and_a_bug_a_traceback(
    log: Log, tools: SlowTools, caplog: pytest.LogCaptureFixture
) -> None:
    log.commit_error = log.fail_error = DOWN
    turns = turn_service(log, tools, commit_seconds=0.1)
    assert isinstance(await ending(await turns.start(asking("a.pdf"), CALLER)), Failed)
    unclosed, failed = (record.getMessage() for record in caplog.records)
    assert failed.endswith("failed: dependency_down in store")
    assert unclosed.endswith("could not be closed: dependency_down")
    assert "Traceback" not in caplog.text
    log.fail_error = RuntimeError("a bug")
    await ending(await turns.start(asking("a.pdf"), CALLER))
    assert "Traceback" in caplog.text


async def test_a_turn_past_its_deadline_fails_and_is_stored_as_such(log: Log, tools: SlowTools) -> None:
    tools.may_answer.clear()
    failed = await ending(
        await turn_service(log, tools, turn_deadline_seconds=0.05).start(asking("a.pdf"), CALLER)
    )
    assert isinstance(failed, Failed)
    assert failed.problem.status == 504
    [turn] = await log.turns(OWNER)
    assert turn.failure is not None
    assert turn.failure.code == "deadline_exceeded"


async def test_another_timeout_is_not_mistaken_for_the_deadline(log: Log) -> None:
    failed = await ending(
        await turn_service(log, FakeTools(document_chat=TimeoutError())).start(asking("a.pdf"), CALLER)
    )
    assert isinstance(failed, Failed)
    assert failed.problem.status == 500


async def test_shutdown_ends_the_stream_of_a_running_turn(log: Log, tools: SlowTools) -> None:
    tools.may_answer.clear()
    running = turn_service(log, tools)
    events = await running.start(asking("a.pdf"), CALLER)
    await running.close(grace_seconds=0.05)
    failed = await ending(events)
    assert isinstance(failed, Failed)
    assert (failed.problem.status, failed.problem.code) == (503, "interrupted")
    [turn] = await log.turns(OWNER)
    assert (turn.status, turn.failure and turn.failure.code) == (TurnStatus.FAILED, "interrupted")


async def test_a_shutdown_does_not_wait_for_a_store_that_hangs(log: Log, tools: SlowTools) -> None:
    tools.may_answer.clear()
    log.may_fail.clear()
    running = turn_service(log, tools)
    events = await running.start(asking("a.pdf"), CALLER)
    await asyncio.wait_for(running.close(grace_seconds=0.05), 5)
    assert isinstance(await ending(events), Failed)


async def test_a_shutdown_while_an_answer_is_stored_does_not_fail_it(log: Log, tools: SlowTools) -> None:
    running = turn_service(log, tools)
    log.confirmation_error = asyncio.CancelledError()  # type: ignore[assignment]
    events = await running.start(asking("a.pdf"), CALLER)
    assert isinstance(await ending(events), Done)
    [turn] = await log.turns(OWNER)
    assert turn.status is TurnStatus.COMMITTED


async def test_a_turn_without_documents_never_restores_older_references(log: Log, tools: SlowTools) -> None:
    shelf = FakeLibrary()
    shelf.may_list.clear()
    running = turn_service(log, tools, shelf)
    slow_talk = await running.start(asking(), CALLER)
    await ending(await running.start(asking("a.pdf"), CALLER))
    shelf.may_list.set()
    assert isinstance(await ending(slow_talk), Done)
    head = await log.head(OWNER)
    assert head is not None
    assert [ref.file_id for ref in head.uploaded_file_refs] == ["file-new"]
    assert head.last_mcp_tool_used == "document_chat"


async def test_the_events_of_a_deleted_conversation_are_gone(log: Log, tools: SlowTools) -> None:
    running = turn_service(log, tools)
    done = await ending(await running.start(asking("a.pdf"), CALLER))
    assert isinstance(done, Done)
    await log.delete(OWNER)
    with pytest.raises(NotFound):
        await running.events_of(OWNER, done.result.turn_id, CALLER, after=0, trace_id="trace")


async def test_budgets_leave_space_for_the_longest_answer_in_the_smallest_window(log: Log) -> None:
    """Also in that of a model that only judges, and for a kind of question that may be answered at length."""
    base = turn_service(log, FakeTools())._parts
    critic, _ = scripted(lambda _messages, _options: AIMessage("x"))
    critic.name = "small"
    parts = replace(
        base,
        models=replace(base.models, critic=critic),
        catalogue=ModelCatalogue({"small": ModelFacts(context_window=20_000)}),
        settings=TurnSettings.model_validate({"intents": {"report": {"max_output_tokens": 9000}}}),
    )
    service = TurnService(parts)
    service._runner.graph = cast(TurnGraph, graph := RecordingGraph())
    await (await service.start(asking(), CALLER)).last()
    policy = graph.policy
    used = policy.history_tokens + policy.memory_tokens + policy.retrieval_tokens
    assert used <= 20_000 - INSTRUCTIONS_AND_TOOLS - 9000


async def test_a_question_with_a_new_id_opens_the_conversation(log: Log, tools: SlowTools) -> None:
    other = asking().model_copy(update={"conversation_id": "8c2b5a9e-0000-4000-8000-000000000000"})
    done = await ending(await turn_service(log, tools).start(other, CALLER))
    assert isinstance(done, Done)
    assert done.result.conversation_id == other.conversation_id


class LateLog(Log):
    """A turn log in which another process commits the turn after this one has looked for it."""

    async def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        return None


async def test_a_turn_that_another_process_has_just_committed_does_not_count(database: Database) -> None:
    limit = RateLimit(LimitStore(items_here(database, "limits")), window=Window(2, 3600))
    log = LateLog(database)
    await log.ensure_conversation(OWNER)
    service = turn_service(log, SlowTools(), messages=limit)
    request = asking("a.pdf").model_copy(update={"idempotency_key": "k"})
    for _ in range(3):
        assert isinstance(await ending(await service.start(request, CALLER)), Done)
    assert (await limit.take(CALLER)) is not None
    with pytest.raises(TooMany):
        await limit.take(CALLER)


def limit_of(database: Database, messages: int) -> RateLimit:
    return RateLimit(LimitStore(items_here(database, "limits")), window=Window(messages, 3600))


async def test_an_answer_that_fails_costs_nothing_as_often_as_the_limit_has(database: Database) -> None:
    log, limit = Log(database), limit_of(database, 2)
    await log.ensure_conversation(OWNER)
    service = turn_service(log, FakeTools(document_chat=DOWN), messages=limit)
    for _ in range(2):
        failed = await ending(await service.start(asking("a.pdf"), CALLER))
        assert isinstance(failed, Failed)
        assert failed.problem.status == 503
    # Who makes answers fail on purpose gets the limit a second time.
    assert (taken := await limit.take(CALLER, 0)) is not None
    assert taken.remaining == 2
    for _ in range(2):
        assert isinstance(await ending(await service.start(asking("a.pdf"), CALLER)), Failed)
    with pytest.raises(TooMany):
        await service.start(asking("a.pdf"), CALLER)


async def test_what_the_question_itself_made_fail_counts(database: Database) -> None:
    log, limit = Log(database), limit_of(database, 1)
    await log.ensure_conversation(OWNER)
    service = turn_service(log, FakeTools(document_chat=ContentFiltered()), messages=limit)
    failed = await ending(await service.start(asking("a.pdf"), CALLER))
    assert isinstance(failed, Failed)
    assert failed.problem.status == 422
    with pytest.raises(TooMany):
        await limit.take(CALLER)


async def test_a_stopped_answer_counts(database: Database, tools: SlowTools) -> None:
    log, limit = Log(database), limit_of(database, 1)
    await log.ensure_conversation(OWNER)
    tools.may_answer.clear()
    service = turn_service(log, tools, messages=limit)
    events = await service.start(asking("a.pdf"), CALLER)
    [turn] = await log.turns(OWNER)
    await service.stop(OWNER, turn.turn_id)
    assert isinstance(await events.last(), Stopped)
    with pytest.raises(TooMany):
        await limit.take(CALLER)


async def test_an_answer_that_ended_with_its_process_is_asked_again_for_nothing(database: Database) -> None:
    log, limit = Log(database), limit_of(database, 1)
    await log.ensure_conversation(OWNER)
    # A process has counted the question, and was killed while it answered.
    await limit.take(CALLER)
    asked = asking("a.pdf")
    await log.begin(OWNER, asked.opening("turn", ["a.pdf"], None), lease_seconds=0)
    service = turn_service(log, SlowTools(), messages=limit)
    again = await service.retry(OWNER, "turn", CALLER, key=None, stream=False, trace_id="trace")
    assert isinstance(await ending(again), Done)
    with pytest.raises(TooMany):
        await service.start(asked, CALLER)


async def test_an_answer_that_ends_with_a_shutdown_costs_nothing(
    database: Database, tools: SlowTools
) -> None:
    log, limit = Log(database), limit_of(database, 1)
    await log.ensure_conversation(OWNER)
    tools.may_answer.clear()
    service = turn_service(log, tools, messages=limit)
    events = await service.start(asking("a.pdf"), CALLER)
    await service.close(grace_seconds=0.05)
    assert isinstance(await ending(events), Failed)
    assert await limit.take(CALLER) is not None
