"""Tasks of clients count, are limited at a time, and are in the traces with what they cost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from devkit.fakes import scripted
from devkit.store_pairs import items_here
from orc.identity import Principal
from orc.limits.models import TASKS, LimitStore, RateLimit, RateLimited, UserLimit, UserTurns, Window
from orc.traces.models import TraceFilter, TraceStore
from orc.turns.tasks import Tasks
from orc_core.errors import BudgetExceeded, TooMany
from orc_core.infra.sqlite import Database
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.storage.sqlite.tables import TABLES

ANN, BOB = Principal("acme", "ann"), Principal("acme", "bob")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "orc.db")
    await opened.migrate(TABLES["limits"].schema, TABLES["traces"].schema)
    yield opened
    await opened.close()


def tasks_of(database: Database, *, most: int = 3, at_a_time: int = 5, fails: bool = False) -> Tasks:
    def reply(*_: object) -> AIMessage:
        if fails:
            raise BudgetExceeded("no")
        return AIMessage("A <b>title</b>")

    model, _ = scripted(reply)
    limit = RateLimit(LimitStore(items_here(database, "limits")), TASKS, Window(most, 3600))
    held = UserLimit(at_a_time, "tasks")
    return Tasks(model, limit, held, TraceStore(items_here(database, "traces")), ModelCatalogue())


async def ask(tasks: Tasks, caller: Principal = ANN) -> str:
    text, _ = await tasks.answer("Make a title.", caller, max_tokens=None, trace_id="t" * 32)
    return text


async def test_each_user_has_a_limit_of_tasks(database: Database) -> None:
    tasks = tasks_of(database)
    assert [await ask(tasks) for _ in range(3)] == ["A < b>title< /b> "] * 3
    with pytest.raises(RateLimited, match="limit of 3 tasks"):
        await ask(tasks)
    assert await ask(tasks, BOB)


async def test_only_some_tasks_of_a_user_are_under_way_at_a_time(database: Database) -> None:
    tasks = tasks_of(database, most=100, at_a_time=2)
    ended = await asyncio.gather(*(ask(tasks) for _ in range(6)), return_exceptions=True)
    assert sum(isinstance(each, TooMany) for each in ended) == 4


@pytest.mark.parametrize("fails", [False, True])
async def test_a_task_is_in_the_traces_and_in_the_totals(fails: bool, database: Database) -> None:
    tasks = tasks_of(database, fails=fails)
    await asyncio.gather(ask(tasks), return_exceptions=True)
    kept, _ = await TraceStore(items_here(database, "traces")).page("acme", TraceFilter(), limit=5)
    (trace,) = kept
    assert (trace.intent, trace.user_id, trace.status) == ("task", "ann", "failed" if fails else "done")
    assert [(call.role, call.output_tokens > 0) for call in trace.calls] == (
        [] if fails else [("writer", True)]
    )


async def test_a_failed_task_does_not_count(database: Database) -> None:
    tasks = tasks_of(database, most=1, fails=True)
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            await ask(tasks)


async def test_what_one_user_waits_for_delays_no_other() -> None:
    turns = UserTurns(2)
    async with turns.of(ANN), turns.of(ANN):
        assert turns.of(ANN).locked()
        async with asyncio.timeout(1), turns.of(BOB):
            pass
