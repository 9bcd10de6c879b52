"""Turns under injected faults: the product passes, and each planted bug is found by its check."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from resilience.deployment import INSTANCE, Store
from resilience.faults import Plan, fight
from resilience.history_check import Asked, Conversation, Json, examine
from resilience.proxied_system import Arena, arena
from resilience.report import FAILED, PASSED, Advance, Check, Verdict, conclude, wide_console

SMALL = Plan(conversations=3, turns=4, seeds=1, instances=1, patience_seconds=120)
IMPATIENT = replace(SMALL, patience_seconds=4)


def silently(_description: str, _total: int) -> Advance:
    return lambda: None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prepared(full_size: bool) -> AsyncIterator[Arena]:
    """Everything but the instance, which may be one with a bug."""
    async with arena(Store.SQLITE, small=not full_size) as built:
        yield built


async def fought(prepared: Arena, plan: Plan, *command: str) -> Verdict:
    prepared.witness.missing.clear()
    return await fight(prepared, plan, silently, command)


@pytest.mark.asyncio(loop_scope="module")
async def test_no_turn_is_lost_doubled_reordered_or_stuck(prepared: Arena, full_size: bool) -> None:
    plan = Plan() if full_size else replace(SMALL, instances=2)
    verdict = await fought(prepared, plan, *INSTANCE)
    assert [(check.name, check.findings) for check in verdict.checks if check.findings] == []
    assert verdict.check("acknowledged turns lost").of == plan.conversations * plan.turns * plan.seeds


async def test_the_same_holds_on_cosmos_db(full_size: bool) -> None:
    plan = Plan(store=Store.COSMOS) if full_size else replace(SMALL, store=Store.COSMOS)
    async with arena(Store.COSMOS, small=not full_size) as built:
        verdict = await fought(built, plan, *INSTANCE)
    assert [(check.name, check.findings) for check in verdict.checks if check.findings] == []
    assert verdict.check("acknowledged turns lost").of == plan.conversations * plan.turns * plan.seeds


@pytest.mark.parametrize(
    ("bug", "plan", "found_by"),
    [
        pytest.param(
            "acknowledge_without_writing", SMALL, "acknowledged turns lost", marks=pytest.mark.campaign
        ),
        pytest.param("forget_the_key", SMALL, "turns duplicated", marks=pytest.mark.campaign),
        pytest.param("swap_two_turns", SMALL, "turns out of order", marks=pytest.mark.campaign),
        pytest.param("never_let_go", IMPATIENT, "turns stuck", marks=pytest.mark.campaign),
        pytest.param(
            "store_with_the_answer",
            SMALL,
            "questions asked before they were stored",
            marks=pytest.mark.campaign,
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_planted_bug_is_found(bug: str, plan: Plan, found_by: str, prepared: Arena) -> None:
    verdict = await fought(prepared, plan, "-m", "tests.campaigns.planted", bug)
    assert verdict.check(found_by).findings
    assert not verdict.ok


TOKEN, OTHER = "T-0123456789ab", "T-ba9876543210"
RESULT: Json = {"turn_id": "t1", "answer": f"At seven. {TOKEN}"}


def turn(seq: int, token: str, **changes: object) -> Json:
    answered: Json = {"status": "committed", "answer": f"At seven. {token}", "question": f"When? {token}"}
    result = {"turn_id": f"t{seq}", "answer": answered["answer"]}
    return {"turn_id": f"t{seq}", "seq": seq, "result": result, **answered, **changes}


def history(*turns: Json) -> list[Json]:
    spoken = [(("user", each["question"]), ("assistant", each["answer"])) for each in turns]
    return [{"role": role, "content": content} for pair in spoken for role, content in pair]


@pytest.fixture
def sound() -> Conversation:
    """A conversation with which nothing is wrong."""
    turns = [turn(1, TOKEN), turn(2, OTHER)]
    asked = [
        Asked(token, each["question"], "key", each["result"])
        for token, each in zip((TOKEN, OTHER), turns, strict=True)
    ]
    return Conversation("c", asked, turns, history(*turns))


def found(conversation: Conversation) -> set[str]:
    return {check.name for check in examine([conversation]) if check.findings}


def test_a_sound_history_has_no_findings(sound: Conversation) -> None:
    assert found(sound) == set()


def test_an_answer_that_differs_from_the_stored_one_counts_as_lost(sound: Conversation) -> None:
    sound.turns[0]["result"] = {**sound.turns[0]["result"], "answer": "another"}
    assert found(sound) == {"acknowledged turns lost"}


def test_an_answer_to_another_question_is_found(sound: Conversation) -> None:
    sound.asked[0].result = sound.turns[0]["result"] = {"turn_id": "t1", "answer": f"At seven. {OTHER}"}
    assert found(sound) == {"answers to another question"}


def test_a_gap_and_a_turn_left_pending_are_found(sound: Conversation) -> None:
    sound.turns[1] |= {"seq": 3, "status": "pending"}
    sound.history = history(sound.turns[0])
    assert found(sound) == {"acknowledged turns lost", "turns out of order", "turns stuck"}


def test_an_answer_without_its_question_in_the_history_is_found(sound: Conversation) -> None:
    del sound.history[2]
    assert found(sound) == {"orphans in the history"}


@pytest.mark.parametrize(
    ("check", "code"),
    [(Check("a", 1), PASSED), (Check("a", 1, ["found"]), FAILED), (Check("never looked", 0), FAILED)],
)
def test_the_exit_code_says_whether_anything_was_found(check: Check, code: int) -> None:
    assert conclude(Verdict("title", [check]), wide_console()) == code
