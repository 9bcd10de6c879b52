"""Clients that disconnect: the product passes, and each planted bug is found."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from devkit.system import Event
from orc.turns.results import STORED_AFTER
from resilience.clients import outcome, whole_events
from resilience.deployment import Store, conversation_with
from resilience.disconnects import ANSWERED, NUMBERED, Ground, Plan, Scene, ground, leave
from resilience.history_check import KINDS, QUAY, new_question
from resilience.report import Advance
from resilience.resource_leaks import FILES, TASKS

SMALL = Plan(count=12, at_once=6, conversations=6)
FULL = Plan()


def silently(_description: str, _total: int) -> Advance:
    return lambda: None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prepared(full_size: bool) -> AsyncIterator[Ground]:
    """Everything but the instance, which may be one with a bug."""
    async with ground(Store.SQLITE, small=not full_size) as built:
        yield built


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(prepared: Ground, full_size: bool) -> AsyncIterator[Scene]:
    """An instance without a bug."""
    async with prepared.scene((FULL if full_size else SMALL).conversations) as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
async def test_no_answer_or_resource_is_lost_to_a_disconnect(
    prepared: Ground, scene: Scene, full_size: bool
) -> None:
    plan = FULL if full_size else SMALL
    verdict = await leave(prepared, scene, plan, silently)
    assert [(check.name, check.findings) for check in verdict.checks if check.findings] == []
    assert verdict.check(ANSWERED).of == plan.count


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("bug", "found_by"),
    [
        ("stop_with_the_client", ANSWERED),
        ("leak_a_task", TASKS),
        ("leak_a_file", FILES),
        ("begin_again", NUMBERED),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_planted_bug_is_found(bug: str, found_by: str, prepared: Ground) -> None:
    planted = ("-m", "tests.campaigns.planted", bug)
    async with prepared.scene(SMALL.conversations, planted) as scene:
        verdict = await leave(prepared, scene, SMALL, silently)
    assert verdict.check(found_by).findings
    assert not verdict.ok


async def new_conversation(scene: Scene) -> str:
    """One without turns, which has the document."""
    return await asyncio.to_thread(conversation_with, scene.other, QUAY)


async def ask(scene: Scene, conversation_id: str) -> list[Event]:
    """All events of a document turn at the instance."""
    question, names = KINDS[0]
    body = {
        "question": new_question(question).question,
        "conversation_id": conversation_id,
        "blob_names": names,
    }
    response = await scene.http.post(f"{scene.api.address}/api/orc/stream", json=body)
    return whole_events(response.raise_for_status().text)


async def resume(scene: Scene, api: str, turn: Mapping[str, Any], after: int) -> list[Event]:
    url = f"{api}/conversations/{turn['conversation_id']}/turns/{turn['turn_id']}/events"
    response = await scene.http.get(url, headers={"last-event-id": str(after)})
    return whole_events(response.raise_for_status().text)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_stream_resumes_from_memory_on_its_instance_and_from_the_store_on_another(
    scene: Scene,
) -> None:
    events = await ask(scene, await new_conversation(scene))
    result, shown = outcome(events)
    for after in (0, 1, len(events) // 2, len(events) - 1):
        from_memory = await resume(scene, f"{scene.api.address}/api", result, after)
        from_store = await resume(scene, scene.other.api, result, after)
        assert from_memory == events[after:]
        assert from_store[0][0] == STORED_AFTER + (1 if after else 2)
        assert outcome([*events[:after], *from_store]) == (result, shown)


@pytest.mark.asyncio(loop_scope="module")
async def test_only_the_instance_of_a_running_turn_serves_its_stream(scene: Scene) -> None:
    conversation = await new_conversation(scene)
    asking = asyncio.create_task(ask(scene, conversation))
    pending = {"conversation_id": conversation, "turn_id": await pending_turn(scene, conversation)}
    [elsewhere] = await resume(scene, scene.other.api, pending, 0)
    followed = await resume(scene, f"{scene.api.address}/api", pending, 0)
    assert (elsewhere[1], elsewhere[2]["status"], elsewhere[2]["retryable"]) == ("error", 409, True)
    assert followed == await asking


async def pending_turn(scene: Scene, conversation_id: str) -> str:
    """The id of the one turn, as soon as there is one."""
    url = f"{scene.other.api}/conversations/{conversation_id}"
    while True:
        if turns := (await scene.http.get(url)).json().get("turns"):
            return str(turns[0]["turn_id"])
        await asyncio.sleep(0.01)
